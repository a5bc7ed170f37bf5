//! Patterns with `*` and `?`.

use crate::limits::MAX_PATTERN_BYTES;
use std::{fmt, str::FromStr};

/// A pattern: `*` stands for any characters, `?` for one character. The whole text must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Box<str>);

/// The error of a text that is no pattern.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// The text is empty.
    #[error("the pattern is empty, expected a name, with `*` for any characters and `?` for one character")]
    Empty,
    /// The text is longer than patterns may be.
    #[error("the pattern has {len} bytes, expected at most {MAX_PATTERN_BYTES}")]
    TooLong {
        /// The length in bytes.
        len: usize,
    },
}

core_relo::debug_as_message!(GlobError);

impl Glob {
    /// Parses a pattern.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        match pattern.len() {
            0 => Err(GlobError::Empty),
            len if len > MAX_PATTERN_BYTES => Err(GlobError::TooLong { len }),
            _ => Ok(Self(pattern.into())),
        }
    }

    /// Returns whether the pattern matches a text.
    pub fn matches(&self, text: &str) -> bool {
        matches(self.0.as_bytes(), text.as_bytes())
    }

    /// Returns whether the pattern matches a path: the last component, or for a pattern with a `/` the whole
    /// path.
    pub fn matches_path(&self, path: &str) -> bool {
        if self.0.contains('/') {
            let pattern = without_dot(&self.0);
            return matches(pattern.as_bytes(), without_dot(path).as_bytes());
        }
        self.matches(path.rsplit('/').next().unwrap_or(path))
    }
}

impl FromStr for Glob {
    type Err = GlobError;

    fn from_str(pattern: &str) -> Result<Self, GlobError> {
        Self::new(pattern)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a path without a leading `./`.
fn without_dot(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Returns whether a pattern matches a text, in a time of at most the product of their lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // The pattern after the last `*`, and the text that has not been compared with it. Only the last `*`
    // needs another attempt.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, text) {
            ([b'*', rest @ ..], _) => {
                retry = Some((rest, text));
                pattern = rest;
                continue;
            }
            ([], []) => return true,
            ([b'?', pattern_rest @ ..], [_, ..]) => {
                (pattern, text) = (pattern_rest, after_char(text));
                continue;
            }
            ([wanted, pattern_rest @ ..], [byte, text_rest @ ..]) if wanted == byte => {
                (pattern, text) = (pattern_rest, text_rest);
                continue;
            }
            _ => {}
        }
        let Some((rest, skipped)) = retry.filter(|(_, skipped)| !skipped.is_empty()) else { return false };
        (pattern, text) = (rest, after_char(skipped));
        retry = Some((pattern, text));
    }
}

/// Returns the bytes after the first character of a text in UTF-8.
fn after_char(text: &[u8]) -> &[u8] {
    let is_continuation = |byte: &u8| byte & 0xc0 == 0x80;
    let len = text.iter().skip(1).take_while(|byte| is_continuation(byte)).count() + 1;
    text.get(len..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        let matches = |pattern: &str, text: &str| Glob::new(pattern).unwrap().matches(text);
        for (pattern, text) in [
            ("exec*.o", "exec.bpf.o"),
            ("exec*.o", "exec.o"),
            ("*", ""),
            ("**", "a"),
            ("*a*b", "xaxbab"),
            ("?", "ä"),
            ("a?c", "aäc"),
            ("5.10.*", "5.10.223"),
            ("*.o", "ä.o"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("exec", "exec.o"),
            ("?", ""),
            ("a", ""),
            ("*a", "ab"),
            ("*a*b", "ba"),
            ("6.1.*", "6.12.1"),
            ("[ab]", "a"),
            ("", "a"),
        ] {
            assert!(!Glob(pattern.into()).matches(text), "{pattern} {text}");
        }
        assert_eq!(Glob::new(""), Err(GlobError::Empty));
        assert!(Glob::new(&"*".repeat(MAX_PATTERN_BYTES + 1)).is_err());
    }

    #[test]
    fn a_pattern_without_slash_matches_the_last_component() {
        let matches = |pattern: &str, path: &str| Glob::new(pattern).unwrap().matches_path(path);
        assert!(matches("exec*.o", "./build/exec.bpf.o") && matches("exec.o", "exec.o"));
        assert!(matches("build/*.o", "./build/x/exec.o") && matches("./build/*.o", "build/exec.o"));
        assert!(!matches("build/*.o", "/src/build/exec.o") && !matches("build", "build/exec.o"));
    }

    #[test]
    fn matching_takes_at_most_the_product_of_the_lengths() {
        let pattern = Glob::new(&"*a".repeat(MAX_PATTERN_BYTES / 2)).unwrap();
        assert!(!pattern.matches(&"a".repeat(200)));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(20_000))));
    }
}
