//! The user's line up to the word that is completed.

use crate::args::bpftool_words::{NamedCommand, SELECTORS, select_object};
use clap::Command;
use std::{ffi::OsString, mem};

/// The words before the word that is completed.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The names of the command and its subcommand.
    pub(super) path: Vec<String>,
    /// The words after the names that are neither options nor their values.
    pub(super) operands: Vec<String>,
    /// Whether an option selects an object: `--id 7`.
    pub(super) is_selected: bool,
}

impl Line {
    /// Reads the words of a line, of which the one at `index` is completed. Replaces bpftool's words for an
    /// object by options. Their number stays, because the shell counts words.
    pub(super) fn read(words: &mut Vec<OsString>, index: usize, root: &Command) -> Self {
        let Some(current) = words.get_mut(index).map(mem::take) else { return Self::default() };
        let count = words.len();
        // The empty word stands for a value: the completed word is none of bpftool's.
        let mut options = select_object(mem::take(words), root);
        options.pop();
        let line = Self::from_options(&options, root);
        options.push(current);
        while options.len() < count {
            options.insert(1, "-v".into());
        }
        *words = options;
        line
    }

    fn from_options(words: &[OsString], root: &Command) -> Self {
        let named = NamedCommand::find(words, root);
        let path = named.path.iter().map(|name| (*name).to_owned()).collect();
        let mut line = Self { path, ..Self::default() };
        let mut words = words.iter().skip(named.end).map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                line.operands.push(word.into_owned());
                continue;
            }
            let (option, value) =
                word.split_once('=').map_or((&*word, None), |(option, value)| (option, Some(value)));
            let name = option.trim_start_matches('-');
            line.is_selected |= SELECTORS.contains(&name);
            let is_named = |arg: &&clap::Arg| match arg.get_long() {
                Some(long) if option.starts_with("--") => long == name,
                _ => arg.get_short().is_some_and(|short| name.ends_with(short)),
            };
            let takes_value = named
                .command
                .get_arguments()
                .find(is_named)
                .is_some_and(|arg| arg.get_action().takes_values());
            if takes_value && value.is_none() {
                words.next();
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    fn read(text: &str) -> (String, Line) {
        let mut words: Vec<_> = text.split(' ').map(OsString::from).collect();
        let (count, index) = (words.len(), words.len() - 1);
        let line = Line::read(&mut words, index, &Args::full_command());
        assert_eq!(words.len(), count, "{text}");
        (words.join(std::ffi::OsStr::new(" ")).into_string().expect("text"), line)
    }

    #[test]
    fn the_words_of_bpftool_become_options_and_stay_as_many() {
        for (line, expected) in [
            ("core-relo prog show id ", "core-relo prog show --id "),
            ("core-relo prog show id", "core-relo prog show id"),
            ("core-relo prog dump xlated", "core-relo prog dump xlated"),
            ("core-relo prog dump xlated id 7", "core-relo -v prog dump --id 7"),
            ("core-relo map update pinned /sys", "core-relo map update --pinned /sys"),
            ("core-relo -j map show name a", "core-relo -j map show --name a"),
            ("core-relo map show tag a", "core-relo map show tag a"),
        ] {
            assert_eq!(read(line).0, expected);
        }
    }

    #[test]
    fn operands_are_neither_options_nor_their_values() {
        for (text, operands, is_selected) in [
            ("core-relo prog profile 7 ", "7", false),
            ("core-relo prog profile 7 --duration 5 cycles c", "7 cycles", false),
            ("core-relo prog profile --duration=5 7 c", "7", false),
            ("core-relo map update --name limits 1 ", "1", true),
            ("core-relo map update name limits 1 ", "1", true),
            ("core-relo map lookup --hex 7 ", "7", false),
            ("core-relo prog dump -o out 7", "", false),
        ] {
            let (_, line) = read(text);
            assert_eq!(
                (line.operands.join(" ").as_str(), line.is_selected),
                (operands, is_selected),
                "{text}"
            );
        }
        let (_, line) = read("core-relo --color never struct_ops show ");
        assert_eq!(line.path, ["struct_ops", "show"]);
    }
}
