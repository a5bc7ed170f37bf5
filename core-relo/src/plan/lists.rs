//! A list of candidates for each local root type, narrowed as records match.

use crate::{
    ext::RelocKind,
    ids::TypeId,
    relocs::Relocs,
    resolve::candidates::{Candidate, Search, Wanted},
};
use alloc::{sync::Arc, vec, vec::Vec};
use hashbrown::HashMap;

/// The lists of one plan, by local root type (libbpf: `cand_cache`).
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidateLists {
    by_root: Arc<HashMap<TypeId, ListId>>,
    lists: Vec<List>,
}

/// One root type's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListId(usize);

/// All candidates of a root type; which are left, and which record put out each of the others.
#[derive(Clone, Debug)]
struct List {
    /// Shared by all roots of one essential name.
    all: Arc<[Candidate]>,
    narrowed: Option<Narrowed>,
}

/// What is kept once a record has put out a candidate.
#[derive(Clone, Debug)]
struct Narrowed {
    put_out_by: Vec<Option<usize>>,
    left: Vec<usize>,
}

impl List {
    fn is_without_main(&self) -> bool {
        self.all.iter().all(|c| c.source != 0)
    }

    fn left(&self) -> impl Iterator<Item = usize> {
        let every = if self.narrowed.is_some() { 0..0 } else { 0..self.all.len() };
        every.chain(self.narrowed.iter().flat_map(|narrowed| narrowed.left.iter().copied()))
    }
}

/// The root types of an object's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    by_root: Arc<HashMap<TypeId, ListId>>,
    /// The place of each list among those that are found.
    places: Vec<usize>,
}

impl Roots {
    /// Adds what they are looked for by to `search`, as far as it is not there yet.
    pub(crate) fn new<'o>(relocs: &'o Relocs<'_>, search: &mut Search<'o>) -> Self {
        let (mut by_root, mut places) = (HashMap::new(), Vec::new());
        for record in relocs.records() {
            let id = record.relo.root;
            let Some(root) = relocs.btf().ty(id) else { continue };
            if record.relo.kind == RelocKind::TypeIdLocal
                || root.name().is_empty()
                || by_root.contains_key(&id)
            {
                continue;
            }
            by_root.insert(id, ListId(places.len()));
            places.push(search.place(Wanted::new(root.name(), root.kind())));
        }
        Self { by_root: Arc::new(by_root), places }
    }
}

impl CandidateLists {
    /// The candidates of an object's root types, of all that were found.
    pub(crate) fn new(roots: &Roots, found: &[Arc<[Candidate]>]) -> Self {
        let list =
            |place: &usize| List { all: found.get(*place).cloned().unwrap_or_default(), narrowed: None };
        Self { by_root: Arc::clone(&roots.by_root), lists: roots.places.iter().map(list).collect() }
    }

    /// The list of a root type; `None` if no candidates are looked for by it, for it has no name.
    pub(crate) fn of_root(&self, root: TypeId) -> Option<ListId> {
        self.by_root.get(&root).copied()
    }

    /// The candidates left now, with their places in the list.
    pub(crate) fn left(&self, id: ListId) -> impl Iterator<Item = (usize, Candidate)> {
        let list = self.lists.get(id.0);
        list.into_iter().flat_map(|l| l.left().filter_map(|at| Some((at, *l.all.get(at)?))))
    }

    /// All candidates, those already out included, with the record that put them out.
    pub(crate) fn all(&self, id: ListId) -> impl Iterator<Item = (Candidate, Option<usize>)> {
        let list = self.lists.get(id.0);
        let put_out = |l: &List, at: usize| *l.narrowed.as_ref()?.put_out_by.get(at)?;
        list.into_iter().flat_map(move |l| l.all.iter().enumerate().map(move |(at, c)| (*c, put_out(l, at))))
    }

    /// How many candidates there are, those already out included.
    pub(crate) fn count(&self, id: ListId) -> usize {
        self.lists.get(id.0).map_or(0, |list| list.all.len())
    }

    /// Whether there never was a candidate.
    pub(crate) fn is_empty(&self, id: ListId) -> bool {
        self.lists.get(id.0).is_none_or(|list| list.all.is_empty())
    }

    /// Leaves only the candidates at `matching`, in order of the list, from now on.
    pub(crate) fn narrow(&mut self, id: ListId, matching: &[usize], record: usize) {
        let Some(list) = self.lists.get_mut(id.0) else { return };
        if list.left().count() == matching.len() {
            return;
        }
        let left: Vec<_> = list.left().collect();
        let len = list.all.len();
        let fresh = || Narrowed { put_out_by: vec![None; len], left: Vec::new() };
        let narrowed = list.narrowed.get_or_insert_with(fresh);
        let mut kept = matching.iter().copied().peekable();
        for at in &left {
            if kept.next_if_eq(at).is_none()
                && let Some(by) = narrowed.put_out_by.get_mut(*at)
            {
                *by = Some(record);
            }
        }
        narrowed.left = matching.to_vec();
    }

    pub(crate) fn any_without_main(&self) -> bool {
        self.lists.iter().any(List::is_without_main)
    }

    /// The root types that have no candidate in the main BTF, in no order.
    pub(crate) fn without_main(&self) -> impl Iterator<Item = TypeId> {
        let is_without = |id: &ListId| self.lists.get(id.0).is_some_and(List::is_without_main);
        self.by_root.iter().filter(move |(_, id)| is_without(id)).map(|(root, _)| *root)
    }
}
