//! Positions in the C source.

use core_relo::{Name, StrOffset, btf::Btf, explain::text};
use core_relo_object::link::LinkedProgram;

/// A position in the C source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the position's format is fixed")]
pub struct SourceLine {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The text of the line.
    pub text: String,
}

impl SourceLine {
    /// Returns the line as text that is safe to print.
    pub(crate) fn new(line: core_relo::SourceLine<'_>) -> Self {
        let escaped = |name: Name<'_>| text(name.shortened());
        // Escapes would hide the white space.
        let trimmed = Name::new(line.text.as_bytes().trim_ascii());
        Self { file: escaped(line.file), line: line.line, column: line.column, text: escaped(trimmed) }
    }
}

/// Returns the source line of an instruction in a linked program.
pub(crate) fn source_line(btf: &Btf<'_>, code: &LinkedProgram, insn: u32) -> Option<SourceLine> {
    let copies = code.functions.partition_point(|copy| copy.start <= insn);
    let function = code.functions.get(copies.checked_sub(1)?)?;
    let [start, file, line, position] = code.line_record(insn)?;
    if start < function.start {
        return None;
    }
    let name = |offset: u32| btf.name(StrOffset(offset));
    let escaped = |name: Name<'_>| text(name.shortened());
    Some(SourceLine {
        file: escaped(name(file)?),
        line: position >> 10,
        column: position & 0x3ff,
        // Escapes would hide the white space.
        text: escaped(Name::new(name(line)?.as_bytes().trim_ascii())),
    })
}
