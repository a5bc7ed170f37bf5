//! bpftool's words for an object, `prog show id 7`, as the options of this command: `prog show --id 7`. The
//! same for bpftool's options for JSON, `-j` and `-p`, for pins, `-f`, and for `version`.

use clap::{Arg, Command};
use std::ffi::{OsStr, OsString};

/// bpftool's words that select an object. The options of the same names select it here.
pub(super) const SELECTORS: &[&str] = &["id", "name", "pinned", "tag"];

/// bpftool's command for its version.
const VERSION: &str = "version";

/// Returns the words of a command line with options in place of bpftool's words. The first word is the name
/// of this command, `root`.
pub(super) fn to_options(words: Vec<OsString>, root: &Command) -> Vec<OsString> {
    let (words, asks_json) = without_bpftool_options(words, root);
    if let Some((last, before)) = words.split_last()
        && last == VERSION
        && is_command_place(before)
    {
        return before.iter().cloned().chain([OsString::from("--version")]).collect();
    }
    let mut words = select_object(words, root);
    if asks_json {
        let end = NamedCommand::find(&words, root).end;
        words.splice(end..end, ["--format", "json"].map(OsString::from));
    }
    words
}

/// Replaces the words that select an object.
///
/// Only the words right after the subcommand are replaced. They have no other meaning there, because an
/// object's id is a number.
pub(super) fn select_object(mut words: Vec<OsString>, root: &Command) -> Vec<OsString> {
    let NamedCommand { command, path, end: mut place } = NamedCommand::find(&words, root);
    let [group, subcommand] = *path else { return words };
    if (group, subcommand) == ("iter", "pin") {
        select_map(&mut words, place);
        return words;
    }
    if !selects_object(group, subcommand) {
        return words;
    }
    if let (("prog", "dump"), Some(form)) = ((group, subcommand), words.get_mut(place)) {
        if form == "jited" {
            *form = "--jited".into();
            place += 1;
        } else if form == "xlated" {
            words.remove(place);
        }
    }
    if let Some([word, _value, ..]) = words.get_mut(place..)
        && let Some(selector) = SELECTORS.iter().find(|selector| word == **selector)
        && has_option(command, selector)
    {
        *word = format!("--{selector}").into();
    }
    words
}

/// Replaces the words that select the map of an iterator, `map id 7`, which follow the object and the path.
/// `--map` takes a word without a slash for an id or a name.
fn select_map(words: &mut Vec<OsString>, operands: usize) {
    let selection = words.windows(3).enumerate().skip(operands + 2).find_map(|(start, words)| {
        let [map, selector, word] = words else { return None };
        let is_id = || word.to_str().is_some_and(|word| word.parse::<u32>().is_ok());
        let prefix = match (map.to_str()?, selector.to_str()?) {
            ("map", "id") if is_id() => "",
            ("map", "pinned") if word.as_encoded_bytes().contains(&b'/') => "",
            ("map", "pinned") if !word.is_empty() => "./",
            _ => return None,
        };
        let mut map = OsString::from(prefix);
        map.push(word);
        Some((start, map))
    });
    if let Some((start, map)) = selection {
        words.splice(start..start + 3, [OsString::from("--map"), map]);
    }
}

/// Returns whether a subcommand begins with the selection of an object.
fn selects_object(command: &str, subcommand: &str) -> bool {
    match command {
        "prog" => subcommand != "sign",
        "map" => subcommand != "create",
        "struct_ops" => subcommand != "register",
        "link" => true,
        "btf" => subcommand == "show",
        "iter" => subcommand == "read",
        _ => false,
    }
}

/// The commands that bpftool has, too. It takes `--bpffs` with each of them.
const WITH_BPFFS: [&str; 12] =
    ["prog", "map", "link", "btf", "struct_ops", "net", "perf", "cgroup", "iter", "token", "feature", "gen"];

/// Removes bpftool's options for JSON and for pins, and returns whether the named command prints JSON because
/// of them. They stand before the command or after it. Pins are always shown.
///
/// Words stay if the command has no `--format`, and after a command to which they are something else:
/// `check -j 2`, or the words of `vm --command`. Before the names of `version` and of groups of commands,
/// they are removed too: an error is then about the other words.
fn without_bpftool_options(mut words: Vec<OsString>, root: &Command) -> (Vec<OsString>, bool) {
    let NamedCommand { command, end, path } = NamedCommand::find(&words, root);
    let takes_bpffs = path.first().is_none_or(|command| WITH_BPFFS.contains(command));
    let has = |is_wanted: &dyn Fn(&Arg) -> bool| command.get_arguments().any(is_wanted);
    let has_format = has_option(command, "format");
    let literal = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let limit = match first_operand(&words, end) {
        _ if has_format => literal,
        _ if !command.has_subcommands() => return (words, false),
        Some(place) if words.get(place).is_some_and(|word| word == VERSION) => literal,
        Some(place) => place,
        None => end,
    };
    let takes_any_word = has(&Arg::is_allow_hyphen_values_set);
    // Returns whether an option of bpftool asks for JSON; `None` for another word.
    let option = |place: usize, word: &OsStr| match (place, word.to_str()) {
        (0, _) | (_, None) => None,
        (place, _) if place >= limit || (place >= end && takes_any_word) => None,
        (_, Some("--json" | "--pretty")) => Some(true),
        (_, Some("--bpffs")) if takes_bpffs => Some(false),
        (place, Some(word)) => {
            let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty())?;
            let is_free = |letter| place < end || !has(&|arg| arg.get_short() == Some(letter));
            let is_known = |letter| matches!(letter, 'j' | 'p') || letter == 'f' && takes_bpffs;
            letters.chars().all(|c| is_known(c) && is_free(c)).then(|| letters.contains(['j', 'p']))
        }
    };
    let mut asks_json = false;
    let mut place = 0..;
    words.retain(|word| match place.next().and_then(|place| option(place, word)) {
        Some(asks) => {
            asks_json |= asks;
            false
        }
        None => true,
    });
    (words, asks_json && has_format)
}

/// Returns whether a command has an option of this name.
pub(super) fn has_option(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(name))
}

/// The command that a command line names.
pub(super) struct NamedCommand<'c> {
    pub(super) command: &'c Command,
    /// The names of the command and of its parents, without aliases and without this program's name.
    pub(super) path: Vec<&'c str>,
    /// The place of the word after the last name.
    pub(super) end: usize,
}

impl<'c> NamedCommand<'c> {
    pub(super) fn find(words: &[OsString], root: &'c Command) -> Self {
        let mut named = Self { command: root, path: Vec::new(), end: 1 };
        while let Some(place) = first_operand(words, named.end)
            && let Some(command) = words.get(place).and_then(|word| named.command.find_subcommand(word))
        {
            named.command = command;
            named.path.push(command.get_name());
            named.end = place + 1;
        }
        named
    }
}

/// Returns whether the word after these words names a command.
fn is_command_place(words: &[OsString]) -> bool {
    !words.is_empty()
        && first_operand(words, 1).is_none()
        && words.last().is_none_or(|word| word != "--color")
}

/// Returns the place of the first word, from `start` on, that is neither an option nor the value of one that
/// every command has.
pub(super) fn first_operand(words: &[OsString], start: usize) -> Option<usize> {
    let mut place = start;
    loop {
        let word = words.get(place)?;
        match word {
            word if word == "--" => return None,
            word if word == "--color" => place += 2,
            word if word.as_encoded_bytes().starts_with(b"-") => place += 1,
            _ => return Some(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    fn converted(line: &str) -> String {
        let words = to_options(line.split(' ').map(OsString::from).collect(), &Args::full_command());
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
            ("core-relo prog --color never show -v id 7", "core-relo prog --color never show -v id 7"),
            ("core-relo map event_pipe id 7", "core-relo map event_pipe --id 7"),
            ("core-relo prog pin tag 0011223344556677 P", "core-relo prog pin --tag 0011223344556677 P"),
            ("core-relo iter read pinned /sys/fs/bpf/it", "core-relo iter read --pinned /sys/fs/bpf/it"),
            ("core-relo iter pin a.o P map id 7", "core-relo iter pin a.o P --map 7"),
            ("core-relo iter pin a.o P map pinned 7", "core-relo iter pin a.o P --map ./7"),
            ("core-relo iter pin map id map pinned P/m -v", "core-relo iter pin map id --map P/m -v"),
        ] {
            assert_eq!(converted(line), expected);
        }
    }

    #[test]
    fn json_options_of_bpftool_become_the_format() {
        for (line, expected) in [
            ("core-relo -j prog list", "core-relo prog list --format json"),
            ("core-relo --json --pretty prog list", "core-relo prog list --format json"),
            ("core-relo -jp prog show id 7", "core-relo prog show --format json --id 7"),
            ("core-relo prog show -j id 7", "core-relo prog show --format json --id 7"),
            ("core-relo prog show -p 7", "core-relo prog show --format json 7"),
            ("core-relo map -v list -j", "core-relo map -v list --format json"),
            ("core-relo btf dump vmlinux -j", "core-relo btf dump --format json vmlinux"),
            // Pins are always shown.
            ("core-relo -f prog list", "core-relo prog list"),
            ("core-relo prog show id 7 -f", "core-relo prog show --id 7"),
            ("core-relo -jf map show name m", "core-relo map show --format json --name m"),
            ("core-relo --bpffs link list -j", "core-relo link list --format json"),
            // These have no format. An error is about the other words.
            ("core-relo -j prog", "core-relo prog"),
            ("core-relo -j prog shwo", "core-relo prog shwo"),
            ("core-relo prog -p shwo -j", "core-relo prog shwo -j"),
            ("core-relo -j shwo", "core-relo shwo"),
            ("core-relo -j check -j 2 a.o", "core-relo check --format json -j 2 a.o"),
            ("core-relo prog stats -j -- jq -j", "core-relo prog stats --format json -- jq -j"),
            ("core-relo -p vm --command bpftool -j -p", "core-relo vm --format json --command bpftool -j -p"),
        ] {
            assert_eq!(converted(line), expected);
        }
    }

    #[test]
    fn the_word_version_is_the_version() {
        for (line, expected) in [
            ("core-relo version", "core-relo --version"),
            ("core-relo --color never version", "core-relo --color never --version"),
            ("core-relo load version", "core-relo load version"),
            ("core-relo -j version", "core-relo --version"),
            ("core-relo version -j", "core-relo --version"),
            ("core-relo --json --pretty version", "core-relo --version"),
            ("core-relo --color version", "core-relo --color version"),
            ("core-relo version prog", "core-relo version prog"),
            ("version", "version"),
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
            // Only programs have tags, and `btf show` has no pins.
            "core-relo map show tag 0011223344556677",
            "core-relo link show tag 0011223344556677",
            "core-relo btf show pinned /sys/fs/bpf/p",
            "core-relo prog list name count",
            "core-relo map lookup 7 id 1",
            "core-relo map show xlated id",
            "core-relo map dump xlated id 7",
            "core-relo struct_ops dump jited id 7",
            // The first operand is a path.
            "core-relo map create name --type hash",
            "core-relo prog sign tag -k key.pem",
            "core-relo struct_ops register id dir",
            "core-relo btf dump id --format c",
            "core-relo iter pin map id 7",
            "core-relo iter pin a.o P map name 7",
            "core-relo iter pin a.o P map id counts",
            "core-relo iter pin a.o P map id 99999999999",
            "core-relo load id 7",
            "core-relo --color",
            "core-relo -f check a.o",
            "core-relo check --bpffs a.o",
            // The jobs of these commands.
            "core-relo check -j 2 a.o",
            "core-relo btf encode a -o b -j 2",
            // These have no format.
            "core-relo -j",
            "core-relo -j iter read 3",
            "core-relo prog show --",
            "core-relo prog list - --jsonp -x -jx",
            "-j",
        ] {
            assert_eq!(converted(line), line);
        }
    }
}
