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

use super::error::AttachError;
use std::path::Path;

/// Entry point for fuzzing: returns the file offset of each probe of this name and of its semaphore.
pub(super) fn probe_offsets(path: &Path, provider: &str, name: &str) -> Result<Vec<u64>, AttachError> {
    let can = target::Abilities { cookies: true, uprobe_multi: true, fast_nop5: true };
    let found = target::probes(path, provider, name, None, can)?;
    Ok(found.iter().flat_map(|probe| [probe.offset, probe.semaphore]).collect())
}

/// Entry point for fuzzing: parses a probe's arguments in the notation of each architecture. Returns the most that one found.
pub(super) fn most_arguments(text: &[u8]) -> usize {
    let all =
        [args::Arch::X86_64, args::Arch::Aarch64, args::Arch::S390x, args::Arch::Riscv64, args::Arch::Arm];
    let parsed = all.into_iter().filter_map(|arch| args::parse(arch, text).ok());
    parsed.map(|arguments| arguments.len()).max().unwrap_or(0)
}
