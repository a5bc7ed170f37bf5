//! Which objects and which target: those that all peers can relocate.

use crate::peer::{Peer, ours};
use core_relo::{Plan, Target, ext::BtfExt};
use core_relo_loader::object::Object;
use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

/// Objects of the jobs with many.
pub const OBJECTS: usize = 57;

/// Records of the jobs with one object, if there are such objects.
const FEW: usize = 3;
const MANY: usize = 53;

/// What is relocated, and against what.
#[derive(Clone, Debug)]
pub struct Corpus {
    pub target: PathBuf,
    /// Of a job with many objects.
    pub objects: Vec<Subject>,
    /// The object whose number of records is nearest to 3.
    pub few: Subject,
    /// The object whose number of records is nearest to 53.
    pub many: Subject,
    /// Objects that somebody cannot relocate, each with who and why. Those without records and those of the other byte order
    /// are not among them.
    pub refused: Vec<(Peer, String)>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub path: PathBuf,
    pub records: usize,
}

impl Corpus {
    /// Takes the objects below `folder` that every one of `peers` relocates without an error: who stops half way does less.
    pub fn find(target: &Path, folder: &Path, peers: &[Peer]) -> Result<Self, String> {
        let (mut clean, mut objects, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let parsed = ours::target(target)?;
        let is_object = |path: &PathBuf| path.to_string_lossy().ends_with(".bpf.o");
        for path in files_below(folder).into_iter().filter(is_object) {
            match judge(&parsed, target, &path, peers) {
                Ok(Some((records, true))) => clean.push(Subject { path, records }),
                Ok(Some((records, false))) => objects.push(Subject { path, records }),
                Ok(None) => {}
                Err((peer, why)) => refused.push((peer, format!("{}: {why}", path.display()))),
            }
        }
        // Objects made for this kind of kernel come first.
        objects.splice(0..0, clean.iter().cloned());
        let candidates = if clean.is_empty() { &objects } else { &clean };
        let nearest = |wanted: usize| {
            let found = candidates.iter().min_by_key(|o| o.records.abs_diff(wanted)).cloned();
            found.ok_or_else(|| format!("{}: no object that all can relocate", folder.display()))
        };
        let (few, many) = (nearest(FEW)?, nearest(MANY)?);
        objects.truncate(OBJECTS);
        Ok(Self { target: target.to_path_buf(), objects, few, many, refused })
    }

    /// Records of all objects together.
    pub fn records(&self) -> usize {
        self.objects.iter().map(|o| o.records).sum()
    }
}

/// The number of an object's records, if everybody relocates it, and whether the target has all they ask for; none if it
/// has no records, so that nobody would look at the target, or if it is for machines of the other byte order.
fn judge(
    target: &Target<'_>,
    btf: &Path,
    path: &Path,
    peers: &[Peer],
) -> Result<Option<(usize, bool)>, (Peer, String)> {
    let ours = |e: &dyn Display| (Peer::Ours, e.to_string());
    let bytes = fs::read(path).map_err(|e| ours(&e))?;
    let object = Object::parse(&bytes).map_err(|e| ours(&e))?;
    let has_records = object.ext().is_some_and(|ext| BtfExt::core_relos(ext).next().is_some());
    if !has_records || object.endian() != target.main().btf.endian() {
        return Ok(None);
    }
    let relocs = object.relocs().map_err(|e| ours(&e))?;
    let summary = Plan::new(&relocs, target).summary();
    for peer in peers {
        let done = peer.prepare(btf, &[path.to_path_buf()]).and_then(|prepared| prepared.relocate(false));
        done.map_err(|why| (*peer, why))?;
    }
    Ok(Some((summary.total(), summary.is_clean())))
}

/// Every file below a folder, in order of path.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
