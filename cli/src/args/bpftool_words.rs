//! bpftool's words for an object, `prog show id 7`, as the options of this command: `prog show --id 7`.

use std::ffi::{OsStr, OsString};

/// The commands whose subcommands select an object.
const COMMANDS: &[&str] = &["prog", "map", "link", "struct_ops"];

/// bpftool's words, and the options for them.
const SELECTORS: &[(&str, &str)] =
    &[("id", "--id"), ("name", "--name"), ("pinned", "--pinned"), ("tag", "--tag")];

/// Returns the words of a command line with options in place of bpftool's words. The first word is the name of this command.
///
/// Only the words right after the subcommand are replaced. They have no other meaning there, because an object's id is a number.
pub(super) fn to_options(words: Vec<OsString>) -> Vec<OsString> {
    let Some((before, after)) = split_after_subcommand(&words) else { return words };
    let is_dump = before.last().is_some_and(|subcommand| subcommand == "dump");
    let (form, after) = match after {
        [word, rest @ ..] if is_dump && word == "xlated" => (None, rest),
        [word, rest @ ..] if is_dump && word == "jited" => (Some("--jited"), rest),
        _ => (None, after),
    };
    let option = match after {
        [word, _value, ..] => SELECTORS.iter().find(|(selector, _)| word == selector),
        _ => None,
    };
    let skipped = usize::from(option.is_some());
    let options = form.into_iter().chain(option.map(|(_, option)| *option)).map(OsString::from);
    before.iter().cloned().chain(options).chain(after.iter().skip(skipped).cloned()).collect()
}

/// Splits a command line after the subcommand of one of [`COMMANDS`].
fn split_after_subcommand(words: &[OsString]) -> Option<(&[OsString], &[OsString])> {
    let mut rest = words.get(1..)?;
    loop {
        rest = match rest {
            [option, _value, rest @ ..] if option == "--color" => rest,
            [option, rest @ ..] if is_option(option) => rest,
            [command, _subcommand, rest @ ..] if COMMANDS.iter().any(|known| command == known) => {
                let before = words.len().checked_sub(rest.len())?;
                return words.split_at_checked(before);
            }
            _ => return None,
        };
    }
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(line: &str) -> String {
        let words = to_options(line.split(' ').map(OsString::from).collect());
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn selecting_words_of_bpftool_become_options() {
        for (line, expected) in [
            ("core-relo prog show id 7", "core-relo prog show --id 7"),
            ("core-relo map dump name counts", "core-relo map dump --name counts"),
            ("core-relo link detach pinned /sys/fs/bpf/l", "core-relo link detach --pinned /sys/fs/bpf/l"),
            ("core-relo prog show tag 0011223344556677", "core-relo prog show --tag 0011223344556677"),
            (
                "core-relo --color never map lookup id 7 key 1",
                "core-relo --color never map lookup --id 7 key 1",
            ),
            ("core-relo prog dump xlated id 7", "core-relo prog dump --id 7"),
            ("core-relo prog dump jited name a --opcodes", "core-relo prog dump --jited --name a --opcodes"),
            ("core-relo prog dump jited 7", "core-relo prog dump --jited 7"),
        ] {
            assert_eq!(converted(line), expected);
        }
    }

    #[test]
    fn other_words_stay() {
        for line in [
            "core-relo",
            "core-relo prog",
            "core-relo prog show",
            "core-relo prog show id",
            "core-relo prog show 7",
            "core-relo prog show --name id",
            "core-relo map lookup 7 id 1",
            "core-relo map show xlated id",
            "core-relo load id 7",
            "core-relo --color",
        ] {
            assert_eq!(converted(line), line);
        }
    }
}
