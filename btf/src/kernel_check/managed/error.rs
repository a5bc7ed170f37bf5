//! The reasons why the kernel refuses a struct with fields that it manages.

use super::field::ManagedField;
use thiserror::Error;

/// The reason why the kernel refuses a struct with fields that it manages, such as `bpf_spin_lock`. The
/// kernel logs nothing.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ManagedError {
    /// A member that does not begin at a byte, such as a bitfield.
    #[error("begins at bit {bits}, expected a multiple of 8 in a struct with fields that the kernel manages")]
    Bits {
        /// The offset in bits.
        bits: u32,
    },
    /// A second field of a type of which there may be one.
    #[error("is a second `{0}`, expected one")]
    Second(ManagedField),
    /// Too many fields.
    #[error("has more than {limit} fields that the kernel manages")]
    TooMany {
        /// The number of fields that the kernel allows.
        limit: usize,
    },
    /// Structs that are nested too deep.
    #[error("has structs in it that are nested deeper than {limit} levels")]
    TooDeep {
        /// The number of levels that the kernel allows.
        limit: usize,
    },
    /// No field that counts.
    #[error("has no field of a size and alignment that the kernel manages")]
    None,
    /// A field that begins before the end of the field before.
    #[error("overlaps another field that the kernel manages")]
    Overlap,
    /// An array of a type that may not be repeated.
    #[error("is an array of `{0}`, which may not be repeated")]
    Repeated(ManagedField),
    /// A pointer with type tags that the kernel does not know.
    #[error(
        "is a pointer with a type tag, expected none, or one of `kptr_untrusted`, `kptr`, `percpu_kptr` and `uptr`"
    )]
    PointerTag,
    /// A tagged pointer to something else than a struct.
    #[error("is a kptr to a type that is no struct")]
    PointerTarget,
    /// A root without exactly one tag that names the nodes.
    #[error("has {found} tags `contains:TYPE:MEMBER`, expected one")]
    Contains {
        /// The number of tags.
        found: usize,
    },
    /// A tag that does not name a struct and a member.
    #[error(
        "has a tag `contains:` that names no struct and member of this BTF, expected `contains:TYPE:MEMBER`"
    )]
    ContainsName,
    /// The member is no node of the root's kind.
    #[error("has a tag `contains:` that names a member which is no `{0}`")]
    ContainsNode(ManagedField),
    /// A root without a lock.
    #[error("has a `{0}`, expected a `bpf_spin_lock` beside it")]
    NoLock(ManagedField),
    /// Both kinds of locks.
    #[error("has a `bpf_spin_lock` and a `bpf_res_spin_lock`, expected one of them")]
    TwoLocks,
    /// Nodes of both kinds without a reference count.
    #[error("has a `bpf_list_node` and a `bpf_rb_node`, expected a `bpf_refcount` beside them")]
    NoRefcount,
    /// A root of structs with roots, in a struct that may be owned.
    #[error("may be owned, and owns structs that own others, expected at most two levels of ownership")]
    NestedOwnership,
    /// Structs that own each other.
    #[error("owns itself through its `bpf_list_head` or `bpf_rb_root`, or a struct that does")]
    OwnershipCycle,
    /// The rules of several kernels: they may differ.
    #[error("has fields that several kernels may treat differently")]
    SeveralKernels,
}

crate::debug_as_message!(ManagedError);
