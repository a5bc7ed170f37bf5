//! Names as C strings, and glob patterns of names.

use super::error::AttachError;
use crate::limits::{GLOB_BYTES, GLOB_COMPARISONS};
use alloc::ffi::CString;

/// Converts a name to a C string. A NUL inside the name is an error.
pub(super) fn c_string(name: impl Into<Vec<u8>>, label: &str) -> Result<CString, AttachError> {
    CString::new(name).map_err(|_nul| AttachError::target(label, "the name contains a NUL byte"))
}

/// A pattern of names: `*` matches any bytes, `?` one byte.
///
/// Matching a name can take as many comparisons as the product of both lengths, and the number of names in a
/// binary is not limited. Therefore all names that are matched with one pattern share a budget of
/// comparisons.
#[derive(Clone, Debug)]
pub(super) struct Glob<'p> {
    pattern: &'p [u8],
    remaining_comparisons: u64,
}

/// The reason why names cannot be matched with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GlobError {
    #[error("the pattern is too long: {found} bytes, expected at most {GLOB_BYTES}")]
    TooLong { found: usize },
    #[error("the pattern takes too long to match: expected at most {GLOB_COMPARISONS} compared bytes")]
    TooManyComparisons,
}

impl<'p> Glob<'p> {
    pub(super) fn new(pattern: &'p str) -> Result<Self, GlobError> {
        if pattern.len() > GLOB_BYTES {
            return Err(GlobError::TooLong { found: pattern.len() });
        }
        Ok(Self { pattern: pattern.as_bytes(), remaining_comparisons: GLOB_COMPARISONS })
    }

    /// Returns whether a name matches (libbpf: `glob_match`, here without recursion).
    pub(super) fn matches(&mut self, name: &[u8]) -> Result<bool, GlobError> {
        let (mut name, mut pattern) = (name, self.pattern);
        // The pattern after the last `*`, and the part of the name that the last attempt compared with this
        // pattern.
        let mut backtrack: Option<(&[u8], &[u8])> = None;
        loop {
            self.remaining_comparisons =
                self.remaining_comparisons.checked_sub(1).ok_or(GlobError::TooManyComparisons)?;
            match (pattern, name) {
                ([b'*'], _) | ([], []) => return Ok(true),
                ([b'*', pattern_rest @ ..], _) => {
                    backtrack = Some((pattern_rest, name));
                    pattern = pattern_rest;
                }
                ([b'?', pattern_rest @ ..], [_, name_rest @ ..]) => {
                    (pattern, name) = (pattern_rest, name_rest);
                }
                ([expected, pattern_rest @ ..], [byte, name_rest @ ..]) if expected == byte => {
                    (pattern, name) = (pattern_rest, name_rest);
                }
                _ => match backtrack {
                    // The `*` takes one more byte of the name.
                    Some((after_star, [_, name_rest @ ..])) => {
                        backtrack = Some((after_star, name_rest));
                        (pattern, name) = (after_star, name_rest);
                    }
                    _ => return Ok(false),
                },
            }
        }
    }
}

/// Returns whether a name contains `*` or `?`.
pub(super) fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob_match(name: &[u8], pattern: &str) -> bool {
        Glob::new(pattern).unwrap().matches(name).unwrap()
    }

    #[test]
    fn patterns() {
        let matching = [
            ("", ""),
            ("abc", "abc"),
            ("abc", "*"),
            ("abc", "a*"),
            ("abc", "*c"),
            ("abc", "a?c"),
            ("abc", "*b*"),
            ("", "*"),
            ("abcbc", "a*bc"),
            ("abc", "a**c"),
            ("aXbXc", "a*b*c"),
        ];
        for (name, pattern) in matching {
            assert!(glob_match(name.as_bytes(), pattern), "{name} {pattern}");
        }
        for (name, pattern) in
            [("abc", "ab"), ("ab", "abc"), ("", "?"), ("abc", "a*d"), ("abc", "b*"), ("abcd", "a*c")]
        {
            assert!(!glob_match(name.as_bytes(), pattern), "{name} {pattern}");
        }
    }

    #[test]
    fn a_pattern_that_needs_many_comparisons_is_matched_or_refused() {
        let (name, pattern) = ("a".repeat(5000), "a*".repeat(250) + "b");
        assert!(!glob_match(name.as_bytes(), &pattern));
        assert_eq!(Glob::new(&"a".repeat(GLOB_BYTES)).map(|_| ()), Ok(()));
        let too_long = GlobError::TooLong { found: GLOB_BYTES + 1 };
        assert_eq!(Glob::new(&"a".repeat(GLOB_BYTES + 1)).map(|_| ()), Err(too_long));
    }

    #[test]
    fn all_names_share_one_budget() {
        let name = "a".repeat(4000);
        let pattern = "*".to_owned() + &"a".repeat(500) + "b";
        let mut glob = Glob { remaining_comparisons: 4_000_000, ..Glob::new(&pattern).unwrap() };
        let results: Vec<_> = (0..4).map(|_| glob.matches(name.as_bytes())).collect();
        let exceeded = Err(GlobError::TooManyComparisons);
        assert_eq!(results, [Ok(false), Ok(false), exceeded, exceeded]);
    }
}
