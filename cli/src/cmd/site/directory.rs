//! The directory of a page.

use crate::{
    error::{BadInput, escape_path},
    json::site::{SiteFile, SiteManifest},
};
use core_relo_report::stable_hash;
use flate2::{Compression, write::GzEncoder};
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The list of kernels. It is written last: an interrupted command leaves the page of before, whose kernels
/// have names of their own.
const MANIFEST: &str = "kernels.json";

/// The list before it replaces the earlier one.
const NEW_MANIFEST: &str = "kernels.json.new";

/// The directory of the kernels' files.
const KERNELS: &str = "kernels";

/// The directory of a page.
pub(super) struct SiteDirectory {
    path: PathBuf,
    /// The names of the files of kernels, and their sizes.
    kernel_files: BTreeSet<String>,
    kernel_bytes: usize,
}

impl SiteDirectory {
    /// Creates the directory if need be. Refuses one with files of something else, and accepts what an
    /// interrupted command has left: `files` are the names of the page's own files.
    pub(super) fn open(path: &Path, files: &[&str]) -> Result<Self, BadInput> {
        let kernels = path.join(KERNELS);
        let is_own = |name: &str| [KERNELS, NEW_MANIFEST].contains(&name) || files.contains(&name);
        let is_foreign = |entry: fs::DirEntry| entry.file_name().to_str().is_none_or(|name| !is_own(name));
        let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
        if !path.join(MANIFEST).is_file() && entries.any(is_foreign) {
            let bad =
                BadInput::for_path(path, "is not empty, expected a new directory or one of an earlier page");
            return Err(bad.help("give -o a directory of its own"));
        }
        fs::create_dir_all(&kernels).map_err(|e| BadInput::for_path(&kernels, e))?;
        Ok(Self { path: path.to_path_buf(), kernel_files: BTreeSet::new(), kernel_bytes: 0 })
    }

    /// Writes a file of the page. Returns its size.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<usize, BadInput> {
        let path = self.path.join(name);
        fs::write(&path, bytes).map_err(|e| BadInput::for_path(&path, e))?;
        Ok(bytes.len())
    }

    /// Writes a file of a kernel, compressed. Its name has a hash of its content, so that no cache of a
    /// browser mixes the files of two kernels.
    pub(super) fn write_kernel_file(&mut self, ending: &str, bytes: &[u8]) -> Result<SiteFile, BadInput> {
        let name = format!("{:012x}.{ending}.gz", stable_hash(bytes));
        let path = format!("{KERNELS}/{name}");
        let packed = compress(bytes).map_err(|e| BadInput::new(&*path, e))?;
        let packed_bytes = self.write(&path, &packed)?;
        if self.kernel_files.insert(name) {
            self.kernel_bytes += packed_bytes;
        }
        Ok(SiteFile { path, bytes: bytes.len(), packed_bytes })
    }

    /// Returns the size of the kernels' files.
    pub(super) const fn kernel_bytes(&self) -> usize {
        self.kernel_bytes
    }

    /// Writes the list of kernels, and removes the files of kernels that it does not have.
    pub(super) fn finish(self, manifest: &SiteManifest) -> Result<(), BadInput> {
        let path = self.path.join(MANIFEST);
        let text = serde_json::to_vec(manifest).map_err(|e| BadInput::for_path(&path, e))?;
        let new = self.path.join(NEW_MANIFEST);
        let replaced = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        replaced.map_err(|e| BadInput::new(escape_path(&path), e))?;
        let kernels = self.path.join(KERNELS);
        let entries = fs::read_dir(&kernels).map_err(|e| BadInput::for_path(&kernels, e))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_kept =
                name.to_str().is_none_or(|name| !name.ends_with(".gz") || self.kernel_files.contains(name));
            if !is_kept {
                let path = entry.path();
                fs::remove_file(&path).map_err(|e| BadInput::for_path(&path, e))?;
            }
        }
        Ok(())
    }
}

/// Compresses bytes as gzip, which browsers unpack.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
