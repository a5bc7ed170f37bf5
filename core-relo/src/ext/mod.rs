//! `.BTF.ext`: what belongs to instructions rather than to types.
//!
//! Three subsections, each a record size followed by groups of records, a group for each ELF section:
//! functions' types, source lines, and CO-RE relocations. A broken `.BTF.ext` is an error here; libbpf warns and then loads
//! the code unrelocated.

mod build;
mod core_relo;
mod func;
mod line;
mod records;

pub use build::{ExtBuilder, ExtPart};
pub use core_relo::{CoreRelo, RelocKind};
pub use func::FuncInfo;
pub use line::LineInfo;
pub use records::{ExtRecord, Records, Section, Sections};

use crate::{
    btf::{MAGIC, endian_of},
    endian::Endian,
    ids::to_usize,
};
use records::Subsection;
use thiserror::Error;

/// Why bytes are not a `.BTF.ext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtError {
    /// Fewer bytes than a header.
    #[error(".BTF.ext is {len} bytes long, its header needs {need}")]
    TooShort {
        /// Bytes there are.
        len: usize,
        /// Bytes the header needs.
        need: u32,
    },
    /// The first two bytes are not 0xEB9F in either byte order.
    #[error("not .BTF.ext: magic is {found:#06x}, expected {MAGIC:#06x} in either byte order")]
    Magic {
        /// The first two bytes as a little-endian number.
        found: u16,
    },
    /// A version other than 1.
    #[error(".BTF.ext version {found} is not supported (expected 1)")]
    Version {
        /// The version in the header.
        found: u8,
    },
    /// A header shorter than the first version's.
    #[error(".BTF.ext header length {found} is not supported (expected at least 24, a multiple of 4)")]
    HeaderLength {
        /// `hdr_len` in the header.
        found: u32,
    },
    /// A subsection is misaligned or reaches past the end.
    #[error(
        ".BTF.ext {subsection} (offset {offset}, length {len}) is misaligned or reaches past the end: {available} bytes follow the header"
    )]
    Bounds {
        /// `func_info`, `line_info` or `core_relo`.
        subsection: &'static str,
        /// Its offset, in bytes after the header.
        offset: u32,
        /// Its length in bytes.
        len: u32,
        /// Bytes after the header.
        available: usize,
    },
    /// A record size below what the format needs, or no multiple of 4.
    #[error(
        ".BTF.ext {subsection} has records of {found} bytes, expected at least {need} and a multiple of 4"
    )]
    RecordSize {
        /// The subsection.
        subsection: &'static str,
        /// The record size it states.
        found: u32,
        /// The smallest that makes sense.
        need: u32,
    },
    /// A group of records is empty or reaches past its subsection.
    #[error(
        ".BTF.ext {subsection}: group at offset {offset} states {records} records of {size} bytes, {left} bytes are left"
    )]
    Group {
        /// The subsection.
        subsection: &'static str,
        /// The group's offset, in bytes, in the subsection.
        offset: usize,
        /// The number of records it states.
        records: u32,
        /// The size of one.
        size: u32,
        /// Bytes left for them.
        left: usize,
    },
}

/// A checked `.BTF.ext`: every group of records lies within.
#[derive(Clone, Copy, Debug)]
pub struct BtfExt<'e> {
    endian: Endian,
    func_info: Subsection<'e>,
    line_info: Subsection<'e>,
    core_relo: Subsection<'e>,
}

impl<'e> BtfExt<'e> {
    /// Parses and checks (libbpf: `btf_ext_parse`). A header without the CO-RE part has no relocations; a longer one, and
    /// longer records, are read as far as known.
    pub fn parse(data: &'e [u8]) -> Result<Self, ExtError> {
        const HEADER_LEN: u32 = 24;
        let short = |need| ExtError::TooShort { len: data.len(), need };
        let endian = endian_of(data).ok_or_else(|| match Endian::Little.u16(data, 0) {
            Some(found) => ExtError::Magic { found },
            None => short(HEADER_LEN),
        })?;
        let word = |at| endian.u32(data, at).ok_or_else(|| short(HEADER_LEN));
        let version = *data.get(2).ok_or_else(|| short(HEADER_LEN))?;
        if version != 1 {
            return Err(ExtError::Version { found: version });
        }
        let header_len = word(4)?;
        if header_len < HEADER_LEN || header_len % 4 != 0 {
            return Err(ExtError::HeaderLength { found: header_len });
        }
        let body = data.get(to_usize(header_len)..).ok_or_else(|| short(header_len))?;
        let subsection = |name, need, at: usize| {
            // A header that ends before these two words has no such subsection.
            if to_usize(header_len) < at.saturating_add(8) {
                return Ok(Subsection::default());
            }
            Subsection::parse(endian, name, need, body, word(at)?, word(at.saturating_add(4))?)
        };
        Ok(Self {
            endian,
            func_info: subsection("func_info", FuncInfo::SIZE, 8)?,
            line_info: subsection("line_info", LineInfo::SIZE, 16)?,
            core_relo: subsection("core_relo", CoreRelo::SIZE, 24)?,
        })
    }

    /// The data's byte order.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The types of functions, by section.
    pub fn func_infos(&self) -> Sections<'e, FuncInfo> {
        self.func_info.sections(self.endian)
    }

    /// The source lines of instructions, by section.
    pub fn line_infos(&self) -> Sections<'e, LineInfo> {
        self.line_info.sections(self.endian)
    }

    /// The CO-RE relocations, by section, in record order.
    pub fn core_relos(&self) -> Sections<'e, CoreRelo> {
        self.core_relo.sections(self.endian)
    }
}

#[cfg(test)]
mod tests;
