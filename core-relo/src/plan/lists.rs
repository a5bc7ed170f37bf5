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
    by_root: HashMap<TypeId, ListId>,
    lists: Vec<List>,
}

/// One root type's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(usize);

/// All candidates of a root type; which are left, and which record put out each of the others.
#[derive(Clone, Debug)]
struct List {
    all: Vec<Candidate>,
    put_out_by: Vec<Option<usize>>,
    left: Vec<usize>,
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
            by_root.insert(id, ListId(roots.len()));
            roots.push(slot);
        }
        let found = find(target, &wanted);
        let list = |slot: &usize| {
            let all = found.get(*slot).cloned().unwrap_or_default();
            List { put_out_by: vec![None; all.len()], left: (0..all.len()).collect(), all }
        };
        Self { by_root, lists: roots.iter().map(list).collect() }
    }

    /// The list of a root type; `None` if no candidates are looked for by it, for it has no name.
    pub(crate) fn of_root(&self, root: TypeId) -> Option<ListId> {
        self.by_root.get(&root).copied()
    }

    /// The candidates left now, with their places in the list.
    pub(crate) fn left(&self, id: ListId) -> impl Iterator<Item = (usize, Candidate)> {
        let list = self.lists.get(id.0);
        list.into_iter().flat_map(|l| l.left.iter().filter_map(|at| Some((*at, *l.all.get(*at)?))))
    }

    /// All candidates, those already out included, with the record that put them out.
    pub(crate) fn all(&self, id: ListId) -> impl Iterator<Item = (Candidate, Option<usize>)> {
        let list = self.lists.get(id.0);
        list.into_iter().flat_map(|l| l.all.iter().copied().zip(l.put_out_by.iter().copied()))
    }

    /// Whether there never was a candidate.
    pub(crate) fn is_empty(&self, id: ListId) -> bool {
        self.lists.get(id.0).is_none_or(|list| list.all.is_empty())
    }

    /// Leaves only the candidates at `matching`, in order of the list, from now on.
    pub(crate) fn narrow(&mut self, id: ListId, matching: Vec<usize>, record: usize) {
        let Some(list) = self.lists.get_mut(id.0).filter(|list| list.left.len() != matching.len()) else {
            return;
        };
        let mut kept = matching.iter().copied().peekable();
        for at in &list.left {
            if kept.next_if_eq(at).is_none()
                && let Some(by) = list.put_out_by.get_mut(*at)
            {
                *by = Some(record);
            }
        }
        list.left = matching;
    }

    pub(crate) fn any_without_main(&self) -> bool {
        self.lists.iter().any(|list| list.all.iter().all(|c| c.source != 0))
    }
}
