//! A generated program with its data.

use crate::reach::{
    ConfigData, Function, LoadedValue, Program, Reachability, UsedNumbers, analyze_relocated,
};
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
        self.analyze_with(&[], false).0
    }

    /// Analyses the program with relocated numbers, and with its data as configuration values. Returns also
    /// the numbers on which the result depends.
    pub(super) fn analyze_on_kernel(&self, relocated: &[u32]) -> (Reachability, UsedNumbers) {
        self.analyze_with(relocated, true)
    }

    /// Returns the data as configuration values.
    pub(super) fn config(&self) -> ConfigData {
        ConfigData { bytes: self.data.clone(), unknown: self.unknown.to_vec() }
    }

    fn analyze_with(&self, relocated: &[u32], is_config: bool) -> (Reachability, UsedNumbers) {
        let value = |load| match load {
            GeneratedLoad::Data(offset) => {
                LoadedValue::Frozen { data: &self.data, offset, unknown: &self.unknown, is_config }
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
