//! The files of a kernel while they are written.

use super::manifest::{BtfOrigin, Manifest, ModuleTotals, StoredFile};
use crate::fetch::{available::AvailableKernel, error::FetchError, sha256::hex};
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A kernel that is being written, in a directory that nobody else sees.
#[derive(Debug)]
pub(crate) struct StagedKernel {
    dir: TempDir,
    kernel: AvailableKernel,
    files: Vec<StoredFile>,
    modules: ModuleTotals,
    btf_origin: BtfOrigin,
}

impl StagedKernel {
    pub(super) const fn new(dir: TempDir, kernel: AvailableKernel) -> Self {
        let modules = ModuleTotals { count: 0, bytes: 0 };
        Self { dir, kernel, files: Vec::new(), modules, btf_origin: BtfOrigin::Image }
    }

    /// Returns the kernel.
    pub(crate) const fn kernel(&self) -> &AvailableKernel {
        &self.kernel
    }

    /// Returns whether a file has been written.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    /// Writes a file, in place of an earlier one with the same name. The name is a single part of a path.
    pub(crate) fn write(&mut self, name: String, content: &[u8]) -> Result<(), FetchError> {
        write_file(&self.dir.path().join(&name), content)?;
        self.files.retain(|file| file.name != name);
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.files.push(StoredFile::new(name, bytes, hex(&Sha256::digest(content))));
        Ok(())
    }

    /// Writes the BTF of a module. The first of several modules with the same name is kept.
    pub(crate) fn write_module(&mut self, name: &str, btf: &[u8]) -> Result<(), FetchError> {
        let dir = self.dir.path().join(&self.kernel.release);
        if self.modules.count == 0 {
            fs::create_dir_all(&dir).map_err(|error| FetchError::store(&dir, &error))?;
        }
        let path = dir.join(format!("{name}.btf"));
        if path.exists() {
            return Ok(());
        }
        write_file(&path, btf)?;
        self.modules.count += 1;
        let bytes = u64::try_from(btf.len()).unwrap_or(u64::MAX);
        self.modules.bytes = self.modules.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Returns the modules that have been written.
    pub(super) const fn modules(&self) -> ModuleTotals {
        self.modules
    }

    /// Writes everything to the disk. One call for the whole file system takes less time than one for each of
    /// some thousand modules.
    pub(super) fn sync(&self) -> Result<(), FetchError> {
        let path = self.dir.path();
        let synced = File::open(path).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
        synced.map_err(|error| FetchError::store(path, &error))
    }

    /// Returns the path of a file that is removed before the kernel becomes visible.
    pub(crate) fn temporary_path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Sets the origin of the BTF, which is the image otherwise.
    pub(crate) fn set_btf_origin(&mut self, origin: BtfOrigin) {
        self.btf_origin = origin;
    }

    /// Writes the description, and returns it.
    pub(super) fn write_manifest(&self, name: &str) -> Result<Manifest, FetchError> {
        let mut files = self.files.clone();
        files.sort_by(|left, right| left.name.cmp(&right.name));
        let manifest = Manifest::new(self.kernel.clone(), self.modules, self.btf_origin.clone(), files);
        let path = self.dir.path().join(name);
        let text = serde_json::to_vec_pretty(&manifest).map_err(|error| FetchError::Damaged {
            path: path.clone(),
            problem: error.to_string(),
            help: "report this bug",
        })?;
        write_file(&path, &text)?;
        Ok(manifest)
    }

    /// Returns the directory, which is no longer removed by itself.
    pub(super) fn into_dir(self) -> PathBuf {
        self.dir.keep()
    }
}

/// Writes a file.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<(), FetchError> {
    fs::write(path, content).map_err(|error| FetchError::store(path, &error))
}

/// Writes a file, or the entries of a directory, to the disk.
pub(super) fn sync(path: &Path) -> Result<(), FetchError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| FetchError::store(path, &error))
}

/// Removes a directory, or a file, that may be gone already.
pub(super) fn remove_tree(path: &Path) -> Result<(), FetchError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FetchError::store(path, &error)),
        _ => Ok(()),
    }
}
