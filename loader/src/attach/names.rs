//! Names of functions and files, and glob patterns of names.

use super::error::AttachError;
use alloc::ffi::CString;

/// Converts a name to a C string. A NUL inside the name is an error.
pub(super) fn c_string(name: impl Into<Vec<u8>>, label: &str) -> Result<CString, AttachError> {
    CString::new(name).map_err(|_nul| AttachError::target(label, "the name contains a NUL byte"))
}

/// Returns whether a name matches a pattern. `*` matches any bytes, `?` one byte (libbpf: `glob_match`, here without recursion).
pub(super) fn glob_match(name: &[u8], pattern: &[u8]) -> bool {
    let (mut name, mut rest) = (name, pattern);
    // The pattern after the last `*`, and the part of the name that it was last tried on.
    let mut backtrack: Option<(&[u8], &[u8])> = None;
    loop {
        match (rest, name) {
            ([b'*', after @ ..], _) => {
                backtrack = Some((after, name));
                rest = after;
            }
            ([b'?', after @ ..], [_, n @ ..]) => (rest, name) = (after, n),
            ([p, after @ ..], [c, n @ ..]) if p == c => (rest, name) = (after, n),
            ([], []) => return true,
            _ => match backtrack {
                Some((after, [_, n @ ..])) => {
                    backtrack = Some((after, n));
                    (rest, name) = (after, n);
                }
                _ => return false,
            },
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

    #[test]
    fn patterns() {
        let yes = [
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
        for (name, pattern) in yes {
            assert!(glob_match(name.as_bytes(), pattern.as_bytes()), "{name} {pattern}");
        }
        for (name, pattern) in
            [("abc", "ab"), ("ab", "abc"), ("", "?"), ("abc", "a*d"), ("abc", "b*"), ("abcd", "a*c")]
        {
            assert!(!glob_match(name.as_bytes(), pattern.as_bytes()), "{name} {pattern}");
        }
    }

    #[test]
    fn a_pattern_made_to_take_long_does_not() {
        let (name, pattern) = ("a".repeat(5000), "a*".repeat(500) + "b");
        assert!(!glob_match(name.as_bytes(), pattern.as_bytes()));
    }
}
