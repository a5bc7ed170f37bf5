//! A temporary bpffs for one test.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A mounted bpffs. The drop unmounts it and thereby removes its pins.
#[derive(Debug)]
pub struct Bpffs(PathBuf);

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Bpffs {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("core-relo-live-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap();
        mount("bpf", &path, "bpf", MountFlags::empty(), None)
            .unwrap_or_else(|e| panic!("mounting bpffs: {e}"));
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Bpffs {
    fn drop(&mut self) {
        // Detach the mount, because a failed test may have a file open.
        let unmounted = unmount(&self.0, UnmountFlags::DETACH).map_err(io::Error::from);
        if let Err(error) = unmounted.and_then(|()| fs::remove_dir(&self.0)) {
            eprintln!("{} stays behind: {error}", self.0.display());
        }
    }
}
