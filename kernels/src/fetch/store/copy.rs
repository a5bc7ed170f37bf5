//! The copy of a kernel from another store, such as a read-only directory of an earlier fetch.

use super::{StagedKernel, StoredKernel};
use crate::{
    fetch::{available::is_file_name, error::FetchError, sha256::hex},
    limits::MAX_KERNEL_FILE_BYTES,
};
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

/// The ending of the BTF of modules.
const BTF_ENDING: &str = ".btf";

impl StagedKernel {
    /// Copies the files of a kernel in another store. A file that is not as its manifest says is an error.
    pub(crate) fn copy_from(&mut self, source: &StoredKernel) -> Result<(), FetchError> {
        let manifest = &source.manifest;
        self.set_btf_origin(manifest.btf_origin.clone());
        for file in manifest.files.iter().filter(|file| is_file_name(&file.name)) {
            let path = source.dir.join(&file.name);
            let content = read(&path, file.bytes)?;
            if hex(&Sha256::digest(&content)) != file.sha256 {
                return Err(damaged(&path, "its SHA-256 is not that in manifest.json".to_owned()));
            }
            self.write(file.name.clone(), &content)?;
        }
        let dir = source.modules();
        if manifest.module_count > 0 {
            let failed = |error: &io::Error| FetchError::store(&dir, error);
            for entry in fs::read_dir(&dir).map_err(|error| failed(&error))? {
                let entry = entry.map_err(|error| failed(&error))?;
                let name = entry.file_name();
                let name = name.to_str().and_then(|name| name.strip_suffix(BTF_ENDING));
                let Some(name) = name.filter(|name| is_file_name(name)) else { continue };
                self.write_module(name, &read(&entry.path(), MAX_KERNEL_FILE_BYTES)?)?;
            }
        }
        let (found, expected) = (self.modules(), manifest.modules());
        if found != expected {
            let problem = format!(
                "{} modules, {} bytes, expected {}, {} bytes",
                found.count, found.bytes, expected.count, expected.bytes
            );
            return Err(damaged(&dir, problem));
        }
        Ok(())
    }
}

/// Reads a file of at most `limit` bytes.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FetchError> {
    let failed = |error: &io::Error| FetchError::store(path, error);
    let mut content = Vec::new();
    let limit = limit.min(MAX_KERNEL_FILE_BYTES);
    let file = File::open(path).map_err(|error| failed(&error))?;
    file.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(|error| failed(&error))?;
    match u64::try_from(content.len()) {
        Ok(bytes) if bytes <= limit => Ok(content),
        _ => Err(damaged(path, format!("has more than {limit} bytes"))),
    }
}

fn damaged(path: &Path, problem: String) -> FetchError {
    FetchError::Damaged {
        path: path.to_path_buf(),
        problem,
        help: "fetch the kernel again, or from another mirror",
    }
}
