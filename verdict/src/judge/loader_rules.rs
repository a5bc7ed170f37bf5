//! The rules of the loader that opens the object.

use super::{
    answers::KernelAnswers,
    model::{LoaderRefusal, Reason, ReasonKind, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource, FieldPlace},
    loaders::{LoaderKind, LoaderRule, Stance},
    mismatch::{Declarations, Mismatch, MismatchKind},
    requirements::{ObjectNeeds, RuleUse},
};

/// Returns the reasons why the loader does not open the object, or does not load it as it is. They are part
/// of the verdict.
pub fn loader_reasons(needs: &ObjectNeeds<'_, '_>) -> Vec<Reason> {
    let refused = needs.rule_uses.iter().filter_map(|found| match found.rule.stance(needs.loader) {
        Stance::Refuses(source) => Some(refusal(needs, found, Verdict::Refused, source)),
        Stance::NeedsInput(source) => Some(refusal(needs, found, Verdict::NeedsInput, source)),
        _ => None,
    });
    refused.collect()
}

/// Returns the reasons why the loader's load of the object fails on the kernel, one for each rule.
pub(super) fn kernel_reasons(needs: &ObjectNeeds<'_, '_>, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let worst = |found: &RuleUse| {
        // Of equal verdicts, the last one counts.
        let reasons = found.variables.iter().rev().filter_map(|variable| {
            let found = RuleUse { what: variable.section_text(), ..found.clone() };
            mapping_reason(needs, &found, answers.facts.map_field(FieldPlace::MappedSection, variable.field))
        });
        reasons.max_by_key(|reason| reason.verdict)
    };
    needs.rule_uses.iter().filter_map(worst).collect()
}

/// Returns the reason why the kernel does not map a section as the loader does.
fn mapping_reason(needs: &ObjectNeeds<'_, '_>, found: &RuleUse, answer: Answer) -> Option<Reason> {
    let (source, since) = match found.rule.stance(needs.loader) {
        Stance::DependsOnKernel(source) => (source, None),
        Stance::NewerDependsOnKernel { source, since } => (source, Some(since)),
        _ => return None,
    };
    let question = match (answer, since) {
        (Answer::Present(_), _) => return None,
        (Answer::Absent(evidence), None) => {
            return Some(refusal(needs, found, Verdict::Refused, source).with_evidence(evidence));
        }
        // A verdict does not know the release of the loader.
        (Answer::Absent(_), Some(since)) => {
            format!(
                "{} {since} and newer do not load it, and older releases only not by a skeleton",
                needs.loader
            )
        }
        (Answer::Unknown(question), _) => question,
    };
    let reason = refusal(needs, found, Verdict::Unknown, source);
    Some(Reason { text: format!("{}: {question}", reason.text), evidence: None, ..reason })
}

fn refusal(needs: &ObjectNeeds<'_, '_>, found: &RuleUse, verdict: Verdict, source: &str) -> Reason {
    let loader = needs.loader;
    let is_opened = !matches!(found.rule.stance(loader), Stance::Refuses(_));
    let does = match (is_opened, verdict) {
        (false, _) => "does not open",
        (true, Verdict::Unknown) => "may not load",
        (true, _) => "does not load",
    };
    // A loader that accepts this part of the object may refuse another.
    let refuses = |loader: LoaderKind| {
        needs.rule_uses.iter().any(|found| matches!(found.rule.stance(loader), Stance::Refuses(_)))
    };
    let accepting = found.rule.accepting().filter(|loader| !refuses(*loader));
    let accepting: Vec<_> = accepting.map(LoaderKind::name).collect();
    let accepting = match accepting.split_last() {
        Some((last, [])) => format!("{last} accepts it"),
        Some((last, others)) => format!("{} and {last} accept it", others.join(", ")),
        None => "no known loader accepts it".to_owned(),
    };
    let text = format!("{loader} {does} the object: {}; {accepting}", subject(found));
    let evidence = Evidence { source: EvidenceSource::Object, text: format!("{loader}, {source}") };
    let reason = Reason::new(ReasonKind::Loader, verdict, text).with_evidence(evidence);
    let loader = Some(LoaderRefusal { loader, rule: found.rule });
    Reason { loader, ..reason.with_fix(found.rule.fix()) }
}

/// Returns the part of the object to which a rule applies, and the number of further parts.
fn subject(RuleUse { what, count, .. }: &RuleUse) -> String {
    match count.checked_sub(1) {
        None | Some(0) => what.clone(),
        Some(more) => format!("{what} (and {more} more)"),
    }
}

/// Returns what the loader leaves to user space, and the values of `pinning` that the loader does not know.
pub(super) fn warnings(needs: &ObjectNeeds<'_, '_>) -> Vec<Mismatch> {
    let Some(program) = needs.programs.first() else { return Vec::new() };
    let warning = |found: &RuleUse| {
        let loader = needs.loader;
        let (text, target) = match (found.rule, found.rule.stance(loader)) {
            (rule, Stance::LeavesToUser(source)) => {
                let text = format!("{loader} loads the object only if user space changes it: {}", rule.fix());
                (text, format!("{loader}, {source}"))
            }
            (LoaderRule::OtherPinning, Stance::Accepts(source)) => {
                (format!("{loader} does not pin the map"), format!("{loader}, {source}"))
            }
            _ => return None,
        };
        let declarations = Declarations { local: &subject(found), target: &target };
        Some(Mismatch::new(MismatchKind::Loader, &program.name, &text, declarations))
    };
    needs.rule_uses.iter().filter_map(warning).collect()
}
