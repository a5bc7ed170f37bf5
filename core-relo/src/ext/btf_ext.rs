//! The parsed `.BTF.ext` section.

use super::{
    core_relo::CoreRelo,
    error::ExtError,
    func::FuncInfo,
    line::LineInfo,
    records::{ExtRecord as _, Sections, Subsection},
};
use crate::{Endian, btf::endian_of, index::to_usize};

/// A `.BTF.ext` whose groups of records are all in bounds.
#[derive(Clone, Copy, Debug)]
pub struct BtfExt<'e> {
    endian: Endian,
    func_info: Subsection<'e>,
    line_info: Subsection<'e>,
    core_relo: Subsection<'e>,
}

impl<'e> BtfExt<'e> {
    /// Parses and validates a `.BTF.ext` (libbpf: `btf_ext_parse`).
    ///
    /// If the header ends before the CO-RE fields, there are no relocations. If the header or the records are
    /// longer than this library knows, the unknown rest is ignored.
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
        let subsection = |name, need, [offset_at, len_at]: [usize; 2]| {
            // A header that ends before these two words lacks the subsection.
            if to_usize(header_len) <= len_at {
                return Ok(Subsection::default());
            }
            Subsection::parse(endian, name, need, body, word(offset_at)?, word(len_at)?)
        };
        Ok(Self {
            endian,
            func_info: subsection("func_info", FuncInfo::SIZE, [8, 12])?,
            line_info: subsection("line_info", LineInfo::SIZE, [16, 20])?,
            core_relo: subsection("core_relo", CoreRelo::SIZE, [24, 28])?,
        })
    }

    /// Returns the byte order.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Returns the types of functions, by section.
    pub fn func_infos(&self) -> Sections<'e, FuncInfo> {
        self.func_info.sections(self.endian)
    }

    /// Returns the source lines of instructions, by section.
    pub fn line_infos(&self) -> Sections<'e, LineInfo> {
        self.line_info.sections(self.endian)
    }

    /// Returns the CO-RE relocations, by section, in record order.
    pub fn core_relos(&self) -> Sections<'e, CoreRelo> {
        self.core_relo.sections(self.endian)
    }
}
