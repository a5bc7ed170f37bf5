//! The headers that sources can include: `core_relo.h` and the headers of `bpf/`.

use crate::{error::BuildError, output};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The header `core_relo.h`: macros for C that declare types of events, and variants of programs.
/// [`Builder`](crate::Builder) provides it to its sources; other builds may write it to a file.
pub const CORE_RELO_H: &str = include_str!("../include/core_relo.h");

/// A header of `include/`: its path in an `#include`, and its text.
macro_rules! header {
    ($name:literal) => {
        ($name, include_str!(concat!("../include/", $name)))
    };
}

/// The headers by their path in an `#include`.
const HEADERS: &[(&str, &str)] = &[
    header!("core_relo.h"),
    header!("bpf/bpf_arena_common.h"),
    header!("bpf/bpf_arguments.h"),
    header!("bpf/bpf_contexts.h"),
    header!("bpf/bpf_control.h"),
    header!("bpf/bpf_core_bitfield.h"),
    header!("bpf/bpf_core_chain.h"),
    header!("bpf/bpf_core_read.h"),
    header!("bpf/bpf_endian.h"),
    header!("bpf/bpf_experimental.h"),
    header!("bpf/bpf_helper_defs.h"),
    header!("bpf/bpf_helpers.h"),
    header!("bpf/bpf_loops.h"),
    header!("bpf/bpf_objects.h"),
    header!("bpf/bpf_print.h"),
    header!("bpf/bpf_registers.h"),
    header!("bpf/bpf_struct_arguments.h"),
    header!("bpf/bpf_targets.h"),
    header!("bpf/bpf_tracing.h"),
    header!("bpf/bpf_types.h"),
    header!("bpf/usdt.bpf.h"),
];

/// Returns the text of a header.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    HEADERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Writes the headers below the output directory, and returns their directory. Other files there may be the
/// user's, and stay: also a `vmlinux.h`, which `core-relo gen vmlinux` may have written.
pub(crate) fn write(out_dir: &Path) -> Result<PathBuf, BuildError> {
    let directory = out_dir.join("include");
    for (name, text) in HEADERS {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(BuildError::io(parent, "create the directory"))?;
        }
        output::replace(&path, text.as_bytes())?;
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::HEADERS;
    use alloc::collections::BTreeSet;
    use std::{fs, path::Path};

    /// A header that `HEADERS` lacks would be missing in build scripts only.
    #[test]
    fn every_file_of_the_directory_is_a_header() {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        let mut files = BTreeSet::new();
        for directory in ["", "bpf/"] {
            for entry in fs::read_dir(include.join(directory)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    files.insert(format!("{directory}{}", entry.file_name().to_str().unwrap()));
                }
            }
        }
        let headers: BTreeSet<_> = HEADERS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(files, headers);
    }
}
