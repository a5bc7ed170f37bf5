//! The names that objects ask a kernel for.

use super::{
    fixed_names::FIXED_NAMES,
    kernel_name::{KernelName, NameId},
};
use core_relo::btf::{Kind, TypeQuery};
use std::collections::{HashMap, HashSet};

/// The names that all objects ask for, prepared once for many kernels. One pass over a kernel's BTF finds all
/// of them.
///
/// [`KernelFacts`](super::KernelFacts) take names from the query that they are collected with, so that they
/// have looked up each of them.
#[derive(Clone, Debug)]
pub struct NameQuery {
    pub(super) types: TypeQuery,
    /// The positions of the symbols.
    pub(super) symbols: HashMap<Box<[u8]>, usize>,
    /// The functions behind bpf(2): see `SYSCALLS`.
    pub(super) syscalls: [SymbolName; 6],
    /// The number of names that every kernel is asked for. The names of objects follow.
    fixed_count: usize,
    /// The names that objects are compared with, but do not need.
    compared: HashSet<NameId>,
    /// The names that objects need of a module that they name.
    of_modules: HashSet<NameId>,
    needs_modules: bool,
}

/// A function or variable among the symbols of a kernel, in a [`NameQuery`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolName {
    pub(super) function: KernelName,
    pub(super) variable: KernelName,
    /// The position among the symbols of the query.
    pub(super) position: usize,
}

/// A tracepoint in a [`NameQuery`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TracepointName {
    name: Box<[u8]>,
    pub(super) typedef: KernelName,
    /// The typedef of a tracepoint that every kernel has. Types list tracepoints from Linux 5.5 on, if the
    /// compiler keeps the typedefs.
    pub(super) every_kernels: KernelName,
}

/// The structs of a struct_ops map in a [`NameQuery`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructOpsName {
    /// The struct of the map's value, such as `bpf_struct_ops_tcp_congestion_ops`.
    pub(super) value: KernelName,
    /// The struct of the programs, such as `tcp_congestion_ops`.
    pub(crate) programs: KernelName,
}

/// The functions behind bpf(2) on architectures with system call wrappers, as libbpf names them
/// (`probe_kern_syscall_wrapper`); then the function on PowerPC, and the function that it contains if it is a
/// wrapper.
const SYSCALLS: [&str; 6] =
    ["__x64_sys_bpf", "__arm64_sys_bpf", "__s390x_sys_bpf", "__riscv_sys_bpf", "sys_bpf", "__se_sys_bpf"];

impl Default for NameQuery {
    /// Creates the query of the names that every kernel is asked for.
    fn default() -> Self {
        let (mut types, mut symbols) = (TypeQuery::new(), HashMap::new());
        for (name, kind) in FIXED_NAMES {
            types.insert(name.as_bytes(), *kind);
        }
        let syscalls = SYSCALLS.map(|name| SymbolName::insert(&mut types, &mut symbols, name.as_bytes()));
        let fixed_count = types.len();
        Self {
            types,
            symbols,
            syscalls,
            fixed_count,
            compared: HashSet::new(),
            of_modules: HashSet::new(),
            needs_modules: false,
        }
    }
}

impl NameQuery {
    /// Adds a declaration that objects need: a function, such as a kfunc, an attach target, `bpf_lsm_*` or
    /// `bpf_iter_*`; a typedef, such as `btf_trace_*`; a struct, such as `trace_event_raw_*`; or a variable
    /// with a type.
    pub fn declaration(&mut self, name: &[u8], kind: Kind) -> KernelName {
        let needed = KernelName::insert(&mut self.types, name, kind);
        self.compared.remove(&needed.id);
        needed
    }

    /// Adds a declaration that objects need of a module that they name. The modules are searched for it
    /// although vmlinux may have another one of the name.
    pub fn module_declaration(&mut self, name: &[u8], kind: Kind) -> KernelName {
        let needed = self.declaration(name, kind);
        self.of_modules.insert(needed.id);
        needed
    }

    /// Adds the need of a module by its name, for which the kernel's modules are listed.
    pub const fn add_module_need(&mut self) {
        self.needs_modules = true;
    }

    /// Adds a tracepoint, such as `sched_switch`.
    pub fn tracepoint(&mut self, name: &str) -> TracepointName {
        let mut typedef =
            |name: &str| self.declaration(format!("btf_trace_{name}").as_bytes(), Kind::Typedef);
        let every_kernels = typedef("sched_switch");
        TracepointName { name: name.as_bytes().into(), typedef: typedef(name), every_kernels }
    }

    /// Adds the structs of a struct_ops map, such as `tcp_congestion_ops`.
    pub fn struct_ops(&mut self, name: &[u8]) -> StructOpsName {
        let value = self.declaration(&value_name(name), Kind::Struct);
        StructOpsName { value, programs: self.declaration(name, Kind::Struct) }
    }

    /// Adds a kernel symbol without a type.
    pub fn symbol(&mut self, name: &[u8]) -> SymbolName {
        let symbol = SymbolName::insert(&mut self.types, &mut self.symbols, name);
        self.compared.remove(&symbol.function.id);
        self.compared.remove(&symbol.variable.id);
        symbol
    }

    /// Adds a declaration that objects are compared with, whether or not they need it.
    pub(crate) fn compared(&mut self, name: &[u8], kind: Kind) -> KernelName {
        let count = self.types.len();
        let compared = KernelName::insert(&mut self.types, name, kind);
        if self.types.len() > count {
            self.compared.insert(compared.id);
        }
        compared
    }

    /// Adds the structs of a struct_ops map, which an object need not need: the map may be optional.
    pub(crate) fn compared_struct_ops(&mut self, name: &[u8]) -> StructOpsName {
        let value = self.compared(&value_name(name), Kind::Struct);
        StructOpsName { value, programs: self.compared(name, Kind::Struct) }
    }

    /// Returns the names of the declarations that objects need, with their kinds.
    pub fn needed_declarations(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.needed_names().map(|(id, name)| (name, id.kind))
    }

    /// Returns the names of all declarations that verdicts read, with their kinds: those that objects need,
    /// those that objects are compared with, and those that every kernel is asked for.
    pub fn all_declarations(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.types.pairs()
    }

    /// Returns the names and their places.
    pub(super) fn names(&self) -> impl Iterator<Item = (NameId, &[u8])> {
        let names = self.types.pairs().enumerate();
        names.map(|(position, (name, kind))| (NameId { position, kind }, name))
    }

    /// Returns the names that objects need and their places.
    pub(super) fn needed_names(&self) -> impl Iterator<Item = (NameId, &[u8])> {
        self.object_names().filter(|(id, _)| !self.compared.contains(id))
    }

    /// Returns the names that objects need or are compared with, and their places.
    pub(super) fn object_names(&self) -> impl Iterator<Item = (NameId, &[u8])> {
        self.names().skip(self.fixed_count)
    }

    /// Returns whether objects need a declaration of a module that they name.
    pub(super) fn is_of_module(&self, name: NameId) -> bool {
        self.of_modules.contains(&name)
    }

    /// Returns whether objects need modules by their names.
    pub(super) const fn needs_modules(&self) -> bool {
        self.needs_modules
    }

    /// Returns whether objects look up functions.
    pub(super) fn has_functions(&self) -> bool {
        self.object_names().any(|(id, _)| id.kind == Kind::Func)
    }
}

impl TracepointName {
    /// Returns the name of the tracepoint, such as `sched_switch`.
    pub const fn as_bytes(&self) -> &[u8] {
        &self.name
    }
}

impl StructOpsName {
    /// Returns the names of both structs.
    pub(crate) const fn structs(&self) -> [&KernelName; 2] {
        [&self.value, &self.programs]
    }

    /// Returns the name of the struct of the programs, such as `tcp_congestion_ops`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.programs
    }
}

impl SymbolName {
    /// Returns the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.function
    }

    fn insert(types: &mut TypeQuery, symbols: &mut HashMap<Box<[u8]>, usize>, name: &[u8]) -> Self {
        let next = symbols.len();
        Self {
            function: KernelName::insert(types, name, Kind::Func),
            variable: KernelName::insert(types, name, Kind::Var),
            position: *symbols.entry(name.into()).or_insert(next),
        }
    }
}

/// Returns the name of the struct of a struct_ops map's value.
fn value_name(name: &[u8]) -> Vec<u8> {
    [b"bpf_struct_ops_", name].concat()
}
