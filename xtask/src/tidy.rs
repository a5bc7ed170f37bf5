//! `cargo xtask tidy`: conventions that the compiler does not check. Prints every problem before it fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::feature_tables;
use crate::prebuilt;
use crate::system::{Failure, Outcome, output, root};

/// The maximum number of lines of a Rust file, without its tests.
const FILE_LINES: usize = 500;

/// The document that names a test for each difference from libbpf.
const DIFFERENCES: &str = "docs/libbpf-differences.md";

/// The maximum number of words of `README.md`, code included, before the licence.
const README_WORDS: usize = 1000;

/// A file to check.
struct File {
    /// The path, relative to the workspace's root.
    path: PathBuf,
    text: String,
}

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let files = files()?;
    let mut problems = Vec::new();
    for file in &files {
        check_whitespace(file, &mut problems);
        check_readme(file, &mut problems);
        if file.path.extension().is_some_and(|ext| ext == "rs") {
            check_shape(file, &mut problems);
            check_layering(file, &mut problems);
            check_error_debug(file, &mut problems);
        }
    }
    check_named_tests(&files, &mut problems);
    check_feature_tables(&files, &mut problems);
    problems.extend(check_directives()?);
    problems.extend(prebuilt::problems()?);
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} files, {} problems", files.len(), problems.len());
    if problems.is_empty() { Ok(()) } else { Err("not tidy".into()) }
}

/// Returns every text file that git tracks or would add.
fn files() -> Outcome<Vec<File>> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = output(&mut git).ok_or("git ls-files failed")?;
    let read = |name: &str| {
        let text = String::from_utf8(std::fs::read(root().join(name)).ok()?).ok()?;
        (!text.contains('\0')).then(|| File { path: PathBuf::from(name), text })
    };
    Ok(names
        .split('\0')
        .filter(|name| !name.is_empty() && !name.contains("/seeds/"))
        .filter_map(read)
        .collect())
}

/// Checks for trailing blanks, carriage returns and a missing final newline.
fn check_whitespace(file: &File, problems: &mut Vec<String>) {
    let path = file.path.display();
    // Golden files contain the exact bytes that a program prints.
    if file.path.components().any(|part| part.as_os_str() == "golden" || part.as_os_str() == "snapshots") {
        return;
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.ends_with([' ', '\t', '\r']) {
            problems.push(format!("{path}:{number}: blanks at the end of the line"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        problems.push(format!("{path}: no line feed at the end"));
    }
    if file.text.ends_with("\n\n") {
        problems.push(format!("{path}: empty lines at the end"));
    }
}

/// Checks that the README can be read in a few minutes.
fn check_readme(file: &File, problems: &mut Vec<String>) {
    if file.path != Path::new("README.md") {
        return;
    }
    let text = file.text.split("\n## Licence").next().unwrap_or_default();
    let count = text.split_whitespace().count();
    if count > README_WORDS {
        problems
            .push(format!("README.md: {count} words before the licence, expected at most {README_WORDS}"));
    }
}

/// Checks that a Rust file begins with a `//!` comment, is not too long, and has no to-do marks.
fn check_shape(file: &File, problems: &mut Vec<String>) {
    // Generated files.
    if file.path.to_string_lossy().ends_with(".skel.rs") {
        return;
    }
    let path = file.path.display();
    if !file.text.lines().find(|line| !line.starts_with("#!")).is_some_and(|line| line.starts_with("//!")) {
        problems.push(format!("{path}:1: does not begin with `//!`"));
    }
    let length = code(&file.text).count();
    if length > FILE_LINES {
        problems.push(format!("{path}: {length} lines without the tests, expected at most {FILE_LINES}"));
    }
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    for (number, line) in (1..).zip(file.text.lines()) {
        let comment = line.find("//").and_then(|at| line.get(at..)).unwrap_or_default();
        if marks.iter().any(|mark| comment.contains(mark) && !comment.contains(&format!("{mark}(#"))) {
            problems.push(format!("{path}:{number}: a to-do mark without an issue number"));
        }
    }
}

/// Checks that the tests that [`DIFFERENCES`] names in the last column of its tables exist.
fn check_named_tests(files: &[File], problems: &mut Vec<String>) {
    let Some(document) = files.iter().find(|file| file.path == Path::new(DIFFERENCES)) else {
        return problems.push(format!("{DIFFERENCES}: missing"));
    };
    let code = || files.iter().filter(|file| file.path.extension().is_some_and(|ext| ext == "rs"));
    for (number, line) in (1..).zip(document.text.lines()) {
        let Some((_, tests)) = line.strip_suffix(" |").and_then(|row| row.rsplit_once(" | ")) else {
            continue;
        };
        // Every second part is code font: a test, its module and name, or in brackets the source in `bpf-progs/link`.
        for name in tests.split('`').skip(1).step_by(2).filter(|name| !name.starts_with("own_")) {
            let function = name.rsplit("::").next().unwrap_or(name);
            if !code().any(|file| file.text.contains(&format!("fn {function}("))) {
                problems.push(format!("{DIFFERENCES}:{number}: no test `{name}`"));
            }
        }
    }
}

/// The files that must have a table of features.
const FEATURE_TABLES: [&str; 2] = ["loader/README.md", "loader/src/lib.rs"];

/// Checks that the tables of features in `README.md` and `src/lib.rs` of a crate have the features of its `Cargo.toml`.
fn check_feature_tables(files: &[File], problems: &mut Vec<String>) {
    for file in files {
        let directory = match file.path.parent() {
            Some(parent) if file.path.ends_with("src/lib.rs") => parent.parent(),
            Some(parent) if file.path.ends_with("README.md") => Some(parent),
            _ => None,
        };
        let Some(directory) = directory else { continue };
        let Some(documented) = feature_tables::documented(&file.text) else {
            if FEATURE_TABLES.iter().any(|path| file.path == Path::new(path)) {
                problems.push(format!("{}: expected a table of features", file.path.display()));
            }
            continue;
        };
        let path = directory.join("Cargo.toml");
        let manifest = files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
        let declared = feature_tables::declared(manifest);
        if documented != declared {
            problems.push(format!(
                "{}: the table of features differs from {}: {documented:?}, expected {declared:?}",
                file.path.display(),
                path.display()
            ));
        }
    }
}

/// Checks that a file uses only modules and crates that it may use.
fn check_layering(file: &File, problems: &mut Vec<String>) {
    let path = file.path.to_string_lossy();
    let engine = path.starts_with("core-relo/src/");
    let objects = path.starts_with("object/src/");
    let product = engine || objects || path.starts_with("loader/src/") || path.starts_with("cli/src/");
    if !product {
        return;
    }
    let name = file.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    for (number, line) in code(&file.text) {
        let mut report = |what: &str| problems.push(format!("{path}:{number}: {what}"));
        if line.contains("target_endian") && name != "endian.rs" {
            report("depends on the host's byte order, expected the byte order of the data");
        }
        if (line.contains("\"___") || line.contains("___\"")) && name != "name.rs" {
            report("the flavour suffix `___` outside name.rs");
        }
        if has_word(line, "unsafe") && !path.starts_with("loader/src/sys") {
            report("unsafe outside loader/src/sys");
        }
        if line.contains("const MAX_") && name != "limits.rs" && name != "args.rs" {
            report("a limit outside limits.rs");
        }
        if engine && ["std::", "libc::", "object::"].iter().any(|krate| uses(line, krate)) {
            report("core-relo may use core and alloc, but not std, libc or object");
        }
        if objects
            && ["std::fs", "std::env", "std::process", "fs::", "env::", "process::", "File::"]
                .iter()
                .any(|part| uses(line, part))
        {
            report("core-relo-object may not use files, processes or the environment");
        }
    }
}

/// The crates whose errors callers see.
const LIBRARIES: [&str; 7] = ["core-relo", "object", "verdict", "loader", "dwarf", "build", "vm"];

/// Checks that the `Debug` of a library's public errors is not derived: `unwrap` and `fn main() -> Result<(), Box<dyn Error>>` print it.
fn check_error_debug(file: &File, problems: &mut Vec<String>) {
    if !LIBRARIES.iter().any(|krate| file.path.starts_with(Path::new(krate).join("src"))) {
        return;
    }
    for (number, name) in errors_with_derived_debug(&file.text) {
        problems.push(format!(
            "{}:{number}: `{name}` derives Debug, expected `debug_as_message!({name})`",
            file.path.display()
        ));
    }
}

/// Returns the public types that derive `Debug` and are errors, with the line of their definition.
fn errors_with_derived_debug(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut derived = String::new();
    let mut is_derive = false;
    for (number, line) in code(text) {
        let line = line.trim();
        is_derive |= line.starts_with("#[derive(");
        if is_derive {
            derived.push_str(line);
            derived.push(' ');
            is_derive = !line.ends_with(")]");
            continue;
        }
        let definition = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "));
        if let Some(name) = definition
            && has_word(&derived, "Debug")
        {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            let name = name.get(..end).unwrap_or(name);
            if has_word(&derived, "Error") || implements_error(text, name) {
                found.push((number, name));
            }
        }
        if line.ends_with(['{', '}', ';', ',']) {
            derived.clear();
        }
    }
    found
}

/// Returns whether a file contains the `Error` of a type, without a derive.
fn implements_error(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let implementation = line.trim_start().strip_prefix("impl").and_then(|line| line.split_once(" for "));
        implementation.is_some_and(|(implemented, ty)| {
            let implemented = implemented.rsplit([':', ' ']).next();
            implemented == Some("Error") && ty.split([' ', '<']).next() == Some(name)
        })
    })
}

/// Checks the test programs: unknown directives, targets without a file, target files that no program lists.
fn check_directives() -> Outcome<Vec<String>> {
    let mut problems = Vec::new();
    for case in cases::read_all()? {
        let path = Path::new("bpf-progs").join(&case.program.path);
        let path = path.display();
        if case.listed.is_empty() {
            problems.push(format!("{path}: no `//# target:` directive"));
        }
        for name in case.listed.iter().filter(|name| !cases::NOT_FILES.contains(&name.as_str())) {
            if !case.targets.contains_key(name) {
                problems.push(format!("{path}: no file for the target `{name}`"));
            }
        }
        for name in case.targets.keys().filter(|name| !case.listed.contains(name)) {
            problems.push(format!("{path}: the target `{name}` has a file but is not listed"));
        }
        for source in std::iter::once(&case.program).chain(case.targets.values()) {
            for line in &source.unknown {
                problems.push(format!("bpf-progs/{}: not a directive: {line}", source.path.display()));
            }
        }
    }
    Ok(problems)
}

/// Returns the numbered lines of a file up to its tests, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines()).take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// Returns whether a line uses `krate` (with its `::`) and not a longer name or path that ends with it.
fn uses(line: &str, krate: &str) -> bool {
    line.match_indices(krate).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_ends_where_the_tests_begin() {
        let text = "//! x\nfn f() {}\n// c\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(code(text).collect::<Vec<_>>(), [(2, "fn f() {}")]);
    }

    #[test]
    fn errors_print_messages() {
        let derived =
            |text| errors_with_derived_debug(text).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(derived("#[derive(Debug, Error)]\n#[error(\"x\")]\npub struct E(u8);\n"), ["E"]);
        assert_eq!(derived("#[derive(\n    Debug,\n    thiserror::Error,\n)]\npub enum E<T> {\n"), ["E"]);
        assert_eq!(derived("#[derive(Debug)]\npub enum E {}\nimpl core::error::Error for E {}\n"), ["E"]);
        assert!(derived("#[derive(Clone, Error)]\npub enum E {\n}\ndebug_as_message!(E);\n").is_empty());
        assert!(derived("#[derive(Debug, Error)]\npub(crate) enum E {\n}\n").is_empty());
        assert!(derived("#[derive(Debug)]\npub struct S {\n}\n").is_empty());
        assert!(derived("#[derive(Error)]\nenum E {\n}\n#[derive(Debug)]\npub struct S;\n").is_empty());
    }

    #[test]
    fn crates_are_distinguished_from_modules() {
        assert!(uses("use std::fs;", "std::"));
        assert!(!uses("use crate::object::Object;", "object::"));
        assert!(!uses("let x = my_object::y;", "object::"));
        assert!(has_word("unsafe {", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
    }
}
