//! Results of the rule `real_load`: refusals by a booted kernel that no verdict foresees.

use super::{add_baseline_state, fingerprints, kernel_names, known_file, location, message_json, plain};
use crate::{
    agreement::LoadOutcome,
    findings::Finding,
    matrix::{Matrix, ObjectLine},
    real_loads::{FoundLoad, find_real_loads},
};
use serde_json::{Value, json};

/// The id of the rule.
const RULE: &str = "real_load";

/// Returns the refusals of an object that no verdict foresees. A refusal that the project accepts is none of
/// them.
pub(super) fn unforeseen_refusals<'r>(object: &ObjectLine<'r>) -> Vec<FoundLoad<'r>> {
    let mut loads = find_real_loads(object);
    loads.retain(|found| found.load.is_unforeseen_refusal() && !found.is_accepted);
    loads
}

/// Returns the rule.
pub(super) fn rule_json() -> Value {
    let help = "The kernel was booted, and refused the program for a reason that verdicts do not foresee, such as the verifier's bounds of \
                memory accesses. The message has the source line and the end of the verifier's log.";
    json!({
        "id": RULE,
        "shortDescription": { "text": "Refusal by the booted kernel" },
        "fullDescription": { "text": help },
        "help": { "text": help },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["bpf", "kernel compatibility"] },
    })
}

/// Returns the result of a refusal.
pub(super) fn result(matrix: &Matrix<'_>, rule_index: usize, object: &str, found: &FoundLoad<'_>) -> Value {
    let FoundLoad { load, kernels, is_new, .. } = found;
    let default = if load.autoload { "" } else { " (not loaded by default)" };
    let mut lines =
        vec![format!("{} in {}{default}: refused by the kernel", plain(load.subject()), plain(object))];
    lines.extend(load.reason.iter().flat_map(|reason| reason.lines()).map(plain));
    lines.push(format!("verdict: {}", load.verdict_words()));
    lines.push(format!("on {}", kernel_names(matrix, kernels)));
    let file = known_file(load.source.as_ref());
    // The log is left out: kernels write registers and numbers of instructions in their own ways.
    let headline = load.headline();
    let file_name = file.map_or("", |source| &source.file);
    let identity = [object, load.subject(), RULE, headline.as_deref().unwrap_or(""), file_name];
    let mut result = json!({
        "ruleId": RULE,
        "ruleIndex": rule_index,
        "level": if load.autoload { "error" } else { "note" },
        "message": message_json(&lines.join("\n")),
        "locations": [location(file, object, load.subject())],
        "partialFingerprints": fingerprints(&identity),
        "properties": { "verdict": load.verdict.map(|verdict| verdict.word()), "kernelCount": kernels.len() },
    });
    add_baseline_state(&mut result, *is_new);
    result
}

/// Returns whether the programs of a finding loaded on each of its kernels, which were booted.
pub(super) fn is_disproved(object: &ObjectLine<'_>, finding: &Finding<'_>) -> bool {
    let is_of_finding = |name: &str| finding.programs.iter().any(|program| program.name == name);
    finding.kernels.iter().all(|kernel| {
        let row = object.cells.get(*kernel).copied().flatten();
        let mut loads =
            row.iter().flat_map(|row| &row.real_loads).filter(|l| is_of_finding(l.subject())).peekable();
        loads.peek().is_some() && loads.all(|load| load.outcome == LoadOutcome::Loaded)
    })
}
