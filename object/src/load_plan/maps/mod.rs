//! The plans of maps.

mod adapt;
mod overrides;
mod plan;
mod planner;
mod slots;

pub use plan::{MapAttributes, MapPlan, MapRole, SlotPlan};
pub(super) use planner::{MapPlanner, check_maps};
pub use slots::InitialElement;
