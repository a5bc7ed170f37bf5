//! The keys of the line of `requires`.

use core_relo_verdict::SourceLine;
use serde::Serialize;
use std::collections::BTreeMap;

/// The requirements of an object.
#[derive(Debug, Serialize)]
pub(crate) struct RequirementsJson {
    pub(crate) object: String,
    /// The license; `null` if the object has none.
    pub(crate) license: Option<String>,
    /// The number of types of each kind in the object's BTF.
    pub(crate) btf_kinds: BTreeMap<&'static str, usize>,
    pub(crate) maps: Vec<MapJson>,
    pub(crate) externs: Vec<ExternJson>,
    pub(crate) programs: Vec<ProgramJson>,
    /// The loader that opens the object.
    pub(crate) loader: &'static str,
    /// The reasons why the loader does not open the object.
    pub(crate) loader_reasons: Vec<String>,
}

/// The requirements of a map.
#[derive(Debug, Serialize)]
pub(crate) struct MapJson {
    pub(crate) name: String,
    pub(crate) map_type: Option<String>,
    pub(crate) inner_map_type: Option<String>,
    pub(crate) struct_ops: Option<String>,
    /// The sizes and flags of the definition; `null` for a struct_ops map and for configuration values.
    #[serde(flatten)]
    pub(crate) sizes: MapSizesJson,
    /// The sizes and flags of the inner maps.
    pub(crate) inner_map: Option<MapSizesJson>,
    /// The attributes that user space must set.
    pub(crate) needs_input: Vec<&'static str>,
}

/// The sizes and flags of a map. 0 may mean that user space sets the size.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MapSizesJson {
    pub(crate) key_size: Option<u32>,
    pub(crate) value_size: Option<u64>,
    pub(crate) max_entries: Option<u32>,
    pub(crate) flags: Option<u32>,
}

/// An extern.
#[derive(Debug, Serialize)]
pub(crate) struct ExternJson {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) weak: bool,
}

/// The requirements of a program.
#[derive(Debug, Serialize)]
pub(crate) struct ProgramJson {
    pub(crate) name: String,
    pub(crate) section: String,
    pub(crate) autoload: bool,
    pub(crate) program_type: Option<&'static str>,
    pub(crate) attach_type: Option<&'static str>,
    pub(crate) attach_target: Option<AttachTargetJson>,
    pub(crate) attach_point: Option<AttachPointJson>,
    /// The attribute that user space must set.
    pub(crate) needs_input: Option<&'static str>,
    /// The number of instructions after linking. This and the next two keys are `null` if linking fails.
    pub(crate) insns: Option<usize>,
    pub(crate) subprograms: Option<usize>,
    pub(crate) callbacks: Option<usize>,
    /// The bytes of stack that the deepest chain of calls takes.
    pub(crate) stack_bytes: Option<u32>,
    pub(crate) helpers: Vec<HelperJson>,
    pub(crate) instruction_sets: Vec<InstructionSetJson>,
    pub(crate) kfuncs: Vec<UseJson>,
    pub(crate) maps: Vec<UseJson>,
    /// The kernel variables and symbols, kfuncs whose address is taken, and configuration values.
    pub(crate) externs: Vec<ExternUseJson>,
    /// The number of CO-RE records of each kind.
    pub(crate) relocations: BTreeMap<String, usize>,
    pub(crate) accesses: Vec<AccessJson>,
    /// The accesses that a program checks for existence.
    pub(crate) checks: Vec<AccessJson>,
    /// The reason why linking fails.
    pub(crate) error: Option<String>,
}

/// An attach target that the kernel resolves at load.
#[derive(Debug, Serialize)]
pub(crate) struct AttachTargetJson {
    pub(crate) kind: &'static str,
    pub(crate) module: Option<String>,
    pub(crate) name: String,
}

/// A place that a loader attaches a program to after the load.
#[derive(Debug, Serialize)]
pub(crate) struct AttachPointJson {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) binary: Option<String>,
    /// Declarations in the kernel's BTF, each of which shows that the place exists.
    pub(crate) declarations: Vec<String>,
}

/// A helper that a program calls.
#[derive(Debug, Serialize)]
pub(crate) struct HelperJson {
    #[serde(flatten)]
    pub(crate) uses: UseJson,
    /// The program types that may call the helper on some observed kernel.
    pub(crate) program_types: Vec<&'static str>,
}

/// A set of instructions that a program uses.
#[derive(Debug, Serialize)]
pub(crate) struct InstructionSetJson {
    #[serde(flatten)]
    pub(crate) uses: UseJson,
    /// The mainline release with the instructions; `null` if every kernel with BTF has them.
    pub(crate) since: Option<String>,
}

/// An extern that a program uses.
#[derive(Debug, Serialize)]
pub(crate) struct ExternUseJson {
    #[serde(flatten)]
    pub(crate) uses: UseJson,
    pub(crate) kind: &'static str,
    pub(crate) weak: bool,
    /// The comparisons of a configuration value with constants.
    pub(crate) comparisons: Vec<ComparisonJson>,
}

/// A comparison of a configuration value with a constant.
#[derive(Debug, Serialize)]
pub(crate) struct ComparisonJson {
    pub(crate) operator: &'static str,
    pub(crate) value: i64,
    /// The kernel version, for `LINUX_KERNEL_VERSION`.
    pub(crate) version: Option<String>,
    pub(crate) insn: u32,
    pub(crate) source: Option<SourceLine>,
}

/// A helper, kfunc, map, extern or instruction set that a program uses.
#[derive(Debug, Serialize)]
pub(crate) struct UseJson {
    pub(crate) name: String,
    /// The number of instructions that use it.
    pub(crate) count: usize,
    /// The first of them.
    pub(crate) insn: u32,
    pub(crate) source: Option<SourceLine>,
}

/// A distinct CO-RE access of a program.
#[derive(Debug, Serialize)]
pub(crate) struct AccessJson {
    pub(crate) kind: String,
    pub(crate) access: String,
    /// The number of records.
    pub(crate) count: usize,
    /// The kind of the existence check that the program has for the access or its type.
    pub(crate) check: Option<String>,
    /// The instruction of the first record.
    pub(crate) insn: u32,
    pub(crate) source: Option<SourceLine>,
}
