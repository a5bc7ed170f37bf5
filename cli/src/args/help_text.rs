//! The texts after the options in `--help`. Their paragraphs become single lines, which clap wraps at the
//! width of the terminal.

use clap::Command;

/// The start of a line that stays a line of its own.
const EXIT_STATUS: &str = "Exit status";

/// Joins the lines of paragraphs in the help of a command and of its subcommands.
pub(super) fn with_joined_paragraphs(command: Command) -> Command {
    let joined = command.get_after_help().map(|help| join_paragraphs(&help.to_string()));
    let command = match joined {
        Some(help) => command.after_help(help),
        None => command,
    };
    command.mut_subcommands(with_joined_paragraphs)
}

/// Joins the lines of each paragraph. Indented lines are examples and lists, and stay as they are.
fn join_paragraphs(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut continues = false;
    for line in text.lines() {
        let is_text = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if continues && is_text && !line.starts_with(EXIT_STATUS) { ' ' } else { '\n' });
        }
        joined.push_str(line);
        continues = is_text;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "Examples:\n  core-relo a\n  core-relo b\n\nOne sentence, which\ngoes on. Another.\nExit status: 0, or\n2 if not.";
        let joined = "Examples:\n  core-relo a\n  core-relo b\n\nOne sentence, which goes on. Another.\nExit status: 0, or 2 if not.";
        assert_eq!(join_paragraphs(text), joined);
    }

    /// Wrapped examples cannot be copied, and wrapped lists are hard to read.
    #[test]
    fn examples_and_lists_fit_in_100_columns() {
        fn check(command: &Command) {
            let help = command.get_after_help().map_or_else(String::new, ToString::to_string);
            for line in help.lines().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Args::described_command());
    }
}
