//! One object for many kernels: loads the variants of BPF programs that work on the running kernel.
//!
//! A [`VariantTable`](variants::VariantTable) declares the alternatives of an object. [`AdaptiveLoader`]
//! chooses, for each group, the first alternative that the verdict of `core-relo-verdict` says will load. If
//! the kernel refuses that alternative, or the alternative cannot be attached, everything is undone and the
//! next alternative is tried. The [`StartupReport`] says which alternatives are loaded, and why the others
//! are not.
//!
//! ```no_run
//! use core_relo_adaptive::{AdaptiveLoader, variants::VariantTable};
//! use core_relo_loader::{Loader, object::Object};
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
//!
//! Skeletons of objects with variants call this crate.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `load` | yes | the load of the variants that work on the kernel, and its report. Without it, the crate has the module [`variants`] alone, which makes no system call |
//! | `serde` | no | the start-up report as JSON: `serde::Serialize` |

#![forbid(unsafe_code)]

extern crate alloc;

pub mod limits;
#[cfg(feature = "load")]
mod load;
#[cfg(feature = "load")]
mod startup_report;
pub mod variants;

#[cfg(feature = "load")]
pub use load::{
    AdaptiveError, AdaptiveLoad, AdaptiveLoader, AdaptiveSkeletonError, AttemptError, attach_skeleton,
    load_skeleton,
};
#[cfg(feature = "load")]
pub use startup_report::{
    AlternativeReport, CapabilityReport, ConstantReport, GroupReport, LinkReport, MapReport, Outcome,
    ProgramReport, Rejection, RejectionStage, ReportedKernel, StartupReport, Status,
};
