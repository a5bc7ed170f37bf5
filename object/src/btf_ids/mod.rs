//! The section `.BTF_ids` of kernels, modules and objects: lists and sets of type ids
//! (`include/linux/btf_ids.h`).
//!
//! Symbols name the section's contents. `__BTF_ID__func__NAME__N` is the slot of the id of the function NAME.
//! `__BTF_ID__set__NAME` is a sorted set with a count, and `__BTF_ID__set8__NAME` is a sorted set of pairs of
//! id and flags. Any other symbol is the start of a list. The compiler leaves the ids 0; the kernel's build
//! fills them in with `resolve_btfids`, and [`BtfIds::resolve`] does the same.

mod check;
mod error;
mod parse;
mod resolve;
#[cfg(test)]
mod tests;

pub use check::IdProblem;
pub use error::BtfIdsError;
pub use resolve::{ResolvedIds, UnresolvedName};

use crate::elf::Elf;
use core::ops::Range;
use core_relo::{Endian, TypeId, btf::Kind};

/// The parsed section `.BTF_ids` of an ELF file.
#[derive(Clone, Debug)]
pub struct BtfIds<'d> {
    file: &'d [u8],
    elf: Elf<'d>,
    /// The bytes of the section.
    data: &'d [u8],
    /// The range of the section in the file.
    range: Range<usize>,
    sets: Vec<IdSet<'d>>,
}

/// The kinds of lists in `.BTF_ids`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the macros of the kernel's header make no others")]
pub enum IdSetKind {
    /// `BTF_ID_LIST`: ids in the order of the source.
    List,
    /// `BTF_SET_START`: a count and sorted ids.
    Set,
    /// `BTF_SET8_START` and `BTF_KFUNCS_START`: a count, flags, and sorted pairs of id and flags.
    FlagSet,
}

/// A list or set of type ids.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdSet<'d> {
    /// The name, empty for ids before the first list of the section.
    pub name: &'d [u8],
    /// The kind of list.
    pub kind: IdSetKind,
    /// The offset in the section.
    pub offset: usize,
    /// The length in bytes, with the count and flags of a set.
    pub len: usize,
    /// The count that a set contains; 0 before it is resolved.
    pub count: Option<u32>,
    /// The flags that a [`IdSetKind::FlagSet`] contains: 1 for a set of kfuncs.
    pub flags: Option<u32>,
    /// The ids.
    pub slots: Vec<IdSlot>,
    /// The types that belong in the list, in the order of the source.
    pub names: Vec<IdName<'d>>,
}

/// A slot of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdSlot {
    /// The offset in the section.
    pub offset: usize,
    /// The id, 0 if it is not resolved or the slot is unused (`BTF_ID_UNUSED`).
    pub id: TypeId,
    /// The flags of a slot of a [`IdSetKind::FlagSet`].
    pub flags: Option<u32>,
}

/// A symbol for the id of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IdName<'d> {
    /// The offset of the slot in the section, before the set is sorted.
    pub offset: usize,
    /// The kind of the type: STRUCT, UNION, TYPEDEF or FUNC.
    pub kind: Kind,
    /// The name of the type.
    pub name: &'d [u8],
}

impl IdSetKind {
    /// Returns the bytes before the first slot.
    const fn header_len(self) -> usize {
        match self {
            Self::List => 0,
            Self::Set => 4,
            Self::FlagSet => 8,
        }
    }

    /// Returns the bytes of a slot.
    const fn slot_len(self) -> usize {
        match self {
            Self::List | Self::Set => 4,
            Self::FlagSet => 8,
        }
    }
}

impl<'d> BtfIds<'d> {
    /// Returns the byte order of the file.
    pub fn endian(&self) -> Endian {
        self.elf.endian
    }

    /// Returns the lists and sets in the order of their offsets.
    pub fn sets(&self) -> &[IdSet<'d>] {
        &self.sets
    }

    /// Returns whether any slot contains an id.
    pub fn is_resolved(&self) -> bool {
        self.sets.iter().flat_map(|set| &set.slots).any(|slot| slot.id != TypeId::VOID)
    }
}
