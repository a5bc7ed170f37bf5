//! The measured objects and the target.

use crate::{
    files::files_below,
    peer::{Peer, ours},
};
use core_relo::{Plan, Target, ext::BtfExt};
use core_relo_loader::object::Object;
use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

/// The number of objects of the jobs with many objects.
pub const OBJECTS: usize = 57;

/// The preferred numbers of records of the object in [`Job::Few`](crate::job::Job::Few) and
/// [`Job::Many`](crate::job::Job::Many).
const FEW: usize = 3;
const MANY: usize = 53;

/// The objects and the target of all jobs.
#[derive(Clone, Debug)]
pub struct Corpus {
    pub target: PathBuf,
    /// The objects of the jobs with many objects.
    pub objects: Vec<Subject>,
    /// The object whose number of records is nearest to 3.
    pub few: Subject,
    /// The object whose number of records is nearest to 53.
    pub many: Subject,
    /// The objects that a peer cannot relocate, each with the peer and the error. Objects without records and
    /// objects of the other byte order are not listed.
    pub refused: Vec<(Peer, String)>,
}

/// An object with its number of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub path: PathBuf,
    pub records: usize,
}

impl Corpus {
    /// Finds the objects below `dir` that all `peers` relocate without an error. A peer that fails half way
    /// would do less work.
    pub fn find(target: &Path, dir: &Path, peers: &[Peer]) -> Result<Self, String> {
        let (mut clean, mut objects, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let parsed = ours::target(target)?;
        let is_object = |path: &PathBuf| path.to_string_lossy().ends_with(".bpf.o");
        for path in files_below(dir).into_iter().filter(is_object) {
            match try_object(&parsed, target, &path, peers) {
                Ok(Some((records, true))) => clean.push(Subject { path, records }),
                Ok(Some((records, false))) => objects.push(Subject { path, records }),
                Ok(None) => {}
                Err((peer, error)) => refused.push((peer, format!("{}: {error}", path.display()))),
            }
        }
        // Objects whose records all resolve on the target come first.
        objects.splice(0..0, clean.iter().cloned());
        let candidates = if clean.is_empty() { &objects } else { &clean };
        let nearest = |count: usize| {
            let found = candidates.iter().min_by_key(|o| o.records.abs_diff(count)).cloned();
            found.ok_or_else(|| format!("{}: no object that all peers can relocate", dir.display()))
        };
        let (few, many) = (nearest(FEW)?, nearest(MANY)?);
        objects.truncate(OBJECTS);
        Ok(Self { target: target.to_path_buf(), objects, few, many, refused })
    }

    /// Returns the number of records of all objects.
    pub fn record_count(&self) -> usize {
        self.objects.iter().map(|o| o.records).sum()
    }
}

/// Returns the number of an object's records and whether all of them resolve on the target.
///
/// Returns `None` if the object has no records, so that no peer would read the target, or has the other byte
/// order.
fn try_object(
    target: &Target<'_>,
    btf: &Path,
    path: &Path,
    peers: &[Peer],
) -> Result<Option<(usize, bool)>, (Peer, String)> {
    let failed = |e: &dyn Display| (Peer::Ours, e.to_string());
    let bytes = fs::read(path).map_err(|e| failed(&e))?;
    let object = Object::parse(&bytes).map_err(|e| failed(&e))?;
    let has_records = object.ext().is_some_and(|ext| BtfExt::core_relos(ext).next().is_some());
    if !has_records || object.endian() != target.vmlinux().btf.endian() {
        return Ok(None);
    }
    let relocs = object.relocs().map_err(|e| failed(&e))?;
    let summary = Plan::new(&relocs, target).summary();
    for peer in peers {
        let result = peer.prepare(btf, &[path.to_path_buf()]).and_then(|prepared| prepared.relocate(false));
        result.map_err(|error| (*peer, error))?;
    }
    Ok(Some((summary.total(), summary.is_clean())))
}
