//! A list of candidates for each local root type, narrowed as records match.

use crate::{
    ext::RelocKind,
    ids::TypeId,
    relocs::Relocs,
    resolve::candidates::{Candidate, Wanted, find},
    target::Target,
};
use alloc::{vec, vec::Vec};
use hashbrown::HashMap;

/// The lists of one plan, by local root type (libbpf: `cand_cache`).
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidateLists {
    by_root: HashMap<TypeId, usize>,
    lists: Vec<List>,
}

/// All candidates of a root type, and the narrower and narrower choices of them.
#[derive(Clone, Debug)]
struct List {
    all: Vec<Candidate>,
    versions: Vec<Vec<Candidate>>,
    /// The record that made each version but the first.
    made_by: Vec<usize>,
}

/// A list at the time of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListVersion {
    list: usize,
    version: usize,
}

impl CandidateLists {
    /// The candidates of every root type that a record may ask for.
    pub(crate) fn find(relocs: &Relocs<'_>, target: &Target<'_>) -> Self {
        let mut by_root = HashMap::new();
        let mut slots: HashMap<Wanted<'_>, usize> = HashMap::new();
        let (mut wanted, mut roots) = (Vec::new(), Vec::new());
        for record in relocs.records() {
            let id = record.relo.root;
            let Some(root) = relocs.btf().ty(id) else { continue };
            if record.relo.kind == RelocKind::TypeIdLocal
                || root.name().is_empty()
                || by_root.contains_key(&id)
            {
                continue;
            }
            let key = Wanted::new(root.name(), root.kind());
            let slot = *slots.entry(key).or_insert_with(|| {
                wanted.push(key);
                wanted.len().saturating_sub(1)
            });
            by_root.insert(id, roots.len());
            roots.push(slot);
        }
        let found = find(target, &wanted);
        let list = |slot: &usize| {
            let all = found.get(*slot).cloned().unwrap_or_default();
            List { versions: vec![all.clone()], all, made_by: Vec::new() }
        };
        Self { by_root, lists: roots.iter().map(list).collect() }
    }

    /// The list of a root type as it is now.
    pub(crate) fn current(&self, root: TypeId) -> Option<ListVersion> {
        let list = *self.by_root.get(&root)?;
        let version = self.lists.get(list)?.versions.len().checked_sub(1)?;
        Some(ListVersion { list, version })
    }

    /// The candidates left in a version.
    pub(crate) fn left(&self, at: ListVersion) -> &[Candidate] {
        let list = self.lists.get(at.list);
        list.and_then(|list| list.versions.get(at.version)).map_or(&[], Vec::as_slice)
    }

    /// All candidates of the same root type, those already out included.
    pub(crate) fn all(&self, at: ListVersion) -> &[Candidate] {
        self.lists.get(at.list).map_or(&[], |list| &list.all)
    }

    /// The record that put a candidate out, before a version.
    pub(crate) fn put_out_by(&self, at: ListVersion, candidate: Candidate) -> Option<usize> {
        let list = self.lists.get(at.list)?;
        let upto = list.versions.get(1..=at.version)?;
        let gone = upto.iter().position(|left| !left.contains(&candidate))?;
        list.made_by.get(gone).copied()
    }

    /// Leaves only `matching`, from now on.
    pub(crate) fn narrow(&mut self, at: ListVersion, matching: Vec<Candidate>, record: usize) {
        if let Some(list) = self.lists.get_mut(at.list) {
            list.versions.push(matching);
            list.made_by.push(record);
        }
    }

    pub(crate) fn any_without_main(&self) -> bool {
        self.lists.iter().any(|list| list.all.iter().all(|c| c.source != 0))
    }
}
