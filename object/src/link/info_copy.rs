//! Copies the `func_info` and `line_info` records of functions into a linked program.

use super::{InfoForms, LinkError, LinkState, info::InfoRange, info_lookup::SortedInfo};
use crate::{
    elf::text,
    index::to_usize,
    internal::{InternalError, Invariant as _},
    limits,
};
use core_relo::ext::RecordForm;

impl<C: AsRef<[u8]>> LinkState<'_, '_, '_, C> {
    /// Copies the records of the copied functions (libbpf: `reloc_prog_func_and_line_info`).
    ///
    /// If the program itself has no records, its subprograms' records are left out. Otherwise each subprogram
    /// must have records.
    pub(super) fn copy_records(&mut self) -> Result<(), LinkError> {
        let linker = self.linker;
        let mut forms = InfoForms::new(linker.func_info.record_bytes, linker.line_info.record_bytes);
        let program = || text(self.main.name());
        let limit = limits::PROGRAM_INSNS;
        let mut records_left = to_usize(limit);
        for (n, copy) in self.out.functions.iter().enumerate() {
            let p = linker.function(copy.function)?;
            // Like libbpf's, the instruction of a record before the function wraps around. The kernel refuses
            // such a record.
            let moved = |insn: u32| insn.wrapping_sub(p.start().0).wrapping_add(copy.start);
            let missing =
                |what| LinkError::MissingInfo { program: program(), function: text(p.name()), what };
            let func_info = linker.func_info.in_range(p.section, p.start().0, p.insn_count());
            let line_info = linker.line_info.in_range(p.section, p.start().0, p.insn_count());
            for visited in [func_info.visited, line_info.visited] {
                let left = records_left.checked_sub(visited);
                records_left = left.ok_or_else(|| LinkError::TooManyRecords { program: program(), limit })?;
            }
            if n == 0 || !self.out.func_info.is_empty() {
                if n > 0 && func_info.records.is_empty() {
                    return Err(missing("func_info"));
                }
                add_tail(&mut forms.func_info, self.out.func_info.len(), &func_info)?;
                let records = func_info.records.iter().map(|(insn, [ty])| [moved(*insn), *ty]);
                self.out.func_info.extend(records);
            }
            if n == 0 || !self.out.line_info.is_empty() {
                if n > 0 && line_info.records.is_empty() {
                    return Err(missing("line_info"));
                }
                add_tail(&mut forms.line_info, self.out.line_info.len(), &line_info)?;
                let records = line_info.records.iter();
                let records =
                    records.map(|(insn, [file, line, position])| [moved(*insn), *file, *line, *position]);
                self.out.line_info.extend(records);
            }
        }
        self.out.info_forms = forms;
        self.out.sorted_info = SortedInfo::new(&self.out.func_info, &self.out.line_info).map(Box::new);
        Ok(())
    }
}

/// Adds the records of a function, which follow `record_count` others, to a form.
fn add_tail<const WORDS: usize>(
    form: &mut RecordForm,
    record_count: usize,
    range: &InfoRange<'_, WORDS>,
) -> Result<(), InternalError> {
    let (None, Some(tail)) = (form.nonzero_tail, range.nonzero_tail) else { return Ok(()) };
    let index = record_count.checked_add(tail).and_then(|index| u32::try_from(index).ok());
    form.nonzero_tail = Some(index.invariant("a program has fewer than 2^32 records")?);
    Ok(())
}
