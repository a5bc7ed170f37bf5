//! SARIF 2.1.0: a result at the C source line for each program and distinct reason.
//!
//! A refusal is an error, missing input a warning, an unknown verdict a note. For programs that are not
//! loaded by default, every reason is a note. A silent mismatch is a warning.
//!
//! On a kernel that was booted, a refusal that the verdict does not foresee is a result of the rule
//! `real_load`, and a reason is a note if the kernel loaded the program.

mod real_loads;

use super::{
    escape::{file_uri, shortened},
    findings::{Finding, find_by_program},
    limits::{MAX_LISTED_KERNELS, MAX_TEXT_CHARS},
    matrix::{Matrix, ObjectLine},
    real_loads::FoundLoad,
    rules::rule,
    summary::describe_kernels,
    warnings::{FoundWarning, find_warnings},
};
use crate::{json, model::UnjudgedInput, policy::AllowEntry, stable_hash::stable_hash};
use core_relo::Escaped;
use core_relo_verdict::{
    SourceLine,
    judge::{ReasonKind, Verdict},
};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The address of the JSON schema, which also identifies the version.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The id of the rule of silent mismatches.
const MISMATCH_RULE: &str = "mismatch";

/// Writes the log.
pub(super) fn write(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    let findings = matrix.objects.iter().flat_map(|object| {
        let findings = find_by_program(object).into_iter();
        findings.map(move |finding| (object, finding))
    });
    let findings: Vec<_> = findings.collect();
    let mut kinds: Vec<_> = findings.iter().map(|(_, finding)| finding.reason.kind).collect();
    kinds.sort();
    kinds.dedup();
    let mut results: Vec<_> =
        findings.iter().map(|(object, finding)| result(matrix, &kinds, object, finding)).collect();
    let warnings = matrix.objects.iter().flat_map(|object| {
        let warnings = find_warnings(object).into_iter();
        warnings.map(move |warning| (object.name, warning))
    });
    let warnings: Vec<_> = warnings.collect();
    let warning_result =
        |(object, warning): &(&str, FoundWarning<'_>)| warning_result(matrix, kinds.len(), object, warning);
    results.extend(warnings.iter().map(warning_result));
    let mut rules: Vec<_> = kinds.iter().map(|kind| rule_json(*kind)).collect();
    if !warnings.is_empty() {
        rules.push(mismatch_rule());
    }
    let refusals = matrix.objects.iter().flat_map(|object| {
        let refusals = real_loads::unforeseen_refusals(object).into_iter();
        refusals.map(move |refusal| (object.name, refusal))
    });
    let refusals: Vec<_> = refusals.collect();
    if !refusals.is_empty() {
        let result = |(object, refusal): &(&str, FoundLoad<'_>)| {
            real_loads::result(matrix, rules.len(), object, refusal)
        };
        results.extend(refusals.iter().map(result));
        rules.push(real_loads::rule_json());
    }
    let mut notifications = error_notifications(matrix);
    let is_successful = notifications.is_empty();
    notifications.extend(kernel_notifications(matrix));
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "core-relo",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": is_successful,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    json::write(&mut *out, &log)?;
    out.write_all(b"\n")
}

/// Returns the rule of a kind of reason.
fn rule_json(kind: ReasonKind) -> Value {
    let rule = rule(kind);
    json!({
        "id": kind.word(),
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.help },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["bpf", "kernel compatibility"] },
    })
}

fn result(
    matrix: &Matrix<'_>,
    kinds: &[ReasonKind],
    object: &ObjectLine<'_>,
    finding: &Finding<'_>,
) -> Value {
    let reason = finding.reason;
    let program = finding.programs.first().map_or("", |program| program.name);
    let level = match reason.verdict {
        _ if !finding.is_autoload() || real_loads::is_disproved(object, finding) => "note",
        Verdict::Refused => "error",
        Verdict::NeedsInput => "warning",
        Verdict::Unknown | Verdict::Loads => "note",
    };
    let file = known_file(reason.source.as_ref());
    // The line is left out, so that a result keeps its identity when lines move.
    let mut identity =
        vec![object.name, program, reason.kind.word(), &reason.text, file.map_or("", |source| &source.file)];
    // A reason that is accepted on some kernels is another result than on the others.
    identity.extend(finding.allowed.map(|_| "allowed"));
    let mut result = json!({
        "ruleId": reason.kind.word(),
        "ruleIndex": kinds.iter().position(|kind| *kind == reason.kind),
        "level": level,
        "message": message_json(&message(matrix, object, finding, program)),
        "locations": [location(file, object.name, program)],
        "partialFingerprints": fingerprints(&identity),
        "properties": { "verdict": reason.verdict.word(), "kernelCount": finding.kernels.len() },
    });
    add_baseline_state(&mut result, finding.is_new);
    if let (Some(entry), Some(keys)) = (finding.allowed, result.as_object_mut()) {
        keys.insert("suppressions".into(), json!([suppression(entry)]));
    }
    result
}

/// Adds whether the baseline has a result. All results of a log have this key, or none.
fn add_baseline_state(result: &mut Value, is_new: Option<bool>) {
    if let (Some(is_new), Some(keys)) = (is_new, result.as_object_mut()) {
        keys.insert("baselineState".into(), if is_new { "new" } else { "unchanged" }.into());
    }
}

/// Returns the suppression of a result that the project accepts. `external` means that the source code has no
/// mark of it.
fn suppression(entry: &AllowEntry) -> Value {
    let justification = entry.reason.clone().unwrap_or_else(|| entry.to_string());
    json!({ "kind": "external", "status": "accepted", "justification": plain(&justification) })
}

/// Returns the rule of silent mismatches.
fn mismatch_rule() -> Value {
    let help = "The program loads, but a declaration of the object differs from the kernel's, so that the program may read other data \
                than it expects: read the field with CO-RE, or add a flavour with the kernel's declaration. Or the kernel lacks what attaches \
                the program: attach another program there.";
    json!({
        "id": MISMATCH_RULE,
        "shortDescription": { "text": "Declaration that differs from the kernel's, or program that cannot be attached" },
        "fullDescription": { "text": help },
        "help": { "text": help },
        "defaultConfiguration": { "level": "warning" },
        "properties": { "tags": ["bpf", "kernel compatibility"] },
    })
}

fn warning_result(matrix: &Matrix<'_>, rule_index: usize, object: &str, warning: &FoundWarning<'_>) -> Value {
    let FoundWarning { mismatch, kernels, is_new } = warning;
    let file = known_file(mismatch.source.as_ref());
    let text = format!(
        "{} in {}: {}\nobject: {}\nkernel: {}\non {}",
        plain(&mismatch.program),
        plain(object),
        plain(&mismatch.text),
        plain(&mismatch.local),
        plain(&mismatch.target),
        kernel_names(matrix, kernels)
    );
    let (kind, file_name) = (mismatch.kind.word(), file.map_or("", |source| &source.file));
    let identity = [object, &*mismatch.program, kind, &*mismatch.text, file_name];
    let mut result = json!({
        "ruleId": MISMATCH_RULE,
        "ruleIndex": rule_index,
        "level": "warning",
        "message": message_json(&text),
        "locations": [location(file, object, &mismatch.program)],
        "partialFingerprints": fingerprints(&identity),
        "properties": { "kind": kind, "kernelCount": kernels.len() },
    });
    add_baseline_state(&mut result, *is_new);
    result
}

/// Returns a source line that an annotation can point to.
fn known_file(source: Option<&SourceLine>) -> Option<&SourceLine> {
    source.filter(|source| !source.file.is_empty() && source.line > 0)
}

/// Returns the location of a result: the source line, or the object without one.
fn location(file: Option<&SourceLine>, object: &str, program: &str) -> Value {
    let physical = match file {
        Some(source) => json!({
            "artifactLocation": { "uri": file_uri(&source.file) },
            "region": region(source),
        }),
        None => json!({ "artifactLocation": { "uri": file_uri(object) } }),
    };
    let logical = json!({
        "name": plain(program),
        "fullyQualifiedName": format!("{}::{}", plain(object), plain(program)),
        "kind": "function",
    });
    json!({ "physicalLocation": physical, "logicalLocations": [logical] })
}

fn fingerprints(identity: &[&str]) -> Value {
    json!({ "coreRelo/v1": format!("{:016x}", stable_hash(identity.join("\0").as_bytes())) })
}

/// Returns the region of a source line. SARIF counts columns in UTF-16 units, compilers in bytes: a column of
/// other text is left out.
fn region(source: &SourceLine) -> Value {
    let mut region = json!({ "startLine": source.line });
    if let Some(keys) = region.as_object_mut() {
        if source.column > 0 && source.text.is_ascii() {
            keys.insert("startColumn".into(), source.column.into());
        }
        if !source.text.trim().is_empty() {
            keys.insert("snippet".into(), json!({ "text": shortened(&source.text, MAX_TEXT_CHARS) }));
        }
    }
    region
}

/// Returns the message: the program, the problem, the kernels, the evidence, the fix.
fn message(matrix: &Matrix<'_>, object: &ObjectLine<'_>, finding: &Finding<'_>, program: &str) -> String {
    let Finding { reason, kernels, evidence, .. } = finding;
    let default = if finding.is_autoload() { "" } else { " (not loaded by default)" };
    let mut text =
        format!("{} in {}{default}: {}\n", plain(program), plain(object.name), plain(&reason.text));
    if reason.source.as_ref().is_some_and(|source| source.is_near) {
        text += "the access is near this line: the object has no line that names it\n";
    }
    let extent = describe_kernels(&matrix.kernels, &object.outcomes(), kernels, &plain);
    let verdict = super::model::Outcome::from(reason.verdict).words();
    text += &format!("{verdict} {extent}: {}\n", kernel_names(matrix, kernels));
    for (evidence, _) in &evidence.first {
        text += &format!("evidence ({}): {}\n", evidence.source, plain(&evidence.text));
    }
    if let Some(fix) = &reason.fix {
        text += &format!("fix: {}\n", plain(fix));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the names of kernels, given by index. The names beyond a limit are counted.
fn kernel_names(matrix: &Matrix<'_>, kernels: &[usize]) -> String {
    let names = kernels.iter().filter_map(|kernel| matrix.kernels.get(*kernel));
    let mut names: Vec<_> = names.take(MAX_LISTED_KERNELS).map(|kernel| plain(kernel.name)).collect();
    if kernels.len() > MAX_LISTED_KERNELS {
        names.push(format!("{} more", kernels.len() - MAX_LISTED_KERNELS));
    }
    names.join(", ")
}

/// Returns a notification for each warning about the facts of a kernel.
fn kernel_notifications<'m>(matrix: &'m Matrix<'_>) -> impl Iterator<Item = Value> + 'm {
    matrix.kernel_warnings.iter().map(|warning| {
        let text = format!("{}: {}", plain(&warning.kernel), plain(&warning.text));
        json!({ "level": "warning", "message": message_json(&text) })
    })
}

/// Returns a notification for each input that could not be read or judged.
fn error_notifications(matrix: &Matrix<'_>) -> Vec<Value> {
    let notification = |text: String| json!({ "level": "error", "message": message_json(&text) });
    let text = |bad: &UnjudgedInput| {
        let help = bad.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {}", plain(help)));
        format!("{}{help}", plain(&bad.problem))
    };
    let unread = matrix.unread.iter().map(|bad| format!("{}: {}", plain(&bad.file), text(bad)));
    let pairs = matrix.bad_pairs().into_iter().map(|(object, bad, kernels)| {
        let first = kernels.first().and_then(|kernel| matrix.kernels.get(*kernel));
        let name = plain(first.map_or("", |kernel| kernel.name));
        let more = if kernels.len() > 1 { format!(" and {} more", kernels.len() - 1) } else { String::new() };
        format!("{} on {name}{more}: {}", plain(object), text(bad))
    });
    unread.chain(pairs).map(notification).collect()
}

/// Returns text from input. `[text](target)` would be a link in a message.
fn plain(text: &str) -> String {
    Escaped(shortened(text, MAX_TEXT_CHARS)).to_string().replace("](", "] (")
}

/// Returns the object of a message. In the text of a message, a brace stands for itself if it is doubled
/// (SARIF 2.1.0, 3.11.5).
fn message_json(text: &str) -> Value {
    json!({ "text": text.replace('{', "{{").replace('}', "}}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ReportFormat,
        test_fleet::{HOSTILE, fleet},
        tests::text_of,
    };

    /// Checks the parts of the SARIF 2.1.0 schema that this module uses.
    fn validate(log: &Value) {
        assert_eq!(log["version"], "2.1.0");
        assert_eq!(keys(log), ["$schema", "version", "runs"]);
        for run in array(&log["runs"]) {
            assert_eq!(keys(run), ["tool", "invocations", "results"]);
            let driver = &run["tool"]["driver"];
            assert!(driver["name"].is_string());
            let rules = array(&driver["rules"]);
            for rule in rules {
                assert!(rule["id"].is_string() && rule["help"]["text"].is_string());
            }
            for result in array(&run["results"]) {
                let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
                assert_eq!(rules[index]["id"], result["ruleId"]);
                assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
                assert!(!result["message"]["text"].as_str().unwrap().is_empty());
                for location in array(&result["locations"]) {
                    let physical = &location["physicalLocation"];
                    let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
                    assert!(
                        uri.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%:".contains(&b)),
                        "{uri}"
                    );
                    let region = &physical["region"];
                    assert!(region.is_null() || region["startLine"].as_u64().unwrap() > 0);
                    assert!(region["startColumn"].is_null() || region["startColumn"].as_u64().unwrap() > 0);
                    assert_eq!(location["logicalLocations"][0]["kind"], "function");
                }
            }
            for invocation in array(&run["invocations"]) {
                assert!(invocation["executionSuccessful"].is_boolean());
                for notification in array(&invocation["toolExecutionNotifications"]) {
                    assert!(notification["message"]["text"].is_string());
                }
            }
        }
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn array(value: &Value) -> &[Value] {
        value.as_array().unwrap()
    }

    #[test]
    fn braces_in_messages_are_doubled() {
        assert_eq!(message_json("a {0} b"), json!({ "text": "a {{0}} b" }));
    }

    #[test]
    fn the_log_is_valid() {
        let text = text_of(ReportFormat::Sarif, &fleet());
        let log: Value = serde_json::from_str(&text).unwrap();
        validate(&log);
        assert!(!log["runs"][0]["invocations"][0]["executionSuccessful"].as_bool().unwrap());
        let empty: Value = serde_json::from_str(&text_of(ReportFormat::Sarif, &Default::default())).unwrap();
        validate(&empty);
        assert_eq!(empty["runs"][0]["results"], json!([]));
    }

    #[test]
    fn a_result_has_a_level_a_line_and_its_kernels() {
        let log: Value = serde_json::from_str(&text_of(ReportFormat::Sarif, &fleet())).unwrap();
        let results = array(&log["runs"][0]["results"]);
        let of_trace: Vec<_> = results
            .iter()
            .filter(|result| result["message"]["text"].as_str().unwrap().contains(" in trace.bpf.o"))
            .collect();
        let levels: Vec<_> =
            of_trace.iter().map(|r| (r["ruleId"].as_str().unwrap(), r["level"].as_str().unwrap())).collect();
        let expected = [("helper", "error"), ("helper", "error"), ("map_size", "warning"), ("kfunc", "note")];
        assert_eq!(levels, expected);
        let location = &of_trace[0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "file:///src/trace.bpf.c");
        assert_eq!(location["region"]["startLine"], 41);
        let message = of_trace[0]["message"]["text"].as_str().unwrap();
        assert!(
            message.contains("refused x86_64 before 5.15: x86_64/5.4.17.btf, x86_64/5.10.3.btf\n"),
            "{message}"
        );
        assert_eq!(
            of_trace[2]["locations"][0]["physicalLocation"],
            json!({ "artifactLocation": { "uri": "trace.bpf.o" } }),
            "without a source line, the object is the place"
        );
        let hostile = results.iter().find(|result| result["ruleId"] == "relocation").unwrap();
        let message = hostile["message"]["text"].as_str().unwrap();
        assert!(
            !message.contains("](") && !message.contains('\u{1b}') && HOSTILE.contains("]("),
            "{message}"
        );
    }
}
