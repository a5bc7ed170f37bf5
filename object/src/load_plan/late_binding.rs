//! The parts of a plan that the kernel resolves when a loader program is executed.

/// The parts of a plan that the kernel resolves when a loader program (`loader_program`) is executed.
///
/// [`load::execute`](https://docs.rs/core-relo-loader) executes only plans without such parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LateBinding {
    /// Nothing: the plan is complete.
    #[default]
    Nothing,
    /// The names of externs and attach targets. CO-RE relocations and the configuration are those of one
    /// kernel.
    Names,
    /// The names, and the CO-RE relocations: the plan is for every kernel.
    NamesAndRelocations,
}

impl LateBinding {
    /// Returns whether the kernel finds externs and attach targets by name.
    pub(in crate::load_plan) fn has_names(self) -> bool {
        self != Self::Nothing
    }
}

/// A function, variable or type that the kernel finds by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct KernelSymbol {
    /// The name in the kernel.
    pub name: String,
    /// The kind.
    pub kind: KernelSymbolKind,
    /// Whether the kernel may lack the symbol.
    pub is_weak: bool,
}

/// The kind of a kernel symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the generator of loader programs acts on each")]
pub enum KernelSymbolKind {
    /// A function in BTF.
    Function,
    /// A variable in BTF.
    Variable,
    /// A typedef in BTF.
    Typedef,
    /// A symbol of `/proc/kallsyms`.
    Address,
}

/// An instruction that refers to a kernel symbol: a call, or a 64-bit load.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SymbolRef {
    /// The index of the instruction in the program.
    pub insn: u32,
    /// The symbol.
    pub symbol: KernelSymbol,
}

/// A CO-RE relocation that the kernel performs (`struct bpf_core_relo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LateReloc {
    /// The index of the instruction in the program.
    pub insn: u32,
    /// The record's type, access string and kind.
    pub words: [u32; 3],
}
