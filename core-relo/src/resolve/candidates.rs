//! The search for candidates: the target's types that a local root type may stand for.

use super::candidate_query::{CandidateQuery, enum_kind};
use crate::{
    TypeId,
    btf::{Btf, FlavourFilter, Kind, NameIndex, Type},
    target::{Target, TargetBtf},
};
use alloc::{boxed::Box, vec, vec::Vec};
use hashbrown::HashMap;

/// A type of the target that has the root type's essential name and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Candidate {
    /// The index of the BTF that contains the type: 0 for the vmlinux BTF of the target, from 1 for its
    /// modules.
    pub btf_index: usize,
    /// The type.
    pub id: TypeId,
}

/// The index of a query in its search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueryId(usize);

impl QueryId {
    /// Returns the position of the query's candidates in the result of [`CandidateSearch::find_candidates`].
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// A search for the candidates of several queries at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidateSearch<'o> {
    queries: HashMap<CandidateQuery<'o>, QueryId>,
    /// The filter for all scans; without it each scan creates its own.
    filter: Option<Box<FlavourFilter>>,
}

/// The candidates of each query, by [`QueryId`].
type CandidatesByQuery = Vec<Vec<Candidate>>;

impl<'o> CandidateSearch<'o> {
    /// Adds a query unless the search has it, and returns its id.
    pub(crate) fn add_query(&mut self, query: CandidateQuery<'o>) -> QueryId {
        let next = QueryId(self.queries.len());
        *self.queries.entry(query).or_insert(next)
    }

    /// Prepares the search for many targets. No query may be added afterwards.
    pub(crate) fn prepare_filter(&mut self) {
        self.filter = Some(Box::new(self.new_filter()));
    }

    /// Creates a filter of the kinds and names of all queries.
    fn new_filter(&self) -> FlavourFilter {
        let kinds = |kind| if kind == Kind::Enum { [Kind::Enum, Kind::Enum64] } else { [kind; 2] };
        let mut filter = FlavourFilter::new(self.queries.keys().flat_map(|query| kinds(query.kind)));
        self.queries.keys().for_each(|query| filter.insert(query.name));
        filter
    }

    /// Finds the candidates of each query, in libbpf's order (`bpf_core_find_cands`): those of the vmlinux
    /// BTF in order of id. Modules are searched only for queries without a candidate in the vmlinux BTF.
    ///
    /// One pass over a BTF's types serves all queries.
    pub(crate) fn find_candidates(&self, target: &Target<'_>) -> CandidatesByQuery {
        let mut found = vec![Vec::new(); self.queries.len()];
        if found.is_empty() {
            return found;
        }
        self.search_target_btf(0, target.vmlinux(), &mut found);
        let is_missing = |id: &QueryId| found.get(id.0).is_none_or(Vec::is_empty);
        if !target.modules().is_empty() && self.queries.values().any(is_missing) {
            let mut missing = self.filter_queries(|_, id| is_missing(&id));
            missing.prepare_filter();
            for (btf_index, module) in (1..).zip(target.modules()) {
                missing.search_target_btf(btf_index, module, &mut found);
            }
        }
        found
    }

    /// Returns a search for those queries that `is_wanted` accepts.
    fn filter_queries(&self, mut is_wanted: impl FnMut(&CandidateQuery<'o>, QueryId) -> bool) -> Self {
        let wanted = self.queries.iter().filter(|(query, id)| is_wanted(query, **id));
        Self { queries: wanted.map(|(query, id)| (*query, *id)).collect(), filter: None }
    }

    /// Adds the candidates of one BTF and, for the vmlinux BTF, those of its bases (libbpf:
    /// `bpf_core_add_cands`).
    fn search_target_btf(&self, btf_index: usize, target_btf: &TargetBtf<'_>, found: &mut CandidatesByQuery) {
        // A module adds only its own types. The vmlinux BTF adds all types, also those of its bases if it is
        // a split BTF.
        if btf_index == 0 {
            let mut bases = Vec::new();
            let mut next = target_btf.btf.base();
            while let Some(base) = next {
                bases.push(base);
                next = base.base();
            }
            for base in bases.into_iter().rev() {
                self.search_btf(btf_index, base, found);
            }
        }
        match &target_btf.index {
            Some(index) => self.look_up(btf_index, &target_btf.btf, index, found),
            None => self.search_btf(btf_index, &target_btf.btf, found),
        }
    }

    /// Adds the candidates among the own types of a BTF without an index. Its types may be sorted by name.
    fn search_btf(&self, btf_index: usize, btf: &Btf<'_>, found: &mut CandidatesByQuery) {
        match NameIndex::trusted(btf) {
            Some(order) => self.look_up(btf_index, btf, &order, found),
            None => self.scan(btf_index, btf, found),
        }
    }

    /// Adds the candidates that the index finds. A scan answers queries that the index does not cover.
    fn look_up(&self, btf_index: usize, btf: &Btf<'_>, index: &NameIndex, found: &mut CandidatesByQuery) {
        if !index.is_worth(btf, self.queries.len()) {
            return self.scan(btf_index, btf, found);
        }
        let unanswered = self.filter_queries(|query, id| {
            let Some(list) = found.get_mut(id.0) else { return false };
            let add = |ty: Type<'_>| {
                if enum_kind(ty.kind()) == query.kind {
                    list.push(Candidate { btf_index, id: ty.id() });
                }
            };
            !(index.covers(query.kind) && index.visit_flavours(btf, query.name, add))
        });
        if !unanswered.queries.is_empty() {
            unanswered.scan(btf_index, btf, found);
        }
    }

    /// Adds the candidates among the own types of a BTF by a pass over all of them.
    fn scan(&self, btf_index: usize, btf: &Btf<'_>, found: &mut CandidatesByQuery) {
        match &self.filter {
            Some(filter) => self.scan_filtered(btf_index, btf, filter, found),
            None => self.scan_filtered(btf_index, btf, &self.new_filter(), found),
        }
    }

    fn scan_filtered(
        &self,
        btf_index: usize,
        btf: &Btf<'_>,
        filter: &FlavourFilter,
        found: &mut CandidatesByQuery,
    ) {
        btf.visit_flavours(filter, |ty| {
            if let Some(id) = self.queries.get(&CandidateQuery::new(ty.name(), ty.kind()))
                && let Some(list) = found.get_mut(id.0)
            {
                list.push(Candidate { btf_index, id: ty.id() });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Endian, Name,
        btf::{Builder, Kind},
    };
    use alloc::{format, string::String, sync::Arc};

    fn find(target: &Target<'_>, wanted: &[CandidateQuery<'_>]) -> Vec<Vec<Candidate>> {
        let mut search = CandidateSearch::default();
        for (place, wanted) in wanted.iter().enumerate() {
            assert_eq!(search.add_query(*wanted).index(), place);
        }
        let found = search.find_candidates(target);
        search.prepare_filter();
        assert_eq!(search.find_candidates(target), found);
        found
    }

    #[test]
    fn an_index_gives_the_candidates_that_a_scan_gives() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for name in ["a", "b", "a___x", "c", "a", "a___"] {
            b.structure(name, 4, &[("f", int, 0)]);
            b.typedef(name, int);
            b.enumeration(name, 4, &[("A", 1)]);
            b.enumeration64(name, 8, &[("B", 1)]);
            let proto = b.func_proto(int, &[]);
            b.func(name, proto, 1);
        }
        let vmlinux = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut b = Builder::split(&vmlinux);
        b.structure("d", 4, &[("f", int, 0)]);
        let module = Arc::new(Btf::parse_split(b.finish(), Arc::clone(&vmlinux)).unwrap());
        let target = Target::new("vmlinux", Arc::clone(&vmlinux)).with_modules([("m".into(), module)]);
        let kinds = [Kind::Struct, Kind::Typedef, Kind::Enum64, Kind::Func];
        let names: [&[u8]; 6] = [b"a", b"b___old", b"c", b"d", b"a___", b"e"];
        let wanted: Vec<_> =
            names.iter().flat_map(|n| kinds.map(|kind| CandidateQuery::new(Name::new(n), kind))).collect();
        let by_scan = find(&target, &wanted);
        for index in
            [NameIndex::new(&vmlinux), NameIndex::of_types(&vmlinux), NameIndex::of_functions(&vmlinux)]
        {
            assert_eq!(find(&target.clone().with_index(Arc::new(index)), &wanted), by_scan);
        }
        assert_eq!(by_scan.iter().map(Vec::len).collect::<Vec<_>>()[..4], [3, 3, 6, 3]);
    }

    /// Names with the same beginning are distinguished by later bytes, if all queries are that long.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn long_names_that_begin_alike_are_found_at_any_length() {
        for endian in [Endian::Little, Endian::Big] {
            let raw = "trace_event_raw_sys_exit";
            let beginnings = (4..=raw.len()).map(|len| raw.chars().take(len).collect::<String>());
            let mut names: Vec<_> = beginnings.collect();
            names.extend(names.clone().iter().map(|name| format!("{name}___own")));
            names.extend(["trace_event_raw_xys_exit", "trace_event_raw_sys_", "tracy"].map(String::from));
            let mut b = Builder::new(endian);
            for name in &names {
                b.structure(name, 4, &[]);
            }
            let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
            let alike = |name: &String, other: &String| {
                Name::new(name.as_bytes()).same_essential(Name::new(other.as_bytes()))
            };
            let ids = |wanted: &String| {
                let found = names.iter().zip(1..).filter(|(name, _)| alike(name, wanted));
                found.map(|(_, id)| Candidate { btf_index: 0, id: TypeId(id) }).collect::<Vec<_>>()
            };
            for one in &names {
                for other in [&names[0], &names[names.len() - 3], &names[names.len() - 1]] {
                    let pair =
                        [one, other].map(|n| CandidateQuery::new(Name::new(n.as_bytes()), Kind::Struct));
                    let wanted = if alike(one, other) { &pair[..1] } else { &pair };
                    let expected: Vec<_> = [one, other].into_iter().map(ids).take(wanted.len()).collect();
                    assert_eq!(find(&target, wanted), expected, "{one} and {other}");
                }
                assert_eq!(
                    find(&target, &[CandidateQuery::new(Name::new(one.as_bytes()), Kind::Struct)]),
                    [ids(one)]
                );
            }
        }
    }

    /// In a sorted BTF bisection finds most names. A scan finds names with many flavours, and all names if
    /// the queries are many.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn sorted_types_give_the_candidates_that_a_scan_gives() {
        let names = (0..2_000).map(|n| format!("a___b{n:04}___c"));
        let mut names: Vec<_> =
            names.chain(["a", "a", "a___x", "b", "b___y", "c"].map(String::from)).collect();
        names.sort();
        let mut b = Builder::new(Endian::Little);
        for name in &names {
            b.structure(name, 4, &[]);
        }
        let plain = Arc::new(Btf::parse(b.finish()).unwrap());
        let mut trusted = (*plain).clone();
        assert!(trusted.trust_order());
        let targets = [
            Target::new("trusted", Arc::new(trusted)),
            Target::new("indexed", Arc::clone(&plain)).with_index(Arc::new(NameIndex::new(&plain))),
        ];
        let wanted = |names: &[&'static [u8]]| {
            let each = names.iter().map(|name| CandidateQuery::new(Name::new(name), Kind::Struct));
            each.collect::<Vec<_>>()
        };
        let many: &[&[u8]] = &[b"a", b"b", b"a___b0007___d", b"c", b"d", b"e", b"f", b"g", b"h"];
        for wanted in [wanted(&many[..5]), wanted(many)] {
            let by_scan = find(&Target::new("plain", Arc::clone(&plain)), &wanted);
            assert_eq!(by_scan.iter().map(Vec::len).collect::<Vec<_>>()[..5], [3, 2, 1, 1, 0]);
            for target in &targets {
                assert_eq!(find(target, &wanted), by_scan, "{}", target.vmlinux().name);
            }
        }
    }
}
