//! The plans of programs.

mod attach_target;
mod hash;
mod info;
mod jump_tables;
mod plan;
mod planner;
mod poison;
mod refs;

pub use attach_target::find_program_function;
pub(super) use hash::program_hash;
pub use plan::{AttachPlan, Fixup, FixupTarget, ProgramPlan};
pub(super) use planner::ProgramPlanner;
pub use poison::{POISON_KFUNC, POISON_MAP};
