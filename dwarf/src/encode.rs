//! The conversion of a file: shards of units on threads, then one BTF.

use crate::{
    decode::{Contexts, DeclTagValue, Entries, UnitContext, UnitDecoder, Wanted},
    elf::DebugSections,
    error::{DwarfOffset, EncodeError, EntryProblem},
    finish::finish,
    graph::Records,
    intern::{ShardTypes, resolve_forwards},
    limits,
    lower::{Lowered, foreign_references, lower, tagged_entry},
    names::Names,
    units::{Unit, Units},
};
use alloc::sync::Arc;
use core::{
    num::NonZeroUsize,
    ops::Range,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};
use core_relo::{
    Endian,
    btf::{Btf, Builder, BuiltRecord, Kind, Type, dedup},
    internal::Invariant as _,
};
use object::{ReadCache, ReadRef};
use std::{
    io::{Read, Seek},
    sync::Mutex,
    thread,
};

/// The settings of a conversion.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncodeSettings {
    /// The number of threads. The result does not depend on it.
    pub threads: NonZeroUsize,
    /// The BTF of the kernel, for the split BTF of a module.
    pub base: Option<Arc<Btf<'static>>>,
}

impl Default for EncodeSettings {
    fn default() -> Self {
        Self { threads: NonZeroUsize::MIN, base: None }
    }
}

/// The BTF of a file, and what was left out of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// The BTF: split if the settings have a base.
    pub bytes: Vec<u8>,
    /// The number of units that were converted.
    pub units: usize,
    /// The number of units in other languages than C, which are left out.
    pub skipped_units: usize,
    /// The types of all units before the last deduplication. Repeated types of a unit are not counted.
    pub types_before_dedup: usize,
    /// The number of functions.
    pub functions: usize,
    /// The number of per-CPU variables.
    pub variables: usize,
    /// The names of functions that are left out because their definitions differ.
    pub inconsistent_functions: Vec<String>,
}

/// Converts the debug information of an ELF file in memory.
pub fn encode(file: &[u8], settings: &EncodeSettings) -> Result<Encoded, EncodeError> {
    encode_data(file, settings)
}

/// Converts the debug information of an open ELF file. Reads only the sections of the debug information and
/// the symbols.
pub fn encode_file(file: impl Read + Seek, settings: &EncodeSettings) -> Result<Encoded, EncodeError> {
    encode_data(&ReadCache::new(file), settings)
}

fn encode_data<'d, R: ReadRef<'d>>(data: R, settings: &EncodeSettings) -> Result<Encoded, EncodeError> {
    let sections = DebugSections::read(data)?;
    if let Some(base) = &settings.base
        && base.endian() != sections.endian
    {
        let word = |endian| if endian == Endian::Little { "little-endian" } else { "big-endian" };
        return Err(EncodeError::BaseEndian { file: word(sections.endian), base: word(base.endian()) });
    }
    let units = Units::read(&sections)?;
    let has_flat_arrays = settings.base.as_deref().is_some_and(has_flat_arrays);
    let mut shards = convert_shards(&units, settings.threads, has_flat_arrays)?;
    let mut types: Vec<_> = shards.iter_mut().map(|shard| (&shard.names, &mut shard.records)).collect();
    resolve_forwards(&mut types, settings.base.as_deref())?;
    let skipped_units = shards.iter().map(|shard| shard.skipped_units).sum();
    let units_read = units.list.len().checked_sub(skipped_units).invariant("a skipped unit is a unit")?;
    if units_read == 0 {
        return Err(EncodeError::NoUnits { skipped: skipped_units });
    }
    let addresses: Vec<u64> = shards.iter().flat_map(|shard| &shard.addresses).copied().collect();
    let mut builder = match &settings.base {
        Some(base) => Builder::split_with_strings(base),
        None => Builder::new(sections.endian),
    };
    for shard in shards {
        append(&mut builder, &shard)?;
    }
    let all = parse(builder.finish(), settings)?;
    drop(builder);
    let types_before_dedup = all.types().count();
    let merged = dedup(&all)?.finish();
    drop(all);
    let merged = parse(merged, settings)?;
    let finished = finish(&merged, &addresses, sections.symbols.per_cpu.as_ref())?;
    Ok(Encoded {
        bytes: finished.bytes,
        units: units_read,
        skipped_units,
        types_before_dedup,
        functions: finished.functions,
        variables: finished.variables,
        inconsistent_functions: finished.inconsistent_functions,
    })
}

fn parse(bytes: Vec<u8>, settings: &EncodeSettings) -> Result<Btf<'static>, EncodeError> {
    Ok(match &settings.base {
        Some(base) => Btf::parse_split(bytes, Arc::clone(base))?,
        None => Btf::parse(bytes)?,
    })
}

/// Returns whether a base has arrays, but none whose elements are arrays.
///
/// Older versions of pahole write `int a[2][3]` as `int a[6]`. Types of a module equal those of the base only
/// if they are written alike.
fn has_flat_arrays(base: &Btf<'_>) -> bool {
    let element_kind = |element| base.ty(element).map(Type::kind);
    let mut kinds =
        base.all_types().filter_map(Type::array).map(|array| element_kind(array.element)).peekable();
    kinds.peek().is_some() && kinds.all(|kind| kind != Some(Kind::Array))
}

/// The types of a shard of units.
struct Shard<'s> {
    names: Names<'s>,
    records: Records,
    addresses: Vec<u64>,
    skipped_units: usize,
}

/// Converts all units, in shards that do not depend on the number of threads.
fn convert_shards<'s>(
    units: &Units<'s>,
    threads: NonZeroUsize,
    has_flat_arrays: bool,
) -> Result<Vec<Shard<'s>>, EncodeError> {
    let ranges = shard_ranges(&units.list);
    let bytes: u64 = units.list.iter().map(Unit::bytes).fold(0, u64::saturating_add);
    let records = bytes.saturating_mul(limits::RECORDS_PER_BYTE).saturating_add(limits::FILE_RECORDS);
    let budget = Budget {
        foreign_left: AtomicU64::new(bytes.saturating_mul(limits::FOREIGN_ENTRIES_PER_BYTE)),
        records_left: AtomicU64::new(records),
    };
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Shard<'s>, EncodeError>>>> =
        Mutex::new(core::iter::repeat_with(|| None).take(ranges.len()).collect());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(index).cloned() else { return };
            let list = units.list.get(range).invariant("a shard is a range of units");
            let result = list
                .map_err(EncodeError::from)
                .and_then(|list| ShardConverter::new(units, list, &budget, has_flat_arrays).convert(list));
            if result.is_err() {
                // Later shards are not begun. Earlier shards end, so that the first error is reported.
                next.store(ranges.len(), Ordering::Relaxed);
            }
            if let Ok(mut results) = results.lock()
                && let Some(slot) = results.get_mut(index)
            {
                *slot = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(ranges.len()) {
            // Without further threads, this one does all the work.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let broken = "every shard has a result";
    results.into_inner().invariant(broken)?.into_iter().map(|result| result.invariant(broken)?).collect()
}

/// Divides the units into shards of about [`limits::SHARD_BYTES`].
fn shard_ranges(units: &[Unit<'_>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0u64);
    for (end, unit) in (1..).zip(units) {
        bytes = bytes.saturating_add(unit.bytes());
        if bytes >= limits::SHARD_BYTES {
            ranges.push(start..end);
            (start, bytes) = (end, 0);
        }
    }
    if start < units.len() {
        ranges.push(start..units.len());
    }
    ranges
}

/// What all shards may still do.
struct Budget {
    /// The entries of other units to decode.
    foreign_left: AtomicU64,
    /// The records to keep.
    records_left: AtomicU64,
}

/// Takes an amount from a part of the budget. Returns `None` if less is left.
fn spend(left: &AtomicU64, amount: u64) -> Option<()> {
    let spent = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left: u64| left.checked_sub(amount));
    spent.map(|_| ()).ok()
}

/// Converts the units of a shard.
struct ShardConverter<'a, 's> {
    units: &'a Units<'s>,
    names: Names<'s>,
    types: ShardTypes,
    contexts: Contexts<'s>,
    budget: &'a Budget,
    /// Whether arrays of arrays become arrays of one dimension.
    has_flat_arrays: bool,
}

impl<'a, 's> ShardConverter<'a, 's> {
    fn new(units: &'a Units<'s>, list: &[Unit<'s>], budget: &'a Budget, has_flat_arrays: bool) -> Self {
        let bytes = list.iter().map(Unit::bytes).fold(0, u64::saturating_add);
        Self {
            units,
            names: Names::new(bytes),
            types: ShardTypes::default(),
            contexts: Contexts::default(),
            budget,
            has_flat_arrays,
        }
    }

    fn convert(mut self, list: &[Unit<'s>]) -> Result<Shard<'s>, EncodeError> {
        let mut skipped = Vec::new();
        let mut lowered = Lowered::default();
        for unit in list {
            let context = UnitContext::read(self.units, unit)?;
            if !context.is_c() {
                skipped.push(unit.start);
                continue;
            }
            let mut entries = Entries::default();
            self.decoder(&context, &mut entries, Wanted::All).decode_unit()?;
            self.decode_foreign(unit, &mut entries)?;
            if self.has_flat_arrays {
                entries.flatten_arrays();
            }
            lower(&entries, &mut self.names, self.units.sections.endian, &mut lowered)?;
            let before = self.types.stored()?;
            self.types.add_unit(&lowered)?;
            let added = self.types.stored()?.checked_sub(before).invariant("a shard loses no records")?;
            spend(&self.budget.records_left, added).ok_or(EncodeError::Entry {
                unit: unit.start,
                entry: unit.start,
                problem: EntryProblem::FileRecords,
            })?;
        }
        let ShardTypes { records, addresses, .. } = self.types;
        Ok(Shard { names: self.names, records, addresses, skipped_units: skipped.len() })
    }

    fn decoder<'e>(
        &'e mut self,
        context: &'e UnitContext<'s>,
        entries: &'e mut Entries,
        wanted: Wanted,
    ) -> UnitDecoder<'e, 's> {
        UnitDecoder { units: self.units, context, names: &mut self.names, entries, wanted }
    }

    /// Decodes the entries of other units to which the entries refer, and those to which these refer.
    fn decode_foreign(&mut self, unit: &Unit<'s>, entries: &mut Entries) -> Result<(), EncodeError> {
        let is_foreign = |place: DwarfOffset| {
            let distance = place.offset().checked_sub(unit.start.offset());
            place.section() != unit.start.section()
                || distance.is_none_or(|distance| distance >= unit.bytes())
        };
        let (mut unvisited, mut unvisited_tags) = (0..0, 0..0);
        let mut found = Vec::new();
        loop {
            // Decoding adds entries and tags.
            (unvisited.end, unvisited_tags.end) = (entries.list.len(), entries.decl_tags.len());
            // Tags of members and parameters are not in their entries.
            let entry = if let Some(entry) = unvisited.next().and_then(|at| entries.list.get(at)) {
                foreign_references(entry, is_foreign, &mut found);
                entry
            } else if let Some(tag) = unvisited_tags.next().and_then(|at| entries.decl_tags.get(at)) {
                let DeclTagValue::Annotation(place) = tag.value else { continue };
                found.extend(Some(place).filter(|place| is_foreign(*place)));
                entries.list.get(tagged_entry(tag)).invariant("a declaration tag belongs to an entry")?
            } else {
                return Ok(());
            };
            let (from_unit, from) = (entry.unit, entry.place);
            for target in found.drain(..) {
                if entries.by_place.contains_key(&target) {
                    continue;
                }
                let fail = |problem| EncodeError::Entry { unit: from_unit, entry: from, problem };
                let other =
                    *self.units.containing(target).ok_or_else(|| fail(EntryProblem::NoEntry { target }))?;
                let distance = target.offset().checked_sub(other.start.offset());
                let offset = distance.and_then(|distance| usize::try_from(distance).ok());
                let offset = offset.ok_or_else(|| fail(EntryProblem::NoEntry { target }))?;
                let context = self.contexts.get(self.units, &other)?;
                let read =
                    self.decoder(&context, entries, Wanted::Types).decode_entry(gimli::UnitOffset(offset))?;
                spend(&self.budget.foreign_left, read).ok_or(EntryProblem::ForeignEntries).map_err(fail)?;
            }
        }
    }
}

/// Appends the records of a shard, with the ids and string offsets of the builder.
fn append(builder: &mut Builder, shard: &Shard<'_>) -> Result<(), EncodeError> {
    let too_many = || EncodeError::TooManyTypes;
    let shift = builder.next_id().0.checked_sub(1).ok_or_else(too_many)?;
    let count = u32::try_from(shard.records.len()).ok().ok_or_else(too_many)?;
    shift.checked_add(count).ok_or_else(too_many)?;
    let mut offsets: Vec<Option<u32>> = vec![None; shard.names.all().len()];
    let mut words = Vec::new();
    for record in shard.records.iter() {
        let record = record?;
        record.copy_with_targets(&mut words, |target| match target {
            0 => Ok(0),
            target => target.checked_add(shift).ok_or_else(too_many),
        })?;
        record.replace_element_names(&mut words, |name| {
            let slot = usize::try_from(name.0).ok().and_then(|index| offsets.get_mut(index));
            let slot = slot.invariant("every name has a number")?;
            if slot.is_none() {
                *slot = Some(builder.string_bytes(shard.names.get(name)?).0);
            }
            slot.invariant("the offset was set")
        })?;
        let (head, trailer) = words.split_first_chunk().invariant("a record has a head")?;
        let [_, info, size_or_type] = *head;
        let name = shard.names.get(record.name)?;
        builder.raw(
            name,
            BuiltRecord {
                kind: record.kind(),
                vlen: info & 0xffff,
                kflag: record.kflag(),
                size_or_type,
                words: trailer,
            },
        );
    }
    Ok(())
}
