//! The files that no output may replace: those from which it is made.

use super::is_dash;
use crate::error::BadInput;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Refuses to replace an input by the output. `help` says how to give the output another name.
pub(crate) fn refuse_inputs<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    output: &Path,
    help: &str,
) -> Result<(), BadInput> {
    let output_path = real_path(output);
    if is_dash(output) || !inputs.into_iter().any(|input| real_path(input) == output_path) {
        return Ok(());
    }
    let bad = BadInput::for_path(output, "is an input and the output, expected another output");
    Err(bad.help(help))
}

/// Returns the path without links, `.` and `..`. The last name may be that of a file that does not exist.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    let of_new_file = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(of_new_file).unwrap_or_else(|| path.to_path_buf())
}
