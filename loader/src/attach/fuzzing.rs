//! Fuzzing entry points: the parsers of the user-space binaries that uprobes and USDT probes attach to.

use super::{
    archive,
    binary::{Binary, EntryPoint},
    error::AttachError,
    usdt,
};
use std::path::Path;

/// The file offsets that lookups returned.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Offsets {
    /// Offsets of the functions that were looked up by name. All are inside the file.
    pub functions: Vec<u64>,
    /// Offsets of USDT probes and of their semaphores. They may be outside the file, because notes contain
    /// addresses, which segments map to offsets.
    pub probes: Vec<u64>,
}

/// Looks up a function by name, all functions by a pattern, and a USDT probe in an ELF file. A probe that is
/// not found is no error.
pub fn look_up(path: &Path, function: &str, provider: &str, probe: &str) -> Result<Offsets, AttachError> {
    let mut offsets = functions(&Binary::open(path)?, function);
    offsets.probes = usdt::probe_offsets(path, provider, probe).into_iter().flatten().collect();
    Ok(offsets)
}

/// Looks up functions like [`look_up`] in an ELF file that is a member of a ZIP archive.
pub fn look_up_member(archive: &Path, member: &[u8], function: &str) -> Result<Offsets, AttachError> {
    archive::open_member(archive, member).map(|binary| functions(&binary, function))
}

/// Parses a USDT probe's arguments in the syntax of each supported architecture. Returns the highest number
/// of arguments.
pub fn count_arguments(text: &[u8]) -> usize {
    usdt::count_arguments(text)
}

fn functions(binary: &Binary, name: &str) -> Offsets {
    // A function of the seeds of stripped binaries, so that all sources of symbols are read.
    let names = [name, "main.f"];
    let single = names.into_iter().filter_map(|name| binary.find_function(name, EntryPoint::Local).ok());
    // One lookup of several names. `f1` is a function of the seeds.
    let several = binary.find_functions(&[name, "f1", name]).into_iter().flatten();
    // These offsets are not returned: a pattern's matches may be outside the file, where the kernel refuses a
    // probe.
    let _all = binary.find_matching_functions(None, "*").map(|all| all.len());
    let _layout = (binary.kind(), binary.segments());
    Offsets { functions: single.chain(several).collect(), probes: Vec::new() }
}
