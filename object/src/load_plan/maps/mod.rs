//! The plans of maps.

mod adapt;
mod overrides;
pub(super) mod plan;
mod planner;
mod slots;

pub use plan::{MapAttributes, MapPlan, MapRole, ProgramSlot, SEGV_ON_FAULT, SlotPlan};
pub(super) use planner::{MapPlanner, check_maps};
pub use slots::InitialElement;
