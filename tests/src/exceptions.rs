//! The cases in which the expected outcome of a record is not libbpf's own, each with its reason.

/// A reason why the expected outcome of a record differs from libbpf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// FIELD_LSHIFT_U64 of an object of the other byte order. libbpf computes the shift for the byte order of
    /// its host. The expected value is computed from libbpf's FIELD_BYTE_SIZE and FIELD_RSHIFT_U64.
    ForeignShift,
    /// An access string with an index over `i32::MAX`. libbpf up to 1.7 wraps the index to a negative number
    /// and continues. Later versions refuse it (libbpf 5ca5801a). The expected outcome is an error.
    NegativeIndex,
}
