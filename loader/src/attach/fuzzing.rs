//! Fuzzing entry points: the parsers of the user-space binaries that uprobes and USDT probes attach to.

use super::{archive, binary::Binary, error::AttachError, usdt};
use std::path::Path;

/// The offsets that lookups in a file returned. All are inside the file, except for those of USDT probes, whose notes name addresses.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Offsets {
    /// Offsets of functions.
    pub functions: Vec<u64>,
    /// Offsets of USDT probes and of their semaphores.
    pub probes: Vec<u64>,
}

/// Looks up a function, all functions and a USDT probe in an ELF file.
pub fn look_up(path: &Path, function: &str, provider: &str, probe: &str) -> Result<Offsets, AttachError> {
    let mut offsets = functions(&Binary::open(path)?, function);
    offsets.probes = usdt::probe_offsets(path, provider, probe).into_iter().flatten().collect();
    Ok(offsets)
}

/// Looks up functions in a member of a ZIP archive.
pub fn look_up_member(archive: &Path, member: &[u8], function: &str) -> Result<Offsets, AttachError> {
    archive::open_member(archive, member).map(|binary| functions(&binary, function))
}

/// Parses a USDT probe's arguments in the notation of each architecture. Returns the largest number of arguments.
pub fn count_arguments(text: &[u8]) -> usize {
    usdt::count_arguments(text)
}

fn functions(binary: &Binary, name: &str) -> Offsets {
    let single = binary.find_function(name).into_iter();
    let several = binary.find_functions(&[name, "f1", name]).into_iter().flatten();
    // Offsets of matching functions are not checked against the file length, because the kernel refuses offsets outside of the file.
    let _all = binary.find_matching_functions("*").map(|all| all.len());
    let _layout = (binary.kind(), binary.segments());
    Offsets { functions: single.chain(several).collect(), probes: Vec::new() }
}
