//! Headers of rpm packages: lists of tagged values (rpm's `docs/manual/format_v4.md` and `hregions.md`).

use crate::{
    error::InputError,
    limits::{MAX_RPM_ENTRIES, MAX_RPM_HEADER_BYTES},
    package::{
        PackageDefect,
        stream::{Part, read_part},
    },
};
use core_relo::Endian;
use std::{io::Read, ops::Range, path::Path};

const MAGIC: &[u8] = b"\x8e\xad\xe8\x01";

/// The size of the fields before the index, in bytes.
pub(super) const INTRO_BYTES: u64 = 16;

/// The size of an entry of the index, in bytes.
const ENTRY_BYTES: u64 = 16;

/// The types of values that the package's reader uses.
const TYPE_INT16: u32 = 3;
const TYPE_INT32: u32 = 4;
const TYPE_INT64: u32 = 5;
const TYPE_STRING: u32 = 6;
const TYPE_STRING_ARRAY: u32 = 8;
const TYPE_I18N_STRING: u32 = 9;

/// A header that has been read.
#[derive(Debug)]
pub(super) struct RpmHeader {
    index: Vec<u8>,
    data: Vec<u8>,
    /// The size in bytes.
    pub(super) len: u64,
}

/// An entry of the index.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: u32,
    offset: usize,
    count: usize,
}

impl RpmHeader {
    /// Reads a header at `offset`.
    pub(super) fn read(path: &Path, stream: &mut dyn Read, offset: u64) -> Result<Self, InputError> {
        const EXPECTED: &str = "an rpm header";
        let error = |defect: PackageDefect| InputError::new(path, defect.into());
        let part = |offset, len, name, limit| Part { offset, len, name, limit };
        let intro = read_part(path, stream, part(offset, INTRO_BYTES, EXPECTED, INTRO_BYTES))?;
        if !intro.starts_with(MAGIC) {
            return Err(error(PackageDefect::Magic { offset, expected: EXPECTED }));
        }
        let word = |at| {
            let word = Endian::Big.u32(&intro, at).map(u64::from);
            word.ok_or_else(|| error(PackageDefect::Truncated { offset, expected: EXPECTED }))
        };
        let (entry_count, data_bytes) = (word(8)?, word(12)?);
        if entry_count > MAX_RPM_ENTRIES {
            let (part, limit) = ("the rpm header", MAX_RPM_ENTRIES);
            let defect = PackageDefect::TooLarge { offset, part, found: entry_count, limit, unit: "entries" };
            return Err(error(defect));
        }
        let index_bytes = entry_count.saturating_mul(ENTRY_BYTES);
        let index_offset = offset.saturating_add(INTRO_BYTES);
        let index_part = part(
            index_offset,
            index_bytes,
            "the index of the rpm header",
            MAX_RPM_ENTRIES.saturating_mul(ENTRY_BYTES),
        );
        let index = read_part(path, stream, index_part)?;
        let data_offset = index_offset.saturating_add(index_bytes);
        let data_part = part(data_offset, data_bytes, "the data of the rpm header", MAX_RPM_HEADER_BYTES);
        let data = read_part(path, stream, data_part)?;
        let len = INTRO_BYTES.saturating_add(index_bytes).saturating_add(data_bytes);
        Ok(Self { index, data, len })
    }

    /// Finds the entry of a tag, if its values have one of these types.
    fn find(&self, tag: u32, kinds: &[u32]) -> Option<Entry> {
        let word = |raw: &[u8], at| Endian::Big.u32(raw, at);
        let (entries, _rest) = self.index.as_chunks::<16>();
        let raw = entries.iter().find(|raw| word(*raw, 0) == Some(tag))?;
        let index = |at| usize::try_from(word(raw, at)?).ok();
        let entry = Entry { kind: word(raw, 4)?, offset: index(8)?, count: index(12)? };
        kinds.contains(&entry.kind).then_some(entry)
    }

    /// Returns the first string of a tag.
    pub(super) fn string(&self, tag: u32) -> Option<String> {
        let entry = self.find(tag, &[TYPE_STRING, TYPE_STRING_ARRAY, TYPE_I18N_STRING])?;
        let range = self.string_ranges(entry).next()?;
        self.text(&range).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// Returns the places of the strings of a tag, to read with [`Self::text`]. A tag that is not there has
    /// none.
    pub(super) fn strings(&self, tag: u32) -> impl Iterator<Item = Range<usize>> {
        let entry = self.find(tag, &[TYPE_STRING, TYPE_STRING_ARRAY, TYPE_I18N_STRING]);
        entry.into_iter().flat_map(|entry| self.string_ranges(entry))
    }

    /// Returns the bytes of a string.
    pub(super) fn text(&self, range: &Range<usize>) -> Option<&[u8]> {
        self.data.get(range.clone())
    }

    fn string_ranges(&self, entry: Entry) -> impl Iterator<Item = Range<usize>> {
        let mut start = entry.offset;
        let count = if entry.kind == TYPE_STRING { 1 } else { entry.count };
        (0..count).map_while(move |_| {
            let len = self.data.get(start..)?.iter().position(|byte| *byte == 0)?;
            let end = start.checked_add(len)?;
            let range = start..end;
            start = end.checked_add(1)?;
            Some(range)
        })
    }

    /// Returns the numbers of a tag. A tag that is not there has none.
    pub(super) fn numbers(&self, tag: u32) -> impl Iterator<Item = u64> {
        let entry = self.find(tag, &[TYPE_INT16, TYPE_INT32, TYPE_INT64]);
        entry.into_iter().flat_map(|entry| self.numbers_of(entry))
    }

    fn numbers_of(&self, entry: Entry) -> impl Iterator<Item = u64> {
        let width = match entry.kind {
            TYPE_INT16 => 2,
            TYPE_INT32 => 4,
            _ => 8,
        };
        let values = self.data.get(entry.offset..).into_iter().flat_map(move |data| data.chunks_exact(width));
        values.take(entry.count).filter_map(move |value| match width {
            2 => Endian::Big.u16(value, 0).map(u64::from),
            4 => Endian::Big.u32(value, 0).map(u64::from),
            _ => Endian::Big.u64(value, 0),
        })
    }
}
