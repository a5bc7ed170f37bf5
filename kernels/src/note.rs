//! Notes about files that are skipped.

use crate::error::escape_path;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Files of a directory, or members of an archive, that are skipped because they are no kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// BPF objects in a directory.
    BpfObjects(SkippedFiles),
    /// BTFs in a directory that have neither types nor strings.
    EmptyBtf(SkippedFiles),
    /// BTFs of modules in a directory, whose kernel the paths do not show.
    Modules(SkippedFiles),
    /// Packages in a directory that contain no files of a kernel.
    Packages(SkippedFiles),
    /// Members of an archive.
    Members {
        /// The archive.
        archive: PathBuf,
        /// The number of links.
        link_count: usize,
        /// The number of BTFs of modules.
        module_count: usize,
    },
}

/// Files of a directory that are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFiles {
    /// The directory.
    pub dir: PathBuf,
    /// The number of files.
    pub count: usize,
    /// The first file.
    pub first: PathBuf,
}

impl SkippedFiles {
    /// Returns the skipped files of a directory; `None` if there are none.
    pub(crate) fn new(dir: &Path, files: &[PathBuf]) -> Option<Self> {
        let first = files.first()?;
        Some(Self { dir: dir.to_path_buf(), count: files.len(), first: first.clone() })
    }
}

impl Note {
    /// Returns whether BTFs of modules are skipped.
    pub const fn skips_modules(&self) -> bool {
        match self {
            Self::Modules(_) => true,
            Self::Members { module_count, .. } => *module_count > 0,
            Self::BpfObjects(_) | Self::EmptyBtf(_) | Self::Packages(_) => false,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BpfObjects(SkippedFiles { dir, count, first }) => {
                let (dir, first) = (escape_path(dir), escape_path(first));
                write!(f, "{dir}: {count} BPF objects skipped, which are no kernels ({first}, …)")
            }
            Self::EmptyBtf(SkippedFiles { dir, count, first }) => {
                let (dir, first) = (escape_path(dir), escape_path(first));
                let files = if *count == 1 { "file" } else { "files" };
                let what = "without types skipped, as of modules without own types";
                write!(f, "{dir}: {count} BTF {files} {what} ({first})")
            }
            Self::Modules(SkippedFiles { dir, count, first }) => {
                let (dir, first) = (escape_path(dir), escape_path(first));
                write!(f, "{dir}: {count} BTFs of modules skipped ({first}, …)")
            }
            Self::Packages(SkippedFiles { dir, count, first }) => {
                let (dir, first) = (escape_path(dir), escape_path(first));
                let packages = if *count == 1 { "package" } else { "packages" };
                write!(f, "{dir}: {count} {packages} without a kernel skipped ({first})")
            }
            Self::Members { archive, link_count, module_count } => {
                let links = "links skipped: their targets are read by their own names";
                let links = (*link_count > 0).then(|| format!("{link_count} {links}"));
                let modules = (*module_count > 0).then(|| format!("{module_count} BTFs of modules skipped"));
                let notes: Vec<_> = links.into_iter().chain(modules).collect();
                write!(f, "{}: {}", escape_path(archive), notes.join("; "))
            }
        }
    }
}
