//! The verdicts on many objects and many kernels, from files or on the running system.
//!
//! [`check`] judges one object on one kernel. A [`Fleet`] prepares the objects once: their requirements, the
//! names to find in each kernel and the search for the candidates of relocations.
//!
//! ```no_run
//! use core_relo_verdict::fleet::{Fleet, FleetJudge, OfflineKernel};
//! # fn example(objects: &[core_relo_object::object::Object<'_>]) -> Result<(), Box<dyn std::error::Error>> {
//! let mut fleet = Fleet::default();
//! for (number, object) in objects.iter().enumerate() {
//!     fleet.add(object, number)?;
//! }
//! let judge = FleetJudge::new(&fleet);
//! for path in ["linux-5.10.btf", "linux-6.12.btf"] {
//!     let kernel = OfflineKernel::from_btf(std::fs::read(path)?)?;
//!     for (object, verdict) in judge.verdicts(&kernel) {
//!         println!("{path}: object {}: {}", object.data, verdict?.verdict);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod case;
mod error;
mod kernel;
mod load_kernel;
mod objects;
#[cfg(test)]
mod tests;
mod workers;

pub use case::{FleetJudge, KernelCase, PlannedObject};
pub use error::{CheckError, FleetError};
pub use kernel::{JudgedKernel, OfflineKernel};
pub use load_kernel::LoadKernel;
pub use objects::{Fleet, FleetObject, relocation_options};
pub use workers::{CallingThread, Workers};

use crate::judge::ObjectVerdict;
use core_relo_object::object::Object;

/// Returns the verdict on an object on a kernel. The page of this crate has an example.
pub fn check(object: &Object<'_>, kernel: &impl JudgedKernel) -> Result<ObjectVerdict, CheckError> {
    let mut fleet = Fleet::default();
    fleet.add(object, ())?;
    let verdict = FleetJudge::new(&fleet).verdicts(kernel).pop();
    let (_, verdict) = verdict.ok_or(CheckError::NoPlan)?;
    Ok(verdict?)
}
