//! Properties of C headers: the text is printable, comments and strings end where they should, and brackets
//! are balanced.

use core_relo::btf::{Btf, CHeader, HeaderRoots};

/// Writes the header of a BTF.
pub fn check(btf: &Btf<'_>) {
    let header = CHeader::new(btf).assertions(true);
    let text = header.to_string();
    assert!(text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')), "{text}");
    let code = without_comments_and_strings(&text);
    for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
        assert_eq!(code.matches(open).count(), code.matches(close).count(), "{open}{close} in {text}");
    }
    // A header is C, as a source is.
    let mut roots = HeaderRoots::new();
    roots.add_source(text.as_bytes(), |_| false);
    for found in roots.redefinitions(&text) {
        assert!(!found.names.is_empty(), "{text}");
    }
}

/// Removes what is no code from a header, in which a comment or a string never contains a line break.
fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find("/*").into_iter().chain(rest.find('"')).min() {
            let (before, found) = rest.split_at(at);
            code.push_str(before);
            rest = match found.strip_prefix("/*") {
                Some(comment) => {
                    comment.split_once("*/").unwrap_or_else(|| panic!("no end of comment: {line}")).1
                }
                None => end_of_string(&found[1..]).unwrap_or_else(|| panic!("no end of string: {line}")),
            };
        }
        code.push_str(rest);
        code.push('\n');
    }
    code
}

/// Returns what follows the rest of a string.
fn end_of_string(text: &str) -> Option<&str> {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    text.get(end + 1..)
}
