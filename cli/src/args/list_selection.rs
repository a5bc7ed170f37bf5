//! The suggestion for a selection after `list`, which shows all objects: `prog list --name count`.

use crate::words::shell_word;
use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::ffi::OsString;

/// The commands whose `show` selects objects.
const COMMANDS: [&str; 5] = ["prog", "map", "link", "struct_ops", "btf"];
/// The options that select objects.
const SELECTORS: [&str; 4] = ["--id", "--name", "--pinned", "--tag"];

/// Adds the command that shows the selected objects to the error of a command line that selects objects after `list`.
pub(super) fn suggest_show(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let shown = words.windows(4).find_map(|words| match words {
        [command, list, selector, value] if COMMANDS.contains(&&**command) && list == "list" => {
            let is_selector = SELECTORS.contains(&&**selector);
            is_selector.then(|| format!("core-relo {command} show {selector} {}", shell_word(value)))
        }
        _ => None,
    });
    if let Some(shown) = shown {
        let tip = StyledStr::from(format!("`list` shows all: `{shown}`"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
mod tests {
    use crate::args::Args;

    #[test]
    fn a_selection_after_list_suggests_show() {
        let error = |line: &str| {
            Args::parse_words(line.split(' ').map(Into::into)).expect_err("an unknown argument").to_string()
        };
        for (line, shown) in [
            ("core-relo prog list --name count", "`core-relo prog show --name count`"),
            ("core-relo --color never map list --pinned /a", "`core-relo map show --pinned /a`"),
            // bpftool's words.
            ("core-relo link list id 7", "`core-relo link show --id 7`"),
        ] {
            let text = error(line);
            assert!(text.contains(&format!("tip: `list` shows all: {shown}")), "{text}");
        }
        for line in ["core-relo net list --name count", "core-relo prog list --nam count"] {
            assert!(!error(line).contains("shows all"), "{line}");
        }
    }
}
