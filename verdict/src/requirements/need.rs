//! A requirement, and the table of all distinct requirements.

use super::{license::LicenseUse, target_kind::TargetKind};
use crate::kernel::{
    ContextArgument, FieldCallee, FieldPlace, FunctionRule, InsnFeature, InsnRule, KernelName, MapUse,
    NameQuery, ProgramFeature, SleepableCode, StructOpsName, SymbolName, TracepointName, ValueField,
    VmlinuxNames,
};
use core_relo::insn::Helper;
use core_relo_object::object::{AttachType, MapType, ProgramType};
use hashbrown::HashMap;

/// A requirement that a kernel meets or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Need {
    /// A helper that programs of a type call.
    Helper {
        /// The helper.
        helper: Helper,
        /// The type of the program; `None` if user space sets the type.
        program_type: Option<ProgramType>,
        /// The expected attach type of the program; `None` if the type has none.
        attach_type: Option<AttachType>,
        /// The parts of the program that may sleep.
        sleepable: SleepableCode,
    },
    /// A kernel function that is declared as an extern, by name.
    Kfunc(KernelName),
    /// A kernel function that programs of a type call.
    KfuncCall {
        /// The name.
        name: KernelName,
        /// The type of the program; `None` if user space sets the type.
        program_type: Option<ProgramType>,
        /// The expected attach type of the program; `None` if the type has none.
        attach_type: Option<AttachType>,
    },
    /// The address of a kernel symbol without a type, by name.
    Symbol(SymbolName),
    /// A kernel variable with a type, by name.
    Variable(KernelName),
    /// The address of a kernel variable with a type, by name. The kernel looks up the address among its
    /// symbols.
    VariableAddress(SymbolName),
    /// A map type, by number (`enum bpf_map_type`).
    MapType(u32),
    /// A program type.
    ProgramType(ProgramType),
    /// An expected attach type.
    AttachType(AttachType),
    /// An attach target that is resolved at load.
    AttachTarget {
        /// The kind of target, which decides on the name in the kernel's BTF.
        kind: TargetKind,
        /// The module, if the section's name has one.
        module: Option<Box<str>>,
        /// The name without a prefix such as `bpf_lsm_`.
        name: Box<str>,
        /// The declaration in the kernel's BTF.
        declaration: KernelName,
    },
    /// A tracepoint that programs are attached to as a trace event or raw tracepoint. The load does not look
    /// it up.
    Tracepoint(TracepointName),
    /// A function that programs are attached to by a kprobe, among the kernel's symbols. The load does not
    /// look it up.
    ProbedFunction(SymbolName),
    /// A loaded module with BTF, some of whose functions the program traces.
    Module(Box<str>),
    /// A property of the program or map.
    Feature(ProgramFeature),
    /// LSM programs that may sleep, at a hook.
    SleepableLsm(Box<str>),
    /// Trampolines, without which the kernel attaches no program to a function or LSM hook.
    Trampolines,
    /// A function in the kernel's error injection list: for fmod_ret programs, and for fentry and fexit
    /// programs that may sleep.
    ErrorInjection(Box<str>),
    /// A kind of struct_ops, by the name of its struct.
    StructOps(StructOpsName),
    /// A GPL-compatible license. Only an object with another license has this requirement.
    License(LicenseUse),
    /// A use of a map that some kernels refuse.
    MapUse {
        /// The map's name.
        map: Box<str>,
        /// The use.
        map_use: MapUse,
    },
    /// A map whose values have a special field, at a place that some kernel does not accept.
    MapField {
        /// The place.
        place: FieldPlace,
        /// The field.
        field: ValueField,
    },
    /// Instructions that only newer kernels know.
    Instruction(InsnFeature),
    /// An instruction that breaks a rule of all known kernels.
    InsnRule(InsnRule),
    /// A global function whose prototype only some kernels accept, or none.
    FunctionRule {
        /// The function's name.
        function: Box<str>,
        /// The rule that the prototype breaks.
        rule: FunctionRule,
    },
    /// An argument of a call that every kernel refuses, because it is the context or is not.
    ContextArgument(ContextArgument),
    /// A value of the kernel's configuration, by name.
    Kconfig(Box<str>),
}

impl Need {
    /// Returns whether a program has the requirement only on kernels that take the object's BTF. Without BTF,
    /// the kernel follows the calls of all functions, and maps have no special fields.
    pub(crate) const fn depends_on_btf(&self) -> bool {
        matches!(
            self,
            Self::FunctionRule { .. }
                | Self::ContextArgument(ContextArgument::ExpectedByFunction(_) | ContextArgument::Unexpected)
                | Self::MapUse {
                    map_use: MapUse::FunctionArgument { .. } | MapUse::ContextArgument | MapUse::Field { .. },
                    ..
                }
        )
    }

    /// Returns the requirement as a noun phrase: `helper bpf_loop`, `map type BPF_MAP_TYPE_ARENA`.
    pub fn text(&self) -> String {
        let name = |bytes: &[u8]| core_relo::explain::text(core_relo::Name::new(bytes).shortened());
        match self {
            Self::Helper { helper, .. } => helper_text(*helper),
            Self::Kfunc(kfunc) | Self::KfuncCall { name: kfunc, .. } => format!("kfunc {}", name(kfunc)),
            Self::Symbol(symbol) => format!("kernel symbol {}", name(symbol.as_bytes())),
            Self::Variable(variable) => format!("kernel variable {}", name(variable)),
            Self::VariableAddress(variable) => {
                format!("the address of kernel variable {}", name(variable.as_bytes()))
            }
            Self::MapType(number) => match MapType::from_number(*number) {
                Some(known) => format!("map type {known}"),
                None => format!("map type {number}"),
            },
            Self::ProgramType(program_type) => format!("program type {program_type}"),
            Self::AttachType(attach_type) => format!("attach type {attach_type}"),
            Self::AttachTarget { kind, module, declaration, .. } => {
                let target = format!("{} `{}`", kind.noun(), name(declaration));
                match module.as_deref() {
                    None => target,
                    Some("vmlinux") => format!("{target} in vmlinux"),
                    Some(module) => format!("{target} in module {}", name(module.as_bytes())),
                }
            }
            Self::Tracepoint(tracepoint) => format!("tracepoint `{}`", name(tracepoint.as_bytes())),
            Self::ProbedFunction(function) => format!("function `{}`", name(function.as_bytes())),
            Self::Module(module) => format!("the BTF of module {}", name(module.as_bytes())),
            Self::Feature(feature) => feature.name().to_owned(),
            Self::SleepableLsm(hook) => {
                format!("programs that may sleep at LSM hook {}", name(hook.as_bytes()))
            }
            Self::Trampolines => "trampolines".to_owned(),
            Self::ErrorInjection(function) => {
                format!("function `{}` in the error injection list", name(function.as_bytes()))
            }
            Self::StructOps(table) => format!("struct_ops {}", name(table.as_bytes())),
            Self::License(LicenseUse::Helper(helper)) => {
                format!("GPL-compatible license for {}", helper_text(*helper))
            }
            Self::License(LicenseUse::Kfunc(kfunc)) => {
                format!("GPL-compatible license for kfunc {}", name(kfunc))
            }
            Self::License(LicenseUse::ProgramType(program_type)) => {
                format!("GPL-compatible license for programs of type {program_type}")
            }
            Self::MapUse { map, map_use } => format!("map {map} {}", map_use_text(*map_use)),
            Self::MapField { place: FieldPlace::LocalStorage, field, .. } => {
                format!("local storage of values with {}", field.field.name())
            }
            Self::MapField { place: FieldPlace::InnerMap, field, .. } => {
                format!("inner maps of values with {}", field.field.name())
            }
            Self::MapField { place: FieldPlace::MappedSection, field, .. } => {
                format!("mapped data with {}", field.field.name())
            }
            Self::Instruction(feature) => feature.name().to_owned(),
            Self::InsnRule(rule) => rule.to_string(),
            Self::FunctionRule { function, .. } => format!("global function `{function}`"),
            Self::ContextArgument(argument) => argument.to_string(),
            Self::Kconfig(option) => format!("configuration value {}", name(option.as_bytes())),
        }
    }
}

/// Returns the use of a map as words after the map's name.
fn map_use_text(map_use: MapUse) -> String {
    match map_use {
        MapUse::Helper { helper, .. } => format!("as an argument of {}", helper_text(helper)),
        MapUse::Sleepable(_) => "in programs that may sleep".to_owned(),
        MapUse::SleepableAllocation => "with BPF_F_NO_PREALLOC in programs that may sleep".to_owned(),
        MapUse::PerfEventAllocation => "with BPF_F_NO_PREALLOC in programs of perf events".to_owned(),
        MapUse::Field { field, program_type: Some(program_type), .. } => {
            format!("with {} in programs of type {program_type}", field.field.name())
        }
        MapUse::Field { field, program_type: None, .. } => {
            format!("with {} in programs that may sleep", field.field.name())
        }
        MapUse::MissingField { function, .. } | MapUse::FormedField { function, .. } => {
            format!("as the map of a value for {}", field_callee_text(function.callee))
        }
        MapUse::SecondStorage(map_type) => format!("as another map of {map_type} in a program"),
        MapUse::FunctionArgument { .. } => "as the map of a value for a global function".to_owned(),
        MapUse::KfuncArgument { .. } => "as the map of a value for a kfunc".to_owned(),
        MapUse::ContextArgument => "as the map of a value for the context".to_owned(),
        MapUse::OutsideAddress { .. } | MapUse::OutsideAccess { .. } => {
            "as a map of the size that is set".to_owned()
        }
        MapUse::Read => "as a map that the program reads".to_owned(),
        MapUse::Write => "as a map that the program writes to".to_owned(),
        MapUse::Sockets { helper, program_type } => {
            format!("as an argument of {} in programs of type {program_type}", helper_text(helper))
        }
    }
}

/// Returns a helper as a noun phrase.
pub(crate) fn helper_text(helper: Helper) -> String {
    match helper.name() {
        Some(name) => format!("helper bpf_{name}"),
        None => format!("helper {}", helper.0),
    }
}

/// Returns a function that takes a special field as a noun phrase.
pub(crate) fn field_callee_text(callee: FieldCallee) -> String {
    match callee {
        FieldCallee::Helper(number) => helper_text(number),
        FieldCallee::Kfunc(name) => format!("kfunc {name}"),
    }
}

/// The index of a requirement in a [`NeedTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeedId(usize);

/// The distinct requirements of any number of objects. Each kernel answers each of them once.
#[derive(Clone, Debug, Default)]
pub struct NeedTable {
    needs: Vec<Need>,
    ids: HashMap<Need, NeedId>,
    /// The names that the requirements and comparisons look up in a kernel.
    pub(super) names: NameQuery,
    /// Whether a map exceeds a limit that the kernel's configuration tells.
    pub(super) has_configured_limit: bool,
}

impl NeedTable {
    /// Adds a requirement, and returns its index. Equal requirements have the same index.
    pub fn add(&mut self, need: Need) -> NeedId {
        if let Some(id) = self.ids.get(&need) {
            return *id;
        }
        let id = NeedId(self.needs.len());
        self.ids.insert(need.clone(), id);
        self.needs.push(need);
        id
    }

    /// Returns the names to look up in a kernel's BTF, prepared for any number of kernels.
    pub const fn names(&self) -> &NameQuery {
        &self.names
    }

    /// Adds a requirement, if there is one.
    pub(super) fn add_optional(&mut self, need: Option<Need>) -> Option<NeedId> {
        need.map(|need| self.add(need))
    }

    /// Returns a requirement. Returns `None` for the index of another table.
    pub fn get(&self, id: NeedId) -> Option<&Need> {
        self.needs.get(id.0)
    }

    /// Returns whether an object needs a value of the kernel's configuration, or a limit that it tells.
    pub fn has_kconfig(&self) -> bool {
        self.has_configured_limit || self.needs.iter().any(|need| matches!(need, Need::Kconfig(_)))
    }

    /// Returns the indices of the requirements, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NeedId> + use<> {
        (0..self.needs.len()).map(NeedId)
    }

    /// Returns whether an object needs the kernel's symbols.
    pub fn has_symbols(&self) -> bool {
        self.needs.iter().any(|need| match need {
            Need::Symbol(_) | Need::VariableAddress(_) => true,
            // Found by the function behind bpf(2).
            Need::Kconfig(name) => &**name == "LINUX_HAS_SYSCALL_WRAPPER",
            _ => false,
        })
    }

    /// Returns whether a trampoline of a kernel function or LSM hook runs a program. Policies of machines
    /// refuse such programs.
    pub fn traces_functions(&self) -> bool {
        let is_traced = |need: &Need| {
            matches!(need, Need::AttachTarget { kind: TargetKind::Function | TargetKind::Lsm, .. })
        };
        self.needs.iter().any(is_traced)
    }

    /// Returns whether a program is attached by a kprobe to a function that the kernel's types lack, so that
    /// only symbols can tell whether the kernel has it.
    pub fn probes_untyped_function(&self, vmlinux: &VmlinuxNames<'_>) -> bool {
        self.needs.iter().any(|need| match need {
            Need::ProbedFunction(name) => !vmlinux.has_function(name),
            _ => false,
        })
    }

    /// Returns the requirements in the order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Need> {
        self.needs.iter()
    }
}

impl NeedId {
    /// Returns the position in [`NeedTable::iter`].
    pub const fn index(self) -> usize {
        self.0
    }
}
