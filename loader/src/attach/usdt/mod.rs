//! USDT: probes that programs bring with them, described by notes in their binaries.
//!
//! * `note` reads the notes, `args` where a probe's arguments are, `spec` writes that for the BPF program's `usdt.bpf.h`,
//! * `target` says where in the file probes are, `manager` hands out the places in the program's map of specifications.

mod args;
mod attached;
mod manager;
mod note;
mod spec;
mod target;

pub use attached::{UsdtOptions, usdt};
pub use manager::UsdtManager;
