//! The units of a file: headers, abbreviations and the signatures of type units.

use crate::{
    elf::{DebugSections, Slice},
    error::{DwarfOffset, EncodeError, EntryProblem},
    parse_error::DwarfProblem,
};
use alloc::sync::Arc;
use gimli::{
    Abbreviations, DebugAbbrev, DebugAbbrevOffset, DebugInfo, DebugTypes, UnitHeader, UnitOffset, UnitType,
};
use hashbrown::HashMap;
use std::sync::OnceLock;

/// All units of a file.
#[derive(Debug)]
pub(crate) struct Units<'s> {
    pub(crate) sections: &'s DebugSections<'s>,
    /// The units in the order of their places.
    pub(crate) list: Vec<Unit<'s>>,
    /// The place of the type in the type unit with a signature.
    signatures: HashMap<u64, DwarfOffset>,
    /// The offsets of all abbreviation tables, in order. A table ends at the next.
    tables: Vec<u64>,
    /// The parsed abbreviation tables that several units share.
    shared_tables: HashMap<u64, OnceLock<Arc<Abbreviations>>>,
}

/// A unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit<'s> {
    pub(crate) start: DwarfOffset,
    pub(crate) header: UnitHeader<Slice<'s>>,
}

impl Unit<'_> {
    /// Returns the size of the unit in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::try_from(self.header.length_including_self()).unwrap_or(u64::MAX)
    }

    /// Returns the place of an entry; `None` past the end of the address space.
    pub(crate) fn place(&self, offset: UnitOffset) -> Option<DwarfOffset> {
        self.start.plus(u64::try_from(offset.0).ok()?)
    }
}

impl<'s> Units<'s> {
    /// Reads the headers of all units.
    pub(crate) fn read(sections: &'s DebugSections<'s>) -> Result<Self, EncodeError> {
        let mut list = Vec::new();
        let mut signatures = HashMap::new();
        let mut add = |header: UnitHeader<Slice<'s>>, start: DwarfOffset| {
            let unit = Unit { start, header };
            if let UnitType::Type { type_signature, type_offset } = header.type_()
                && let Some(place) = unit.place(type_offset)
            {
                signatures.entry(type_signature.0).or_insert(place);
            }
            list.push(unit);
        };
        let mut end = DwarfOffset::info(0);
        let mut units = DebugInfo::from(sections.slice(&sections.info)).units();
        while let Some(header) = units.next().map_err(|e| bad_unit(end, e))? {
            add(header, end);
            end = next_unit(end, &header)?;
        }
        let mut end = DwarfOffset::types(0);
        let mut units = DebugTypes::from(sections.slice(&sections.types)).units();
        while let Some(header) = units.next().map_err(|e| bad_unit(end, e))? {
            add(header, end);
            end = next_unit(end, &header)?;
        }
        let (tables, shared_tables) = abbreviation_tables(&list);
        Ok(Self { sections, list, signatures, tables, shared_tables })
    }

    /// Returns the unit that contains a place.
    pub(crate) fn containing(&self, place: DwarfOffset) -> Option<&Unit<'s>> {
        let after = self.list.partition_point(|unit| unit.start <= place);
        let unit = self.list.get(after.checked_sub(1)?)?;
        let distance = place.offset().checked_sub(unit.start.offset())?;
        (place.section() == unit.start.section() && distance < unit.bytes()).then_some(unit)
    }

    /// Returns the place of the type with a signature.
    pub(crate) fn signature(&self, signature: u64) -> Result<DwarfOffset, EntryProblem> {
        self.signatures.get(&signature).copied().ok_or(EntryProblem::NoTypeUnit { signature })
    }

    /// Returns the abbreviations of a unit.
    pub(crate) fn abbreviations(&self, unit: &Unit<'s>) -> Result<Arc<Abbreviations>, EncodeError> {
        let offset = unit.header.debug_abbrev_offset();
        let bad = |e| bad_unit(unit.start, e);
        let Some(shared) = u64::try_from(offset.0).ok().and_then(|at| self.shared_tables.get(&at)) else {
            return self.parse_abbreviations(offset).map(Arc::new).map_err(bad);
        };
        if let Some(parsed) = shared.get() {
            return Ok(Arc::clone(parsed));
        }
        let parsed = Arc::new(self.parse_abbreviations(offset).map_err(bad)?);
        Ok(Arc::clone(shared.get_or_init(|| parsed)))
    }

    /// Parses the abbreviation table at an offset, up to the next table. Tables of a valid file do not
    /// overlap.
    fn parse_abbreviations(&self, offset: DebugAbbrevOffset) -> gimli::Result<Abbreviations> {
        let section = &*self.sections.abbrev;
        let next = self.tables.partition_point(|at| usize::try_from(*at).is_ok_and(|at| at <= offset.0));
        let end = self.tables.get(next).and_then(|at| usize::try_from(*at).ok());
        let (section, _) = end.and_then(|end| section.split_at_checked(end)).unwrap_or((section, &[]));
        // Nothing is left after an offset past the end of the section, which is an error of the parser.
        let table = section.get(offset.0..).unwrap_or(&[]);
        DebugAbbrev::from(self.sections.slice(table)).abbreviations(DebugAbbrevOffset(0))
    }
}

/// Returns the place after a unit.
fn next_unit(start: DwarfOffset, header: &UnitHeader<Slice<'_>>) -> Result<DwarfOffset, EncodeError> {
    let bytes = u64::try_from(header.length_including_self()).ok();
    let next = bytes.and_then(|bytes| start.plus(bytes));
    next.ok_or_else(|| bad_unit(start, gimli::Error::UnsupportedOffset))
}

fn bad_unit(unit: DwarfOffset, error: gimli::Error) -> EncodeError {
    EncodeError::Unit { unit, problem: DwarfProblem::new(error) }
}

/// Returns the offsets of all abbreviation tables, and empty slots for the tables that several units share.
fn abbreviation_tables(list: &[Unit<'_>]) -> (Vec<u64>, HashMap<u64, OnceLock<Arc<Abbreviations>>>) {
    let offsets =
        list.iter().map(|unit| u64::try_from(unit.header.debug_abbrev_offset().0).unwrap_or(u64::MAX));
    let mut tables: Vec<u64> = offsets.collect();
    tables.sort_unstable();
    let pairs = tables.iter().zip(tables.iter().skip(1));
    let shared = pairs.filter(|(a, b)| a == b).map(|(a, _)| (*a, OnceLock::new())).collect();
    tables.dedup();
    (tables, shared)
}
