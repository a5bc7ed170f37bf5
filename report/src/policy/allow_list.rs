//! The allow list: the reasons that a project accepts.

use super::glob::Glob;
use super::{
    acceptance::{Acceptance, ReasonPlace},
    entry::{AllowEntry, SharedEntry},
};
use crate::labels::full_version;
use core_relo_verdict::{
    judge::{ObjectVerdict, Verdict},
    kernel::KernelVersion,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// The entries of the command line and of `core-relo.toml`. Threads share the list.
#[derive(Debug)]
pub struct AllowList {
    entries: Vec<ListedEntry>,
    /// Accepts that objects are for another architecture than a kernel that the user did not name.
    other_architectures: ListedEntry,
}

/// An entry of the list.
#[derive(Debug)]
struct ListedEntry {
    entry: SharedEntry,
    /// Whether the entry has accepted a reason.
    is_used: AtomicBool,
}

/// The names of a kernel that a pattern may match.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelNames<'k> {
    /// The name in the output: a path, or `linux RELEASE (running)`.
    pub name: &'k str,
    /// The release, as `uname -r` prints it, if known.
    pub release: Option<&'k str>,
    /// The version in the name, such as 6.1.0.
    pub version: Option<KernelVersion>,
    /// Whether the kernel is one of a directory or an archive.
    pub is_listed: bool,
}

/// The entries that match a kernel.
#[derive(Debug)]
pub struct KernelEntries<'l>(Vec<&'l ListedEntry>);

impl Default for AllowList {
    fn default() -> Self {
        Self::new([])
    }
}

impl AllowList {
    /// Creates a list of entries. The list also accepts objects for another architecture than a kernel of a
    /// directory or an archive.
    pub fn new(entries: impl IntoIterator<Item = AllowEntry>) -> Self {
        let listed = |entry| ListedEntry { entry: Arc::new(entry), is_used: AtomicBool::new(false) };
        let other_architectures = listed(AllowEntry::for_other_architectures());
        Self { entries: entries.into_iter().map(listed).collect(), other_architectures }
    }

    /// Returns the entries that match a kernel.
    pub fn for_kernel(&self, kernel: &KernelNames<'_>) -> KernelEntries<'_> {
        let matches = |pattern: &Glob| {
            let version = || kernel.version.map(full_version);
            pattern.matches_path(kernel.name)
                || kernel.release.is_some_and(|release| pattern.matches(release))
                || version().is_some_and(|version| pattern.matches(&version))
        };
        let entries = self.entries.iter().filter(|listed| listed.entry.kernel.as_ref().is_none_or(matches));
        let implied = kernel.is_listed.then_some(&self.other_architectures);
        KernelEntries(entries.chain(implied).collect())
    }

    /// Returns the entries that have accepted nothing so far.
    pub fn unused(&self) -> impl Iterator<Item = &AllowEntry> {
        self.entries.iter().filter(|listed| !listed.is_used.load(Relaxed)).map(|listed| &*listed.entry)
    }

    /// Returns the patterns of all entries, in the notation of `--allow`.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        self.entries.iter().map(|listed| listed.entry.pattern())
    }
}

impl<'k> KernelNames<'k> {
    /// Creates the names of a kernel that the user named.
    pub fn new(name: &'k str, release: Option<&'k str>) -> Self {
        Self { name, release, version: None, is_listed: false }
    }
}

impl KernelEntries<'_> {
    /// Finds the accepted reasons of the verdict on an object. Returns `None` if none is accepted.
    pub fn accept(&self, object: &str, verdict: &ObjectVerdict) -> Option<Acceptance> {
        let has_reason = verdict.programs.iter().any(|program| !program.reasons.is_empty());
        if self.0.is_empty() || !has_reason && verdict.verdict == Verdict::Loads {
            return None;
        }
        let matches = |pattern: &Option<Glob>| pattern.as_ref().is_none_or(|glob| glob.matches_path(object));
        let for_object: Vec<_> =
            self.0.iter().copied().filter(|listed| matches(&listed.entry.object)).collect();
        if for_object.is_empty() {
            return None;
        }
        let for_program = |name: &str| {
            let matches = |pattern: &Option<Glob>| pattern.as_ref().is_none_or(|glob| glob.matches(name));
            let entries = for_object.iter().copied().filter(|listed| matches(&listed.entry.program));
            entries.collect::<Vec<_>>()
        };
        let for_programs: Vec<_> =
            verdict.programs.iter().map(|program| for_program(&program.name)).collect();
        Acceptance::new(verdict, |place| {
            let (kind, entries) = match place {
                ReasonPlace::Program { program, reason } => {
                    let kind = verdict.programs.get(program)?.reasons.get(reason)?.kind;
                    (kind, for_programs.get(program)?.clone())
                }
                ReasonPlace::Object { reason } => {
                    let entries = for_object.iter().copied();
                    let entries = entries.filter(|listed| listed.entry.program.is_none()).collect();
                    (verdict.reasons.get(reason)?.kind, entries)
                }
            };
            let accepts = |listed: &&ListedEntry| listed.entry.kind.is_none_or(|wanted| wanted == kind);
            let accepting: Vec<_> = entries.into_iter().filter(accepts).collect();
            // The first entry counts. The others are used as well: none of them can be removed as stale.
            accepting.iter().for_each(|listed| listed.is_used.store(true, Relaxed));
            accepting.first().map(|listed| Arc::clone(&listed.entry))
        })
    }
}
