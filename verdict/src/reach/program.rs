//! A program to analyse.

use core::ops::Range;
use core_relo::{Endian, insn::Insn};

/// The immediate of a call of a kernel function that takes the next element of an iterator
/// (`bpf_iter_*_next`).
pub const ITERATOR_NEXT: i32 = 1;

/// A linked and relocated program.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct Program<'p> {
    /// The instructions: the main program, then its subprograms. An `ld_imm64` takes two. The immediate of a
    /// call of a kernel function is [`ITERATOR_NEXT`] or 0.
    pub insns: &'p [Insn],
    /// The functions, sorted by start. The first is the program.
    pub functions: &'p [Function],
    /// The values of `ld_imm64` instructions that refer to maps, externs or functions, sorted by instruction.
    pub loads: &'p [(u32, LoadedValue<'p>)],
    /// The byte order of the program and of its data.
    pub endian: Endian,
    /// Whether the kernel verifies global functions that nothing calls (before Linux 6.8).
    pub verifies_uncalled_functions: bool,
    /// The first instruction of the exception callback, which the verifier checks as a called global
    /// function.
    pub exception_callback: Option<u32>,
    /// Whether the verifier may know bounds of numbers in the context: the result that an LSM hook passes
    /// (6.12).
    pub bounds_context: bool,
    /// Whether a global function that gets the context as an argument has it as context. Functions of
    /// `syscall` programs may have it as plain memory.
    pub passes_context: bool,
}

/// A function in a linked program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct Function {
    /// The index of the first instruction.
    pub start: u32,
    /// Whether the verifier checks the function by itself, with any arguments.
    pub is_global: bool,
}

/// The value that an `ld_imm64` with a reference loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers build it")]
pub enum LoadedValue<'p> {
    /// A constant, such as the address 0 of a missing weak extern.
    Constant(u64),
    /// A pointer to data that never changes after the load: frozen `.rodata`, `.kconfig`.
    Frozen {
        /// The data.
        data: &'p [u8],
        /// The offset of the pointer in the data, in bytes.
        offset: u64,
        /// The parts of the data whose content is not known, in bytes.
        unknown: &'p [Range<usize>],
        /// Whether the data are the values of the kernel's configuration.
        is_config: bool,
    },
    /// A map.
    Map {
        /// Whether the map may be an array, in which lookups of constant keys find a value.
        is_array: bool,
    },
    /// A pointer that is not null: to variable data, to a kernel symbol that exists.
    Pointer,
    /// The address of a kernel function.
    KernelFunction,
    /// The address of a function of the program, given by its first instruction.
    Function(u32),
    /// A value that nothing tells, such as the address of a weak extern that may be missing.
    Unknown,
}
