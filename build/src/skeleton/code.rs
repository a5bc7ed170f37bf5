//! A writer of Rust source text.

use super::error::SkeletonError;

/// The longest skeleton in bytes. The types of hostile objects could need any length.
const LIMIT: usize = 16 << 20;

/// Source text with indentation.
#[derive(Debug, Default)]
pub(super) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// Appends a line. An empty line has no indentation. Beyond the limit, which `finish` reports, nothing is
    /// appended.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if self.text.len() > LIMIT {
            return;
        }
        if !line.is_empty() {
            (0..self.depth).for_each(|_| self.text.push_str("    "));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Appends a line that opens a block, what `body` appends, indented, and the line that closes the block.
    pub(super) fn block(&mut self, open: impl AsRef<str>, close: &str, body: impl FnOnce(&mut Self)) {
        self.line(open);
        self.depth = self.depth.wrapping_add(1);
        body(self);
        self.depth = self.depth.wrapping_sub(1);
        self.line(close);
    }

    /// Appends documentation of the next item. Characters of names that are not printed are escaped.
    pub(super) fn doc(&mut self, text: impl AsRef<str>) {
        self.line(format!("/// {}", escaped(text.as_ref())));
    }

    /// Appends documentation of the module around.
    pub(super) fn doc_inner(&mut self, text: impl AsRef<str>) {
        self.line(format!("//! {}", escaped(text.as_ref())));
    }

    /// Returns whether the text has reached its limit. What is appended afterwards is in vain.
    pub(super) fn check(&self) -> Result<(), SkeletonError> {
        if self.text.len() > LIMIT { Err(SkeletonError::TooLong { limit: LIMIT }) } else { Ok(()) }
    }

    pub(super) fn finish(self) -> Result<String, SkeletonError> {
        self.check()?;
        Ok(self.text)
    }
}

/// Escapes control characters and characters that change the direction of text, which rustc refuses in
/// comments.
fn escaped(text: &str) -> String {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '\\');
    text.chars().map(|c| if is_quote(c) { c.to_string() } else { c.escape_debug().to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_comments_are_printable() {
        assert_eq!(escaped("`it's` \"x\" \\ é"), "`it's` \"x\" \\ é");
        assert_eq!(escaped("a\nb\u{202e}c\u{2066}"), "a\\nb\\u{202e}c\\u{2066}");
    }
}
