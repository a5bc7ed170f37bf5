//! Compiles BPF programs in build scripts, and generates Rust skeletons of BPF objects.
//!
//! [`Builder`] compiles `NAME.bpf.c` with clang and writes the skeleton `NAME.skel.rs` to cargo's output
//! directory:
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), core_relo_build::BuildError> {
//!     core_relo_build::Builder::new().source("src/bpf/agent.bpf.c").build()?;
//!     Ok(())
//! }
//! ```
//!
//! ```text
//! // src/main.rs
//! core_relo_loader::include_skeleton!("agent"); // the module `agent`
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut open = agent::Agent::open()?;
//!     *open.globals.only_uid = 1000;
//!     let agent = open.load()?;
//!     let _links = agent.attach()?;
//!     let mut events = agent.maps.events.reader(|event: agent::Event| println!("{event:?}"))?;
//!     loop {
//!         events.poll(None)?;
//!     }
//! }
//! ```
//!
//! [`skeleton`] is the generator by itself, for objects that were compiled in another way. The command
//! `core-relo gen rust` does the same.

extern crate alloc;

mod architecture;
mod builder;
mod clang;
mod compile;
mod dep_file;
mod environment;
mod error;
mod headers;
mod manifest;
mod output;
mod runner;
pub mod skeleton;
mod source_options;
mod vmlinux;
mod vmlinux_error;

pub use builder::{Builder, Built, Preprocessed};
pub use error::BuildError;
pub use headers::CORE_RELO_H;
pub use vmlinux_error::VmlinuxError;
