//! The headers that sources can include: `core_relo.h` and the headers of `bpf/`.

use crate::{error::BuildError, output};
use core_relo::btf::{Btf, CHeader};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The header `core_relo.h`: macros for C that declare types of events, and variants of programs. [`Builder`](crate::Builder) provides it
/// to its sources; other builds may write it to a file.
pub const CORE_RELO_H: &str = include_str!("../include/core_relo.h");

/// The headers by their path in an `#include`.
const HEADERS: &[(&str, &str)] = &[
    ("core_relo.h", CORE_RELO_H),
    ("bpf/bpf_core_read.h", include_str!("../include/bpf/bpf_core_read.h")),
    ("bpf/bpf_endian.h", include_str!("../include/bpf/bpf_endian.h")),
    ("bpf/bpf_helper_defs.h", include_str!("../include/bpf/bpf_helper_defs.h")),
    ("bpf/bpf_helpers.h", include_str!("../include/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("../include/bpf/bpf_tracing.h")),
    ("bpf/bpf_types.h", include_str!("../include/bpf/bpf_types.h")),
    ("bpf/usdt.bpf.h", include_str!("../include/bpf/usdt.bpf.h")),
];

/// Writes the headers below the output directory, and returns their directory.
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

/// The BTF of the running kernel.
const RUNNING_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// Writes `vmlinux.h`, the types of the running kernel, to the directory of headers.
pub(crate) fn write_vmlinux(directory: &Path) -> Result<(), BuildError> {
    let bytes =
        fs::read(RUNNING_KERNEL).map_err(BuildError::io(RUNNING_KERNEL, "read the kernel's types"))?;
    let btf = Btf::parse(bytes).map_err(|cause| BuildError::Btf { path: RUNNING_KERNEL.into(), cause })?;
    output::replace(&directory.join("vmlinux.h"), CHeader::new(&btf).to_string().as_bytes())
}
