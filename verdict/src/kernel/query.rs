//! The names that objects ask a kernel for.

use core_relo::btf::{Kind, TypeQuery};
use std::collections::HashSet;

/// The names that all objects ask for, prepared once for many kernels. One pass over a kernel's BTF finds all of them.
///
/// [`KernelFacts`](super::KernelFacts) answer for no other names.
#[derive(Clone, Debug)]
pub struct NameQuery {
    pub(super) types: TypeQuery,
    pub(super) symbols: HashSet<Box<[u8]>>,
    /// The number of names that every kernel is asked for. The names of objects follow.
    pub(super) fixed_count: usize,
    /// The positions of names that objects are compared with, but do not need.
    pub(super) compared: HashSet<usize>,
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

/// Functions of kernels that load modules.
pub(super) const LOADS_MODULES: [&str; 2] = ["find_module", "do_init_module"];

/// The typedef of a tracepoint that every kernel has. Types list tracepoints from Linux 5.5 on, if the compiler keeps the typedefs.
pub(super) const EVERY_KERNELS_TRACEPOINT: &str = "btf_trace_sched_switch";

/// Returns the name of the struct of a struct_ops map's value, such as `bpf_struct_ops_tcp_congestion_ops`.
pub(crate) fn struct_ops_value_name(name: &[u8]) -> Vec<u8> {
    [b"bpf_struct_ops_", name].concat()
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
        self.structure(&struct_ops_value_name(name));
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

    /// Returns whether the query has a name.
    pub(super) fn contains(&self, name: &[u8], kind: Kind) -> bool {
        self.types.position(name, kind).is_some()
    }

    pub(super) fn enumeration(&mut self, name: &[u8]) {
        self.types.insert(name, Kind::Enum);
    }
}
