//! A temporary cgroup for one test.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::Duration,
};

/// A cgroup below the cgroup2 root. The drop removes it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    /// The cgroup of this process before the test.
    home: PathBuf,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Cgroup {
    /// Creates a cgroup. cgroup2 must be mounted ([`Need::Cgroup`](super::Need::Cgroup)).
    pub fn new() -> Self {
        let mount = mount().expect("cgroup2 is mounted");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = mount.join(format!("core-relo-live-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let inner = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        Self { path, home: mount.join(inner) }
    }

    /// Returns the directory of the cgroup.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory of the cgroup, as the target of an attach.
    pub fn dir(&self) -> File {
        File::open(&self.path).unwrap()
    }

    /// Calls `act` while this process is a member of the cgroup.
    pub fn inside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.enter(&self.path);
        let result = act();
        self.enter(&self.home);
        result
    }

    fn enter(&self, dir: &Path) {
        let file = dir.join("cgroup.procs");
        fs::write(&file, "0").unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // `inside` does not leave the cgroup if `act` panics.
        let _ = fs::write(self.home.join("cgroup.procs"), "0");
        // The cgroup is busy until the kernel has removed its last process.
        for _ in 0..200 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        eprintln!("{} stays behind", self.path.display());
    }
}

/// Returns the mount point of cgroup2.
pub fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>().as_slice() {
        [_, path, "cgroup2", ..] => Some(PathBuf::from(path)),
        _ => None,
    })
}
