//! Names in BTF, and the one rule about flavours (`___`).

use crate::limits;
use core::fmt;

/// Between a name and its flavour.
pub(crate) const SEPARATOR: &[u8] = b"___";

/// A name in a BTF's string section: bytes, for nothing makes a compiler write UTF-8.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// A name of these bytes, which hold no NUL.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, without the terminating NUL.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether this is the name of something anonymous.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The name without its flavour: `task_struct` of `task_struct___old`.
    ///
    /// The *last* `X___Y` counts, where neither X nor Y is an underscore, as in libbpf's
    /// `bpf_core_essential_name_len`: `a___b___c` is a flavour of `a___b`; `___a`, `a___` and `a____b` are whole names.
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

    /// The flavour that [`essential`](Self::essential) cuts off, `old` of `task_struct___old`.
    pub fn flavour(self) -> Option<Self> {
        let rest = self.0.strip_prefix(self.essential().0)?;
        rest.strip_prefix(SEPARATOR).map(Self)
    }

    /// The name for a message: of a name longer than [`limits::NAME_BYTES`] only the beginning is read and shown.
    pub const fn shortened(self) -> ShortName<'a> {
        ShortName(self)
    }

    /// Whether both are flavours of one name.
    pub fn same_essential(self, other: Name<'_>) -> bool {
        self.essential().0 == other.essential().0
    }
}

/// Whether there is `___` in it, of which every third byte tells: most names have none, and all are asked.
fn has_three_underscores(name: &[u8]) -> bool {
    let mut at = 2usize;
    while let Some(byte) = name.get(at) {
        if *byte == b'_' {
            let around = name.get(at.saturating_sub(2)..).unwrap_or_default();
            if around.windows(3).take(3).any(|three| three == SEPARATOR) {
                return true;
            }
        }
        at = at.saturating_add(3);
    }
    false
}

/// A flavour of a name, to propose.
pub(crate) fn flavoured(name: Name<'_>, flavour: &str) -> alloc::string::String {
    alloc::format!("{name}___{flavour}")
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::escape::write_bytes(f, self.0)
    }
}

/// A [`Name`] that is cut where it is longer than any compiler's.
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
    fn the_last_separator_counts_and_underscores_beside_it_do_not() {
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

    #[test]
    fn printing_cannot_move_the_cursor() {
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
