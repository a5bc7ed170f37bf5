//! All that an object asks of a kernel, from the object alone.

mod attach;
mod attach_point;
mod checks;
mod hook;
mod instructions;
mod license;
mod map_rules;
mod maps;
mod need;
mod object;
mod program;
mod stack;

pub use attach::{AttachNeed, TargetKind};
pub use attach_point::{AttachPoint, AttachPointKind};
pub use checks::{ExistenceChecks, is_existence_check};
pub use hook::Hook;
pub(crate) use hook::{composite_name, context_struct, pointee};
pub use license::LicenseUse;
pub use map_rules::{MapDefError, MapRule};
pub use maps::{MapInput, MapNeed};
pub(crate) use need::helper_text;
pub use need::{Need, NeedId, NeedTable};
pub(crate) use object::replace_members;
pub use object::{ArrayProgram, ExternNeed, ObjectNeeds, StructOpsProgram};
pub(crate) use program::function_addresses;
pub(crate) use program::usize_of;
pub use program::{ProgramNeeds, Site};
