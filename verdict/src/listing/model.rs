//! The requirements, in words.

use crate::{SourceLine, loaders::LoaderKind};
use alloc::collections::BTreeMap;

/// The requirements of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ObjectListing {
    /// The license. `None` if the object has none.
    pub license: Option<String>,
    /// The number of types of each kind in the object's BTF.
    pub btf_kinds: BTreeMap<&'static str, usize>,
    /// The maps.
    pub maps: Vec<MapListing>,
    /// The externs.
    pub externs: Vec<ExternListing>,
    /// The programs, without subprograms.
    pub programs: Vec<ProgramListing>,
    /// The loader that opens the object.
    pub loader: LoaderKind,
    /// The reasons why the loader does not open the object.
    pub loader_reasons: Vec<String>,
}

/// The requirements of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MapListing {
    /// The name.
    pub name: String,
    /// The kernel's name of the type: `BPF_MAP_TYPE_HASH`.
    pub map_type: Option<String>,
    /// The kernel's name of the inner maps' type.
    pub inner_map_type: Option<String>,
    /// The kernel's struct of a struct_ops map.
    pub struct_ops: Option<String>,
    /// The sizes and flags of the definition; `None` for a struct_ops map and for configuration values.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub sizes: MapSizes,
    /// The sizes and flags of the inner maps.
    pub inner_map: Option<MapSizes>,
    /// The attributes that user space must set.
    pub needs_input: Vec<&'static str>,
}

/// The sizes and flags of a map. 0 may mean that user space sets the size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MapSizes {
    /// The size of a key in bytes.
    pub key_size: Option<u32>,
    /// The size of a value in bytes.
    pub value_size: Option<u64>,
    /// The number of entries.
    pub max_entries: Option<u32>,
    /// The flags.
    pub flags: Option<u32>,
}

/// An extern.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExternListing {
    /// The name.
    pub name: String,
    /// The kind: `kfunc`, `variable`, `kconfig` or `symbol`.
    pub kind: &'static str,
    /// Whether the kernel may lack the extern.
    pub weak: bool,
}

/// The requirements of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProgramListing {
    /// The name.
    pub name: String,
    /// The name of the ELF section.
    pub section: String,
    /// Whether the default load includes the program.
    pub autoload: bool,
    /// The kernel's name of the program type. `None` if the section name has no known type.
    pub program_type: Option<&'static str>,
    /// The kernel's name of the expected attach type.
    pub attach_type: Option<&'static str>,
    /// The attach target that the kernel resolves at load.
    pub attach_target: Option<AttachTargetListing>,
    /// The place that a loader attaches the program to after the load.
    pub attach_point: Option<AttachPointListing>,
    /// The attribute that user space must set.
    pub needs_input: Option<&'static str>,
    /// The number of instructions after linking. `None` if linking fails.
    pub insns: Option<usize>,
    /// The number of subprograms. `None` if linking fails.
    pub subprograms: Option<usize>,
    /// The number of functions whose address is taken. `None` if linking fails.
    pub callbacks: Option<usize>,
    /// The bytes of stack that the deepest chain of calls takes.
    pub stack_bytes: Option<u32>,
    /// The helpers.
    pub helpers: Vec<HelperUse>,
    /// The sets of instructions.
    pub instruction_sets: Vec<InstructionSetUse>,
    /// The kfuncs that are called.
    pub kfuncs: Vec<Use>,
    /// The maps.
    pub maps: Vec<Use>,
    /// The kernel variables and symbols, kfuncs whose address is taken, and configuration values.
    pub externs: Vec<ExternUse>,
    /// The number of CO-RE records of each kind.
    pub relocations: BTreeMap<String, usize>,
    /// The distinct accesses, without those of `checks`.
    pub accesses: Vec<AccessUse>,
    /// The accesses that a program checks for existence.
    pub checks: Vec<AccessUse>,
    /// The reason why linking fails.
    pub error: Option<String>,
}

/// An attach target that the kernel resolves at load.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AttachTargetListing {
    /// The kind, as a noun.
    pub kind: &'static str,
    /// The module, if the section names one.
    pub module: Option<String>,
    /// The name in the kernel.
    pub name: String,
}

/// A place that a loader attaches a program to after the load.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AttachPointListing {
    /// The kind, as a noun.
    pub kind: &'static str,
    /// The name: `vfs_read+4`, `sched/sched_switch`.
    pub name: String,
    /// The path or name of the binary of a uprobe or USDT probe.
    pub binary: Option<String>,
    /// Declarations in the kernel's BTF, each of which shows that the place exists.
    pub declarations: Vec<String>,
}

/// A helper that a program calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HelperUse {
    /// The calls.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub uses: Use,
    /// The program types that may call the helper on some observed kernel.
    pub program_types: Vec<&'static str>,
}

/// A set of instructions that a program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InstructionSetUse {
    /// The instructions.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub uses: Use,
    /// The mainline release with the instructions; `None` if every kernel with BTF has them.
    pub since: Option<String>,
}

/// An extern that a program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExternUse {
    /// The instructions.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub uses: Use,
    /// The kind, as of [`ExternListing`].
    pub kind: &'static str,
    /// Whether the kernel may lack the extern.
    pub weak: bool,
    /// The comparisons of a configuration value with constants.
    pub comparisons: Vec<ComparisonUse>,
}

/// A comparison of a configuration value with a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ComparisonUse {
    /// The operator in C.
    pub operator: &'static str,
    /// The constant.
    pub value: i64,
    /// The kernel version, for `LINUX_KERNEL_VERSION`.
    pub version: Option<String>,
    /// The instruction, in the linked program.
    pub insn: u32,
    /// The source line.
    pub source: Option<SourceLine>,
}

/// A helper, kfunc, map, extern or instruction set that a program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Use {
    /// The name.
    pub name: String,
    /// The number of instructions that use it.
    pub count: usize,
    /// The first of them.
    pub insn: u32,
    /// The source line of that instruction.
    pub source: Option<SourceLine>,
}

/// A distinct CO-RE access of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct AccessUse {
    /// The kind of the records.
    pub kind: String,
    /// The access in C notation: `struct task_struct.pid`.
    pub access: String,
    /// The number of records.
    pub count: usize,
    /// The kind of the existence check that the program has for the access or its type.
    pub check: Option<String>,
    /// The instruction of the first record.
    pub insn: u32,
    /// The source line of the access.
    pub source: Option<SourceLine>,
}
