//! All that an object asks of a kernel, from the object alone.

mod attach;
mod attach_point;
mod checks;
mod context;
mod extern_need;
mod hook;
mod instructions;
mod license;
mod map_input;
mod map_rules;
mod maps;
mod need;
mod object;
mod program;
mod stack;
mod target_kind;

pub use attach::AttachNeed;
pub use attach_point::{AttachPoint, AttachPointKind};
pub use checks::{ExistenceChecks, is_existence_check};
pub(crate) use context::is_aligned;
pub use context::{ContextKind, RAW_TRACEPOINT_BYTES, TRACE_EVENT_BYTES, TRACE_EVENT_START};
pub use extern_need::ExternNeed;
pub use hook::Hook;
pub(crate) use hook::{composite_name, context_struct, pointee};
pub(crate) use instructions::{function_addresses, usize_of};
pub use license::LicenseUse;
pub use map_input::MapInput;
pub use map_rules::{MapDefError, MapRule};
pub use maps::MapNeed;
pub(crate) use need::helper_text;
pub use need::{Need, NeedId, NeedTable};
pub(crate) use object::replace_members;
pub use object::{ArrayProgram, ObjectNeeds, StructOpsProgram};
pub use program::{ProgramNeeds, Site};
pub use target_kind::TargetKind;
