//! All that an object asks of a kernel, from the object alone.

mod access_lines;
mod array_program;
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
mod object_parts;
mod outside_uses;
mod owned_maps;
mod parameter_tags;
mod program;
mod restricted_fields;
mod rule_uses;
mod site;
mod stack;
mod structure;
mod target_kind;
mod used_map;
mod value_fields;

pub use core_relo_object::map_rules::{MapDefError, MapInput, MapRule};

pub use array_program::ArrayProgram;
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
pub use license::LicenseUse;
pub use maps::MapNeed;
pub use need::{Need, NeedId, NeedTable};
pub(crate) use need::{field_callee_text, helper_text};
pub(crate) use object::replace_members;
pub use object::{ObjectNeeds, StructOpsProgram};
pub(crate) use owned_maps::OwnedMap;
pub use program::ProgramNeeds;
pub use rule_uses::{ManagedVariable, RuleUse};
pub use site::Site;
pub use target_kind::TargetKind;
