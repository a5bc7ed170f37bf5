//! The names that objects ask a kernel for.

use super::{
    attachments::{KPROBE_STRUCT, LINK_MARKS},
    changes,
    conditional::{
        ALWAYS_COMPILED, CHECKS_LSM_RESULTS, DIRECT_CALLS, ERROR_INJECTION, FMOD_RET_SETS, HAS_SLEEPABLE_LSM,
        HELPERS, MAP_TYPES, MODULE_BTF, PROGRAM_TYPES, SYSCALL_WRAPPERS, TRAMPOLINES,
    },
    features, jit, map_limits, map_owner, map_uses,
    mark::Mark,
    program_features,
};
use core_relo::btf::{Kind, TypeQuery};
use std::collections::HashSet;

/// The names that all objects ask for, prepared once for many kernels. One pass over a kernel's BTF finds all of them.
///
/// [`KernelFacts`](super::KernelFacts) also answers for other names, with a pass for each.
#[derive(Clone, Debug)]
pub struct NameQuery {
    pub(super) types: TypeQuery,
    pub(super) symbols: HashSet<Box<[u8]>>,
    /// The number of names that every kernel is asked for. The names of objects follow.
    fixed_count: usize,
    /// The positions of names that objects are compared with, but do not need.
    compared: HashSet<usize>,
}

/// The enums whose enumerators are facts, in the order of `Enumerations`.
pub(super) const ENUMS: [&str; 6] =
    ["bpf_func_id", "bpf_map_type", "bpf_prog_type", "bpf_attach_type", "bpf_cmd", "bpf_link_type"];

/// The struct with a member for each compiled program type (since 5.5).
pub(super) const CONTEXTS: &str = "bpf_ctx_convert";

/// The struct of a module's BTF in the kernel (`CONFIG_DEBUG_INFO_BTF_MODULES`).
pub(super) const MODULE_BTF_STRUCT: &str = "btf_module";

/// A function of `CONFIG_LIVEPATCH`.
pub(super) const LIVEPATCH: &str = "klp_enable_patch";

/// The typedef of a tracepoint that every kernel has. Types list tracepoints from Linux 5.5 on, if the compiler keeps the typedefs.
pub(super) const EVERY_KERNELS_TRACEPOINT: &str = "btf_trace_sched_switch";

/// The prefix of a struct_ops value type.
pub(super) const STRUCT_OPS_PREFIX: &[u8] = b"bpf_struct_ops_";

impl Default for NameQuery {
    /// Creates the query of the names that every kernel is asked for.
    fn default() -> Self {
        let mut query = Self {
            types: TypeQuery::new(),
            symbols: HashSet::new(),
            fixed_count: 0,
            compared: HashSet::new(),
        };
        let marks = changes::all_marks().chain(features::all_marks()).chain(program_features::all_marks());
        let maps = map_limits::all_marks().chain(map_owner::all_marks()).chain(map_uses::all_marks());
        for mark in marks.chain(jit::all_marks()).chain(maps) {
            match mark {
                Mark::Function(name) => query.function(name.as_bytes()),
                Mark::Member(name, _) | Mark::InnerMember(name, ..) => query.structure(name.as_bytes()),
                Mark::Enumerator(name, _) => query.enumeration(name.as_bytes()),
            }
        }
        for name in ENUMS {
            query.enumeration(name.as_bytes());
        }
        for mark in &LINK_MARKS {
            query.types.insert(mark.name.as_bytes(), mark.kind);
        }
        for name in [CONTEXTS, MODULE_BTF_STRUCT, KPROBE_STRUCT, map_limits::CPU_MASK] {
            query.structure(name.as_bytes());
        }
        let map_functions = MAP_TYPES.iter().flat_map(|row| row.functions);
        let helper_functions = HELPERS.iter().flat_map(|row| row.neighbours.iter().chain([&row.function]));
        let functions =
            map_functions.chain(helper_functions).chain(PROGRAM_TYPES.iter().map(|(_, name)| name));
        let functions =
            functions.chain(&ALWAYS_COMPILED).chain(&TRAMPOLINES).chain(&DIRECT_CALLS).chain(&MODULE_BTF);
        for name in functions.chain(&SYSCALL_WRAPPERS) {
            query.function(name.as_bytes());
        }
        for name in [LIVEPATCH, ERROR_INJECTION, FMOD_RET_SETS, HAS_SLEEPABLE_LSM, CHECKS_LSM_RESULTS] {
            query.function(name.as_bytes());
        }
        query.fixed_count = query.types.len();
        query
    }
}

impl NameQuery {
    /// Adds a function: an attach target, `bpf_lsm_*`, `bpf_iter_*`.
    pub fn function(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Func);
    }

    /// Adds a kfunc.
    pub fn kfunc(&mut self, name: &[u8]) {
        self.function(name);
    }

    /// Adds a typedef, such as `btf_trace_*`.
    pub fn typedef(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Typedef);
    }

    /// Adds a tracepoint by its typedef, `btf_trace_*`.
    pub fn tracepoint(&mut self, typedef: &[u8]) {
        self.typedef(EVERY_KERNELS_TRACEPOINT.as_bytes());
        self.typedef(typedef);
    }

    /// Adds a struct, such as `trace_event_raw_*`.
    pub fn structure(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Struct);
    }

    /// Adds a variable with a type.
    pub fn variable(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Var);
    }

    /// Adds the structs of a struct_ops map, such as `tcp_congestion_ops`.
    pub fn struct_ops(&mut self, name: &[u8]) {
        self.structure(&[STRUCT_OPS_PREFIX, name].concat());
        self.structure(name);
    }

    /// Adds a kernel symbol without a type.
    pub fn symbol(&mut self, name: &[u8]) {
        self.function(name);
        self.variable(name);
        self.symbols.insert(name.into());
    }

    /// Adds a declaration that objects are compared with. Call this after all names that objects need were added.
    pub(crate) fn compared(&mut self, name: &[u8], kind: Kind) {
        let count = self.types.len();
        let position = self.types.insert(name, kind);
        if self.types.len() > count {
            self.compared.insert(position);
        }
    }

    /// Returns the names of the declarations that objects need, with their kinds.
    pub fn needed_declarations(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.object_names()
    }

    /// Returns the names of all declarations that verdicts read, with their kinds: those that objects need, those that objects are
    /// compared with, and those that every kernel is asked for.
    pub fn all_declarations(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.types.pairs()
    }

    /// Returns the names that objects need.
    pub(super) fn object_names(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        let names = self.types.pairs().enumerate().skip(self.fixed_count);
        names.filter(|(position, _)| !self.compared.contains(position)).map(|(_, name)| name)
    }

    fn enumeration(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Enum);
    }
}
