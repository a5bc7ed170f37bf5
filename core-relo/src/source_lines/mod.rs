//! The source lines of instructions, from the line records of `.BTF.ext`.

mod access;
mod register_macros;
mod value_use;
mod word_search;
mod words;

pub(crate) use access::LineQuery;
pub(crate) use register_macros::is_register_struct;
pub(crate) use value_use::{ValueUses, find_value_uses};
pub(crate) use words::{Access, AccessWords};

use crate::{
    ByteOffset, Name,
    btf::Btf,
    ext::{BtfExt, LineInfo},
    index::InsnIndex,
    insn::INSN_BYTES,
};
use alloc::vec::Vec;
use core::fmt;
use hashbrown::HashMap;

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
    /// Whether the access is near this line, not in it: the function has no line that names the member, as
    /// where a macro hides it, or where the compiler merged the instructions of several lines.
    pub is_near: bool,
}

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
            is_near: false,
        })
    }

    /// Returns the line as one that is only near the access. Its column is that of something else.
    fn near(self) -> Self {
        Self { column: 0, is_near: true, ..self }
    }
}

/// The file, the number and the text of the line: `exec.bpf.c:41: return *p;`, with `near ` before it if the
/// line is only near the access. Lines of macros are padded with white space, of which one space is left.
impl fmt::Display for SourceLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_near {
            f.write_str("near ")?;
        }
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
        by_section.values_mut().for_each(|lines| lines.sort_by_key(|line| line.insn_offset));
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
}

impl fmt::Debug for SourceLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceLines").field("section_count", &self.by_section.len()).finish_non_exhaustive()
    }
}
