//! The source lines of instructions, from the line records of `.BTF.ext`.

use crate::{
    btf::Btf,
    ext::{BtfExt, LineInfo},
    ids::{ByteOffset, InsnIndex},
    insn::INSN_BYTES,
    name::Name,
    sort::sort_by_key,
};
use alloc::vec::Vec;
use core::{fmt, ops::Range};
use hashbrown::HashMap;

/// An access by an instruction of an ELF section, whose source line is wanted.
#[derive(Clone, Debug)]
pub(crate) struct LineQuery<'q> {
    /// The name of the ELF section.
    pub(crate) section: &'q [u8],
    /// The range of the instruction's function, if it is known.
    pub(crate) function: Option<Range<InsnIndex>>,
    /// The instruction's offset in the section.
    pub(crate) insn: ByteOffset,
    /// The names of the access, the last one that of the member. Empty if the line is that of the instruction itself.
    pub(crate) names: Vec<Name<'q>>,
}

/// A source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceLine<'o> {
    /// The file, as the compiler's command line names it.
    pub file: Name<'o>,
    /// The line number, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The line's text.
    pub text: Name<'o>,
}

/// The number of later and of earlier lines that are searched for the name of an access.
const SEARCHED_LINES: usize = 64;

/// The bytes of a line in which names are searched for.
const SEARCHED_BYTES: usize = 512;

/// The distance from the load of a member's offset to the first line of its statement, if nothing but the arguments of the call is computed
/// between them.
const ARGUMENT_INSNS: usize = 8;

/// The line records of an object by ELF section, in order of their instruction.
#[derive(Clone)]
pub struct SourceLines<'o> {
    btf: &'o Btf<'o>,
    by_section: HashMap<&'o [u8], Vec<LineInfo>>,
}

impl<'o> SourceLine<'o> {
    pub(crate) fn read(btf: &'o Btf<'_>, info: LineInfo) -> Option<Self> {
        let text = btf.name(info.text)?;
        Some(Self {
            file: btf.name(info.file)?,
            line: info.line,
            column: info.column,
            text: Name::new(text.as_bytes().trim_ascii()),
        })
    }
}

/// The file, the number and the text of the line: `exec.bpf.c:41: return *p;`. Lines of macros are padded with white space, of which one
/// space is left.
impl fmt::Display for SourceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.file.shortened(), self.line)?;
        let words = self.text.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.map(Name::new).try_for_each(|word| write!(f, " {word}"))
    }
}

impl<'o> SourceLines<'o> {
    /// Collects the records of `ext`, whose strings are in `btf`.
    pub fn collect(btf: &'o Btf<'o>, ext: &BtfExt<'_>) -> Self {
        let mut by_section = HashMap::<_, Vec<_>>::new();
        for group in ext.line_infos() {
            if let Some(section) = btf.name(group.name()) {
                by_section.entry(section.as_bytes()).or_default().extend(group.records());
            }
        }
        by_section.values_mut().for_each(|lines| sort_by_key(lines, |line| line.insn_offset));
        Self { btf, by_section }
    }

    /// Returns the line that begins at an instruction of an ELF section.
    pub fn beginning_at(&self, section: &[u8], insn: InsnIndex) -> Option<SourceLine<'o>> {
        let offset = ByteOffset(insn.0.checked_mul(u32::try_from(INSN_BYTES).ok()?)?);
        let lines = self.by_section.get(section)?;
        let after = lines.partition_point(|line| line.insn_offset <= offset);
        let info = lines.get(after.checked_sub(1)?).filter(|line| line.insn_offset == offset)?;
        SourceLine::read(self.btf, *info)
    }

    /// Returns the line of an access.
    ///
    /// Compilers load the offset of a member before the first line of its statement begins, often several statements earlier. So the line
    /// is the last one that begins at or before the instruction, if its text contains all names, else the nearest later one with them, else
    /// the nearest earlier one; then the same with the last name. If no line has the last name, because the statement continues on a line
    /// without a record, the next line counts if it begins such a statement, and else the last line at or before the instruction. Lines
    /// above the last one do not count as the next: the compiler computes again what they declare. Line 0 is that of no source.
    pub(crate) fn find_access(&self, query: &LineQuery<'_>) -> Option<SourceLine<'o>> {
        let lines = self.by_section.get(query.section).map_or(&[][..], Vec::as_slice);
        let lines = query.function.as_ref().map_or(lines, |function| lines_within(lines, function));
        let (before, after) = lines.split_at(lines.partition_point(|line| line.insn_offset <= query.insn));
        let is_known = |line: &&LineInfo| line.line > 0;
        let read = |line: &LineInfo| SourceLine::read(self.btf, *line);
        let last = before.iter().rfind(is_known).and_then(read);
        let Some(name) = query.names.last() else { return last };
        let contains =
            |line: &SourceLine<'_>, name: &Name<'_>| contains_word(line.text.as_bytes(), name.as_bytes());
        let later = after.iter().take(SEARCHED_LINES).filter_map(read);
        let earlier = before.iter().rev().take(SEARCHED_LINES).filter_map(read);
        let all = || last.into_iter().chain(later.clone()).chain(earlier.clone());
        // Two members of the same name, `src.addr` and `dst.addr`, may be read one after the other.
        let with_names =
            all().find(|line| query.names.len() > 1 && query.names.iter().all(|name| contains(line, name)));
        let with_name = || all().find(|line| contains(line, name));
        let begins_statement = |line: &SourceLine<'_>| is_continued(line.text.as_bytes());
        let last_number = last.map_or(0, |line| line.line);
        let next = || {
            let distance = |line: &LineInfo| line.insn_offset.index().checked_sub(query.insn.index());
            let is_near =
                |line: &&LineInfo| distance(line).is_some_and(|bytes| bytes <= ARGUMENT_INSNS * INSN_BYTES);
            let mut near = after.iter().take_while(is_near).filter(is_known).filter_map(read);
            let below = || near.find(|line| line.line >= last_number).filter(begins_statement);
            later.clone().next().filter(begins_statement).or_else(below)
        };
        with_names.or_else(with_name).or_else(next).or(last)
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

/// Returns whether a line of C contains a name as a whole word, near its beginning.
fn contains_word(text: &[u8], name: &[u8]) -> bool {
    let (text, _) = text.split_at(text.len().min(SEARCHED_BYTES));
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let is_word = |start: usize| {
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let after = start.checked_add(name.len()).and_then(|at| text.get(at));
        !is_part(before) && !is_part(after)
    };
    let Some((first, _)) = name.split_first() else { return false };
    let starts = (0usize..).zip(text).filter(|(_, byte)| *byte == first).map(|(start, _)| start);
    let is_name = |start: usize| text.get(start..).is_some_and(|rest| rest.starts_with(name));
    starts.into_iter().any(|start| is_name(start) && is_word(start))
}

/// Returns whether a parenthesis that a line of C opens is closed on a later line.
fn is_continued(text: &[u8]) -> bool {
    let open = text.iter().fold(0i32, |open, byte| match byte {
        b'(' => open.saturating_add(1),
        b')' => open.saturating_sub(1),
        _ => open,
    });
    open > 0
}

impl fmt::Debug for SourceLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceLines").field("section_count", &self.by_section.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endian, btf::Builder, ext::ExtBuilder, ext::ExtPart};
    use alloc::vec;

    /// Returns the number of the line that is found for an access at an instruction. Each of `lines` is an instruction and a text; its
    /// number is its position, from 1.
    fn found(lines: &[(u32, &str)], function: Range<u32>, insn: u32, name: &str) -> Option<u32> {
        let numbered: Vec<_> =
            lines.iter().zip(1u32..).map(|((insn, text), number)| (*insn, number, *text)).collect();
        found_numbered(&numbered, function, insn, name)
    }

    /// The same for lines with an instruction, a number and a text each.
    fn found_numbered(
        lines: &[(u32, u32, &str)],
        function: Range<u32>,
        insn: u32,
        name: &str,
    ) -> Option<u32> {
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
        let line = lines.find_access(&LineQuery {
            section: b"tc",
            function: Some(InsnIndex(function.start)..InsnIndex(function.end)),
            insn: ByteOffset(insn.wrapping_mul(8)),
            names: name.split('.').map(|name| Name::new(name.as_bytes())).collect(),
        });
        line.map(|line| line.line)
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

    /// The debug information has no text of the line that a macro continues on.
    #[test]
    fn an_access_on_a_continuation_line_has_the_line_of_its_statement() {
        let lines = [(0, "a = f();"), (2, "b = READ(t,"), (4, "c = g();"), (6, "d = READ(t,")];
        let found = |insn| found(&lines, 0..9, insn, "gone");
        assert_eq!(found(1), Some(2));
        assert_eq!(found(3), Some(2), "the next line is another statement");
        assert_eq!(found(5), Some(4));
    }

    /// clang sets a variable to 0 again between the load of the offset and the statement, with the line of the declaration or none.
    #[test]
    fn a_line_above_the_last_one_does_not_hide_the_next_statement() {
        let lines = [(0, "k = {};"), (2, "READ(&a, t,"), (9, "READ(&b, t,")];
        let records = |between: u32| {
            let mut records = vec![(0, 1, lines[0].1), (2, 2, lines[1].1), (7, between, "k = {};")];
            records.push((9, 3, lines[2].1));
            records
        };
        for between in [0, 1] {
            assert_eq!(found_numbered(&records(between), 0..12, 5, "gone"), Some(3), "{between}");
        }
        assert_eq!(found_numbered(&records(4), 0..12, 5, "gone"), Some(2), "another statement");
        let far = [(2, 2, "READ(&a, t,"), (7, 1, "k = {};"), (40, 3, "READ(&b, t,")];
        assert_eq!(found_numbered(&far, 0..50, 5, "gone"), Some(2), "a call lies between them");
        let none = [(0, 2, "a = t->x;"), (4, 0, "")];
        assert_eq!(found_numbered(&none, 0..9, 5, "gone"), Some(2), "line 0 is no line");
    }
}
