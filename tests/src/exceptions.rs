//! Where libbpf's answer is not the one wanted: every such place, with its reason.

/// A record whose judgement is not libbpf's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// FIELD_LSHIFT_U64 of an object of the other byte order: libbpf computes it for the machine it was built for, and never
    /// meets such an object there. The value is put together from libbpf's own FIELD_BYTE_SIZE and FIELD_RSHIFT_U64.
    ForeignShift,
    /// A part of an access string over `i32::MAX` is a negative number to libbpf up to 1.7, which goes on with it wrapped
    /// around; later ones refuse it (libbpf 5ca5801a). Judged as refused.
    NegativeIndex,
}
