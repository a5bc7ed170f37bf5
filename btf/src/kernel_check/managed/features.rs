//! The differences between kernels for structs with fields that the kernel manages.

use super::super::release::Release;

/// The rules of a kernel for structs with fields that it manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum ManagedRules {
    /// The kernel does not check the structs.
    Unchecked,
    /// The kernel checks the structs.
    Checked(ManagedFeatures),
    /// The rules of several kernels that differ: a BTF with such structs needs a check for each kernel.
    Several,
}

/// What a kernel checks in structs with fields that it manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule that a kernel has or lacks")]
pub(in super::super) struct ManagedFeatures {
    /// Whether the kernel knows trees.
    pub(in super::super) trees: bool,
    /// Whether the kernel knows reference counts.
    pub(in super::super) refcounts: bool,
    /// Whether the nodes of lists and trees have a pointer to their owner.
    pub(in super::super) nodes_have_owners: bool,
    /// Whether the kernel searches nested structs and arrays.
    pub(in super::super) nested_fields: bool,
    /// Whether kptrs count as fields.
    pub(in super::super) kptrs: bool,
    /// Whether the kernel knows the type tag `uptr`.
    pub(in super::super) uptrs: bool,
    /// Whether the kernel knows `bpf_res_spin_lock`.
    pub(in super::super) resilient_locks: bool,
    /// Whether pointers with other type tags count as no fields, where other kernels refuse the struct.
    pub(in super::super) other_pointer_tags: bool,
    /// Whether locks and reference counts in nested structs count as fields of the struct, which has at most
    /// one of each.
    pub(in super::super) unique_fields: bool,
    /// Whether a struct that may be owned must not own structs that own others. Other kernels refuse cycles
    /// of owners only.
    pub(in super::super) flat_ownership: bool,
}

impl ManagedRules {
    /// Returns the rules of a release.
    pub(in super::super) const fn of_release(release: Release) -> Self {
        if !release.is_since(6, 2) {
            return Self::Unchecked;
        }
        Self::Checked(ManagedFeatures {
            trees: release.is_since(6, 3),
            refcounts: release.is_since(6, 4),
            nodes_have_owners: release.is_since(6, 6),
            nested_fields: release.is_since(6, 11),
            kptrs: release.is_since(6, 12),
            uptrs: release.is_since(6, 13),
            resilient_locks: release.is_since(6, 15),
            other_pointer_tags: release.is_since(6, 19),
            // Updates of 6.12 have the rules of 7.2, those of 6.18 up to 6.18.44 have not.
            unique_fields: release.is(6, 12) || release.is_since(6, 19),
            flat_ownership: !release.is(6, 12) && !release.is_since(6, 19),
        })
    }

    /// Returns rules that a BTF violates if it violates these or the others.
    pub(in super::super) fn or_stricter(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }
}
