//! The function table of Go programs (`.gopclntab`), which stripped programs have, too: the Go runtime needs
//! it.
//!
//! The format changed with Go 1.2, 1.16, 1.18 and 1.20. The layout of the last two is the same.

use crate::limits::GO_FUNCTIONS;
use core_relo::Endian;
use core_relo_object::string_at;
use thiserror::Error;

/// The number of places like a header that are tried. Hostile data may consist of them.
const HEADERS: usize = 64;

/// The reason why a function table cannot be read.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum GoTableError {
    #[error("is of an unknown version: magic {0:#x}")]
    UnknownVersion(u32),
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    #[error("has too many functions: {0}, expected at most {GO_FUNCTIONS}")]
    TooManyFunctions(u64),
    #[error("counts from a start of the code that the file does not contain")]
    UnknownTextStart,
}

/// The layout of a function table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Addresses of functions, all offsets from the start of the section.
    Go1_2,
    /// Addresses of functions; the parts of the table have offsets in the header.
    Go1_16,
    /// As [`Go1_16`](Self::Go1_16), with offsets from the start of the code instead of addresses.
    Go1_18,
}

impl Layout {
    const fn of_magic(magic: u32) -> Option<Self> {
        match magic {
            0xffff_fffb => Some(Self::Go1_2),
            0xffff_fffa => Some(Self::Go1_16),
            0xffff_fff0 | 0xffff_fff1 => Some(Self::Go1_18),
            _ => None,
        }
    }
}

/// A function of a Go program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GoFunction<'t> {
    /// The name with the path of the package, such as `main.main`.
    pub(super) name: &'t [u8],
    pub(super) address: u64,
}

/// A function table.
#[derive(Debug)]
pub(super) struct GoTable<'t> {
    endian: Endian,
    layout: Layout,
    is_64: bool,
    count: usize,
    /// The address of the first instruction. 0 in layouts with addresses.
    text_start: u64,
    /// The names of the functions.
    names: &'t [u8],
    /// The list of functions, and their records.
    functions: &'t [u8],
}

impl<'t> GoTable<'t> {
    /// Parses the header. `find_text_start` finds the start of the code if the header does not contain it:
    /// position-independent programs and Go from 1.26. Its argument is the offset of the start in the header.
    pub(super) fn parse(
        data: &'t [u8],
        endian: Endian,
        find_text_start: impl FnOnce(u64) -> Option<u64>,
    ) -> Result<Self, GoTableError> {
        let damaged = GoTableError::Damaged;
        let magic = endian.u32(data, 0).ok_or(damaged("it is too short"))?;
        let layout = Layout::of_magic(magic).ok_or(GoTableError::UnknownVersion(magic))?;
        let is_64 = match data.get(7) {
            Some(8) => true,
            Some(4) => false,
            _ => return Err(damaged("its pointers have neither 4 nor 8 bytes")),
        };
        let header = Header { data, endian, is_64 };
        let count = header.word(0)?;
        let count = usize::try_from(count).ok().filter(|count| *count <= GO_FUNCTIONS);
        let count = count.ok_or(GoTableError::TooManyFunctions(header.word(0)?))?;
        let (names, functions) = match layout {
            Layout::Go1_2 => (data, header.rest(header.position(1))?),
            Layout::Go1_16 => (header.part(2)?, header.part(6)?),
            Layout::Go1_18 => (header.part(3)?, header.part(7)?),
        };
        let text_start = match layout {
            Layout::Go1_2 | Layout::Go1_16 => 0,
            Layout::Go1_18 => match header.word(2)? {
                0 => find_text_start(header.position(2)).ok_or(GoTableError::UnknownTextStart)?,
                start => start,
            },
        };
        Ok(Self { endian, layout, is_64, count, text_start, names, functions })
    }

    /// Returns the offset of a table in other data. Linkers align tables to 4 bytes at least.
    pub(super) fn find(data: &'t [u8], endian: Endian) -> Option<usize> {
        let is_header = |at: &usize| {
            data.get(*at..).is_some_and(|rest| {
                endian.u32(rest, 0).is_some_and(|magic| Layout::of_magic(magic).is_some())
                    && matches!(rest, [_, _, _, _, 0, 0, 1 | 2 | 4, 4 | 8, ..])
            })
        };
        let is_table = |at: &usize| {
            let table = data.get(*at..).map(|rest| Self::parse(rest, endian, |_position| Some(0)));
            table.is_some_and(|table| table.is_ok_and(|table| table.count > 0 && table.function(0).is_some()))
        };
        (0..data.len()).step_by(4).filter(is_header).take(HEADERS).find(is_table)
    }

    /// Returns the functions. A function without a readable record or name is left out.
    pub(super) fn functions(&self) -> impl Iterator<Item = GoFunction<'t>> {
        (0..self.count).filter_map(|nth| self.function(nth))
    }

    fn function(&self, nth: usize) -> Option<GoFunction<'t>> {
        // An entry is a place of code and the offset of a record, which begins with the same place and the
        // name.
        let (size, record_base) = match self.layout {
            Layout::Go1_18 => (4usize, self.functions),
            Layout::Go1_16 => (self.pointer_bytes(), self.functions),
            Layout::Go1_2 => (self.pointer_bytes(), self.names),
        };
        let entry = size.checked_mul(2)?.checked_mul(nth)?;
        let place = self.number(self.functions, entry, size)?;
        let record = usize::try_from(self.number(self.functions, entry.checked_add(size)?, size)?).ok()?;
        let name = self.endian.u32(record_base, record.checked_add(size)?)?;
        let address = match self.layout {
            Layout::Go1_18 => self.text_start.checked_add(place)?,
            Layout::Go1_2 | Layout::Go1_16 => place,
        };
        let name = string_at(self.names, name).filter(|name| !name.is_empty())?;
        Some(GoFunction { name, address })
    }

    const fn pointer_bytes(&self) -> usize {
        if self.is_64 { 8 } else { 4 }
    }

    fn number(&self, data: &[u8], at: usize, size: usize) -> Option<u64> {
        if size == 8 { self.endian.u64(data, at) } else { self.endian.u32(data, at).map(u64::from) }
    }
}

/// The header: 8 bytes, then words of the size of a pointer.
struct Header<'t> {
    data: &'t [u8],
    endian: Endian,
    is_64: bool,
}

impl<'t> Header<'t> {
    /// Returns the offset of a word.
    fn position(&self, index: u8) -> u64 {
        let size = if self.is_64 { 8u64 } else { 4 };
        u64::from(index).wrapping_mul(size).wrapping_add(8)
    }

    fn word(&self, index: u8) -> Result<u64, GoTableError> {
        let at = usize::try_from(self.position(index)).ok();
        let word = at.and_then(|at| {
            if self.is_64 {
                self.endian.u64(self.data, at)
            } else {
                self.endian.u32(self.data, at).map(u64::from)
            }
        });
        word.ok_or(GoTableError::Damaged("its header is too short"))
    }

    /// Returns the part whose offset is a word.
    fn part(&self, index: u8) -> Result<&'t [u8], GoTableError> {
        self.rest(self.word(index)?)
    }

    fn rest(&self, offset: u64) -> Result<&'t [u8], GoTableError> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.data.get(at..));
        rest.ok_or(GoTableError::Damaged("a part is outside of the section"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a table of two functions: `main.main` at the start of the code, `main.f` at an offset.
    pub(in super::super) fn table(magic: u32, start: u64, offset: u32) -> Vec<u8> {
        let e = Endian::Little;
        let names = b"\0main.main\0main.f\0";
        let mut out = Vec::new();
        e.put_u32(&mut out, magic);
        out.extend([0, 0, 1, 8]);
        let second = start.checked_add(offset.into()).unwrap();
        match magic {
            0xffff_fffb => {
                // The header, three entries, 18 bytes of names, two records.
                e.put_u64(&mut out, 2);
                for word in [start, 74, second, 86, 0] {
                    e.put_u64(&mut out, word);
                }
                out.extend(names);
                for (place, name) in [(start, 57), (second, 67)] {
                    e.put_u64(&mut out, place);
                    e.put_u32(&mut out, name);
                }
            }
            0xffff_fffa => {
                for word in [2, 0, 64, 0, 0, 0, 64 + 24] {
                    e.put_u64(&mut out, word);
                }
                out.extend(names);
                out.resize(64 + 24, 0);
                for word in [start, 40, second, 52, 0] {
                    e.put_u64(&mut out, word);
                }
                for (place, name) in [(start, 1), (second, 11)] {
                    e.put_u64(&mut out, place);
                    e.put_u32(&mut out, name);
                }
            }
            _ => {
                for word in [2, 0, start, 72, 0, 0, 0, 72 + 24] {
                    e.put_u64(&mut out, word);
                }
                out.extend(names);
                out.resize(72 + 24, 0);
                for word in [0, 20, offset, 28, 0] {
                    e.put_u32(&mut out, word);
                }
                for (place, name) in [(0, 1), (offset, 11)] {
                    e.put_u32(&mut out, place);
                    e.put_u32(&mut out, name);
                }
            }
        }
        out
    }

    fn parse(data: &[u8]) -> Result<Vec<(String, u64)>, GoTableError> {
        let table = GoTable::parse(data, Endian::Little, |_| None)?;
        let name = |f: GoFunction<'_>| (String::from_utf8_lossy(f.name).into_owned(), f.address);
        Ok(table.functions().map(name).collect())
    }

    #[test]
    fn functions_are_read_from_every_version() {
        for magic in [0xffff_fffb, 0xffff_fffa, 0xffff_fff0, 0xffff_fff1] {
            let expected = vec![("main.main".to_owned(), 0x40_1000), ("main.f".to_owned(), 0x40_1020)];
            assert_eq!(parse(&table(magic, 0x40_1000, 0x20)), Ok(expected), "{magic:#x}");
        }
    }

    #[test]
    fn the_start_of_the_code_may_be_elsewhere() {
        let data = table(0xffff_fff1, 0, 0x20);
        assert_eq!(parse(&data), Err(GoTableError::UnknownTextStart));
        let start = |position| Some(0x50_0000).filter(|_| position == 24);
        let table = GoTable::parse(&data, Endian::Little, start).unwrap();
        let addresses: Vec<_> = table.functions().map(|f| f.address).collect();
        assert_eq!(addresses, [0x50_0000, 0x50_0020]);
    }

    #[test]
    fn a_table_among_other_data_is_found_by_its_header_and_first_function() {
        let table = table(0xffff_fff1, 0, 0x20);
        let find = |data: &[u8]| GoTable::find(data, Endian::Little);
        assert_eq!(find(&[&[0; 12], &table[..]].concat()), Some(12));
        assert_eq!(find(&[&[0; 2], &table[..]].concat()), None, "not aligned");
        assert_eq!(find(&[&table[..40], &table[..]].concat()), Some(40), "the first header has no functions");
        let fakes = table[..8].repeat(HEADERS);
        assert_eq!(find(&[&fakes[..], &table].concat()), None, "too many places like a header");
        for other in [&[][..], &[0xf1, 0xff, 0xff], &table[..40]] {
            assert_eq!(find(other), None);
        }
    }

    #[test]
    fn wild_counts_and_offsets_are_refused() {
        let whole = table(0xffff_fff1, 0x1000, 0x20);
        let with = |at: usize, bytes: &[u8]| {
            let mut data = whole.clone();
            data[at..][..bytes.len()].copy_from_slice(bytes);
            parse(&data)
        };
        assert_eq!(with(8, &[0xff; 8]), Err(GoTableError::TooManyFunctions(u64::MAX)));
        // The section ends before so many functions.
        assert_eq!(with(8, &[0, 0, 1]).map(|found| found.len() < 10), Ok(true));
        assert_eq!(with(0, &[1, 2, 3, 4]), Err(GoTableError::UnknownVersion(0x0403_0201)));
        assert!(with(7, &[3]).is_err() && with(32, &[0xff; 8]).is_err() && with(64, &[0xff; 8]).is_err());
        for magic in [0xffff_fffb, 0xffff_fffa, 0xffff_fff1] {
            let whole = table(magic, 0x1000, 0x20);
            for cut in 0..whole.len() {
                let _result = parse(&whole[..cut]);
            }
            for at in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[at] = 0xff;
                let _result = parse(&damaged);
            }
        }
    }
}
