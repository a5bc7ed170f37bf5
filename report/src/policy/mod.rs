//! The refusals that a project accepts.
//!
//! A policy changes no verdict. Accepted reasons keep theirs in every report, and are marked; the verdict
//! that is left without them decides.
//!
//! ```
//! use core_relo_report::policy::{AllowList, KernelNames};
//! use core_relo_verdict::judge::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let reason = Reason::new(ReasonKind::Helper, Verdict::Refused, "helper bpf_loop is missing");
//! let verdict = ObjectVerdict::new(vec![ProgramVerdict::new("handle_exec", vec![reason])]);
//! let list = AllowList::new(["object=exec*.o,kernel=5.10.*,kind=helper".parse()?]);
//! let entries = list.for_kernel(&KernelNames::new("linux-5.10", Some("5.10.223-cloud")));
//! let acceptance = entries.accept("exec.bpf.o", &verdict);
//! assert_eq!(acceptance.map(|accepted| accepted.verdict), Some(Verdict::Loads));
//! # Ok(())
//! # }
//! ```

mod acceptance;
mod allow_list;
mod entry;
mod glob;
#[cfg(test)]
mod tests;

pub(crate) use acceptance::ReasonPlace;
pub use acceptance::{Acceptance, ProgramAcceptance};
pub use allow_list::{AllowList, KernelEntries, KernelNames};
pub use entry::{AllowEntry, PATTERN_KEYS, PatternError};
pub(crate) use entry::{SharedEntries, SharedEntry};
pub use glob::{Glob, GlobError};
