//! Writes `.BTF.ext`, in either byte order.

use crate::{
    btf::MAGIC,
    endian::Endian,
    ids::{StrOffset, to_u32},
};
use alloc::vec::Vec;

/// One of the three parts of a `.BTF.ext`.
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
    /// All of them, in the order they are written.
    pub const ALL: [Self; 3] = [Self::FuncInfo, Self::LineInfo, Self::CoreRelo];
}

/// Makes a `.BTF.ext` group by group.
#[derive(Clone, Debug)]
pub struct ExtBuilder {
    endian: Endian,
    parts: [Vec<u8>; 3],
}

impl ExtBuilder {
    /// Nothing yet.
    pub fn new(endian: Endian) -> Self {
        Self { endian, parts: Default::default() }
    }

    /// Adds the records of one ELF section; `section` is where its name lies in the BTF's strings.
    ///
    /// Records are whole, in the byte order given, each of `record_size` bytes. Within a part that size is the same for all
    /// sections: the first one's counts.
    pub fn group(&mut self, part: ExtPart, section: StrOffset, record_size: u32, records: &[u8]) {
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
        let count = to_u32(records.len()).checked_div(record_size).unwrap_or_default();
        self.endian.put_u32(out, count);
        out.extend_from_slice(records);
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }

    /// The finished `.BTF.ext`.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.endian.put_u16(&mut out, MAGIC);
        out.extend_from_slice(&[1, 0]);
        self.endian.put_u32(&mut out, 32);
        let mut offset = 0u32;
        for part in &self.parts {
            let len = to_u32(part.len());
            self.endian.put_u32(&mut out, offset);
            self.endian.put_u32(&mut out, len);
            offset = offset.saturating_add(len);
        }
        self.parts.iter().for_each(|part| out.extend_from_slice(part));
        out
    }
}
