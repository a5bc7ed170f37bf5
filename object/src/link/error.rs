//! Errors of linking programs.

use super::undefined::Undefined;
use crate::object::MapParseError;
use core::fmt;
use core_relo::Text;
use thiserror::Error;

/// An error in linking a program.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// An ELF relocation applies to an instruction that is neither a call nor a 64-bit load.
    #[error(
        "{section}, insn {insn}: relocation against `{symbol}`: instruction code {code:#04x}, expected a call or a 64-bit load"
    )]
    Instruction {
        /// The section.
        section: Text,
        /// The index of the instruction in the section.
        insn: u32,
        /// The symbol.
        symbol: Text,
        /// The instruction's opcode.
        code: u8,
    },
    /// An ELF relocation cannot be resolved.
    #[error("{section}, insn {insn}: reference to `{symbol}`: {what}")]
    Reference {
        /// The section.
        section: Text,
        /// The index of the instruction in the section, or beyond the section.
        insn: u64,
        /// The symbol.
        symbol: Text,
        /// The problem, and what is expected.
        what: &'static str,
    },
    /// Two ELF relocations apply to one instruction.
    #[error("{section}, insn {insn}: two relocations, expected at most one")]
    TwoReferences {
        /// The section.
        section: Text,
        /// The index of the instruction in the section.
        insn: u32,
    },
    /// The target of a call, or of a load of a function's address, is not the start of a function.
    #[error("program `{program}`: insn {insn} of {section} calls {to}+{target}, where no function begins")]
    Call {
        /// The program being linked.
        program: Text,
        /// The section of the call.
        section: Text,
        /// The index of the instruction in the section.
        insn: u32,
        /// The section of the target.
        to: Text,
        /// The index of the target in that section.
        target: i64,
    },
    /// A function of the program has no `func_info` or `line_info`, though the functions before it have.
    #[error("program `{program}`: .BTF.ext has no {what} of `{function}`")]
    MissingInfo {
        /// The program.
        program: Text,
        /// The function.
        function: Text,
        /// `func_info` or `line_info`.
        what: &'static str,
    },
    /// The functions of the program have too many records. A program has at most one record of a kind for
    /// each instruction.
    #[error("program `{program}`: its functions have more than {limit} records in .BTF.ext")]
    TooManyRecords {
        /// The program.
        program: Text,
        /// The maximum number of records.
        limit: u32,
    },
    /// The program has more instructions than the kernel's verifier accepts.
    #[error("program `{program}` with its subprograms has more than {limit} instructions")]
    TooLong {
        /// The program.
        program: Text,
        /// The maximum number of instructions.
        limit: u32,
    },
    /// An `exception_callback:` tag does not name a valid exception callback.
    #[error("program `{program}`: exception callback `{callback}` {what}")]
    ExceptionCallback {
        /// The program.
        program: Text,
        /// The callback that the tag names.
        callback: Text,
        /// The problem.
        what: &'static str,
    },
    /// A map's definition is invalid.
    #[error("map `{map}`: {cause}")]
    Map {
        /// The map.
        map: Text,
        /// The cause.
        #[source]
        cause: MapParseError,
    },
    /// A data section, arena or struct_ops variable cannot become a map.
    #[error("map `{map}`: {what}")]
    MapShape {
        /// The map.
        map: Text,
        /// The problem, and what is expected.
        what: Text,
    },
    /// The object's BTF does not describe an extern, or describes it as something else.
    #[error("extern `{name}`: {what}")]
    Extern {
        /// The name.
        name: Text,
        /// The problem, and what is expected.
        what: &'static str,
    },
    /// Symbols that nothing defines, and that are no externs of the kernel.
    #[error("undefined: {}{}: neither defined in the object nor a helper, kfunc or variable of the kernel", Symbols(symbols), More(*more))]
    Undefined {
        /// The first symbols.
        symbols: Vec<Undefined>,
        /// The number of further symbols.
        more: usize,
    },
    /// The object's BTF contradicts its sections or symbols.
    #[error("BTF, section `{section}`: {what}")]
    Datasec {
        /// The section.
        section: Text,
        /// The problem.
        what: Text,
    },
    /// A relocation section is damaged.
    #[error(transparent)]
    Object(#[from] crate::object::ObjectError),
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] crate::InternalError),
    /// The object has no BTF, but externs or struct_ops maps need it.
    #[error("the object has no BTF, which its {what} need: compile with -g")]
    NoBtf {
        /// The parts of the object that need it.
        what: &'static str,
    },
}

core_relo::debug_as_message!(LinkError);

impl LinkError {
    /// Returns what to do about undefined symbols, a line for each different remedy.
    pub fn remedies(&self) -> Vec<String> {
        let Self::Undefined { symbols, .. } = self else { return Vec::new() };
        let mut remedies: Vec<(String, Vec<&str>)> = Vec::new();
        for symbol in symbols {
            let remedy = symbol.remedy();
            match remedies.iter_mut().find(|(known, _)| *known == remedy) {
                Some((_, names)) => names.push(&symbol.name),
                None => remedies.push((remedy, vec![&symbol.name])),
            }
        }
        remedies.into_iter().map(|(remedy, names)| format!("{}: {remedy}", names.join(", "))).collect()
    }
}

/// Undefined symbols in a message.
struct Symbols<'s>(&'s [Undefined]);

impl fmt::Display for Symbols<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, symbol) in self.0.iter().enumerate() {
            let separator = if n == 0 { "" } else { "; " };
            write!(f, "{separator}{symbol}")?;
        }
        Ok(())
    }
}

/// The number of symbols that a message does not name.
struct More(usize);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " and {} more", self.0) }
    }
}
