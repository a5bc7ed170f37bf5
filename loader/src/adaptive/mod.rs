//! Adaptive loading: one object, the best of its variants on each kernel.
//!
//! A [`VariantTable`](crate::variants::VariantTable) declares the alternatives of an object. [`AdaptiveLoader`] chooses, for each group,
//! the first alternative that the verdict of `core-relo-verdict` says will load. If the kernel refuses that alternative, or the
//! alternative cannot be attached, everything is undone and the next alternative is tried. The [`StartupReport`] says which
//! alternatives are loaded, and why the others are not.
//!
//! ```no_run
//! use core_relo_loader::{Loader, adaptive::AdaptiveLoader, object::Object, variants::VariantTable};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bytes = std::fs::read("agent.bpf.o")?;
//! let object = Object::parse(&bytes)?;
//! let loader = Loader::new(&object).name("agent");
//! // The macros of `core_relo.h` write the table into the object.
//! let table = VariantTable::from_object(&object)?;
//! let adapted = AdaptiveLoader::new(&loader, &table)?.load_and_attach()?;
//! println!("{}", adapted.report);
//! let (loaded, links) = adapted.value;
//! # Ok(())
//! # }
//! ```

mod adapt;
mod chooser;
mod error;
mod failed_part;
mod report;
#[cfg(test)]
mod tests;

pub use crate::startup_report::{
    AlternativeReport, Capability, CapabilityReport, ConstantReport, GroupReport, KernelIdentity, LinkReport,
    MapReport, Outcome, ProgramReport, Rejection, RejectionStage, StartupReport, Status,
};
pub use adapt::{AdaptiveLoad, AdaptiveLoader, attach_skeleton, load_skeleton};
pub use error::{AdaptiveError, AttemptError};
