//! A generated program with its data.

use crate::reach::{Function, LoadedValue, Program, Reachability, analyze_relocated};
use core::ops::Range;
use core_relo::{Endian, insn::Insn};

/// A generated program.
#[derive(Debug)]
pub(super) struct GeneratedProgram {
    pub(super) insns: Vec<Insn>,
    pub(super) functions: Vec<Function>,
    pub(super) loads: Vec<(u32, GeneratedLoad)>,
    /// The unchanging data of the program.
    pub(super) data: Vec<u8>,
    /// The part of the data whose content the analysis does not know.
    pub(super) unknown: [Range<usize>; 1],
    pub(super) endian: Endian,
}

/// The value of an `ld_imm64` with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeneratedLoad {
    /// A pointer to the unchanging data, at an offset.
    Data(u64),
    Map,
    /// A function, given by its first instruction.
    Function(u32),
    Unknown,
}

impl GeneratedProgram {
    pub(super) fn analyze(&self) -> Reachability {
        self.analyze_relocated(&[]).0
    }

    /// Analyses the program with relocated numbers. Returns also the instructions on whose numbers the result
    /// depends.
    pub(super) fn analyze_relocated(&self, relocated: &[u32]) -> (Reachability, Vec<u32>) {
        let value = |load| match load {
            GeneratedLoad::Data(offset) => {
                LoadedValue::Frozen { data: &self.data, offset, unknown: &self.unknown }
            }
            GeneratedLoad::Map => LoadedValue::Map { is_array: false },
            GeneratedLoad::Function(start) => LoadedValue::Function(start),
            GeneratedLoad::Unknown => LoadedValue::Unknown,
        };
        let loads: Vec<_> = self.loads.iter().map(|(insn, load)| (*insn, value(*load))).collect();
        let program = Program {
            insns: &self.insns,
            functions: &self.functions,
            loads: &loads,
            endian: self.endian,
            verifies_uncalled_functions: false,
            exception_callback: None,
            bounds_context: false,
            passes_context: true,
        };
        analyze_relocated(&program, relocated)
    }
}
