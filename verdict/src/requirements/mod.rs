//! All that an object asks of a kernel, from the object alone.

mod attach;
mod instructions;
mod maps;
mod need;
mod object;
mod program;

pub use attach::{AttachNeed, TargetKind};
pub use maps::{MapFlagError, MapInput, MapNeed};
pub use need::{Need, NeedId, NeedTable};
pub use object::{ArrayProgram, ExternNeed, ObjectNeeds, StructOpsProgram};
pub(crate) use program::function_addresses;
pub(crate) use program::usize_of;
pub use program::{ProgramNeeds, Site};
