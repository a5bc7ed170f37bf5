//! The judge of all objects on one kernel.

use super::objects::{JudgedObject, ObjectContext};
use crate::error::BadInput;
use core_relo_kernels::{Defect, InputError, Kernel, threads::Threads};
use core_relo_verdict::fleet::{self, FleetError, FleetJudge};

/// A judge of objects on any number of kernels. Threads share the judge.
pub(crate) type KernelJudge<'c> = FleetJudge<'c, ObjectContext<'c>, &'c Threads>;

/// The plans and answers of all objects on one kernel.
pub(crate) type KernelCase<'k, 'c> = fleet::KernelCase<'k, 'c, Kernel, ObjectContext<'c>>;

/// Returns the error for an object that does not fit a kernel.
pub(crate) fn bad_plan(error: &FleetError, kernel: &Kernel, object: &JudgedObject<'_>) -> BadInput {
    match error {
        FleetError::ByteOrder { kernel: order, object } => {
            InputError::new(&kernel.name, Defect::ByteOrder { kernel: *order, object: *object }).into()
        }
        FleetError::MinimalBtf => InputError::new(&kernel.name, Defect::MinimalBtf).into(),
        error => BadInput::new(&*object.data.file.name, error),
    }
}
