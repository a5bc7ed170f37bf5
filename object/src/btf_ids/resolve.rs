//! Fills in the ids of `.BTF_ids`, as the kernel's `resolve_btfids` does.

use super::{BtfIds, BtfIdsError, IdSet, IdSetKind};
use crate::{
    elf::{ElfClass, text},
    internal::{InternalError, Invariant as _},
    limits,
    object::rewrite::check_no_overlap,
};
use alloc::collections::BTreeSet;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashMap;

/// Checked during parsing.
const SLOT_IN_SECTION: &str = "every slot lies in the section";

/// A type that is not in the BTF, or several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnresolvedName<'d> {
    /// The name of the list or set.
    pub set: &'d [u8],
    /// The kind of the type.
    pub kind: Kind,
    /// The name of the type.
    pub name: &'d [u8],
}

/// A file with resolved ids.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResolvedIds<'d> {
    /// The bytes of the file.
    pub file: Vec<u8>,
    /// The number of ids that were filled in.
    pub resolved: usize,
    /// The types that the BTF does not have. Their ids are 0.
    pub missing: Vec<UnresolvedName<'d>>,
    /// The types of which the BTF has several. The first was taken.
    pub ambiguous: Vec<UnresolvedName<'d>>,
}

/// The lowest id of each type that `.BTF_ids` names, and whether the BTF has several.
pub(super) struct TypeIds<'d>(HashMap<Kind, HashMap<&'d [u8], (TypeId, bool)>>);

impl<'d> TypeIds<'d> {
    /// Finds the types of all names in one pass over the BTF and its base.
    pub(super) fn find(ids: &BtfIds<'d>, btf: &Btf<'_>) -> Self {
        let mut found: HashMap<_, HashMap<_, _>> = HashMap::new();
        for name in ids.sets.iter().flat_map(|set| &set.names) {
            found.entry(name.kind).or_default().insert(name.name, (TypeId::VOID, false));
        }
        for ty in btf.all_types() {
            if let Some(names) = found.get_mut(&ty.kind())
                && let Some(name) = short_name(ty)
                && let Some((id, is_ambiguous)) = names.get_mut(name)
            {
                *is_ambiguous = *id != TypeId::VOID;
                if *id == TypeId::VOID {
                    *id = ty.id();
                }
            }
        }
        Self(found)
    }

    /// Returns the id of a type, 0 if the BTF does not have it, and whether the BTF has several.
    pub(super) fn id(&self, kind: Kind, name: &[u8]) -> (TypeId, bool) {
        self.0.get(&kind).and_then(|names| names.get(name)).copied().unwrap_or((TypeId::VOID, false))
    }
}

/// Returns the name of a type, unless it is longer than any symbol. Thousands of types may share a long name.
pub(super) fn short_name(ty: Type<'_>) -> Option<&[u8]> {
    Some(ty.name().as_bytes()).filter(|name| name.len() <= limits::NAME_BYTES)
}

impl<'d> BtfIds<'d> {
    /// Returns a copy of the file with the ids of the types in `btf`, with counts, and with sorted sets.
    ///
    /// Of several types of one kind and name, the first is taken. A type that is missing has the id 0, as
    /// after `resolve_btfids`.
    pub fn resolve(&self, btf: &Btf<'_>) -> Result<ResolvedIds<'d>, BtfIdsError> {
        if self.elf.class != ElfClass::Elf64 {
            return Err(BtfIdsError::Elf32);
        }
        if self.elf.endian != btf.endian() {
            return Err(BtfIdsError::ByteOrder);
        }
        let has_ids = |set: &&IdSet<'_>| set.slots.iter().any(|slot| slot.id != TypeId::VOID);
        if let Some(set) = self.sets.iter().find(has_ids) {
            return Err(BtfIdsError::AlreadyResolved { set: text(set.name) });
        }
        let ids = TypeIds::find(self, btf);
        let mut data = self.data.to_vec();
        let (mut missing, mut ambiguous) = (Vec::new(), Vec::new());
        for set in &self.sets {
            for name in &set.names {
                let (id, is_ambiguous) = ids.id(name.kind, name.name);
                let unresolved = UnresolvedName { set: set.name, kind: name.kind, name: name.name };
                if id == TypeId::VOID {
                    missing.push(unresolved);
                }
                if is_ambiguous {
                    ambiguous.push(unresolved);
                }
                self.put(&mut data, name.offset, id.0)?;
            }
            self.finish_set(&mut data, set)?;
        }
        let mut file = self.file.to_vec();
        let section = file.get_mut(self.range.clone()).filter(|section| section.len() == data.len());
        section.invariant("a parsed section lies in the file")?.copy_from_slice(&data);
        let changed = self.elf.section(b".BTF_ids").invariant("a parsed section exists")?.index;
        check_no_overlap(&self.elf, self.file, &BTreeSet::from([changed]))?;
        let count: usize = self.sets.iter().map(|set| set.names.len()).sum();
        let resolved = count.checked_sub(missing.len()).invariant("a missing name is a name of a set")?;
        Ok(ResolvedIds { file, resolved, missing, ambiguous })
    }

    /// Writes the count of a set, and sorts its slots by id.
    fn finish_set(&self, data: &mut [u8], set: &IdSet<'_>) -> Result<(), InternalError> {
        if set.kind == IdSetKind::List {
            return Ok(());
        }
        let count = u32::try_from(set.slots.len()).invariant("the length of a set has 32 bits")?;
        self.put(data, set.offset, count)?;
        let read = |at: usize| self.elf.endian.u32(data, at).invariant(SLOT_IN_SECTION);
        let slots = set.slots.iter().map(|slot| Ok((read(slot.offset)?, slot.flags)));
        let mut slots = slots.collect::<Result<Vec<_>, InternalError>>()?;
        slots.sort_by_key(|(id, _)| *id);
        for (place, (id, flags)) in set.slots.iter().zip(slots) {
            self.put(data, place.offset, id)?;
            if let Some(flags) = flags {
                let offset = place.offset.checked_add(4).invariant(SLOT_IN_SECTION)?;
                self.put(data, offset, flags)?;
            }
        }
        Ok(())
    }

    /// Writes a word.
    fn put(&self, data: &mut [u8], offset: usize, value: u32) -> Result<(), InternalError> {
        let word = data.get_mut(offset..).and_then(<[u8]>::first_chunk_mut);
        *word.invariant(SLOT_IN_SECTION)? = self.elf.endian.u32_bytes(value);
        Ok(())
    }
}
