//! Objects that are prepared once, and planned on many targets.

use super::{
    candidate_lists::{CandidateLists, RootTypes},
    decide::decide_records,
    entries::Plan,
    local_access::{AccessInterner, LocalAccess},
    match_cache::MatchCache,
    options::Options,
};
use crate::{
    relocs::{Record, Relocs},
    resolve::{Candidate, CandidateSearch},
    spec::AccessStringError,
    target::Target,
};
use alloc::{sync::Arc, vec::Vec};
use core::fmt;

/// Objects that are planned together, on any number of targets.
///
/// One pass over a target's types finds the candidates of all objects, and equal accesses are matched once.
/// The plan of each object is the same as that of [`Plan::new`].
///
/// ```
/// # use core_relo::{Relocs, Target, plan::Objects};
/// # fn check(objects: &[Relocs<'_>], kernels: &[Target<'_>]) {
/// let objects = Objects::new(objects);
/// for kernel in kernels {
///     let clean = objects.plans(kernel).iter().filter(|plan| plan.summary().is_clean()).count();
///     println!("{}: {clean} objects are clean", kernel.vmlinux().name);
/// }
/// # }
/// ```
pub struct Objects<'o> {
    prepared: Vec<PreparedObject<'o>>,
    search: CandidateSearch<'o>,
    options: Options,
}

impl<'o> Objects<'o> {
    /// Prepares objects for many targets.
    pub fn new(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let mut prepared = Self::for_one_target(objects);
        prepared.search.prepare_filter();
        prepared
    }

    fn for_one_target(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let (mut search, mut interner) = (CandidateSearch::default(), AccessInterner::default());
        let prepare = |relocs| PreparedObject::new(relocs, &mut search, &mut interner);
        let prepared = objects.into_iter().map(prepare).collect();
        Self { prepared, search, options: Options::default() }
    }

    /// Sets the options of all plans.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Plans each object on a target.
    pub fn plans<'p>(&self, target: &'p Target<'p>) -> Vec<Plan<'p>>
    where
        'o: 'p,
    {
        let found = find_candidates(&self.search, target);
        let mut cache = MatchCache::default();
        let plan =
            |object: &PreparedObject<'o>| object.plan((target, &found), self.options, &|_| true, &mut cache);
        self.prepared.iter().map(plan).collect()
    }
}

impl fmt::Debug for Objects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").field("object_count", &self.prepared.len()).finish_non_exhaustive()
    }
}

impl<'p> Plan<'p> {
    /// Decides every record, as for a load of all programs.
    pub fn new(relocs: &'p Relocs<'p>, target: &'p Target<'p>) -> Self {
        Self::with_options(relocs, target, Options::default(), |_| true)
    }

    /// Decides the records that `is_selected` accepts.
    ///
    /// Only selected records eliminate candidates, as in libbpf. The selection can therefore change the
    /// decisions about other records.
    pub fn with_options(
        relocs: &'p Relocs<'p>,
        target: &'p Target<'p>,
        options: Options,
        is_selected: impl Fn(&Record<'_>) -> bool,
    ) -> Self {
        let mut search = CandidateSearch::default();
        let object = PreparedObject::new(relocs, &mut search, &mut AccessInterner::default());
        let found = find_candidates(&search, target);
        object.plan((target, &found), options, &is_selected, &mut MatchCache::default())
    }

    /// Plans each object on one target, in one pass over the target's types; [`Objects`] prepares objects for
    /// many targets.
    pub fn for_objects(relocs: &[&'p Relocs<'p>], target: &'p Target<'p>) -> Vec<Self> {
        Self::for_objects_with(relocs, target, Options::default())
    }

    /// Plans as [`for_objects`](Self::for_objects), with options.
    pub fn for_objects_with(
        relocs: &[&'p Relocs<'p>],
        target: &'p Target<'p>,
        options: Options,
    ) -> Vec<Self> {
        Objects::for_one_target(relocs.iter().copied()).with_options(options).plans(target)
    }
}

fn find_candidates(search: &CandidateSearch<'_>, target: &Target<'_>) -> Vec<Arc<[Candidate]>> {
    search.find_candidates(target).into_iter().map(Arc::from).collect()
}

/// The part of an object's plan that does not depend on a target.
struct PreparedObject<'o> {
    relocs: &'o Relocs<'o>,
    roots: RootTypes,
    /// The local access of each record, or the error of its access string.
    accesses: Vec<Result<LocalAccess<'o>, AccessStringError>>,
}

impl<'o> PreparedObject<'o> {
    fn new(
        relocs: &'o Relocs<'o>,
        search: &mut CandidateSearch<'o>,
        interner: &mut AccessInterner<'o>,
    ) -> Self {
        let (endian, btf) = (relocs.endian(), relocs.btf());
        let access = |record: &'o Record<'_>| {
            let spec = record.spec.as_ref().map_err(|error| *error)?;
            Ok(LocalAccess::new(endian, btf, spec, interner))
        };
        let accesses = relocs.records().iter().map(access).collect();
        Self { relocs, roots: RootTypes::new(relocs, search), accesses }
    }

    fn plan<'p>(
        &self,
        (target, found): (&'p Target<'p>, &[Arc<[Candidate]>]),
        options: Options,
        is_selected: &dyn Fn(&Record<'_>) -> bool,
        cache: &mut MatchCache,
    ) -> Plan<'p>
    where
        'o: 'p,
    {
        let lists = CandidateLists::new(&self.roots, found);
        let mut plan = Plan::without_entries(self.relocs, target, options, lists);
        decide_records(&mut plan, is_selected, &self.accesses, cache);
        plan
    }
}
