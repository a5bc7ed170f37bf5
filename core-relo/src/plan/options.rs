//! The options of a plan.

/// Options for results other than libbpf's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Whether the enumerators of an unsigned ENUM are zero-extended, as in C.
    ///
    /// libbpf sign-extends all enumerators. It then refuses those from 0x8000_0000 on, because the
    /// instruction contains another value. That is the default here, too; cilium/ebpf and aya always
    /// zero-extend.
    pub zero_extend_unsigned_enums: bool,
}

impl Options {
    /// Sets [`zero_extend_unsigned_enums`](Self::zero_extend_unsigned_enums).
    #[must_use]
    pub fn zero_extend_unsigned_enums(mut self, yes: bool) -> Self {
        self.zero_extend_unsigned_enums = yes;
        self
    }
}
