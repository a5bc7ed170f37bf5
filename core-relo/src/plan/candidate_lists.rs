//! The candidates of each local root type. Records that match eliminate the other candidates.

use crate::{
    TypeId,
    ext::RelocKind,
    relocs::Relocs,
    resolve::{BrokenInvariant, Candidate, CandidateQuery, CandidateSearch, QueryId},
};
use alloc::{sync::Arc, vec, vec::Vec};
use hashbrown::HashMap;

/// The candidate lists of one plan, by local root type (libbpf: `cand_cache`).
#[derive(Clone, Debug, Default)]
pub(super) struct CandidateLists {
    by_root: Arc<HashMap<TypeId, ListId>>,
    /// The lists by [`ListId`]; `None` if the search did not answer the root type's query, which is a bug.
    lists: Vec<Option<CandidateList>>,
}

/// The index of a candidate list in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListId(usize);

/// The candidates of a root type, in order. Records eliminate those that do not match.
#[derive(Clone, Debug)]
pub(super) struct CandidateList {
    /// All candidates, which the root types of one essential name share.
    all: Arc<[Candidate]>,
    /// The state after the first elimination.
    narrowed: Option<NarrowedList>,
}

#[derive(Clone, Debug)]
struct NarrowedList {
    /// For each candidate, the record that eliminated it.
    eliminated_by: Vec<Option<usize>>,
    /// The positions of the remaining candidates.
    remaining: Vec<usize>,
}

/// The root types of an object's records.
#[derive(Clone, Debug, Default)]
pub(super) struct RootTypes {
    by_root: Arc<HashMap<TypeId, ListId>>,
    /// The query of each list.
    queries: Vec<QueryId>,
}

impl RootTypes {
    /// Collects the root types, and adds their queries to `search`.
    pub(super) fn new<'o>(relocs: &'o Relocs<'_>, search: &mut CandidateSearch<'o>) -> Self {
        let (mut by_root, mut queries) = (HashMap::new(), Vec::new());
        for record in relocs.records() {
            let id = record.relo.root;
            let Some(root) = relocs.btf().ty(id) else { continue };
            if record.relo.kind == RelocKind::TypeIdLocal
                || root.name().is_empty()
                || by_root.contains_key(&id)
            {
                continue;
            }
            by_root.insert(id, ListId(queries.len()));
            queries.push(search.add_query(CandidateQuery::new(root.name(), root.kind())));
        }
        Self { by_root: Arc::new(by_root), queries }
    }
}

impl CandidateLists {
    /// Creates the lists of an object's root types from the results of the search, by [`QueryId`].
    pub(super) fn new(roots: &RootTypes, found: &[Arc<[Candidate]>]) -> Self {
        let list = |query: &QueryId| {
            let all = Arc::clone(found.get(query.index())?);
            Some(CandidateList { all, narrowed: None })
        };
        Self { by_root: Arc::clone(&roots.by_root), lists: roots.queries.iter().map(list).collect() }
    }

    /// Returns the list of a root type. An anonymous type, which has no candidates, has none.
    pub(super) fn find(&self, root: TypeId) -> Option<ListId> {
        self.by_root.get(&root).copied()
    }

    pub(super) fn get(&self, id: ListId) -> Result<&CandidateList, BrokenInvariant> {
        self.lists.get(id.0).and_then(Option::as_ref).ok_or(BrokenInvariant::CandidateList)
    }

    pub(super) fn get_mut(&mut self, id: ListId) -> Result<&mut CandidateList, BrokenInvariant> {
        self.lists.get_mut(id.0).and_then(Option::as_mut).ok_or(BrokenInvariant::CandidateList)
    }

    /// Adds a list with the same candidates, of which none is eliminated.
    pub(super) fn add_whole_copy(&mut self, id: ListId) -> Option<ListId> {
        let all = Arc::clone(&self.get(id).ok()?.all);
        let copy = ListId(self.lists.len());
        self.lists.push(Some(CandidateList { all, narrowed: None }));
        Some(copy)
    }

    /// Returns whether a record of the root type eliminated a candidate.
    pub(super) fn is_narrowed(&self, root: TypeId) -> bool {
        self.find(root).and_then(|id| self.get(id).ok()).is_some_and(|list| list.narrowed.is_some())
    }

    pub(super) fn any_narrowed(&self) -> bool {
        self.lists.iter().flatten().any(|list| list.narrowed.is_some())
    }

    pub(super) fn any_without_main(&self) -> bool {
        self.lists.iter().flatten().any(CandidateList::is_without_main)
    }

    /// Returns the root types that have no candidate in the vmlinux BTF, in no order.
    pub(super) fn roots_without_main(&self) -> impl Iterator<Item = TypeId> {
        let is_without = |id: ListId| self.get(id).is_ok_and(CandidateList::is_without_main);
        self.by_root.iter().filter(move |(_, id)| is_without(**id)).map(|(root, _)| *root)
    }
}

impl CandidateList {
    fn is_without_main(&self) -> bool {
        self.all.iter().all(|candidate| candidate.btf_index != 0)
    }

    /// Returns the number of all candidates.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns all candidates, each with the record that eliminated it.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (Candidate, Option<usize>)> {
        let eliminated_by = |position: usize| *self.narrowed.as_ref()?.eliminated_by.get(position)?;
        self.all.iter().enumerate().map(move |(position, candidate)| (*candidate, eliminated_by(position)))
    }

    fn remaining_positions(&self) -> impl Iterator<Item = usize> {
        let all = if self.narrowed.is_some() { 0..0 } else { 0..self.all.len() };
        all.chain(self.narrowed.iter().flat_map(|narrowed| narrowed.remaining.iter().copied()))
    }

    /// Returns the remaining candidates, each with its position in the list.
    pub(super) fn remaining(&self) -> impl Iterator<Item = (usize, Candidate)> {
        self.remaining_positions().filter_map(|position| Some((position, *self.all.get(position)?)))
    }

    /// Eliminates the candidates outside `matching`, which has the positions of remaining ones in order.
    pub(super) fn narrow(&mut self, matching: &[usize], record: usize) {
        if self.remaining_positions().count() == matching.len() {
            return;
        }
        let remaining: Vec<_> = self.remaining_positions().collect();
        let len = self.all.len();
        let narrowed = self
            .narrowed
            .get_or_insert_with(|| NarrowedList { eliminated_by: vec![None; len], remaining: Vec::new() });
        let mut matching_left = matching.iter().copied().peekable();
        for position in &remaining {
            if matching_left.next_if_eq(position).is_none()
                && let Some(eliminated_by) = narrowed.eliminated_by.get_mut(*position)
            {
                *eliminated_by = Some(record);
            }
        }
        narrowed.remaining = matching.to_vec();
    }
}
