//! Names in BTF, and the rule for flavours (`___`).

use crate::data::rest_from;
use crate::limits;
use alloc::{format, string::String};
use core::fmt;

/// The separator between a name and its flavour.
pub(crate) const SEPARATOR: &[u8] = b"___";

/// A name in a BTF's string section. Compilers need not write UTF-8, so that a name is bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Returns a name of these bytes, which contain no NUL.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, without the terminating NUL.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether the name is empty, as that of an anonymous type.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the name without its flavour: `task_struct` for `task_struct___old`.
    ///
    /// The flavour begins at the *last* `X___Y` where neither X nor Y is an underscore (libbpf:
    /// `bpf_core_essential_name_len`). `a___b___c` is a flavour of `a___b`; `___a`, `a___` and `a____b` have
    /// no flavour.
    #[must_use]
    pub fn essential(self) -> Self {
        if !has_three_underscores(self.0) {
            return self;
        }
        let cut = self
            .0
            .windows(5)
            .rposition(|w| matches!(w, [x, b'_', b'_', b'_', y] if *x != b'_' && *y != b'_'));
        match cut.and_then(|at| self.0.get(..=at)) {
            Some(head) => Self(head),
            None => self,
        }
    }

    /// Returns a flavour of the name, for a suggestion: `task_struct___old` for the flavour `old` of
    /// `task_struct` and its flavours.
    pub fn flavoured(self, flavour: &str) -> String {
        format!("{}___{flavour}", self.essential())
    }

    /// Returns the flavour that [`essential`](Self::essential) removes: `old` for `task_struct___old`.
    pub fn flavour(self) -> Option<Self> {
        let rest = self.0.strip_prefix(self.essential().0)?;
        rest.strip_prefix(SEPARATOR).map(Self)
    }

    /// Returns the name for a message, which shows at most [`limits::NAME_BYTES`] bytes.
    pub const fn shortened(self) -> ShortName<'a> {
        ShortName(self)
    }

    /// Returns whether both names have the same essential name.
    pub fn same_essential(self, other: Name<'_>) -> bool {
        self.essential().0 == other.essential().0
    }
}

/// Returns whether a name contains `___`.
///
/// Reads only every third byte: most names have no flavour, and candidate search calls this function for many
/// names.
fn has_three_underscores(name: &[u8]) -> bool {
    for at in (2..name.len()).step_by(3) {
        if name.get(at) == Some(&b'_') {
            let around = rest_from(name, at.saturating_sub(2));
            if around.windows(3).take(3).any(|three| three == SEPARATOR) {
                return true;
            }
        }
    }
    false
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::escape::write_bytes(f, self.0)
    }
}

/// A [`Name`] that is printed up to [`limits::NAME_BYTES`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct ShortName<'a>(Name<'a>);

impl fmt::Display for ShortName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.0.get(..limits::NAME_BYTES) {
            Some(beginning) if beginning.len() < self.0.0.len() => write!(f, "{}…", Name(beginning)),
            _ => self.0.fmt(f),
        }
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn the_flavour_begins_at_the_last_separator_without_underscores_beside_it() {
        for (name, essential) in [
            ("task_struct", "task_struct"),
            ("task_struct___old", "task_struct"),
            ("a___b___c", "a___b"),
            ("___a", "___a"),
            ("a___", "a___"),
            ("a____b", "a____b"),
            ("a___b____c", "a"),
            ("a___b", "a"),
            ("", ""),
            ("a___b_", "a"),
            ("_a___b", "_a"),
        ] {
            let got = Name::new(name.as_bytes()).essential();
            assert_eq!(got.to_string(), essential, "{name}");
        }
        assert_eq!(Name::new(b"s___v2").flavour(), Some(Name::new(b"v2")));
        assert_eq!(Name::new(b"s").flavour(), None);
    }

    /// A suggestion names a flavour of the same type: the name is not cut at a `___` that begins no flavour.
    #[test]
    fn a_suggested_flavour_belongs_to_the_essential_name() {
        for (name, suggested) in
            [("s", "s___new"), ("s___old", "s___new"), ("a___b___c", "a___b___new"), ("___a", "___a___new")]
        {
            let flavoured = Name::new(name.as_bytes()).flavoured("new");
            assert_eq!(flavoured, suggested);
            let both = [name, &flavoured].map(|name| Name::new(name.as_bytes()).essential().to_string());
            assert_eq!(both[0], both[1]);
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        for (name, shown) in [
            (&b"a\x1b[2J\xff"[..], "a\\u{1b}[2J\\xff"),
            (b"\x1b\n\n", "\\u{1b}\\n\\n"),
            (b"\xc2\x9bm\xc3\xa9\x07\xc3", "\\u{9b}m\u{e9}\\u{7}\\xc3"),
            ("a\u{202e}b\u{200b}".as_bytes(), "a\\u{202e}b\\u{200b}"),
            (b"", ""),
        ] {
            assert_eq!(Name::new(name).to_string(), shown);
        }
    }
}
