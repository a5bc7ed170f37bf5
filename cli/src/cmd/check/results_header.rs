//! The first line of a results file, and the results that the file already has.

use crate::{console::ExitStatus, error::BadInput};
use core_relo_kernels::{KernelId, KernelSelection, KernelSource};
use core_relo_report::{json::JsonLines, stable_hash};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    io,
    path::Path,
    time::SystemTime,
};

/// The option with which an unknown verdict counts as a refusal.
pub(super) const STRICT: &str = "--strict";

/// The maximum length of a line, in bytes.
pub(super) const LINE_BYTES: usize = 128 << 20;

/// The first line: the version of this program, and the objects that were checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultsHeader {
    core_relo: String,
    objects: Vec<HeaderObject>,
    /// The patterns of the allow list, which decide on the exit status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow: Vec<String>,
    /// The options that decide on verdicts, with their values or the hashes of their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<String>,
}

/// An object, and the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderObject {
    object: String,
    hash: String,
}

impl ResultsHeader {
    /// Creates the header for objects, given by name and content.
    pub(crate) fn new<'o>(objects: impl Iterator<Item = (&'o str, &'o [u8])>) -> Self {
        let header_object = |(name, bytes): (&str, &[u8])| HeaderObject {
            object: name.to_owned(),
            hash: format!("{:016x}", stable_hash(bytes)),
        };
        Self {
            core_relo: env!("CARGO_PKG_VERSION").to_owned(),
            objects: objects.map(header_object).collect(),
            allow: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// Adds the patterns of the allow list.
    pub(crate) fn with_allow(self, patterns: impl Iterator<Item = String>) -> Self {
        Self { allow: patterns.collect(), ..self }
    }

    /// Adds the options that decide on verdicts.
    pub(crate) fn with_settings(self, settings: Vec<String>) -> Self {
        Self { settings, ..self }
    }

    /// Returns whether an unknown verdict counts as a refusal.
    pub(super) fn is_strict(&self) -> bool {
        self.settings.iter().any(|option| option == STRICT)
    }

    /// Returns the names of the objects.
    pub(super) fn objects(&self) -> impl ExactSizeIterator<Item = &str> {
        self.objects.iter().map(|object| &*object.object)
    }

    /// Returns the header as a line.
    pub(super) fn line(&self) -> io::Result<JsonLines> {
        let mut line = JsonLines::default();
        line.push(self)?;
        Ok(line)
    }

    /// Describes the difference to another header; `None` if the line is not a header.
    pub(super) fn difference(&self, line: &[u8]) -> Option<String> {
        /// The key that the headers of all versions have.
        #[derive(Deserialize)]
        struct Version {
            core_relo: String,
        }
        let Version { core_relo } = serde_json::from_slice(line).ok()?;
        if core_relo != self.core_relo {
            return Some(format!("its results are those of core-relo {core_relo}"));
        }
        let other: Self = serde_json::from_slice(line).ok().filter(|other| other != self)?;
        let changed = self.objects.iter().find(|object| !other.objects.contains(object));
        let removed = other.objects.iter().find(|object| !self.objects.contains(object));
        Some(match changed.or(removed) {
            Some(HeaderObject { object, .. }) => {
                format!("its results are not of the same objects: `{object}` differs")
            }
            None if self.allow != other.allow => {
                "its results were accepted with another allow list".to_owned()
            }
            None if self.settings != other.settings => {
                let text = |settings: &[String]| match settings {
                    [] => "no options".to_owned(),
                    settings => settings.join(" "),
                };
                format!(
                    "its results are those of other options: {}, now {}",
                    text(&other.settings),
                    text(&self.settings)
                )
            }
            None => "its results are of the same objects in another order".to_owned(),
        })
    }
}

/// The results that the file had when it was opened.
#[derive(Debug, Default)]
pub(crate) struct PreviousResults {
    /// The kernels with results, and how often each is in the file.
    pub(super) kernels: HashMap<KernelId, usize>,
    /// Archives with results for every member.
    pub(super) archives: HashSet<OsString>,
    /// The exit status for these results.
    pub(crate) exit: ExitStatus,
    /// The last change of the file before this run. `None` if the file system does not know.
    pub(super) written: Option<SystemTime>,
}

impl PreviousResults {
    pub(crate) fn has_kernel(&self, kernel: &KernelId) -> bool {
        self.kernels.contains_key(kernel)
    }

    /// Returns whether the file has the results of a kernel, or of all members of an archive.
    pub(crate) fn has_source(&self, source: &KernelSource) -> bool {
        match source {
            KernelSource::Archive(path) => self.has_archive(path),
            _ => self.has_kernel(&source.id()),
        }
    }

    /// Returns an error if the file of a kernel with results was changed later than the results. `name` is
    /// that of the results.
    ///
    /// A file that got an older time, as with `cp -p`, is not noticed.
    pub(crate) fn changed_kernel(&self, selection: &KernelSelection, name: &str) -> Option<BadInput> {
        let written = self.written?;
        let is_changed = |path: &Path| {
            // The times of sysfs are those of its cache.
            let changed = path.metadata().and_then(|metadata| metadata.modified());
            !path.starts_with("/sys") && changed.is_ok_and(|changed| changed > written)
        };
        let done = selection.sources.iter().filter(|source| self.has_source(source));
        let mut paths = done.filter_map(|source| match source {
            KernelSource::File { path, .. } | KernelSource::Archive(path) => Some(path),
            KernelSource::Running | KernelSource::Fetched(_) | KernelSource::Embedded { .. } => None,
        });
        let path = paths.find(|path| is_changed(path))?;
        let bad = BadInput::for_path(path, format_args!("changed after its results were written to {name}"));
        Some(bad.help(format!("remove {name}, or give --resume another file")))
    }

    /// Returns whether the file has results for every member of an archive, or the error for an archive that
    /// cannot be read.
    pub(crate) fn has_archive(&self, archive: &Path) -> bool {
        let archive = archive.as_os_str();
        self.archives.contains(archive) || self.has_kernel(&KernelId::File(archive.to_owned()))
    }

    /// Returns the number of kernels. A kernel that is in the file twice counts twice.
    pub(crate) fn kernel_count(&self) -> usize {
        self.kernels.values().sum()
    }
}
