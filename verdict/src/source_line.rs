//! Positions in the C source.

use core_relo::{Name, StrOffset, btf::Btf, explain::text};
use core_relo_object::link::LinkedProgram;

/// A position in the C source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
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
    /// Whether the access is near this line, not in it: see [`core_relo::SourceLine::is_near`].
    pub is_near: bool,
}

impl SourceLine {
    /// Returns the position without the column: `exec.bpf.c:41`, or `near exec.bpf.c:41` if the access is
    /// only near the line.
    pub fn position(&self) -> String {
        let near = if self.is_near { "near " } else { "" };
        format!("{near}{}:{}", self.file, self.line)
    }

    /// Parses `FILE:LINE: TEXT`, or `near FILE:LINE: TEXT`, as messages of loads have a line.
    pub fn from_message(message: &str) -> Option<Self> {
        let near = message.strip_prefix("near ");
        let (message, is_near) = (near.unwrap_or(message), near.is_some());
        // The name of the file may contain a colon and a space.
        message.match_indices(": ").find_map(|(end, _)| {
            let (position, text) = message.split_at_checked(end)?;
            let (file, line) = position.rsplit_once(':')?;
            let text = text.strip_prefix(": ")?.to_owned();
            Some(Self { file: file.to_owned(), line: line.parse().ok()?, column: 0, text, is_near })
        })
    }

    /// Returns the position with the column, if it is known: `exec.bpf.c:41:17`.
    pub fn position_with_column(&self) -> String {
        match self.column {
            0 => self.position(),
            column => format!("{}:{column}", self.position()),
        }
    }
}

/// Converts a line to text that is safe to print.
impl From<core_relo::SourceLine<'_>> for SourceLine {
    fn from(line: core_relo::SourceLine<'_>) -> Self {
        let escaped = |name: Name<'_>| text(name.shortened());
        Self {
            file: escaped(line.file),
            line: line.line,
            column: line.column,
            text: escaped(line.text),
            is_near: line.is_near,
        }
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
        is_near: false,
    })
}
