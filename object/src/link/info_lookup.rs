//! Finds the records of instructions in a linked program.

use super::LinkedProgram;

/// The records of a program, sorted by instruction, for an object whose records are not. core-relo sends the
/// sorted records, because the kernel refuses others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SortedInfo {
    func_info: Vec<[u32; 2]>,
    line_info: Vec<[u32; 4]>,
}

impl SortedInfo {
    /// Sorts the records. Returns `None` if they are in order.
    pub(super) fn new(func_info: &[[u32; 2]], line_info: &[[u32; 4]]) -> Option<Self> {
        let in_order =
            func_info.is_sorted_by_key(|[insn, _]| insn) && line_info.is_sorted_by_key(|[insn, ..]| insn);
        if in_order {
            return None;
        }
        let (mut func_info, mut line_info) = (func_info.to_vec(), line_info.to_vec());
        func_info.sort_by_key(|[insn, _]| *insn);
        line_info.sort_by_key(|[insn, ..]| *insn);
        func_info.dedup_by_key(|[insn, _]| *insn);
        line_info.dedup_by_key(|[insn, ..]| *insn);
        Some(Self { func_info, line_info })
    }
}

impl LinkedProgram {
    /// Returns the type of the function that begins at an instruction, by its `func_info` record.
    pub fn function_type(&self, start: u32) -> Option<u32> {
        let records = self.sorted_info.as_ref().map_or(&self.func_info, |sorted| &sorted.func_info);
        let found = records.partition_point(|[insn, _]| *insn < start);
        records.get(found).filter(|[insn, _]| *insn == start).map(|[_, ty]| *ty)
    }

    /// Returns the last `line_info` record up to an instruction: instruction, file, text, position.
    pub fn line_record(&self, insn: u32) -> Option<[u32; 4]> {
        let records = self.sorted_info.as_ref().map_or(&self.line_info, |sorted| &sorted.line_info);
        let after = records.partition_point(|[start, ..]| *start <= insn);
        records.get(after.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search in records out of order found no function, or another line.
    #[test]
    fn records_in_any_order_are_found() {
        let ordered = LinkedProgram {
            func_info: vec![[0, 7], [4, 8]],
            line_info: vec![[0, 1, 1, 1], [4, 1, 1, 2]],
            ..Default::default()
        };
        let mut mixed = LinkedProgram {
            func_info: vec![[4, 8], [0, 7]],
            line_info: vec![[4, 1, 1, 2], [0, 1, 1, 1], [4, 1, 1, 3]],
            ..Default::default()
        };
        mixed.sorted_info = SortedInfo::new(&mixed.func_info, &mixed.line_info).map(Box::new);
        assert!(SortedInfo::new(&ordered.func_info, &ordered.line_info).is_none());
        for program in [ordered, mixed] {
            assert_eq!([0, 3, 4].map(|insn| program.function_type(insn)), [Some(7), None, Some(8)]);
            let lines = [0, 3, 5].map(|insn| program.line_record(insn).map(|[.., position]| position));
            assert_eq!(lines, [Some(1), Some(1), Some(2)]);
        }
    }
}
