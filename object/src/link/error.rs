//! Why the parts of an object do not fit together.

use crate::object::MapError;
use core_relo::Text;
use thiserror::Error;

/// Why a program cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// An ELF relocation is on an instruction that refers to nothing.
    #[error(
        "{section}, insn {insn}: a relocation against `{symbol}`, but the instruction (code {code:#04x}) is neither a call nor a 64-bit load"
    )]
    Instruction {
        /// The section.
        section: Text,
        /// The instruction, counted in the section.
        insn: u32,
        /// What is referred to.
        symbol: Text,
        /// The instruction's code.
        code: u8,
    },
    /// An ELF relocation cannot be followed.
    #[error("{section}, insn {insn}: reference to `{symbol}`: {what}")]
    Reference {
        /// The section.
        section: Text,
        /// The instruction, counted in the section.
        insn: u32,
        /// What is referred to.
        symbol: Text,
        /// What is wrong with it, and what was expected.
        what: &'static str,
    },
    /// Two ELF relocations are on one instruction.
    #[error("{section}, insn {insn}: two relocations, where there can be one")]
    TwoReferences {
        /// The section.
        section: Text,
        /// The instruction, counted in the section.
        insn: u32,
    },
    /// A call, or an address taken, does not lead to the start of a function.
    #[error("program `{program}`: insn {insn} of {section} calls {to}+{target}, where no function begins")]
    Call {
        /// The program being put together.
        program: Text,
        /// The section the call is in.
        section: Text,
        /// The instruction, counted in the section.
        insn: u32,
        /// The section it leads to.
        to: Text,
        /// The instruction of that section.
        target: i64,
    },
    /// A function of the program has no record, though the ones before had.
    #[error("program `{program}`: .BTF.ext has no {what} of `{function}`")]
    Info {
        /// The program.
        program: Text,
        /// The function.
        function: Text,
        /// `func_info` or `line_info`.
        what: &'static str,
    },
    /// More instructions than a program may have here; the kernel's verifier takes no more either.
    #[error("program `{program}` with its subprograms has more than {limit} instructions")]
    TooLong {
        /// The program.
        program: Text,
        /// The most there may be.
        limit: u32,
    },
    /// An `exception_callback:` tag that does not name a function which can be one.
    #[error("program `{program}`: exception callback `{callback}` {what}")]
    ExceptionCallback {
        /// The program.
        program: Text,
        /// What the tag names.
        callback: Text,
        /// What is wrong.
        what: &'static str,
    },
    /// A static function outside of `.text` that is no subprogram, for no other function refers to it.
    #[error(
        "section {section}: function `{function}` is static, which programs cannot be, and no other function calls it"
    )]
    StaticProgram {
        /// The section.
        section: Text,
        /// The function.
        function: Text,
    },
    /// A map's definition cannot be read.
    #[error("map `{map}`: {cause}")]
    Map {
        /// The map.
        map: Text,
        /// Why not.
        #[source]
        cause: MapError,
    },
    /// A map, a data section or a struct_ops table that cannot be made a map.
    #[error("map `{map}`: {what}")]
    MapShape {
        /// The map.
        map: Text,
        /// What is wrong, and what was expected.
        what: Text,
    },
    /// An extern that the object's BTF does not describe, or not as something the kernel has.
    #[error("extern `{name}`: {what}")]
    Extern {
        /// Its name.
        name: Text,
        /// What is wrong, and what was expected.
        what: &'static str,
    },
    /// The object's BTF contradicts its sections or symbols.
    #[error("BTF, section `{section}`: {what}")]
    Datasec {
        /// The section.
        section: Text,
        /// What is wrong.
        what: Text,
    },
    /// A relocation section is damaged.
    #[error(transparent)]
    Object(#[from] crate::object::ObjectError),
    /// Maps, kernel symbols and struct_ops need the object's BTF.
    #[error("the object has no BTF, which its {what} need: compile with -g")]
    NoBtf {
        /// What needs it.
        what: &'static str,
    },
}
