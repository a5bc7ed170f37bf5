//! What a kernel offers, with the evidence.
//!
//! | file | contents |
//! |---|---|
//! | `answer` | answers and their evidence |
//! | `inputs` | facts beside the BTF, and where they were found |
//! | `mark`, `changes` | parts of the BTF that came with a release: the evidence for instructions |
//! | `conditional` | functions that exist only if a map or program type is compiled |
//! | `enumeration` | the enumerators of the kernel's enums of numbers |
//! | `query`, `kernel_name`, `fixed_names` | the names that are searched in one pass, and those that every kernel is asked for |
//! | `kernel_types` | the types of a query in vmlinux and in modules |
//! | `facts` | [`KernelFacts`]: helpers, attach types, commands, link types |
//! | `compiled_types`, `names`, `symbol`, `verifier`, `kconfig`, `report` | the other facts |
//! | `options` | the options of the configuration that concern BPF |
//! | `btf_rules` | the rules by which the kernel checks the BTF of objects |
//! | `attachments` | attach types and link types that the configuration may leave out |
//! | `context_parts`, `context_rules` | the parts of contexts that programs may access |
//! | `context_argument` | arguments that every kernel refuses, because they are the context or are not |
//! | `contexts` | the structs of programs' contexts |
//! | `distribution` | the package of a distribution that a kernel is from, for reports |
//! | `lsm_hooks` | the LSM hooks at which programs may sleep, and disabled hooks |
//! | `program_features`, `error_injection` | what some kinds of programs and maps need besides their types |
//! | `map_owner` | the properties that the programs of a program array have in common |
//! | `insn_rules` | the encodings that no known kernel accepts |
//! | `jit` | what needs the JIT compiler, and what the compilers of some architectures lack |
//! | `map_limits`, `map_uses`, `special_fields`, `field_places` | the maps that only some kernels create, or let programs use |
//! | `function_rules` | the prototypes of global functions that kernels accept |
//! | `features` | the features that loads depend on, and the limits of the verifier |
//! | `first_observed`, `kernel_number` | helpers, map types and the like, and the oldest observed kernel that has each |
//! | `kfunc_memory` | the memory that kfuncs read and write |
//! | `helper_call`, `helper_types`, `kfunc_types`, `observed_kernels`, `age`, `observed`, `restrictions` | the programs that may call a helper or kfunc |
//!
//! The evidence, strongest first: BTF, the configuration, the symbols, the version. Only instructions and
//! rules of the verifier fall back on the version, and only if the BTF lacks the verifier's types.

mod age;
mod answer;
mod attachments;
mod btf_rules;
mod changes;
mod compiled_types;
mod conditional;
mod context_argument;
mod context_parts;
mod context_rules;
mod contexts;
mod distribution;
mod enumeration;
mod error_injection;
mod facts;
mod features;
mod field_places;
mod first_observed;
mod fixed_names;
mod function_rules;
mod helper_call;
mod helper_types;
mod inputs;
mod insn_rules;
mod jit;
mod kconfig;
mod kernel_name;
mod kernel_number;
mod kernel_types;
mod kfunc_memory;
mod kfunc_types;
mod lsm_hooks;
mod map_limits;
mod map_owner;
mod map_uses;
mod mark;
mod names;
mod observed;
mod observed_kernels;
mod options;
mod program_features;
mod query;
mod report;
mod restrictions;
mod special_fields;
mod symbol;
#[cfg(test)]
mod tests;
mod verifier;

pub use answer::{Answer, Evidence, EvidenceSource};
pub use changes::InsnFeature;
pub use context_argument::{ContextArgument, PassedValue};
pub use context_parts::AccessKind;
pub(crate) use context_parts::ContextPart;
pub use core_relo_object::{KernelVersion, KernelVersionError};
pub use distribution::DistributionKernel;
pub use facts::KernelFacts;
pub use features::feature_release;
pub use field_places::{FieldForm, FieldHolder, FieldPlace, ValueField};
pub use function_rules::FunctionRule;
pub(crate) use helper_call::needs_device;
pub use helper_call::{HelperCall, KfuncCall, SleepableCode, answer_helper_call, answer_kfunc_call};
pub use helper_types::helper_program_types;
pub use inputs::{InputOrigins, KernelInputs, ModuleCoverage, SymbolScope, WantedFacts};
pub(crate) use insn_rules::PROGRAM_FUNCTIONS;
pub use insn_rules::{InsnField, InsnRule};
pub use kconfig::KconfigAnswer;
pub use kernel_name::KernelName;
pub use kernel_number::first_observed;
pub use kernel_types::VmlinuxNames;
pub(crate) use kfunc_memory::kfunc_memory;
pub use kfunc_types::{depends_on_attach_type, kfunc_program_types, known_kfuncs};
pub use map_uses::MapUse;
pub use options::BPF_OPTIONS;
pub use program_features::ProgramFeature;
pub use query::{NameQuery, StructOpsName, SymbolName, TracepointName};
pub use report::Fact;
pub use restrictions::is_d_path_function;
pub use special_fields::{FieldCallee, FieldFunction, SpecialField};
