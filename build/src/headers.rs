//! The headers that sources can include: `core_relo.h` and the headers of `bpf/`.

use crate::{error::BuildError, output};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The headers by their path in an `#include`.
const HEADERS: &[(&str, &str)] = &[
    ("core_relo.h", include_str!("../include/core_relo.h")),
    ("bpf/bpf_core_read.h", include_str!("../include/bpf/bpf_core_read.h")),
    ("bpf/bpf_endian.h", include_str!("../include/bpf/bpf_endian.h")),
    ("bpf/bpf_helper_defs.h", include_str!("../include/bpf/bpf_helper_defs.h")),
    ("bpf/bpf_helpers.h", include_str!("../include/bpf/bpf_helpers.h")),
    ("bpf/bpf_tracing.h", include_str!("../include/bpf/bpf_tracing.h")),
    ("bpf/bpf_types.h", include_str!("../include/bpf/bpf_types.h")),
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
