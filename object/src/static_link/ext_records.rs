//! The `.BTF.ext` records of a linked section.

use core_relo::ext::ExtPart;

/// The records of a section: for each part the size of a record, and all of them.
#[derive(Debug, Default)]
pub(super) struct ExtRecords([(u32, Vec<u8>); 3]);

impl ExtRecords {
    pub(super) const fn part(&self, part: ExtPart) -> &(u32, Vec<u8>) {
        let [func_info, line_info, core_relo] = &self.0;
        match part {
            ExtPart::FuncInfo => func_info,
            ExtPart::LineInfo => line_info,
            ExtPart::CoreRelo => core_relo,
        }
    }

    pub(super) const fn part_mut(&mut self, part: ExtPart) -> &mut (u32, Vec<u8>) {
        let [func_info, line_info, core_relo] = &mut self.0;
        match part {
            ExtPart::FuncInfo => func_info,
            ExtPart::LineInfo => line_info,
            ExtPart::CoreRelo => core_relo,
        }
    }
}
