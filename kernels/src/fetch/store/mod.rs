//! The store of fetched kernels: a directory that all projects of a user share.
//!
//! ```text
//! kernels/KEY/manifest.json      where the kernel is from, and the hashes of its files
//! kernels/KEY/R.btf              BTF
//! kernels/KEY/R/MODULE.btf       BTF of modules
//! kernels/KEY/config-R           configuration
//! kernels/KEY/System.map-R       symbols, if the package has them
//! kernels/KEY/version-R          version
//! kernels/KEY/vmlinuz-R          image
//! kernels/KEY/ko/MODULE.ko       modules for guests, of a later fetch
//! indexes/                       kernels in lists of packages, by the hashes of the lists; dates of indexes
//! locks/, tmp/                   for fetches that run
//! ```
//!
//! `KEY` is a hash of the kernel's name and the hashes of its packages: two releases may have the same
//! packages. A kernel is written to `tmp` and renamed when it is complete, so that a kernel in the store is
//! complete, whatever ends the process. Directories in `tmp` that nobody writes to any more are removed by
//! the next fetch.

mod content;
mod copy;
mod indexes;
mod manifest;

use super::{
    available::AvailableKernel,
    error::FetchError,
    spec::{KernelSpec, SpecError},
    transport::{NoProgress, Progress},
};
use crate::FetchedKernel;
pub(crate) use content::{StagedKernel, write_file};
use content::{remove_tree, sync};
pub use manifest::{BtfOrigin, Manifest, StoredFile};
use std::{
    env,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The name of the file that describes a kernel.
const MANIFEST: &str = "manifest.json";

/// A directory of fetched kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

/// A kernel in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredKernel {
    /// The directory of its files.
    pub dir: PathBuf,
    /// The description.
    pub manifest: Manifest,
}

/// A lock of the store, until it is dropped.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl Store {
    /// Creates a store in a directory, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the store of the user: `$XDG_CACHE_HOME/core-relo/kernels` or `~/.cache/core-relo/kernels`.
    pub fn of_user() -> Result<Self, FetchError> {
        // The specification of base directories ignores paths that are not absolute.
        let dir = |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = dir("XDG_CACHE_HOME").or_else(|| Some(dir("HOME")?.join(".cache")));
        Ok(Self::new(cache.ok_or(FetchError::NoStore)?.join("core-relo/kernels")))
    }

    /// Returns the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns all kernels, by distribution, release and version. A store that does not exist has none.
    pub fn kernels(&self) -> Result<Vec<StoredKernel>, FetchError> {
        let dir = self.root.join("kernels");
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FetchError::store(dir, &error)),
        };
        let mut kernels = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| FetchError::store(&dir, &error))?;
            kernels.extend(read_kernel(entry.path())?);
        }
        kernels.sort_by(|left, right| left.manifest.kernel.compare(&right.manifest.kernel));
        Ok(kernels)
    }

    /// Returns the kernels in the store that a specification selects, the oldest first. It is an error if it
    /// selects none.
    pub fn select(&self, spec: &KernelSpec) -> Result<Vec<StoredKernel>, FetchError> {
        let stored = self.kernels()?;
        let kernels: Vec<_> = stored.iter().map(|kernel| kernel.manifest.kernel.clone()).collect();
        let selected = match spec.select(&kernels) {
            Ok(selected) => selected,
            Err(SpecError::SelectsNothing { .. } | SpecError::UnknownFlavour { .. }) => {
                return Err(FetchError::Offline { name: spec.to_string(), store: self.root.clone() });
            }
            Err(error) => return Err(error.into()),
        };
        Ok(stored.into_iter().filter(|kernel| selected.contains(&kernel.manifest.kernel)).collect())
    }

    /// Returns all kernels in the store that a specification describes, the oldest first. A release without
    /// further words describes all its kernels. It is an error if there is none.
    pub fn matching(&self, spec: &KernelSpec) -> Result<Vec<StoredKernel>, FetchError> {
        let mut kernels = self.kernels()?;
        kernels.retain(|kernel| spec.describes(&kernel.manifest.kernel));
        match kernels.is_empty() {
            true => Err(FetchError::Offline { name: spec.to_string(), store: self.root.clone() }),
            false => Ok(kernels),
        }
    }

    /// Returns whether the directory has kernels: a mirror that does is a store, no repository.
    pub(crate) fn has_kernels(&self) -> bool {
        let entries = fs::read_dir(self.root.join("kernels")).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.path().join(MANIFEST).is_file())
    }

    /// Returns a kernel, if it is in the store.
    pub fn find(&self, kernel: &AvailableKernel) -> Result<Option<StoredKernel>, FetchError> {
        read_kernel(self.kernel_dir(kernel))
    }

    /// Returns the kernel of a target, if it is in the store.
    pub fn find_target(&self, target: &FetchedKernel) -> Result<Option<StoredKernel>, FetchError> {
        target.btf.parent().map_or(Ok(None), |dir| read_kernel(dir.to_path_buf()))
    }

    /// Removes a kernel. Waits until no fetch writes it.
    pub fn remove(&self, kernel: &StoredKernel) -> Result<(), FetchError> {
        let _user = self.enter()?;
        let _lock = self.lock_kernel(&kernel.manifest.kernel, &NoProgress)?;
        // The kernel disappears as a whole.
        let doomed = self.temporary_dir()?;
        let target = doomed.path().join("removed");
        fs::rename(&kernel.dir, &target).map_err(|error| FetchError::unwritable(&kernel.dir, &error))?;
        remove_tree(&target)
    }

    fn kernel_dir(&self, kernel: &AvailableKernel) -> PathBuf {
        self.root.join("kernels").join(kernel.key())
    }

    /// Locks a kernel against other processes that fetch or remove it. Waits for them, with a note.
    pub(crate) fn lock_kernel(
        &self,
        kernel: &AvailableKernel,
        progress: &dyn Progress,
    ) -> Result<StoreLock, FetchError> {
        self.lock(&kernel.key(), progress, || {
            format!("{}: waits for another fetch of this kernel", kernel.name())
        })
    }

    /// Takes a lock with a name. Waits for other processes, with a note.
    fn lock(
        &self,
        name: &str,
        progress: &dyn Progress,
        note: impl FnOnce() -> String,
    ) -> Result<StoreLock, FetchError> {
        let path = self.subdir("locks")?.join(name);
        let failed = |error: &io::Error| FetchError::unwritable(&path, error);
        let file = File::create(&path).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress.note(&note());
                file.lock().map_err(|error| failed(&error))?;
            }
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        Ok(StoreLock { _file: file })
    }

    /// Locks the store as one of its users. While there is no other user, directories of processes that have
    /// been killed are removed.
    pub(crate) fn enter(&self) -> Result<StoreLock, FetchError> {
        let path = self.subdir("locks")?.join("users");
        let failed = |error: io::Error| FetchError::unwritable(&path, &error);
        let file = File::create(&path).map_err(failed)?;
        if file.try_lock().is_ok() {
            let tmp = self.subdir("tmp")?;
            for entry in fs::read_dir(&tmp).map_err(failed)?.flatten() {
                remove_tree(&entry.path())?;
            }
        }
        // The lock becomes a shared one, or is taken as a shared one.
        file.lock_shared().map_err(failed)?;
        Ok(StoreLock { _file: file })
    }

    /// Begins to write a kernel.
    pub(crate) fn stage(&self, kernel: &AvailableKernel) -> Result<StagedKernel, FetchError> {
        Ok(StagedKernel::new(self.temporary_dir()?, kernel.clone()))
    }

    /// Makes a kernel visible that has been written, and returns it.
    pub(crate) fn publish(&self, staged: StagedKernel) -> Result<StoredKernel, FetchError> {
        let manifest = staged.write_manifest(MANIFEST)?;
        let dir = self.kernel_dir(&manifest.kernel);
        let kernels = self.subdir("kernels")?;
        // After a loss of power, a kernel that is visible is whole.
        staged.sync()?;
        // The rest of a kernel whose description somebody has removed.
        remove_tree(&dir)?;
        let source = staged.into_dir();
        match fs::rename(&source, &dir) {
            Ok(()) => {
                sync(&kernels)?;
                Ok(StoredKernel { dir, manifest })
            }
            Err(error) => {
                remove_tree(&source)?;
                Err(FetchError::store(dir, &error))
            }
        }
    }

    /// Creates a directory in `tmp`, which is removed when it is dropped.
    pub(crate) fn temporary_dir(&self) -> Result<tempfile::TempDir, FetchError> {
        let tmp = self.subdir("tmp")?;
        tempfile::tempdir_in(&tmp).map_err(|error| FetchError::unwritable(tmp, &error))
    }

    fn subdir(&self, name: &str) -> Result<PathBuf, FetchError> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).map_err(|error| FetchError::unwritable(&path, &error))?;
        Ok(path)
    }
}

impl StoredKernel {
    /// Returns the BTF.
    pub fn btf(&self) -> PathBuf {
        self.dir.join(format!("{}.btf", self.manifest.kernel.release))
    }

    /// Returns the directory with the BTF of modules, which exists if the kernel has modules with BTF.
    pub fn modules(&self) -> PathBuf {
        self.dir.join(&self.manifest.kernel.release)
    }

    /// Returns the image.
    pub fn image(&self) -> PathBuf {
        self.dir.join(format!("vmlinuz-{}", self.manifest.kernel.release))
    }

    /// Returns the kernel as a target of verdicts.
    pub fn target(&self) -> FetchedKernel {
        FetchedKernel {
            name: self.manifest.kernel.name(),
            btf: self.btf(),
            modules: self.modules(),
            image: self.image(),
            architecture: self.manifest.kernel.architecture.clone(),
            series: self.manifest.kernel.distribution_series(),
            distribution: self.manifest.kernel.distribution_kernel(),
        }
    }

    /// Returns the bytes of all files, also those of modules.
    pub fn bytes(&self) -> u64 {
        let files = self.manifest.files.iter();
        files.fold(self.manifest.module_bytes, |sum, file| sum.saturating_add(file.bytes))
    }
}

/// Reads the description of a kernel. Returns `None` if the directory does not exist.
fn read_kernel(dir: PathBuf) -> Result<Option<StoredKernel>, FetchError> {
    let path = dir.join(MANIFEST);
    match fs::read(&path) {
        Ok(bytes) => {
            let manifest = serde_json::from_slice(&bytes).map_err(|error| FetchError::Damaged {
                path,
                problem: error.to_string(),
                help: "remove the directory, and fetch the kernel again",
            })?;
            Ok(Some(StoredKernel { dir, manifest }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FetchError::store(path, &error)),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::test_kernel;
