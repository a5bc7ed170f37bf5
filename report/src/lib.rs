//! Reports of the verdicts on BPF objects and kernels, for people and for CI: HTML, SARIF, JUnit, Markdown.
//!
//! A [`FleetReport`] has a [`Row`] for each object and kernel, in any order.
//!
//! ```no_run
//! use core_relo_object::object::Object;
//! use core_relo_report::{FleetReport, ReportFormat, Row, UnjudgedInput};
//! use core_relo_verdict::fleet::{Fleet, FleetJudge, OfflineKernel};
//! use std::fs::{self, File};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = [("exec.bpf.o", fs::read("exec.bpf.o")?), ("xdp.bpf.o", fs::read("xdp.bpf.o")?)];
//! let objects = files.iter().map(|(name, bytes)| Ok((*name, Object::parse(bytes)?)));
//! let objects = objects.collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
//! let mut fleet = Fleet::default();
//! for (name, object) in &objects {
//!     fleet.add(object, *name)?;
//! }
//! let judge = FleetJudge::new(&fleet);
//! let mut report = FleetReport::default();
//! for version in ["5.10.223", "6.12.117"] {
//!     let file = format!("linux-{version}.btf");
//!     let kernel = OfflineKernel::from_btf(fs::read(&file)?)?;
//!     for (object, verdict) in judge.verdicts(&kernel) {
//!         let outcome = verdict.map(Into::into).map_err(|error| UnjudgedInput::new(&*file, error));
//!         let mut row = Row::new(object.data, &*file, outcome);
//!         row.kernel_version = version.parse().ok();
//!         row.architecture = Some("x86_64".to_owned());
//!         report.push(row);
//!     }
//! }
//! report.write(ReportFormat::Html, &mut File::create("report.html")?)?;
//! report.write(ReportFormat::Sarif, &mut File::create("report.sarif")?)?;
//! for summary in report.summaries() {
//!     println!("{}: {}", summary.object, summary.text); // exec.bpf.o: refused on both kernels
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A row may also have the reasons that the project accepts ([`policy::AllowList`] finds them), and the real
//! loads of the programs on a kernel that was booted ([`RealLoad`]).
//!
//! [`stored::StoredResults`] reads the JSON lines of `core-relo check` back into a report.
//!
//! Names and messages may contain anything. Each format escapes them where it writes them, and the length of
//! a report is bounded. The crate reads no file and makes no system call.

mod agreement;
mod baseline;
pub mod ci_log;
mod comparison;
mod escape;
mod findings;
mod format;
mod groups;
mod html;
pub mod json;
mod junit;
mod labels;
mod limits;
pub mod load_message;
mod markdown;
mod matrix;
mod model;
pub mod policy;
#[cfg(test)]
mod real_load_tests;
mod real_loads;
mod rules;
mod sarif;
mod shared_verdicts;
mod stable_hash;
pub mod stored;
mod summary;
#[cfg(test)]
mod test_fleet;
#[cfg(test)]
mod tests;
mod warnings;

pub use agreement::{Agreement, AgreementCounts, LoadOutcome};
pub use baseline::Baseline;
pub use comparison::{Comparison, NewRefusal};
pub use format::{ObjectSummary, ReportFormat};
pub use groups::{KernelGroup, ObjectGroups, ReasonGroup};
pub use html::STYLE as HTML_STYLE;
pub use model::{Conclusion, FleetReport, KernelWarning, RealLoad, Row, TOGETHER, UnjudgedInput};
pub use stable_hash::stable_hash;
