//! Rules for texts: every file, Rust files, and the README.

use super::{File, sources::Source};
use std::path::Path;

/// The maximum number of lines of a Rust file, without its tests and comments.
const FILE_LINES: usize = 500;

/// The maximum width of a comment's line: `max_width` of `rustfmt.toml`, which does not wrap comments.
const COMMENT_WIDTH: usize = 110;

/// The maximum number of words of `README.md`, code included, before the licence.
const README_WORDS: usize = 1000;

/// Checks for trailing blanks, carriage returns and a missing final newline.
pub(super) fn check_whitespace(file: &File, problems: &mut Vec<String>) {
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
pub(super) fn check_readme(file: &File, problems: &mut Vec<String>) {
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
pub(super) fn check_shape(source: &Source<'_>, problems: &mut Vec<String>) {
    let file = source.file;
    let path = file.path.display();
    if !file.text.lines().find(|line| !line.starts_with("#!")).is_some_and(|line| line.starts_with("//!")) {
        problems.push(format!("{path}:1: does not begin with `//!`"));
    }
    let length = source.code().count();
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

/// Checks that comments wrap where the code wraps. Rows of tables cannot wrap.
pub(super) fn check_comment_width(file: &File, problems: &mut Vec<String>) {
    let path = file.path.display();
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let is_row = comment.trim_start_matches(['/', '!', ' ']).starts_with('|');
        let width = line.chars().count();
        if width > COMMENT_WIDTH && !is_row {
            problems.push(format!(
                "{path}:{number}: a comment of {width} columns, expected at most {COMMENT_WIDTH}"
            ));
        }
    }
}

/// Checks that tests report skips and find clang by the crate `core-relo-test-support`: `cargo xtask test`
/// counts no other skips, and a compiler may be installed as `clang-22` only.
pub(super) fn check_skips(file: &File, problems: &mut Vec<String>) {
    // These programs report to their own tasks.
    const OTHERS: [&str; 4] = ["benches", "test-support", "tests/examples", "xtask"];
    if OTHERS.iter().any(|dir| file.path.starts_with(dir)) {
        return;
    }
    let path = file.path.display();
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.contains("println!(\"SKIP") || line.trim_start().starts_with("\"SKIP") {
            problems.push(format!("{path}:{number}: a skip that is not counted, expected `skip!`"));
        }
        if line.contains("Command::new(\"clang") {
            problems.push(format!("{path}:{number}: a compiler by its name, expected `clang()`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{File, check_comment_width, check_skips};
    use std::path::PathBuf;

    #[test]
    fn skips_and_compilers_outside_the_shared_crate_are_found() {
        let problems = |path: &str, text: &str| {
            let mut problems = Vec::new();
            check_skips(&File { path: PathBuf::from(path), text: text.to_owned() }, &mut problems);
            problems.len()
        };
        assert_eq!(problems("cli/tests/a.rs", "println!(\"SKIP: x\");\nCommand::new(\"clang\");\n"), 2);
        assert_eq!(problems("cli/tests/a.rs", "println!(\n    \"SKIP: {x}\",\n);\nskip!(\"x\");\n"), 1);
        assert_eq!(problems("benches/src/a.rs", "println!(\"SKIP: x\");\n"), 0);
    }
    #[test]
    fn comments_wider_than_the_code_are_found() {
        let problems = |line: &str| {
            let mut problems = Vec::new();
            check_comment_width(&File { path: PathBuf::from("a.rs"), text: line.to_owned() }, &mut problems);
            problems.len()
        };
        let words = "word ".repeat(22);
        assert_eq!(problems(&format!("/// {words}")), 1);
        assert_eq!(problems(&format!("    // {words}")), 1);
        assert_eq!(problems(&format!("//! | {words}|")), 0);
        assert_eq!(problems(&format!("let text = \"{words}\";")), 0);
        assert_eq!(problems("// a short one"), 0);
    }
}
