//! The `.BTF.ext` records of a linked section.

use core_relo::ext::ExtPart;

/// The records of a section, by part of `.BTF.ext`.
#[derive(Debug, Default)]
pub(super) struct ExtRecords {
    func_info: PartRecords,
    line_info: PartRecords,
    core_relo: PartRecords,
}

/// The records of a section in one part of `.BTF.ext`.
#[derive(Debug, Default)]
pub(super) struct PartRecords {
    /// The size of a record in bytes; `None` if there are no records.
    pub(super) record_size: Option<u32>,
    pub(super) bytes: Vec<u8>,
}

impl ExtRecords {
    pub(super) const fn part(&self, part: ExtPart) -> &PartRecords {
        match part {
            ExtPart::FuncInfo => &self.func_info,
            ExtPart::LineInfo => &self.line_info,
            ExtPart::CoreRelo => &self.core_relo,
        }
    }

    pub(super) const fn part_mut(&mut self, part: ExtPart) -> &mut PartRecords {
        match part {
            ExtPart::FuncInfo => &mut self.func_info,
            ExtPart::LineInfo => &mut self.line_info,
            ExtPart::CoreRelo => &mut self.core_relo,
        }
    }
}
