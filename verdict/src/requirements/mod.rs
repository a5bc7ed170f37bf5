//! All that an object asks of a kernel, from the object alone.

mod attach;
mod attach_point;
mod broken_rules;
pub(crate) mod btf;
mod checks;
mod context;
mod context_arguments;
mod data_fields;
mod extern_need;
mod field_search;
mod global_functions;
mod hook;
mod insn_rules;
mod instructions;
mod license;
mod map_uses;
mod mapped_sections;
mod maps;
mod need;
mod object;
mod outside_uses;
mod owned_maps;
mod program;
mod restricted_fields;
mod stack;
mod structure;
mod target_kind;
mod value_fields;

pub use core_relo_object::map_rules::{MapDefError, MapInput, MapRule};

pub use attach::AttachNeed;
pub use attach_point::{AttachPoint, AttachPointKind};
pub use checks::{ExistenceChecks, is_existence_check};
pub use context::{
    ContextKind, RAW_TRACEPOINT_BYTES, REGISTER_BYTES, SYSTEM_CALL_BYTES, TRACE_EVENT_BYTES,
    TRACE_EVENT_START,
};
pub(crate) use context::{context_part, is_aligned};
pub use extern_need::ExternNeed;
pub use hook::Hook;
pub(crate) use hook::{composite_name, context_struct, pointee};
pub(crate) use instructions::{function_addresses, usize_of};
pub use license::LicenseUse;
pub(crate) use mapped_sections::MappedSection;
pub use maps::MapNeed;
pub use need::{Need, NeedId, NeedTable};
pub(crate) use need::{field_callee_text, helper_text};
pub(crate) use object::replace_members;
pub use object::{ArrayProgram, ObjectNeeds, StructOpsProgram};
pub(crate) use owned_maps::OwnedMap;
pub use program::{ProgramNeeds, Site};
pub use target_kind::TargetKind;
