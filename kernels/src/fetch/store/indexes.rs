//! Indexes in the store: the kernels in lists of packages, by the hashes of the lists, and the dates of the
//! indexes that were read.

use super::{Store, StoreLock, content::sync, write_file};
use crate::fetch::{address::Address, error::FetchError, sha256::hex, transport::Progress};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    time::{Duration, SystemTime},
};

impl Store {
    /// Returns the text of an index that was stored under a name.
    pub(crate) fn read_index(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.root.join("indexes").join(name)).ok()
    }

    /// Locks an index of a mirror, so that the dates of two reads are compared one after the other.
    pub(crate) fn lock_index(
        &self,
        address: &Address,
        progress: &dyn Progress,
    ) -> Result<StoreLock, FetchError> {
        self.lock(&key(address), progress, || format!("{address}: waits for another process that reads it"))
    }

    /// Returns the date of the newest index that was read from an address. The date of a damaged file is
    /// unknown.
    pub(crate) fn newest_index(&self, address: &Address) -> Option<SystemTime> {
        let text = fs::read_to_string(self.root.join("indexes").join(date_name(address))).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(text.trim().parse().ok()?))
    }

    /// Stores the date of the newest index of an address.
    pub(crate) fn set_newest_index(&self, address: &Address, date: SystemTime) -> Result<(), FetchError> {
        let seconds = date.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        self.write_index(&date_name(address), format!("{seconds}\n").as_bytes())
    }

    /// Stores the text of an index under a name.
    pub(crate) fn write_index(&self, name: &str, content: &[u8]) -> Result<(), FetchError> {
        let dir = self.subdir("indexes")?;
        let path = dir.join(name);
        let tmp = self.temporary_dir()?;
        let staged = tmp.path().join("index");
        write_file(&staged, content)?;
        sync(&staged)?;
        fs::rename(&staged, &path).map_err(|error| FetchError::unwritable(path, &error))?;
        sync(&dir)
    }
}

fn date_name(address: &Address) -> String {
    format!("{}.date", key(address))
}

/// Returns an address as the name of a file.
fn key(address: &Address) -> String {
    hex(&Sha256::digest(address.as_str().as_bytes()))
}
