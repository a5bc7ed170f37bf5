//! The source lines (kernel: `check_btf_line`).

use super::{Checker, InfoPlace, InfoRule};
use crate::{
    ext::{ExtRecord as _, LineInfo},
    index::to_usize,
};

impl Checker<'_> {
    /// Checks the `line_info`. A program without `line_info` violates no rule.
    pub(super) fn check_line_info(&mut self) {
        let lines = self.info.line_info;
        if lines.records.is_empty() {
            return;
        }
        self.report_all(&InfoPlace::LineInfo, [lines.check_size(LineInfo::SIZE)]);
        let mut starts = self.info.functions.iter().copied().zip(0usize..).peekable();
        let mut previous = None;
        for (index, [insn, file, text, _]) in (0u32..).zip(lines.records.iter().copied()) {
            let place = InfoPlace::LineInfoRecord(index);
            let checks = [
                lines.check_tail(index),
                self.check_line_insn(insn, previous),
                self.check_line_strings(file, text),
            ];
            self.report_all(&place, checks);
            while let Some((start, function)) = starts.next_if(|(start, _)| *start <= insn) {
                if start < insn {
                    self.report(place.clone(), InfoRule::LineOfFunction { function, start });
                }
            }
            previous = Some(insn);
        }
        for (start, function) in starts {
            self.report(InfoPlace::LineInfo, InfoRule::LineOfFunction { function, start });
        }
    }

    /// Checks the instruction of a record. `previous` is that of the record before.
    fn check_line_insn(&self, found: u32, previous: Option<u32>) -> Result<(), InfoRule> {
        let insns = self.info.insns.len();
        match self.info.insns.get(to_usize(found)) {
            Some(_) if previous.is_some_and(|previous| found <= previous) => {
                Err(InfoRule::LineOffset { found, previous, insns })
            }
            None => Err(InfoRule::LineOffset { found, previous, insns }),
            // Only the second half of a 64-bit load has this opcode.
            Some(insn) if insn.code == 0 => Err(InfoRule::LineInsn { found }),
            Some(_) => Ok(()),
        }
    }

    /// Checks the offsets of the file name and of the line.
    const fn check_line_strings(&self, file: u32, text: u32) -> Result<(), InfoRule> {
        let string_bytes = self.info.string_bytes;
        if file < string_bytes && text < string_bytes {
            return Ok(());
        }
        Err(InfoRule::LineString { file, text, string_bytes })
    }
}
