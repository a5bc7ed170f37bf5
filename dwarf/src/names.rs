//! Names as numbers: equal names have equal numbers.

use crate::{error::EntryProblem, limits};
use core::ffi::CStr;
use core_relo::{InternalError, internal::Invariant as _};
use hashbrown::HashMap;

/// The number of a name. Zero is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NameId(pub(crate) u32);

impl NameId {
    pub(crate) const EMPTY: Self = Self(0);

    pub(crate) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// The string sections of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringSection {
    /// `.debug_str`
    Str,
    /// `.debug_line_str`
    LineStr,
}

/// The names of a shard of units.
#[derive(Debug)]
pub(crate) struct Names<'s> {
    list: Vec<&'s [u8]>,
    ids: HashMap<&'s [u8], NameId>,
    /// The names that were read from the string sections, by offset.
    by_offset: HashMap<(StringSection, usize), NameId>,
    /// The bytes of string sections that may still be read.
    bytes_left: u64,
}

impl<'s> Names<'s> {
    /// Returns an empty table for units of `unit_bytes` in total.
    pub(crate) fn new(unit_bytes: u64) -> Self {
        let bytes_left = unit_bytes.saturating_mul(limits::NAME_BYTES_PER_BYTE);
        Self {
            list: Vec::from([&b""[..]]),
            ids: HashMap::from_iter([(&b""[..], NameId::EMPTY)]),
            by_offset: HashMap::new(),
            bytes_left: bytes_left.saturating_add(limits::SHARD_NAME_BYTES),
        }
    }

    /// Returns the number of a name.
    pub(crate) fn intern(&mut self, name: &'s [u8]) -> Result<NameId, EntryProblem> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        let too_many = EntryProblem::OverlappingNames;
        let id = NameId(u32::try_from(self.list.len()).ok().ok_or(too_many)?);
        self.list.push(name);
        self.ids.insert(name, id);
        Ok(id)
    }

    /// Returns the number of the name at an offset into a string section, or `None` if there is no name.
    pub(crate) fn intern_at(
        &mut self,
        kind: StringSection,
        section: &'s [u8],
        offset: usize,
    ) -> Result<Option<NameId>, EntryProblem> {
        if let Some(id) = self.by_offset.get(&(kind, offset)) {
            return Ok(Some(*id));
        }
        let Some(rest) = section.get(offset..) else { return Ok(None) };
        let window = rest.get(..limits::NAME_BYTES).unwrap_or(rest);
        let Ok(name) = CStr::from_bytes_until_nul(window) else { return Ok(None) };
        let cost = u64::try_from(name.count_bytes()).ok().ok_or(EntryProblem::OverlappingNames)?;
        self.bytes_left = self.bytes_left.checked_sub(cost).ok_or(EntryProblem::OverlappingNames)?;
        let id = self.intern(name.to_bytes())?;
        self.by_offset.insert((kind, offset), id);
        Ok(Some(id))
    }

    /// Returns a name by its number.
    pub(crate) fn get(&self, id: NameId) -> Result<&'s [u8], InternalError> {
        let name = usize::try_from(id.0).ok().and_then(|index| self.list.get(index));
        name.copied().invariant("every number of a name has a name")
    }

    /// Returns all names in the order of their numbers.
    pub(crate) fn all(&self) -> &[&'s [u8]] {
        &self.list
    }
}
