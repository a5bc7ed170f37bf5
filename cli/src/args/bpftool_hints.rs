//! Hints for users of bpftool: what a command line of bpftool, which does not parse here, is called here.

use super::bpftool_words::first_operand;
use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::{ffi::OsString, iter};

/// A command line of bpftool, and its counterpart.
struct Counterpart {
    /// Beginnings of command lines. One that starts with `-` is an option before the command.
    beginnings: &'static [&'static str],
    /// One of these words follows the beginning. If empty, any words do.
    keywords: &'static [&'static str],
    /// An example of bpftool's command line.
    bpftool: &'static str,
    /// The example as a command line of this command. `None` if there is no counterpart.
    here: Option<&'static str>,
}

const fn counterpart(
    beginnings: &'static [&'static str],
    keywords: &'static [&'static str],
    bpftool: &'static str,
    here: &'static str,
) -> Counterpart {
    Counterpart { beginnings, keywords, bpftool, here: Some(here) }
}

const fn no_counterpart(
    beginnings: &'static [&'static str],
    keywords: &'static [&'static str],
    bpftool: &'static str,
) -> Counterpart {
    Counterpart { beginnings, keywords, bpftool, here: None }
}

/// The counterparts. The first that fits a command line becomes the hint.
const COUNTERPARTS: &[Counterpart] = &[
    // Options that change what the command does.
    counterpart(
        &["-S", "--sign", "-k", "-i"],
        &[],
        "-S -k KEY -i CERT gen skeleton -L prog.bpf.o",
        "gen loader prog.bpf.o --signable -o prog.loader",
    ),
    counterpart(
        &["-L", "--use-loader"],
        &[],
        "-L gen skeleton prog.bpf.o",
        "gen loader prog.bpf.o -o prog.loader",
    ),
    counterpart(&["-B", "--base-btf"], &[], "-B vmlinux btf dump file veth", "btf dump veth --base vmlinux"),
    // Commands.
    counterpart(
        &["net attach"],
        &["tcx_ingress", "tcx_egress"],
        "net attach tcx_ingress id 7 dev eth0",
        "prog attach 7 --to dev:eth0,ingress",
    ),
    counterpart(
        &["net attach"],
        &["overwrite"],
        "net attach xdpgeneric id 7 dev eth0 overwrite",
        "prog attach 7 --to dev:eth0,xdpgeneric --replace",
    ),
    counterpart(&["net attach"], &[], "net attach xdp id 7 dev eth0", "prog attach 7 --to dev:eth0"),
    counterpart(&["net detach"], &[], "net detach xdp dev eth0", "prog detach 7 --from dev:eth0"),
    counterpart(
        &["prog load", "prog loadall"],
        LOADER_PROGRAM,
        "prog load -L prog.bpf.o PATH",
        "gen loader prog.bpf.o -o prog.loader",
    ),
    no_counterpart(
        &["prog load", "prog loadall"],
        &["dev", "offload_dev", "xdpmeta_dev"],
        "prog load prog.bpf.o PATH offload_dev eth0",
    ),
    counterpart(
        &["prog load", "prog loadall"],
        &["autoattach"],
        "prog loadall prog.bpf.o DIR autoattach",
        "load prog.bpf.o --attach --pin DIR",
    ),
    counterpart(
        &["prog load", "prog loadall"],
        &["kernel_btf"],
        "prog load prog.bpf.o PATH kernel_btf FILE",
        "load prog.bpf.o --pin DIR --relocate-against FILE",
    ),
    counterpart(
        &["prog load", "prog loadall"],
        &["map"],
        "prog load prog.bpf.o PATH map name counts id 7",
        "load prog.bpf.o --reuse-map counts=7 --pin DIR",
    ),
    counterpart(
        &["prog loadall"],
        &[],
        "prog loadall prog.bpf.o DIR pinmaps MAP_DIR",
        "load prog.bpf.o --pin DIR",
    ),
    counterpart(&["prog load"], &[], "prog load prog.bpf.o PATH", "load prog.bpf.o --pin DIR"),
    counterpart(
        &["prog attach"],
        &["flow_dissector"],
        "prog attach id 7 flow_dissector",
        "prog attach 7 --to netns:/proc/self/ns/net",
    ),
    counterpart(
        &["prog attach"],
        SOCKMAP_ATTACH_TYPES,
        "prog attach id 7 sk_skb_stream_verdict id 9",
        "prog attach 7 --to map:9,sk_skb_stream_verdict",
    ),
    counterpart(
        &["prog detach"],
        &["flow_dissector"],
        "prog detach id 7 flow_dissector",
        "prog detach 7 --from netns:/proc/self/ns/net",
    ),
    counterpart(
        &["prog detach"],
        SOCKMAP_ATTACH_TYPES,
        "prog detach id 7 sk_skb_stream_verdict id 9",
        "prog detach 7 --from map:9,sk_skb_stream_verdict",
    ),
    counterpart(&["prog dump"], &["visual"], "prog dump xlated id 7 visual", "prog dump 7 --graph"),
    counterpart(&["prog dump"], &["file"], "prog dump xlated id 7 file FILE", "prog dump 7 -o FILE"),
    counterpart(
        &["prog dump"],
        &["opcodes", "linum"],
        "prog dump xlated id 7 opcodes linum",
        "prog dump 7 --opcodes --linum",
    ),
    counterpart(
        &["prog run"],
        &["data_in", "data_out", "data_size_out", "ctx_in", "ctx_out", "ctx_size_out", "repeat"],
        "prog run id 7 data_in FILE repeat 1000",
        "prog run 7 --data-in FILE --repeat 1000",
    ),
    counterpart(&["prog tracelog"], &["stdout"], "prog tracelog stdout id 7", "prog stream 7"),
    counterpart(&["prog tracelog"], &["stderr"], "prog tracelog stderr id 7", "prog stream 7 --stderr"),
    no_counterpart(
        &["map create"],
        &["dev", "offload_dev"],
        "map create PATH type hash key 4 value 8 entries 64 name limits offload_dev eth0",
    ),
    counterpart(
        &["map create"],
        &["type", "key", "value", "entries", "flags", "inner_map"],
        "map create PATH type hash key 4 value 8 entries 64 name limits",
        "map create PATH --type hash --key-size 4 --value-size 8 --max-entries 64 --name limits",
    ),
    counterpart(&["map event_pipe"], &["cpu", "index"], "map event_pipe id 7 cpu 0 index 0", "map events 7"),
    counterpart(
        &["cgroup attach"],
        &["multi"],
        "cgroup attach PATH connect4 id 7 multi",
        "prog attach 7 --to cgroup:PATH,connect4",
    ),
    counterpart(
        &["cgroup attach"],
        &["override"],
        "cgroup attach PATH connect4 id 7 override",
        "prog attach 7 --to cgroup:PATH,connect4 --sharing override",
    ),
    counterpart(
        &["cgroup attach"],
        &[],
        "cgroup attach PATH connect4 id 7",
        "prog attach 7 --to cgroup:PATH,connect4 --sharing exclusive",
    ),
    counterpart(
        &["cgroup detach"],
        &[],
        "cgroup detach PATH connect4 id 7",
        "prog detach 7 --from cgroup:PATH,connect4",
    ),
    counterpart(
        &["cgroup show", "cgroup list"],
        &["effective"],
        "cgroup show PATH effective",
        "cgroup list PATH --effective",
    ),
    counterpart(
        &["cgroup tree"],
        &["effective"],
        "cgroup tree PATH effective",
        "cgroup tree PATH --effective",
    ),
    counterpart(&["btf dump file"], &["c"], "btf dump file vmlinux format c", "btf dump vmlinux --format c"),
    counterpart(&["btf dump file"], &[], "btf dump file vmlinux", "btf dump vmlinux"),
    counterpart(&["btf dump id"], &[], "btf dump id 12", "btf dump --kernel-id 12"),
    counterpart(&["btf dump prog", "btf dump map"], &[], "btf dump prog id 7", "btf dump --kernel-id N"),
    counterpart(
        &["gen skeleton"],
        LOADER_PROGRAM,
        "gen skeleton -L prog.bpf.o",
        "gen loader prog.bpf.o -o prog.loader",
    ),
    counterpart(&["gen skeleton"], &[], "gen skeleton prog.bpf.o", "gen rust prog.bpf.o"),
    no_counterpart(&["gen subskeleton"], &[], "gen subskeleton prog.bpf.o"),
    counterpart(
        &["gen min_core_btf"],
        &[],
        "gen min_core_btf vmlinux min.btf prog.bpf.o",
        "btf min prog.bpf.o --btf vmlinux -o min.btf",
    ),
    counterpart(
        &["iter pin"],
        &["map"],
        "iter pin OBJ PATH map name counts",
        "iter pin OBJ PATH --map counts",
    ),
    counterpart(&["batch file"], &[], "batch file FILE", "batch FILE"),
    // Options that change how the command prints or prepares.
    counterpart(&["-d", "--debug"], &[], "-d prog list", "-vv prog list"),
    counterpart(&["-n", "--nomount"], &[], "-n prog list", "prog list"),
    no_counterpart(&["-l", "--legacy"], &[], "-l prog list"),
    no_counterpart(&["-m", "--mapcompat"], &[], "-m prog list"),
];

const LOADER_PROGRAM: &[&str] = &["-L", "--use-loader"];

const SOCKMAP_ATTACH_TYPES: &[&str] =
    &["sk_msg_verdict", "sk_skb_verdict", "sk_skb_stream_verdict", "sk_skb_stream_parser"];

/// Adds the hint that fits a command line to the error of parsing it. The first word is the name of this
/// command.
pub(super) fn add_hint(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    // The text of other kinds is a help text.
    let is_problem =
        error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    // Clap's suggestion of an option is for a typing error in an option of this command.
    let is_typing_error = error.get(ContextKind::SuggestedArg).is_some();
    if is_problem
        && !is_typing_error
        && let Some(counterpart) = find(words)
    {
        error.remove(ContextKind::SuggestedSubcommand);
        let hint = ContextValue::StyledStrs(vec![StyledStr::from(counterpart.text())]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}

/// Returns the first counterpart that fits a command line.
fn find(words: &[OsString]) -> Option<&'static Counterpart> {
    let place = first_operand(words, 1).unwrap_or(words.len());
    // A word that is no UTF-8 is none of bpftool's.
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or("")).collect();
    let (options, command) = words.split_at_checked(place)?;
    COUNTERPARTS.iter().find(|counterpart| {
        counterpart.beginnings.iter().any(|beginning| {
            let mut rest = command.iter();
            let is_option = options.contains(beginning);
            (is_option || beginning.split(' ').all(|expected| rest.next() == Some(&expected)))
                && counterpart.has_keyword(rest.as_slice())
        })
    })
}

impl Counterpart {
    /// Returns whether one of the keywords is among some words. A word after an option may be its value, and
    /// is none.
    fn has_keyword(&self, words: &[&str]) -> bool {
        let mut pairs = iter::once(&"").chain(words).zip(words);
        self.keywords.is_empty()
            || pairs.any(|(before, word)| !before.starts_with('-') && self.keywords.contains(word))
    }

    fn text(&self) -> String {
        match self.here {
            Some(here) => {
                format!("bpftool's `{}` is `core-relo {here}` here (docs/coming-from.md)", self.bpftool)
            }
            None => format!("bpftool's `{}` has no counterpart here (docs/coming-from.md)", self.bpftool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use std::{fs, path::Path};

    fn words(line: &str) -> Vec<OsString> {
        ["core-relo"].into_iter().chain(line.split(' ')).map(OsString::from).collect()
    }

    fn error(line: &str) -> String {
        let parsed = Args::parse_words(words(line).into_iter());
        parsed.err().unwrap_or_else(|| unreachable!("`{line}` parses")).to_string()
    }

    #[test]
    fn each_example_of_bpftool_gets_its_hint() {
        for counterpart in COUNTERPARTS {
            let error = error(counterpart.bpftool);
            assert!(
                error.contains(&format!("tip: {}", counterpart.text())),
                "{}: {error}",
                counterpart.bpftool
            );
        }
    }

    #[test]
    fn each_counterpart_parses() {
        for here in COUNTERPARTS.iter().filter_map(|counterpart| counterpart.here) {
            // `N` stands for a number.
            let line = here.replace("--kernel-id N", "--kernel-id 12");
            let parsed = Args::parse_words(words(&line).into_iter());
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    /// Returns whether a line of bpftool in the first column has a beginning.
    fn names_beginning(column: &str, beginning: &str) -> bool {
        column.split('`').skip(1).step_by(2).any(|line| {
            let line = line.strip_prefix("bpftool ").unwrap_or(line);
            match beginning.starts_with('-') {
                true => line.split(' ').any(|word| word == beginning),
                false => format!("{line} ").starts_with(&format!("{beginning} ")),
            }
        })
    }

    /// The tip names the document, which has to say the same: a row with the example, the other beginnings
    /// and the counterpart.
    #[test]
    fn the_document_has_each_counterpart() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coming-from.md");
        let document = fs::read_to_string(path).unwrap();
        let section = document.split("## Commands").nth(1).unwrap();
        let rows: Vec<_> =
            section.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).collect();
        let missing = COUNTERPARTS.iter().filter(|counterpart| {
            !rows.iter().any(|(bpftool, here)| {
                bpftool.contains(&format!("`bpftool {}`", counterpart.bpftool))
                    && counterpart.beginnings.iter().all(|beginning| names_beginning(bpftool, beginning))
                    && here.contains(&counterpart.here.map_or("—".to_owned(), |here| format!("`{here}`")))
            })
        });
        let missing: Vec<_> =
            missing.map(|counterpart| (counterpart.text(), counterpart.beginnings)).collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }

    #[test]
    fn keywords_and_values_choose_the_hint() {
        for (line, here) in [
            ("net attach xdp id 7 dev lo", "prog attach 7 --to dev:eth0`"),
            ("net attach tcx_egress id 7 dev lo", "--to dev:eth0,ingress`"),
            ("-j net attach xdp id 7 dev lo", "prog attach 7 --to dev:eth0`"),
            ("--debug prog show id 7", "-vv prog list`"),
            ("--color never net attach xdp id 7 dev lo", "prog attach 7 --to dev:eth0`"),
            ("--color never --base-btf vmlinux btf dump file a", "btf dump veth --base vmlinux`"),
            ("prog load a.o /sys/fs/bpf/a type xdp", "load prog.bpf.o --pin DIR`"),
            ("prog loadall a.o /sys/fs/bpf/a autoattach", "load prog.bpf.o --attach --pin DIR`"),
            ("btf dump file a format raw", "btf dump vmlinux`"),
            ("btf dump map name counts kv", "btf dump --kernel-id N`"),
        ] {
            let error = error(line);
            assert!(error.contains(here), "{line}: {error}");
        }
    }

    #[test]
    fn suggestions_for_typing_errors_stay() {
        for (line, suggestion) in [
            ("prog dump 7 -o file --opcods", "a similar argument exists: '--opcodes'"),
            ("map create P --name key --tpye hash", "a similar argument exists: '--type'"),
        ] {
            let error = error(line);
            assert!(error.contains(suggestion), "{line}: {error}");
        }
    }

    #[test]
    fn other_errors_have_no_hint() {
        for line in [
            "prog run 7 --data_in file",
            // Keywords as values of options.
            "prog dump 7 -o file --opcods",
            "prog dump 7 -o file --nonsense",
            "map create P --name key --tpye hash",
            "prog dump 7 --visual",
            "prog attach 7 --to nonsense:x",
            "map create /sys/fs/bpf/m --type hsah",
            "map event_pipe",
            "gen object out.o",
            "btf dump a b",
            "nonsense net attach",
            "check --nonsense",
            "prog",
            "net --help",
        ] {
            assert!(!error(line).contains("bpftool's"), "{line}: {}", error(line));
        }
    }
}
