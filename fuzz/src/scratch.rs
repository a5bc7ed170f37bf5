//! Temporary files for functions that take a path.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A file in the temporary folder. Each run overwrites the file of the previous run, because a fuzzer runs one input at a time.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Writes a file of this name.
    pub fn new(name: &str, content: &[u8]) -> Self {
        let path = folder().join(name);
        fs::write(&path, content).expect("the temporary folder can be written to");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn read(&self) -> Vec<u8> {
        fs::read(&self.0).expect("the file is still there")
    }
}

/// Returns the folder of the files, in memory if possible. The folder is never removed, because a target does not know when
/// the fuzzer ends.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let in_memory = Path::new("/dev/shm");
        let parent = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
        let folder = parent.join(format!("core-relo-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written to");
        folder
    })
}
