//! Input files of a command, in memory and on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The content of an input's files.
#[derive(Clone, Debug)]
pub struct Files {
    /// BPF objects.
    pub objects: Vec<Vec<u8>>,
    /// Kernels as raw BTF.
    pub kernels: Vec<Vec<u8>>,
}

impl Files {
    pub(super) fn new(object: Vec<u8>, kernel: Vec<u8>) -> Self {
        Self { objects: vec![object], kernels: vec![kernel] }
    }

    /// Creates a directory and writes the files into it.
    pub fn write(&self, dir: &Path) -> io::Result<Written> {
        let write_all = |name: &str, contents: &[Vec<u8>]| {
            let within = dir.join(name);
            fs::create_dir_all(&within)?;
            let write = |(n, bytes): (usize, &Vec<u8>)| {
                let path = within.join(n.to_string());
                fs::write(&path, bytes).map(|()| path)
            };
            contents.iter().enumerate().map(write).collect::<io::Result<Vec<_>>>()
        };
        let objects = write_all("o", &self.objects)?;
        let mut kernels = write_all("k", &self.kernels)?;
        let kernel = match kernels.len() {
            1 => kernels.remove(0),
            _ => dir.join("k"),
        };
        Ok(Written { objects, kernel, output: dir.join("out") })
    }
}

/// An input's files on disk.
#[derive(Clone, Debug)]
pub struct Written {
    pub(super) objects: Vec<PathBuf>,
    /// A kernel, or a directory of kernels.
    pub(super) kernel: PathBuf,
    pub(super) output: PathBuf,
}

/// Returns `stem` with the number `n`, or `stem` alone.
pub(super) fn name(stem: &str, n: usize, is_distinct: bool) -> String {
    if is_distinct { format!("{stem}{n}") } else { stem.to_owned() }
}
