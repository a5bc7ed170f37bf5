//! Output files, which are replaced as a whole.

use crate::error::BuildError;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Writes a file: first a temporary file beside it, which then takes its name. A failure leaves the old file.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let temporary = Temporary::beside(path);
    fs::write(temporary.path(), bytes).map_err(BuildError::io(path, "write it"))?;
    temporary.rename(path)
}

/// A file that is removed unless it is renamed.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Names a file beside another one.
    pub(crate) fn beside(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        Self(name.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives the file its name.
    pub(crate) fn rename(self, path: &Path) -> Result<(), BuildError> {
        fs::rename(&self.0, path).map_err(BuildError::io(path, "write it"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        drop(fs::remove_file(&self.0));
    }
}
