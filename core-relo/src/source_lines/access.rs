//! The search for the source line of an access.

use super::{
    SourceLine, SourceLines,
    words::{AccessWords, NameMatch},
};
use crate::{ByteOffset, ext::LineInfo, index::InsnIndex, insn::INSN_BYTES};
use alloc::vec::Vec;
use core::ops::Range;

/// An access by an instruction of an ELF section, whose source line is wanted.
#[derive(Clone, Debug)]
pub(crate) struct LineQuery<'q> {
    /// The name of the ELF section.
    pub(crate) section: &'q [u8],
    /// The range of the instruction's function, if it is known.
    pub(crate) function: Option<Range<InsnIndex>>,
    /// The instruction's offset in the section.
    pub(crate) insn: ByteOffset,
    /// The offset of the instruction that adds the value of this one, if known.
    pub(crate) value_sum: Option<ByteOffset>,
    /// The offset of the instruction that uses the value of this one, if it is another and known.
    pub(crate) value_use: Option<ByteOffset>,
    /// The words of the access.
    pub(crate) words: AccessWords<'q>,
}

/// The number of later and of earlier lines that are searched for the name of an access.
const SEARCHED_LINES: usize = 64;

impl<'o> SourceLines<'o> {
    /// Returns the line of an access.
    ///
    /// Compilers load the offset of a member before the first line of its statement begins, often several
    /// statements earlier. The line of the instruction that uses the offset is that of the statement. It
    /// counts first, then the last line that begins at or before the instruction, then later ones, then
    /// earlier ones. If the sum with the offset has a line of its own, as that of `container_of`, this line
    /// counts before all others. Among these, the first line wins that has the names of the access best,
    /// because compilers merge the lines of several accesses. If no line has the last name, because a macro
    /// hides it or because the statement continues on a line without a record, the line of the use counts, or
    /// else the last one. The access is only near a line that does not have the name of the member. Line 0 is
    /// that of no source.
    pub(crate) fn find_access(&self, query: &LineQuery<'_>) -> Option<SourceLine<'o>> {
        let lines = self.by_section.get(query.section).map_or(&[][..], Vec::as_slice);
        let lines = query.function.as_ref().map_or(lines, |function| lines_within(lines, function));
        let is_known = |line: &&LineInfo| line.line > 0;
        let read = |line: &LineInfo| SourceLine::read(self.btf, *line);
        let until = |offset| lines.split_at(lines.partition_point(|line| line.insn_offset <= offset));
        let (before, after) = until(query.insn);
        let last = before.iter().rfind(is_known).and_then(read);
        if query.words.names.is_empty() {
            return last;
        }
        let begins_at = |offset| until(offset).0.last().filter(|line| line.insn_offset == offset);
        let sum = query.value_sum.and_then(begins_at).filter(is_known).and_then(read);
        let using = query.value_use.and_then(|offset| until(offset).0.last()).filter(is_known).and_then(read);
        // The last line has the column of the access.
        let is_other = |using: &SourceLine<'_>| {
            last.is_none_or(|last| (last.file, last.line) != (using.file, using.line))
        };
        let using = using.filter(is_other);
        let later = after.iter().take(SEARCHED_LINES).filter_map(read);
        let earlier = before.iter().rev().take(SEARCHED_LINES).filter_map(read);
        let mut best = (NameMatch::None, using.or(last));
        for line in sum.into_iter().chain(using).chain(last).chain(later).chain(earlier) {
            let names = NameMatch::new(line.text.as_bytes(), &query.words);
            if names > best.0 {
                best = (names, Some(line));
            }
            if names == NameMatch::Path {
                break;
            }
        }
        let (names, line) = best;
        // A word that is no member's name is that of a variable.
        if names < NameMatch::Member { line.map(SourceLine::near) } else { line }
    }
}

/// Returns the lines that begin in a function.
fn lines_within<'l>(lines: &'l [LineInfo], function: &Range<InsnIndex>) -> &'l [LineInfo] {
    let begins_before =
        |end: InsnIndex| move |line: &LineInfo| line.insn_offset.index() / INSN_BYTES < end.index();
    let (lines, _) = lines.split_at(lines.partition_point(begins_before(function.end)));
    let (_, lines) = lines.split_at(lines.partition_point(begins_before(function.start)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Endian, Name,
        btf::{Btf, Builder},
        ext::{BtfExt, ExtBuilder, ExtPart},
    };

    /// The instructions and the words of a search.
    #[derive(Clone, Copy, Default)]
    struct Search<'n> {
        function: (u32, u32),
        insn: u32,
        value_sum: Option<u32>,
        value_use: Option<u32>,
        names: &'n str,
        is_register: bool,
    }

    /// Returns the number of the line that is found for an access at an instruction. Each of `lines` is an
    /// instruction and a text; its number is its position, from 1.
    fn found(lines: &[(u32, &str)], function: Range<u32>, insn: u32, names: &str) -> Option<u32> {
        let function = (function.start, function.end);
        found_by_use(lines, Search { function, insn, names, ..Search::default() })
    }

    /// The same for all fields of a search.
    fn found_by_use(lines: &[(u32, &str)], search: Search<'_>) -> Option<u32> {
        let numbered: Vec<_> =
            lines.iter().zip(1u32..).map(|((insn, text), number)| (*insn, number, *text)).collect();
        found_numbered(&numbered, search).map(|(line, _)| line)
    }

    /// Returns the number of the line and whether the access is only near it. Each of `lines` is an
    /// instruction, a number and a text.
    fn found_numbered(lines: &[(u32, u32, &str)], search: Search<'_>) -> Option<(u32, bool)> {
        let endian = Endian::Little;
        let mut b = Builder::new(endian);
        let (section, file) = (b.string("tc"), b.string("a.c"));
        let mut records = Vec::new();
        for (insn, number, text) in lines {
            for word in [insn.wrapping_mul(8), file.0, b.string(text).0, number << 10] {
                endian.put_u32(&mut records, word);
            }
        }
        let mut ext = ExtBuilder::new(endian);
        ext.group(ExtPart::LineInfo, section, 16, &records);
        let (btf, ext) = (Btf::parse(b.finish()).unwrap(), ext.finish());
        let lines = SourceLines::collect(&btf, &BtfExt::parse(&ext).unwrap());
        let (start, end) = search.function;
        let line = lines.find_access(&LineQuery {
            section: b"tc",
            function: Some(InsnIndex(start)..InsnIndex(end)),
            insn: ByteOffset(search.insn.wrapping_mul(8)),
            value_sum: search.value_sum.map(|insn| ByteOffset(insn.wrapping_mul(8))),
            value_use: search.value_use.map(|insn| ByteOffset(insn.wrapping_mul(8))),
            words: AccessWords {
                names: search.names.split_terminator('.').map(|name| Name::new(name.as_bytes())).collect(),
                is_register: search.is_register,
                ..AccessWords::default()
            },
        });
        line.map(|line| (line.line, line.is_near))
    }

    #[test]
    fn an_access_has_the_nearest_line_with_its_name_and_later_lines_count_first() {
        let lines = [(0, "a = f();"), (3, "b = t->gone;"), (5, "c = t->gone_too;"), (7, "d = t->late;")];
        let found = |insn, name| found(&lines, 0..9, insn, name);
        assert_eq!(found(1, "gone"), Some(2), "the offset is loaded early");
        assert_eq!(found(4, "gone"), Some(2), "the line that has the instruction");
        assert_eq!(found(6, "gone"), Some(2), "`gone_too` is another name");
        assert_eq!(found(1, "late"), Some(4));
        assert_eq!(found(6, "nowhere"), Some(3), "the last line before the instruction");
        assert_eq!(found(6, ""), Some(3));
    }

    #[test]
    fn members_of_the_same_name_have_the_lines_of_their_structs() {
        let lines = [(0, "a = f();"), (2, "read(&a, &t->src.addr);"), (8, "read(&b, &t->dst.addr);")];
        let found = |insn, name| found(&lines, 0..12, insn, name);
        assert_eq!(found(5, "dst.addr"), Some(3), "the offset is loaded early");
        assert_eq!([found(5, "src.addr"), found(1, "src.addr")], [Some(2); 2]);
        assert_eq!(found(5, "hidden.addr"), Some(2), "a macro may hide all names but the last");
    }

    #[test]
    fn lines_of_other_functions_do_not_count() {
        let lines = [(0, "a = t->gone;"), (4, "{"), (8, "b = t->gone;")];
        assert_eq!(found(&lines, 4..8, 5, "gone"), Some(2));
        assert_eq!(found(&lines, 8..9, 8, "gone"), Some(3));
        assert_eq!(found(&lines, 2..4, 3, "gone"), None, "the function has no lines");
    }

    /// The debug information has no text of the line that a macro continues on, and macros hide names.
    #[test]
    fn an_access_without_its_name_has_the_line_of_the_instruction_that_uses_the_offset() {
        let lines = [(0, "a = f();"), (2, "b = READ(t,"), (4, "c = g();"), (6, "d = READ(t,")];
        let found = |insn, value_use| {
            found_by_use(
                &lines,
                Search { function: (0, 9), insn, value_use, names: "gone", ..Search::default() },
            )
        };
        assert_eq!(found(1, Some(3)), Some(2));
        assert_eq!(found(3, Some(3)), Some(2), "the next line is another statement");
        assert_eq!(found(5, Some(8)), Some(4));
        assert_eq!(found(3, Some(8)), Some(4), "a statement lies between them");
        assert_eq!(
            [found(3, None), found(5, None)],
            [Some(2), Some(3)],
            "the last line before the instruction"
        );
    }

    /// Line 0 is that of code which the compiler merged or moved.
    #[test]
    fn a_use_without_a_line_leaves_the_last_line() {
        let lines = [(0, 2, "a = t->x;"), (4, 0, ""), (6, 3, "READ(&b, t,")];
        let found = |value_use| {
            found_numbered(
                &lines,
                Search {
                    function: (0, 9),
                    insn: 3,
                    value_use: Some(value_use),
                    names: "gone",
                    ..Search::default()
                },
            )
        };
        assert_eq!([found(5), found(6)], [Some((2, true)), Some((3, true))]);
        let none = [(0, 2, "a = t->x;"), (4, 0, "")];
        let search = Search { function: (0, 9), insn: 5, names: "gone", ..Search::default() };
        assert_eq!(found_numbered(&none, search), Some((2, true)), "line 0 is no line");
    }

    /// The compiler merged the read with another one, or inlining left no instruction of the line.
    #[test]
    fn an_access_is_only_near_a_line_that_does_not_name_it() {
        let lines = [(0, 1, "a = f();"), (2, 2, "b = t->pid;")];
        let found =
            |names| found_numbered(&lines, Search { function: (0, 9), insn: 3, names, ..Search::default() });
        assert_eq!(found("pid"), Some((2, false)));
        assert_eq!(found("hidden.pid"), Some((2, false)), "a macro may hide all names but the last");
        assert_eq!(found("gone"), Some((2, true)));
        assert_eq!(found(""), Some((2, false)), "the line of the instruction itself");
    }

    #[test]
    fn a_member_counts_before_a_variable_of_its_name() {
        let lines = [(0, "if (targ_pid != pid)"), (3, "update(&map, &pid);"), (6, "pid = READ(next, pid);")];
        assert_eq!(found(&lines, 0..9, 4, "pid"), Some(3));
        assert_eq!(found(&lines[..2], 0..9, 4, "pid"), Some(2), "a word is better than none");
    }

    #[test]
    fn of_two_reads_of_a_member_the_line_of_the_use_counts() {
        let lines = [(0, "READ(&a, t->pid);"), (6, "READ(&b, u->pid);")];
        let found = |insn, value_use| {
            found_by_use(
                &lines,
                Search { function: (0, 9), insn, value_use, names: "pid", ..Search::default() },
            )
        };
        assert_eq!(found(4, Some(8)), Some(2));
        assert_eq!(found(4, Some(5)), Some(1));
    }

    /// `container_of` uses the offset of the member without a read of it.
    #[test]
    fn a_sum_with_a_line_of_its_own_counts_before_the_last_line() {
        let lines = [(0, "vfs = READ(task, fs, pwd.mnt);"), (5, "m = container_of(vfs, struct mount, mnt);")];
        let found = |value_sum| {
            found_by_use(
                &lines,
                Search { function: (0, 9), insn: 2, value_sum, names: "mnt", ..Search::default() },
            )
        };
        assert_eq!(found(Some(5)), Some(2));
        assert_eq!([found(Some(6)), found(None)], [Some(1); 2], "the sum has no line of its own");
    }

    #[test]
    fn a_register_has_the_line_of_its_macro() {
        let lines =
            [(0, "flags = 0;"), (5, "return PT_REGS_PARM2_CORE(c);"), (7, "return PT_REGS_PARM1_CORE(c);")];
        let found = |is_register| {
            found_by_use(
                &lines,
                Search { function: (0, 9), insn: 2, names: "di", is_register, ..Search::default() },
            )
        };
        assert_eq!([found(true), found(false)], [Some(3), Some(1)]);
    }
}
