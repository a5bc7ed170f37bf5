//! The writer of `.BTF.ext`, in either byte order.

use crate::{Endian, StrOffset, btf::MAGIC, index::to_u32};
use alloc::vec::Vec;
use core::fmt;

/// A subsection of `.BTF.ext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the format has three")]
pub enum ExtPart {
    /// Types of functions.
    FuncInfo,
    /// Source lines.
    LineInfo,
    /// CO-RE relocations.
    CoreRelo,
}

impl ExtPart {
    /// All subsections, in the order in which they are written.
    pub const ALL: [Self; 3] = [Self::FuncInfo, Self::LineInfo, Self::CoreRelo];
}

/// A builder for `.BTF.ext` that adds group by group.
#[derive(Clone)]
pub struct ExtBuilder {
    endian: Endian,
    parts: [Vec<u8>; 3],
}

impl ExtBuilder {
    /// Creates an empty `.BTF.ext`.
    pub fn new(endian: Endian) -> Self {
        Self { endian, parts: Default::default() }
    }

    /// Adds the records of one ELF section; `section` is the offset of its name in the BTF's strings.
    ///
    /// The records are in the builder's byte order, each of `record_size` bytes. All sections of a subsection
    /// must have the same record size, of which the builder writes the first. If the record size is 0,
    /// nothing is added.
    pub fn group(&mut self, part: ExtPart, section: StrOffset, record_size: u32, records: &[u8]) {
        let Some(count) = to_u32(records.len()).checked_div(record_size) else { return };
        let [func_info, line_info, core_relo] = &mut self.parts;
        let out = match part {
            ExtPart::FuncInfo => func_info,
            ExtPart::LineInfo => line_info,
            ExtPart::CoreRelo => core_relo,
        };
        if out.is_empty() {
            self.endian.put_u32(out, record_size);
        }
        self.endian.put_u32(out, section.0);
        self.endian.put_u32(out, count);
        out.extend_from_slice(records);
    }

    /// Returns whether no group was added.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }

    /// Returns the bytes of the `.BTF.ext`.
    pub fn finish(&self) -> Vec<u8> {
        const VERSION: u8 = 1;
        const FLAGS: u8 = 0;
        /// The size of a `struct btf_ext_header`, in bytes.
        const HEADER_BYTES: u32 = 32;
        let mut out = Vec::new();
        self.endian.put_u16(&mut out, MAGIC);
        out.extend_from_slice(&[VERSION, FLAGS]);
        self.endian.put_u32(&mut out, HEADER_BYTES);
        let mut offset = 0u32;
        for part in &self.parts {
            let len = to_u32(part.len());
            self.endian.put_u32(&mut out, offset);
            self.endian.put_u32(&mut out, len);
            // From 4 GiB on, the offset does not fit into the header, and parsers reject the data.
            offset = offset.saturating_add(len);
        }
        self.parts.iter().for_each(|part| out.extend_from_slice(part));
        out
    }
}

impl fmt::Debug for ExtBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part_bytes = self.parts.each_ref().map(Vec::len);
        f.debug_struct("ExtBuilder").field("endian", &self.endian).field("part_bytes", &part_bytes).finish()
    }
}
