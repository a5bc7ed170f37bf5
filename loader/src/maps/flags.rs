//! Flags of writes.

use core::ops::BitOr;

/// The flags with which an element is written or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is the kernel's number")]
pub struct Flags(pub u64);

impl Flags {
    /// Creates or replaces the element (`BPF_ANY`).
    pub const ANY: Self = Self(0);
    /// Creates the element. An existing element is `EEXIST` (`BPF_NOEXIST`).
    pub const NO_EXIST: Self = Self(1);
    /// Replaces the element. A missing element is `ENOENT` (`BPF_EXIST`).
    pub const EXIST: Self = Self(2);
    /// Takes the `bpf_spin_lock` in the value (`BPF_F_LOCK`).
    pub const LOCK: Self = Self(4);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
