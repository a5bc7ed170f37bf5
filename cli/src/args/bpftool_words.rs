//! bpftool's words for an object, `prog show id 7`, as the options of this command: `prog show --id 7`.

use std::ffi::{OsStr, OsString};

/// bpftool's words, and the options for them.
const SELECTORS: &[(&str, &str)] =
    &[("id", "--id"), ("name", "--name"), ("pinned", "--pinned"), ("tag", "--tag")];

/// Returns the words of a command line with options in place of bpftool's words. The first word is the name of this command.
///
/// Only the words right after the subcommand are replaced. They have no other meaning there, because an object's id is a number.
pub(super) fn to_options(words: Vec<OsString>) -> Vec<OsString> {
    let Some((before, operands)) = split_after_subcommand(&words) else { return words };
    let [.., command, subcommand] = before else { return words };
    if !selects_object(command, subcommand) {
        return words;
    }
    let is_program_dump = command == "prog" && subcommand == "dump";
    let (form, rest) = match operands {
        [word, rest @ ..] if is_program_dump && word == "xlated" => (None, rest),
        [word, rest @ ..] if is_program_dump && word == "jited" => (Some("--jited"), rest),
        _ => (None, operands),
    };
    let option = match rest {
        [word, _value, ..] => SELECTORS.iter().find(|(selector, _)| word == selector),
        _ => None,
    };
    let skipped = usize::from(option.is_some());
    let options = form.into_iter().chain(option.map(|(_, option)| *option)).map(OsString::from);
    before.iter().cloned().chain(options).chain(rest.iter().skip(skipped).cloned()).collect()
}

/// Returns whether a subcommand begins with the selection of an object.
fn selects_object(command: &OsStr, subcommand: &OsStr) -> bool {
    match command.to_str() {
        Some("prog") => subcommand != "sign",
        Some("map") => subcommand != "create",
        Some("struct_ops") => subcommand != "register",
        Some("link") => true,
        Some("btf") => subcommand == "show",
        _ => false,
    }
}

/// Splits a command line after the subcommand.
fn split_after_subcommand(words: &[OsString]) -> Option<(&[OsString], &[OsString])> {
    let mut rest = words.get(1..)?;
    loop {
        rest = match rest {
            [option, _value, rest @ ..] if option == "--color" => rest,
            [option, rest @ ..] if is_option(option) => rest,
            [_command, _subcommand, rest @ ..] => {
                return words.split_at_checked(words.len().checked_sub(rest.len())?);
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
            ("core-relo btf show id 7", "core-relo btf show --id 7"),
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
            "core-relo map dump xlated id 7",
            "core-relo struct_ops dump jited id 7",
            // The first operand is a path.
            "core-relo map create name --type hash",
            "core-relo prog sign tag -k key.pem",
            "core-relo struct_ops register id dir",
            "core-relo btf dump id --format c",
            "core-relo load id 7",
            "core-relo --color",
        ] {
            assert_eq!(converted(line), line);
        }
    }
}
