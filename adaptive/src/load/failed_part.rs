//! The part of an object that a failed load or attachment is about.

use crate::startup_report::{Rejection, RejectionStage};
use core_relo_loader::{Errno, attach::AttachError, load::LoadError, load_plan::LoadPlanError};

/// The part of an object that a failed attempt is about.
pub(super) enum FailedPart {
    Program(Rejection),
    Map(Rejection),
}

impl FailedPart {
    /// Returns the part that a failed load is about. Returns `None` for an error that concerns no single
    /// part, or that has nothing to do with the part, such as a lack of memory.
    pub(super) fn of_load(error: &LoadError) -> Option<Self> {
        if error.is_temporary() {
            return None;
        }
        let plan = RejectionStage::Plan;
        match error {
            LoadError::Program { refused, .. } => Some(Self::Program(Rejection::from_refusal(refused))),
            LoadError::Kernel { map: Some(map), errno, hint, .. } => {
                let reason = format!("{errno}{hint}");
                Some(Self::Map(Rejection::new(map, RejectionStage::Load, reason)))
            }
            LoadError::Plan { cause: LoadPlanError::Program { program, what }, .. } => {
                Some(Self::Program(Rejection::new(program, plan, what.to_string())))
            }
            LoadError::Plan { cause: LoadPlanError::Map { map, what }, .. } => {
                Some(Self::Map(Rejection::new(map, plan, what.to_string())))
            }
            _ => None,
        }
    }

    /// Returns the program that cannot be attached.
    ///
    /// Attaching may need other system calls than loading, so that `ENOSYS` is about the alternative:
    /// perf_event_open(2) is missing.
    pub(super) fn of_attach(error: &AttachError) -> Option<Self> {
        match error {
            AttachError::Program { program, cause, .. } if !cause.errno().is_some_and(Errno::is_shortage) => {
                let reason = cause.to_string();
                Some(Self::Program(Rejection::new(program, RejectionStage::Attach, reason)))
            }
            _ => None,
        }
    }
}
