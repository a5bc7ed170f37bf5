//! The plan of a load: all requests to the kernel, as data. The loader executes a plan, and a dry run prints
//! it.
//!
//! A plan is computed from an object, the caller's [`Settings`] and a [`TargetKernel`], which describes the
//! kernel. Planning has no side effects. Decisions that libbpf makes during a load are part of the plan.

mod btf;
mod checks;
mod display;
mod error;
mod externs;
mod initial_values;
mod kernel_handle;
mod late_binding;
mod load_functions;
mod maps;
mod object_names;
mod override_settings;
mod plan;
mod plan_by_load;
mod planner;
pub mod prog_flags;
mod program_offsets;
mod program_slot;
mod programs;
mod relocate;
mod repair;
mod settings;
mod struct_ops;
mod symbol_address;
mod target_kernel;
#[cfg(test)]
mod tests;
mod usdt;

pub use crate::{globals::Global, link::FunctionCopy};
pub use btf::{SentBtf, context_struct_name};
pub use error::{KernelFact, LoadPlanError, NamedPart, Refusal};
pub use externs::{
    ConfigValueError, ExternComparer, IncompatibleKfunc, KfuncReplacement, ModulePlan, write_config_value,
};
pub use initial_values::InitialValues;
pub use kernel_handle::KernelHandle;
pub use late_binding::{KernelSymbol, KernelSymbolKind, LateBinding, LateReloc, SymbolRef};
pub use maps::{InitialElement, MapAttributes, MapPlan, MapRole, SlotPlan};
pub use object_names::{OBJECT_NAME_PROBLEM, accepted_object_name};
pub use plan::{LoadPlan, SkippedProgram};
pub use plan_by_load::PlanByLoad;
pub use program_slot::ProgramSlot;
pub use programs::{
    AttachPlan, Fixup, FixupTarget, POISON_KFUNC, POISON_MAP, ProgramPlan, find_program_function,
};
pub use relocate::PoisonedReloc;
pub use repair::{Repair, RepairKind};
pub use settings::{AttachTarget, MapSettings, ProgramSettings, Settings, TokenSource, inner_map_name};
pub use struct_ops::{StructOpsMatcher, StructOpsTable};
pub use symbol_address::{
    SymbolAddress, SymbolAddressError, SymbolAddressSyntax, ambiguity_text, shows_no_address,
};
pub use target_kernel::{ReadSystem, RefusedAttachType, TargetKernel};
pub use usdt::{USDT_MAPS, UsdtPlan};
