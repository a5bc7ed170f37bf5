//! Objects that meet many targets: their side of the plans, prepared once.

use super::{
    Options, Plan, decide,
    lists::{CandidateLists, Roots},
    shared::{Followed, Known, Local, Questions},
};
use crate::{
    limits,
    relocs::{Record, Relocs},
    resolve::{Candidate, candidates::Search},
    spec::SpecError,
    target::Target,
};
use alloc::{sync::Arc, vec::Vec};

/// Objects, prepared to be planned together on any number of targets.
///
/// What they look for in a target is found in one pass over its types, and what their records have in common is followed
/// there once. Each object comes to what [`Plan::new`] comes to.
///
/// ```
/// # use core_relo::{Relocs, Target, plan::Objects};
/// # fn check(objects: &[Relocs<'_>], kernels: &[Target<'_>]) {
/// let objects = Objects::new(objects);
/// for kernel in kernels {
///     let clean = objects.plans(kernel).iter().filter(|plan| plan.summary().is_clean()).count();
///     println!("{}: {clean} objects are clean", kernel.main().name);
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Objects<'o> {
    objects: Vec<Prepared<'o>>,
    search: Search<'o>,
}

impl<'o> Objects<'o> {
    /// Prepares objects.
    pub fn new(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let mut prepared = Self::for_one_target(objects);
        prepared.search.prepare();
        prepared
    }

    pub(super) fn for_one_target(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let (mut search, mut questions) = (Search::default(), Questions::default());
        let prepare = |relocs| Prepared::new(relocs, &mut search, &mut questions);
        let objects = objects.into_iter().map(prepare).collect();
        Self { objects, search }
    }

    /// The plan of each object on a target.
    pub fn plans<'p>(&self, target: &'p Target<'p>) -> Vec<Plan<'p>>
    where
        'o: 'p,
    {
        let (found, mut followed) = (found(&self.search, target), Followed::default());
        let plan = |object: &Prepared<'o>| {
            object.plan((target, &found), Options::default(), &|_| true, &mut followed)
        };
        self.objects.iter().map(plan).collect()
    }
}

/// The plan of one object on one target.
pub(super) fn plan<'p>(
    relocs: &'p Relocs<'p>,
    target: &'p Target<'p>,
    options: Options,
    selected: &dyn Fn(&Record<'_>) -> bool,
) -> Plan<'p> {
    let mut search = Search::default();
    let object = Prepared::new(relocs, &mut search, &mut Questions::default());
    object.plan((target, &found(&search, target)), options, selected, &mut Followed::default())
}

/// The candidates of all that is looked for.
fn found(search: &Search<'_>, target: &Target<'_>) -> Vec<Arc<[Candidate]>> {
    search.find(target).into_iter().map(Arc::from).collect()
}

/// What of an object does not depend on a target.
#[derive(Debug)]
struct Prepared<'o> {
    relocs: &'o Relocs<'o>,
    roots: Roots,
    /// What is known of each record, if what it accesses can be said.
    known: Vec<Result<Known<'o>, SpecError>>,
}

impl<'o> Prepared<'o> {
    fn new(relocs: &'o Relocs<'o>, search: &mut Search<'o>, questions: &mut Questions) -> Self {
        let (endian, btf) = (relocs.endian(), relocs.btf());
        let known = |record: &'o Record<'_>| {
            let spec = record.spec.as_ref().map_err(|error| *error)?;
            Ok(Known::new(Local { endian, btf, spec }, questions))
        };
        Self {
            relocs,
            known: relocs.records().iter().map(known).collect(),
            roots: Roots::new(relocs, search),
        }
    }

    fn plan<'p>(
        &self,
        (target, found): (&'p Target<'p>, &[Arc<[Candidate]>]),
        options: Options,
        selected: &dyn Fn(&Record<'_>) -> bool,
        followed: &mut Followed,
    ) -> Plan<'p>
    where
        'o: 'p,
    {
        let lists = CandidateLists::new(&self.roots, found);
        let mut plan = Plan {
            relocs: self.relocs,
            target,
            options,
            lists,
            steps_left: limits::PLAN_STEPS,
            entries: Vec::new(),
        };
        decide::all(&mut plan, selected, (&self.known, followed));
        plan
    }
}
