//! A cgroup of a test's own.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::Duration,
};

/// A cgroup below cgroup2's root; it goes with this.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    /// Where this process was.
    home: PathBuf,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Cgroup {
    /// Makes one. cgroup2 must be mounted ([`Need::Cgroup`](super::Need::Cgroup)).
    pub fn new() -> Self {
        let mount = mount().expect("cgroup2 is mounted");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = mount.join(format!("core-relo-live-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let inner = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        Self { path, home: mount.join(inner) }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its folder, opened, to attach to.
    pub fn dir(&self) -> File {
        File::open(&self.path).unwrap()
    }

    /// Does something as a member of it, with this whole process.
    pub fn inside<T>(&self, act: impl FnOnce() -> T) -> T {
        self.enter(&self.path);
        let done = act();
        self.enter(&self.home);
        done
    }

    fn enter(&self, folder: &Path) {
        let file = folder.join("cgroup.procs");
        fs::write(&file, "0").unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What was to happen inside may have ended in a panic.
        let _ = fs::write(self.home.join("cgroup.procs"), "0");
        // It is busy until the last process that ended in there is gone.
        for _ in 0..200 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        eprintln!("{} stays behind", self.path.display());
    }
}

/// Where cgroup2 is mounted.
pub fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| match line.split(' ').collect::<Vec<_>>().as_slice() {
        [_, path, "cgroup2", ..] => Some(PathBuf::from(path)),
        _ => None,
    })
}
