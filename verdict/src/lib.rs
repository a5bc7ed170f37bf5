//! A prediction of the load of a BPF object: will a kernel load its programs, and if not, why?
//!
//! ```no_run
//! use core_relo_object::object::Object;
//! use core_relo_verdict::{check, fleet::OfflineKernel};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bytes = std::fs::read("exec.bpf.o")?;
//! let kernel = OfflineKernel::from_btf(std::fs::read("linux-5.10.btf")?)?;
//! let verdict = check(&Object::parse(&bytes)?, &kernel)?;
//! println!("{}", verdict.verdict);
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `serde`, verdicts serialize. The keys are those of the JSON lines of the command, which
//! `docs/json.md` lists:
//!
//! ```
//! use core_relo_verdict::judge::{Reason, ReasonKind, Verdict};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(feature = "serde")] {
//! let reason = Reason::new(ReasonKind::Helper, Verdict::Refused, "helper bpf_loop is missing");
//! let json = serde_json::to_string(&[reason])?;
//! let start = r#"[{"kind":"helper","verdict":"refused","text":"helper bpf_loop is missing","#;
//! assert!(json.starts_with(start));
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`requirements`] | all that an object asks of a kernel, from the object alone |
//! | [`kernel`] | what a kernel offers, with the evidence: BTF, configuration, symbols, version |
//! | [`loaders`] | the rules in which loaders differ |
//! | [`reads`] | what a program reads through its context and with CO-RE |
//! | [`reach`] | which instructions the verifier reaches, by abstract interpretation |
//! | [`limits`] | the limits of the analysis |
//! | [`judge`] | the verdict on each program: requirements against the kernel, where instructions are reachable |
//! | [`fleet`] | verdicts on many objects and kernels; [`check`] for one of each |
//! | [`advice`] | what to write so that the verdict changes |
//! | [`mismatch`] | differences between the declarations of an object and a kernel that no load reports |
//! | [`listing`] | the requirements of an object in words, for people and other programs |
//! | [`btf_diff`] | the differences between the BTFs of two kernels |
//!
//! The crate reads no file and makes no system call. A [`judge::Verdict::Loads`] is never given while a
//! poisoned or unsupported instruction may be reached. A question that no evidence answers makes the verdict
//! [`judge::Verdict::Unknown`].

#![forbid(unsafe_code)]

extern crate alloc;

pub mod advice;
pub mod btf_diff;
pub mod fleet;
pub mod judge;
pub mod kernel;
pub mod limits;
mod linked_code;
pub mod listing;
pub mod loaders;
pub mod mismatch;
pub mod reach;
pub mod reads;
pub mod requirements;
#[cfg(feature = "serde")]
mod serialize;
mod source_line;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub mod test_support;

pub use fleet::check;
pub use source_line::SourceLine;
