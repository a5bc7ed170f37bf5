//! The cases in `bpf-progs/` and their directives (`//# …`; the grammar is in `bpf-progs/README.md`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::compilers::Compiler;
use crate::system::{Outcome, files_below, read, root};

/// A test program `<topic>/<case>.bpf.c` and its target types `<case>.<target>.c`. Paths are relative to
/// `bpf-progs/`.
#[derive(Debug)]
pub struct Case {
    pub program: Source,
    pub targets: BTreeMap<String, Source>,
    /// The names in the `target:` directive.
    pub listed: Vec<String>,
}

/// One C file and the directives for its compilation.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    pub requires: Vec<Requirement>,
    pub cflags: Vec<String>,
    /// Flags for the host's C compiler, if it builds this file instead of a BPF compiler.
    pub host_cc: Option<Vec<String>>,
    /// Lines that begin with `//#` and are not a known directive.
    pub unknown: Vec<String>,
}

/// `clang>=16` in a `requires:` directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub family: String,
    pub at_least: u32,
}

/// Target names that do not stand for a file of types.
pub const NOT_FILES: [&str; 2] = ["self", "kernels"];

impl Case {
    /// `topic/case`.
    pub fn name(&self) -> String {
        self.program.path.to_string_lossy().trim_end_matches(".bpf.c").to_owned()
    }
}

impl Source {
    /// Returns the requirement that `compiler` does not meet, if any.
    pub fn unmet_requirement(&self, compiler: &Compiler) -> Option<String> {
        let fits = |r: &Requirement| r.family == compiler.family && compiler.version >= r.at_least;
        let required: Vec<_> =
            self.requires.iter().map(|r| format!("{}>={}", r.family, r.at_least)).collect();
        if self.requires.iter().any(fits) { None } else { Some(format!("needs {}", required.join(" or "))) }
    }

    /// Returns whether the file has no `requires:` directive.
    pub fn is_default(&self) -> bool {
        self.requires == default_requirements()
    }

    /// Returns the object's path below a `<compiler>/<order>/` directory.
    pub fn object(&self) -> PathBuf {
        self.path.with_extension("o")
    }

    fn read(dir: &Path, path: PathBuf) -> Outcome<Self> {
        let text = read(&dir.join(&path))?;
        Ok(Self { path, ..Self::parse(&text) })
    }

    fn parse(text: &str) -> Self {
        let mut source = Self {
            path: PathBuf::new(),
            requires: default_requirements(),
            cflags: Vec::new(),
            host_cc: None,
            unknown: Vec::new(),
        };
        for line in text.lines() {
            let Some(directive) = line.strip_prefix("//#") else { continue };
            let words = |rest: &str| rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            match directive.trim().split_once(':') {
                Some(("requires", rest)) => match rest.split(',').map(Requirement::parse).collect() {
                    Some(requires) => source.requires = requires,
                    None => source.unknown.push(line.to_owned()),
                },
                Some(("cflags", rest)) => source.cflags = words(rest),
                Some(("host-cc", rest)) => source.host_cc = Some(words(rest)),
                Some(("target", _)) => {}
                _ if is_expectation(directive.trim()) => {}
                _ => source.unknown.push(line.to_owned()),
            }
        }
        source
    }
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let (family, at_least) = text.trim().split_once(">=")?;
        Some(Self { family: family.to_owned(), at_least: at_least.parse().ok()? })
    }
}

/// The requirement of a case without a `requires:` directive. GCC 12 knows only one of the thirteen
/// relocation kinds.
fn default_requirements() -> Vec<Requirement> {
    let any = |family: &str, at_least| Requirement { family: family.to_owned(), at_least };
    vec![any("clang", 14), any("gcc", 14)]
}

/// Returns every case, sorted by topic and name.
pub fn read_all() -> Outcome<Vec<Case>> {
    let dir = dir();
    let sources: Vec<PathBuf> = files_below(&dir)
        .iter()
        .filter_map(|file| file.strip_prefix(&dir).ok().map(Path::to_path_buf))
        .filter(|file| file.extension().is_some_and(|ext| ext == "c"))
        .collect();
    let mut cases = Vec::new();
    for path in sources.iter().filter(|path| path.to_string_lossy().ends_with(".bpf.c")) {
        let stem = path.to_string_lossy().trim_end_matches("bpf.c").to_owned();
        let mut targets = BTreeMap::new();
        for other in sources.iter().filter(|other| *other != path) {
            let name = other.to_string_lossy();
            if let Some(target) = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".c")) {
                targets.insert(target.to_owned(), Source::read(&dir, other.clone())?);
            }
        }
        let listed = listed_targets(&read(&dir.join(path))?);
        cases.push(Case { program: Source::read(&dir, path.clone())?, targets, listed });
    }
    Ok(cases)
}

/// `bpf-progs/`.
pub fn dir() -> PathBuf {
    root().join("bpf-progs")
}

fn listed_targets(text: &str) -> Vec<String> {
    let lists = text.lines().filter_map(|line| line.strip_prefix("//# target:"));
    lists.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

/// `expect[el] TARGET SECTION#RECORD KIND OUTCOME [LOCAL->TARGET]`
fn is_expectation(directive: &str) -> bool {
    let words: Vec<_> = directive.split_whitespace().collect();
    let (["expect" | "expect[el]" | "expect[eb]", _, record, kind, outcome, values @ ..], true) =
        (words.as_slice(), words.len() <= 6)
    else {
        return false;
    };
    let numbered = record.rsplit_once('#').is_some_and(|(_, n)| n.parse::<u32>().is_ok());
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.strip_prefix("0x").map_or(digits.parse::<u64>(), |hex| u64::from_str_radix(hex, 16)).is_ok()
    };
    let valued = values.iter().all(|pair| pair.split_once("->").is_some_and(|(a, b)| number(a) && number(b)));
    let known = matches!(*outcome, "keep" | "patch" | "poison" | "error") && KINDS.contains(kind);
    numbered && valued && known
}

const KINDS: [&str; 13] = [
    "field_byte_offset",
    "field_byte_size",
    "field_exists",
    "field_signed",
    "field_lshift_u64",
    "field_rshift_u64",
    "type_id_local",
    "type_id_target",
    "type_exists",
    "type_size",
    "enumval_exists",
    "enumval_value",
    "type_matches",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read() {
        let source =
            Source::parse("//# requires: clang>=16, gcc>=12\n//# cflags: -mcpu=v4\nint x;\n//# what\n");
        assert_eq!(source.requires[1], Requirement { family: "gcc".to_owned(), at_least: 12 });
        assert_eq!(source.cflags, ["-mcpu=v4"]);
        assert_eq!(source.unknown, ["//# what"]);
        assert_eq!(listed_targets("//# target: a b\n//# target: c\n"), ["a", "b", "c"]);
    }

    #[test]
    fn expectations_have_one_form() {
        assert!(is_expectation("expect same raw_tp/load#0 field_byte_offset patch 0->12"));
        assert!(is_expectation("expect[eb] same raw_tp/x#10 enumval_value patch -1->0x10"));
        assert!(is_expectation("expect same .text#1 type_size poison"));
        assert!(!is_expectation("expect same raw_tp/load field_byte_offset patch"));
        assert!(!is_expectation("expect same raw_tp/load#0 field_byte_offset patched"));
        assert!(!is_expectation("expect same raw_tp/load#0 offset patch"));
    }
}
