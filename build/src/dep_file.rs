//! The list of files that a compiler read, as a rule of make.

use std::path::PathBuf;

/// Parses a rule `target: file file…` that clang wrote by `-MD`, and returns the files.
///
/// A backslash continues a line, and stands before a space or `#` of a name. `$$` is a dollar.
pub(crate) fn parse(rule: &str) -> Option<Vec<PathBuf>> {
    // The target may contain a colon, but no colon with a space after it.
    let (_, files) = rule.split_once(": ").or_else(|| rule.split_once(":\n"))?;
    let mut found = Vec::new();
    let mut name = String::new();
    let mut chars = files.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
                finish(&mut name, &mut found);
            }
            ('\\', Some(&next @ (' ' | '#'))) => {
                chars.next();
                name.push(next);
            }
            ('$', Some('$')) => {
                chars.next();
                name.push('$');
            }
            ('\n', _) => break,
            (c, _) if c.is_whitespace() => finish(&mut name, &mut found),
            (c, _) => name.push(c),
        }
    }
    finish(&mut name, &mut found);
    Some(found)
}

/// Adds a name to the files, and begins a new one.
fn finish(name: &mut String, found: &mut Vec<PathBuf>) {
    if !name.is_empty() {
        found.push(PathBuf::from(core::mem::take(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_dollars_and_hashes_are_read() {
        let rule = "/out/a b.o: src/a.bpf.c \\\n  src/with\\ space.h src/$$dollar.h \\\n  src/\\#hash.h src/back\\slash.h\n\nother: x\n";
        let names = ["src/a.bpf.c", "src/with space.h", "src/$dollar.h", "src/#hash.h", "src/back\\slash.h"];
        assert_eq!(parse(rule), Some(names.map(PathBuf::from).to_vec()));
        assert_eq!(parse("a.o: a.c"), Some(vec![PathBuf::from("a.c")]));
        assert_eq!(parse("a.o:\n"), Some(vec![]));
        assert_eq!(parse("no rule"), None);
    }
}
