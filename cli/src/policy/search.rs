//! The search for `core-relo.toml`.

use crate::error::BadInput;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "core-relo.toml";

/// The entry of a directory that is the root of a repository. In a worktree or a submodule, `.git` is a file.
const REPOSITORY: [&str; 3] = [".git", ".hg", ".jj"];

/// Finds `core-relo.toml` in the current directory, or in the nearest parent up to the root of the
/// repository.
///
/// Outside of a repository, only the current directory counts: a parent such as `/tmp` may belong to somebody
/// else.
pub(super) fn find_config() -> Result<Option<PathBuf>, BadInput> {
    let current = std::env::current_dir();
    let current = current
        .map_err(|e| BadInput::new(FILE_NAME, format_args!("the current directory is unknown: {e}")))?;
    Ok(find_from(&current))
}

/// Finds the file for a directory. The path is relative if the file is in this directory.
pub(super) fn find_from(current: &Path) -> Option<PathBuf> {
    let exists = |dir: &Path| dir.join(FILE_NAME).symlink_metadata().is_ok();
    if exists(current) {
        return Some(PathBuf::from(FILE_NAME));
    }
    let is_root = |dir: &Path| REPOSITORY.iter().any(|name| dir.join(name).symlink_metadata().is_ok());
    let root = current.ancestors().find(|dir| is_root(dir))?;
    let mut dirs = current.ancestors().take_while(|dir| dir.starts_with(root));
    dirs.find(|dir| exists(dir)).map(|dir| dir.join(FILE_NAME))
}
