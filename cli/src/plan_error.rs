//! Errors of load plans as text that names the options of the commands.

use core_relo_loader::{
    load::LoadError,
    load_plan::{KernelFact, LoadPlanError, Refusal},
};

/// Externs that a plan refuses for the same reason.
pub(crate) struct RefusedExterns<'r> {
    names: Vec<&'r str>,
    reason: &'r str,
    missing: Option<KernelFact>,
}

impl RefusedExterns<'_> {
    /// Returns the names and the reason.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.names.join(", "), self.reason)
    }
}

/// Returns the refused externs, those with the same reason together.
pub(crate) fn group_externs(refused: &[Refusal]) -> Vec<RefusedExterns<'_>> {
    let mut groups: Vec<RefusedExterns<'_>> = Vec::new();
    for Refusal { name, reason, missing, .. } in refused {
        match groups.iter_mut().find(|group| group.reason == &**reason && group.missing == *missing) {
            Some(group) => group.names.push(name),
            None => groups.push(RefusedExterns { names: vec![name], reason, missing: *missing }),
        }
    }
    groups
}

/// Returns whether only facts about the kernel are missing, with which the load could be planned.
pub(crate) fn lacks_only_facts(e: &LoadError) -> bool {
    matches!(e, LoadError::Plan { cause, .. } if cause.lacks_only_facts())
}

/// Returns the message of a failed load without the object's name. The library's message names its settings, this one the options of
/// `load`.
pub(crate) fn load_message(e: &LoadError) -> String {
    let LoadError::Plan { cause: LoadPlanError::Externs(refused), .. } = e else {
        return e.without_object();
    };
    let lines: Vec<_> = group_externs(refused)
        .iter()
        .map(|group| match group.missing.and_then(option_of) {
            Some(option) => format!("{}: give it with {option}", group.text()),
            None => group.text(),
        })
        .collect();
    match &*lines {
        [line] if refused.len() == 1 => format!("unresolved extern: {line}"),
        [line] => format!("unresolved externs: {line}"),
        lines => format!("unresolved externs:\n  {}", lines.join("\n  ")),
    }
}

/// Returns the option that gives a fact about the kernel.
fn option_of(fact: KernelFact) -> Option<&'static str> {
    match fact {
        KernelFact::Version => Some("--kernel-version X.Y.Z"),
        KernelFact::Kconfig => Some("--kconfig FILE"),
        _ => None,
    }
}
