//! The suggestion for a selection after `list`, which shows all objects: `prog list --name count`.

use super::bpftool_words::{NamedCommand, SELECTORS, has_option};
use crate::words::shell_word;
use clap::{
    Command,
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::ffi::OsString;

/// Adds the command that shows the selected objects to the error of a command line that selects objects after
/// `list`. The first word is the name of this command, `root`.
pub(super) fn suggest_show(mut error: clap::Error, words: &[OsString], root: &Command) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(shown) = find_show(words, root)
    {
        let tip = StyledStr::from(format!("`list` shows all: `{shown}`"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Returns the command line that shows what the words after `list` select, as options or in bpftool's words.
fn find_show(words: &[OsString], root: &Command) -> Option<String> {
    let NamedCommand { path, end, .. } = NamedCommand::find(words, root);
    let [group, "list"] = *path else { return None };
    // `show` of other groups is an alias of `list`.
    let show =
        root.find_subcommand(group)?.find_subcommand("show").filter(|show| show.get_name() == "show")?;
    words.get(end..)?.windows(2).find_map(|words| {
        let [selector, value] = words else { return None };
        let name = selector.to_str()?.trim_start_matches("--");
        let is_selector = SELECTORS.contains(&name) && has_option(show, name);
        is_selector
            .then(|| format!("core-relo {group} show --{name} {}", shell_word(&value.to_string_lossy())))
    })
}

#[cfg(test)]
mod tests {
    use crate::args::Args;

    #[test]
    fn a_selection_after_list_suggests_a_command_that_parses() {
        let parse = |line: &str| Args::parse_words(line.split(' ').map(Into::into));
        let error = |line: &str| parse(line).expect_err("an unknown argument").to_string();
        for (line, shown) in [
            ("core-relo prog list --name count", "core-relo prog show --name count"),
            ("core-relo prog list --tag 0011223344556677", "core-relo prog show --tag 0011223344556677"),
            ("core-relo --color never map list --pinned /a", "core-relo map show --pinned /a"),
            ("core-relo -j prog list --name x", "core-relo prog show --name x"),
            ("core-relo prog list --format json --name x", "core-relo prog show --name x"),
            // bpftool's words.
            ("core-relo link list id 7", "core-relo link show --id 7"),
        ] {
            let text = error(line);
            assert!(text.contains(&format!("tip: `list` shows all: `{shown}`")), "{text}");
            assert!(parse(shown).is_ok(), "{shown}");
        }
        for line in [
            "core-relo net list --name count",
            "core-relo prog list --nam count",
            "core-relo map list --tag 0011223344556677",
            "core-relo link list tag 0011223344556677",
            "core-relo struct_ops list --tag 0011223344556677",
            "core-relo btf list --pinned /sys/fs/bpf/p",
        ] {
            assert!(!error(line).contains("shows all"), "{line}");
        }
    }
}
