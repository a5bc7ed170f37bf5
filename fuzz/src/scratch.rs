//! Temporary files for functions that take a path.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A file in the temporary directory. Each run overwrites the file of the previous run, because a fuzzer runs
/// one input at a time.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Writes a file of this name.
    pub fn new(name: &str, content: &[u8]) -> Self {
        let path = dir().join(name);
        fs::write(&path, content).expect("the temporary directory can be written to");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn read(&self) -> Vec<u8> {
        fs::read(&self.0).expect("the file is still there")
    }
}

/// Returns the directory of the files, in memory if possible. The directory is never removed, because a
/// target does not know when the fuzzer ends.
fn dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let in_memory = Path::new("/dev/shm");
        let parent = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
        let dir = parent.join(format!("core-relo-fuzz-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("the temporary directory can be written to");
        dir
    })
}
