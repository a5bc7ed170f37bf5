//! USDT (user-level statically defined tracing): probes that a binary lists in `.note.stapsdt`.
//!
//! * `note` parses the notes, `args` the arguments of a probe. `probe` finds the probes of a binary.
//! * `spec` encodes a probe for the BPF program's `usdt.bpf.h`. `manager` allocates entries in the program's
//!   map of them.

mod args;
mod attach;
mod manager;
mod note;
mod probe;
mod spec;

pub use attach::UsdtOptions;
pub(super) use attach::usdt;
pub use manager::UsdtManager;

use super::error::AttachError;
use std::path::Path;

/// Fuzzing entry point: returns the file offsets of the probes with a name and of their semaphores.
pub(super) fn probe_offsets(path: &Path, provider: &str, name: &str) -> Result<Vec<u64>, AttachError> {
    let features = probe::UsdtFeatures { cookies: true, uprobe_multi: true, fast_nop5: true };
    let found = probe::find_probes(path, provider, name, None, features)?;
    Ok(found.iter().flat_map(|probe| [probe.offset, probe.semaphore]).collect())
}

/// Fuzzing entry point: parses arguments in the syntax of each supported architecture. Returns the highest
/// number of arguments.
pub(super) fn count_arguments(text: &[u8]) -> usize {
    let all =
        [args::Arch::X86_64, args::Arch::Aarch64, args::Arch::S390x, args::Arch::Riscv64, args::Arch::Arm];
    let parsed = all.into_iter().filter_map(|arch| args::parse(arch, text).ok());
    parsed.map(|arguments| arguments.list.len()).max().unwrap_or(0)
}
