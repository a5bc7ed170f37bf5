//! Names and patterns.

use super::error::AttachError;
use alloc::ffi::CString;

/// A name for the kernel, which ends it with a NUL: there must be none within.
pub(super) fn c_string(name: impl Into<Vec<u8>>, what: &str) -> Result<CString, AttachError> {
    CString::new(name).map_err(|_nul| AttachError::target(what, "a name cannot have a NUL in it"))
}

/// Whether a name is of a pattern: `*` stands for any bytes, `?` for one (libbpf: `glob_match`, without its recursion).
pub(super) fn matches(name: &[u8], pattern: &[u8]) -> bool {
    let (mut name, mut rest) = (name, pattern);
    // What is behind the last `*`, and the name from where that was tried.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (rest, name) {
            ([b'*', behind @ ..], _) => {
                retry = Some((behind, name));
                rest = behind;
            }
            ([b'?', behind @ ..], [_, n @ ..]) => (rest, name) = (behind, n),
            ([p, behind @ ..], [c, n @ ..]) if p == c => (rest, name) = (behind, n),
            ([], []) => return true,
            _ => match retry {
                Some((behind, [_, n @ ..])) => {
                    retry = Some((behind, n));
                    (rest, name) = (behind, n);
                }
                _ => return false,
            },
        }
    }
}

/// Whether a name is a pattern.
pub(super) fn is_pattern(name: &str) -> bool {
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
            assert!(matches(name.as_bytes(), pattern.as_bytes()), "{name} {pattern}");
        }
        for (name, pattern) in
            [("abc", "ab"), ("ab", "abc"), ("", "?"), ("abc", "a*d"), ("abc", "b*"), ("abcd", "a*c")]
        {
            assert!(!matches(name.as_bytes(), pattern.as_bytes()), "{name} {pattern}");
        }
    }

    #[test]
    fn a_pattern_made_to_take_long_does_not() {
        let (name, pattern) = ("a".repeat(5000), "a*".repeat(500) + "b");
        assert!(!matches(name.as_bytes(), pattern.as_bytes()));
    }
}
