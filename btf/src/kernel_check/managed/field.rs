//! The types of fields that the kernel manages.

use super::features::ManagedFeatures;
use core::fmt;

/// A type of fields that the kernel manages in structs of a program (kernel: `enum btf_field_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ManagedField {
    /// `struct bpf_spin_lock`.
    SpinLock,
    /// `struct bpf_res_spin_lock`.
    ResilientSpinLock,
    /// `struct bpf_list_head`.
    ListHead,
    /// `struct bpf_list_node`.
    ListNode,
    /// `struct bpf_rb_root`.
    RbRoot,
    /// `struct bpf_rb_node`.
    RbNode,
    /// `struct bpf_refcount`.
    Refcount,
    /// A pointer with the type tag `kptr` or the like.
    Kptr,
}

impl ManagedField {
    /// The types that have a struct.
    const STRUCTS: [Self; 7] = [
        Self::SpinLock,
        Self::ResilientSpinLock,
        Self::ListHead,
        Self::ListNode,
        Self::RbRoot,
        Self::RbNode,
        Self::Refcount,
    ];

    /// Returns the type with this name of the struct.
    pub(in super::super) fn from_name(name: &[u8], features: &ManagedFeatures) -> Option<Self> {
        let found = Self::STRUCTS.into_iter().find(|field| field.name().as_bytes() == name)?;
        let is_known = match found {
            Self::ResilientSpinLock => features.resilient_locks,
            Self::RbRoot | Self::RbNode => features.trees,
            Self::Refcount => features.refcounts,
            _ => true,
        };
        is_known.then_some(found)
    }

    /// Returns the name of the struct.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpinLock => "bpf_spin_lock",
            Self::ResilientSpinLock => "bpf_res_spin_lock",
            Self::ListHead => "bpf_list_head",
            Self::ListNode => "bpf_list_node",
            Self::RbRoot => "bpf_rb_root",
            Self::RbNode => "bpf_rb_node",
            Self::Refcount => "bpf_refcount",
            Self::Kptr => "kptr",
        }
    }

    /// Returns the size in bytes.
    pub(in super::super) const fn bytes(self, features: &ManagedFeatures) -> u32 {
        match self {
            Self::SpinLock | Self::ResilientSpinLock | Self::Refcount => 4,
            Self::Kptr => 8,
            Self::RbNode if features.nodes_have_owners => 32,
            Self::ListNode if features.nodes_have_owners => 24,
            Self::RbNode => 24,
            Self::ListHead | Self::RbRoot | Self::ListNode => 16,
        }
    }

    /// Returns the alignment in bytes.
    pub(in super::super) const fn align(self) -> u32 {
        match self {
            Self::SpinLock | Self::ResilientSpinLock | Self::Refcount => 4,
            _ => 8,
        }
    }

    /// Returns whether the members of a struct have at most one field of the type. Nested structs have their
    /// own.
    pub(in super::super) const fn is_single(self) -> bool {
        matches!(self, Self::SpinLock | Self::ResilientSpinLock)
    }

    /// Returns whether a struct with such a field makes other structs be checked: those with a member of the
    /// type.
    pub(in super::super) const fn is_sought(self) -> bool {
        !matches!(self, Self::ResilientSpinLock | Self::Kptr)
    }

    /// Returns the type of the nodes, of a type that owns nodes.
    pub(in super::super) const fn node(self) -> Option<Self> {
        match self {
            Self::ListHead => Some(Self::ListNode),
            Self::RbRoot => Some(Self::RbNode),
            _ => None,
        }
    }

    /// Returns whether an array may have the type as its elements.
    pub(in super::super) const fn is_repeatable(self) -> bool {
        matches!(self, Self::Kptr | Self::ListHead | Self::RbRoot)
    }
}

impl fmt::Display for ManagedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
