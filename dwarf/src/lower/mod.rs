//! Lowers the entries of a unit to records.

mod annotations;
mod composite;
mod references;
mod scalar;

use crate::{
    decode::{Entries, Entry, Param, Shape},
    error::{DwarfOffset, EncodeError, EntryProblem},
    graph::{Records, TypeRef, info},
    limits,
    names::{NameId, Names},
};
use core_relo::{Endian, InternalError, btf::Kind, internal::Invariant as _};
use references::{References, Resolved};

pub(crate) use references::{foreign_references, tagged_entry};

/// The name of the index type of arrays in a unit without `int`.
const ARRAY_INDEX_NAME: &[u8] = b"__ARRAY_SIZE_TYPE__";

/// The linkage of a static variable, and that of an external one (`BTF_VAR_*`).
const VAR_STATIC: u32 = 0;
const VAR_GLOBAL: u32 = 1;

/// The records of a unit.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    pub(crate) records: Records,
    /// For each record, the unit and place of its entry.
    pub(crate) places: Vec<(DwarfOffset, DwarfOffset)>,
    /// The addresses of the VAR records, in their order.
    pub(crate) addresses: Vec<u64>,
}

impl Lowered {
    /// Returns an error at the entry of a record.
    pub(crate) fn error(&self, record: usize, problem: EntryProblem) -> EncodeError {
        match self.places.get(record) {
            Some((unit, entry)) => EncodeError::Entry { unit: *unit, entry: *entry, problem },
            None => InternalError::new("each record has a place").into(),
        }
    }
}

/// Lowers entries to records.
pub(crate) fn lower(
    entries: &Entries,
    names: &mut Names<'_>,
    endian: Endian,
    out: &mut Lowered,
) -> Result<(), EncodeError> {
    out.records.clear();
    out.places.clear();
    out.addresses.clear();
    let index = ArrayIndex::find(entries, names)?;
    let references = References::new(entries, u32::from(matches!(index, ArrayIndex::Own(_))))?;
    let array_index = match index {
        ArrayIndex::None => 0,
        ArrayIndex::Own(_) => 1,
        ArrayIndex::Entry(index) => references.own(index)?,
    };
    let mut lowering = Lowering { entries, references, array_index, endian, out };
    if let ArrayIndex::Own(name) = index {
        let place =
            entries.list.first().map_or((DwarfOffset::info(0), DwarfOffset::info(0)), |e| (e.unit, e.place));
        let words = [name.0, info(Kind::Int, 0, false), 4, 32];
        lowering.out.records.add(words).ok_or(EncodeError::TooManyTypes)?;
        lowering.out.places.push(place);
    }
    for (index, entry) in entries.list.iter().enumerate() {
        lowering.entry(index, entry).map_err(|problem| entry_error(entry, problem))?;
    }
    lowering.decl_tags()
}

/// The index type of the arrays of a unit, which DWARF does not have in C. BTF needs one, and pahole takes
/// `int`.
enum ArrayIndex {
    /// The unit has no arrays.
    None,
    /// The entry of `int`.
    Entry(usize),
    /// A record of its own, the first of the unit.
    Own(NameId),
}

impl ArrayIndex {
    fn find(entries: &Entries, names: &mut Names<'_>) -> Result<Self, EncodeError> {
        if !entries.list.iter().any(|entry| matches!(entry.shape, Shape::Array { .. })) {
            return Ok(Self::None);
        }
        let is_int = |entry: &Entry| {
            matches!(entry.shape, Shape::Base { .. }) && names.get(entry.name) == Ok(&b"int"[..])
        };
        if let Some(index) = entries.list.iter().position(is_int) {
            return Ok(Self::Entry(index));
        }
        names.intern(ARRAY_INDEX_NAME).map(Self::Own).ok().ok_or(EncodeError::TooManyTypes)
    }
}

fn entry_error(entry: &Entry, problem: EntryProblem) -> EncodeError {
    EncodeError::Entry { unit: entry.unit, entry: entry.place, problem }
}

struct Lowering<'a> {
    entries: &'a Entries,
    references: References<'a>,
    /// The index type of arrays.
    array_index: TypeRef,
    endian: Endian,
    out: &'a mut Lowered,
}

impl Lowering<'_> {
    /// Adds the records of an entry. Their number is that of [`References`].
    fn entry(&mut self, index: usize, entry: &Entry) -> Result<(), EntryProblem> {
        let name = entry.name;
        match &entry.shape {
            Shape::Alias | Shape::Void | Shape::Annotation { .. } => return Ok(()),
            Shape::Base { encoding, size, bits } => {
                let words = scalar::base(name, *encoding, *size, *bits)?;
                self.add(entry, words)?;
            }
            Shape::Pointer { tags } => self.pointer(entry, tags)?,
            Shape::Modifier(kind) => {
                let target = self.target(entry)?;
                self.add(entry, [0, info(*kind, 0, false), target])?;
            }
            Shape::Typedef => {
                let target = self.target(entry)?;
                self.add(entry, [name.0, info(Kind::Typedef, 0, false), target])?;
            }
            Shape::Composite { kind, size, is_declaration, members } => {
                let words = self.composite(name, *kind, *size, *is_declaration, members)?;
                self.add(entry, words)?;
            }
            Shape::Enumeration { size, is_declaration, enumerators } => {
                let enumerators = if *is_declaration { &[] } else { &**enumerators };
                let size = if *is_declaration { 4 } else { *size };
                let words = scalar::enumeration(name, size, enumerators)?;
                self.add(entry, words)?;
            }
            Shape::Array { dimensions } => {
                let mut element = self.target(entry)?;
                // The innermost dimension is the first record, so that each array follows its elements.
                for dimension in dimensions.iter().rev() {
                    let len = scalar::word("number of elements", dimension.0)?;
                    let words = [0, info(Kind::Array, 0, false), 0, element, self.array_index, len];
                    element = self.add(entry, words)?;
                }
                if dimensions.is_empty() {
                    let words = [0, info(Kind::Array, 0, false), 0, element, self.array_index, 0];
                    self.add(entry, words)?;
                }
            }
            Shape::Prototype { params, is_variadic } => {
                self.prototype(entry, params, *is_variadic, false)?;
            }
            Shape::Function { params, is_variadic } => {
                if self.references.is_function_encoded(index) {
                    let prototype = self.prototype(entry, params, *is_variadic, true)?;
                    self.add(entry, [name.0, info(Kind::Func, 0, false), prototype])?;
                }
                return Ok(());
            }
            Shape::Variable { address, is_external } => {
                let target = self.target(entry)?;
                let linkage = if *is_external { VAR_GLOBAL } else { VAR_STATIC };
                self.add(entry, [name.0, info(Kind::Var, 0, false), target, linkage])?;
                self.out.addresses.push(*address);
                return Ok(());
            }
        }
        self.type_tags(index, entry)
    }

    fn prototype(
        &mut self,
        entry: &Entry,
        params: &[Param],
        is_variadic: bool,
        has_names: bool,
    ) -> Result<TypeRef, EntryProblem> {
        let count =
            params.len().checked_add(usize::from(is_variadic)).invariant("parameters have an address")?;
        let vlen = scalar::vlen("number of parameters", count)?;
        let target = self.target(entry)?;
        let mut words = Vec::from([0, info(Kind::FuncProto, vlen, false), target]);
        for param in params {
            let name = if has_names { param.name } else { NameId::EMPTY };
            words.extend([name.0, self.resolve(param.target)?]);
        }
        if is_variadic {
            words.extend([0, 0]);
        }
        self.add(entry, words)
    }

    /// Adds a record of an entry.
    fn add(&mut self, entry: &Entry, words: impl IntoIterator<Item = u32>) -> Result<TypeRef, EntryProblem> {
        let too_many =
            EntryProblem::TooLarge { what: "number of records", value: u64::MAX, limit: u32::MAX.into() };
        if self.out.records.len() >= limits::UNIT_RECORDS {
            return Err(EntryProblem::UnitRecords);
        }
        let added = self.out.records.add(words).ok_or(too_many)?;
        self.out.places.push((entry.unit, entry.place));
        Ok(added)
    }

    fn target(&self, entry: &Entry) -> Result<TypeRef, EntryProblem> {
        self.resolve(entry.target)
    }

    /// Returns the reference to the type at a place; `void` for no place.
    fn resolve(&self, place: Option<DwarfOffset>) -> Result<TypeRef, EntryProblem> {
        let Some(target) = place else { return Ok(0) };
        match self.references.get(target) {
            Some(Resolved::Type(reference)) => Ok(reference),
            Some(Resolved::NoType) | None => Err(EntryProblem::NoType { target }),
        }
    }
}
