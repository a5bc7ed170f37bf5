//! Errors of load plans as text that names the options of the commands.

use core_relo_loader::{
    load::LoadError,
    load_plan::{KernelFact, LoadPlanError, Refusal},
};
use core_relo_verdict::judge::symbol_choice;

/// The word for a load that cannot be planned because facts about the kernel cannot be read.
pub(crate) const LACKS_FACTS: &str = "facts";

/// Externs that a plan refuses for the same reason.
pub(crate) struct RefusedExterns<'r> {
    names: Vec<&'r str>,
    reason: &'r str,
    missing: Option<KernelFact>,
    is_ambiguous: bool,
}

impl RefusedExterns<'_> {
    /// Returns the names and the reason.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.names.join(", "), self.reason)
    }

    /// Returns how a user of the commands that load objects resolves the externs.
    fn remedy(&self) -> Option<String> {
        match (self.is_ambiguous, self.missing, &self.names[..]) {
            (true, _, [name, ..]) => Some(symbol_choice(name)),
            (_, Some(fact), _) => Some(remedy(fact).to_owned()),
            _ => None,
        }
    }
}

/// Returns the refused externs, those with the same reason together.
pub(crate) fn group_externs(refused: &[Refusal]) -> Vec<RefusedExterns<'_>> {
    let mut groups: Vec<RefusedExterns<'_>> = Vec::new();
    for Refusal { name, reason, missing, is_ambiguous, .. } in refused {
        // Of an ambiguous symbol, the addresses are its own.
        let is_equal = |group: &RefusedExterns<'_>| {
            group.reason == &**reason && group.missing == *missing && !group.is_ambiguous
        };
        match groups.iter_mut().find(|group| is_equal(group)) {
            Some(group) => group.names.push(name),
            None => groups.push(RefusedExterns {
                names: vec![name],
                reason,
                missing: *missing,
                is_ambiguous: *is_ambiguous,
            }),
        }
    }
    groups
}

/// Returns whether only facts about the kernel are missing, with which the load could be planned.
pub(crate) fn lacks_only_facts(e: &LoadError) -> bool {
    matches!(e, LoadError::Plan { cause, .. } if cause.lacks_only_facts())
}

/// Returns the message of a failed load without the object's name. The library's message names its settings,
/// this one the options of the commands that load objects.
pub(crate) fn load_message(e: &LoadError) -> String {
    let refused = match e {
        LoadError::Plan { cause: LoadPlanError::Externs(refused), .. } => refused,
        LoadError::Plan { cause: LoadPlanError::Link(cause), .. } => {
            let remedies = cause.remedies().into_iter().map(|remedy| format!("\nhelp: {remedy}"));
            return remedies.fold(e.without_object(), |message, help| message + &help);
        }
        _ => return e.without_object(),
    };
    let lines: Vec<_> = group_externs(refused)
        .iter()
        .map(|group| match group.remedy() {
            Some(remedy) => format!("{}: {remedy}", group.text()),
            None => group.text(),
        })
        .collect();
    match &*lines {
        [line] if refused.len() == 1 => format!("unresolved extern: {line}"),
        [line] => format!("unresolved externs: {line}"),
        lines => format!("unresolved externs:\n  {}", lines.join("\n  ")),
    }
}

/// Returns a message of several lines in one: a list after a colon, and remedies.
pub(crate) fn in_one_line(message: &str) -> String {
    let mut text = String::new();
    for line in message.lines().map(str::trim).filter(|line| !line.is_empty()) {
        text.push_str(match text.chars().next_back() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        });
        text.push_str(line.strip_prefix("help: ").unwrap_or(line));
    }
    text
}

/// The way out of a relocation that fails because libbpf sign-extends enumerators, for commands with
/// [`RelocationArgs`].
///
/// [`RelocationArgs`]: crate::args::relocate::RelocationArgs
pub(crate) const ZERO_EXTEND_HELP: &str =
    "--zero-extend-enums relocates enumerators from 0x80000000 on as cilium/ebpf and aya do";

/// Returns [`ZERO_EXTEND_HELP`] if a relocation of a load fails for that reason.
pub(crate) fn zero_extend_help(e: &LoadError) -> Option<&'static str> {
    let LoadError::Plan { cause: LoadPlanError::CoreRelo(refused), .. } = e else { return None };
    let errors = || refused.iter().filter_map(|refusal| refusal.relocation);
    errors().any(|error| error.is_sign_extension()).then_some(ZERO_EXTEND_HELP)
}

/// Returns how a user of the commands provides a fact about the kernel. Every command that loads an object
/// takes a configuration. Only dry runs for another kernel lack its version or symbols.
const fn remedy(fact: KernelFact) -> &'static str {
    match fact {
        KernelFact::Version => "give it with --kernel-version X.Y.Z",
        KernelFact::Kconfig => "give it with --kconfig FILE",
        KernelFact::Symbols => "give it with --kallsyms FILE",
        _ => "plan the load on that kernel",
    }
}

#[cfg(test)]
mod tests {
    use super::in_one_line;

    #[test]
    fn lists_and_remedies_are_put_on_one_line() {
        let message = "2 CO-RE relocations failed:\n  a: no type\n  b: no type\nhelp: do this\n";
        assert_eq!(in_one_line(message), "2 CO-RE relocations failed: a: no type; b: no type; do this");
        assert_eq!(in_one_line("one"), "one");
    }
}
