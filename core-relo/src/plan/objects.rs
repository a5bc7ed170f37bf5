//! Objects that meet many targets: their side of the plans, prepared once.

use super::{
    Options, Plan,
    lists::{CandidateLists, Roots},
    shared::{Followed, Known, Local, Questions},
};
use crate::{
    relocs::{Record, Relocs},
    resolve::candidates::Search,
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

#[derive(Debug)]
struct Prepared<'o> {
    relocs: &'o Relocs<'o>,
    roots: Roots,
    /// What is known of each record; of a bad one nothing.
    known: Vec<Option<Known>>,
}

impl<'o> Objects<'o> {
    /// Prepares objects.
    pub fn new(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let mut prepared = Self::of(objects);
        prepared.search.prepare();
        prepared
    }

    /// Prepares them for one target.
    pub(super) fn of(objects: impl IntoIterator<Item = &'o Relocs<'o>>) -> Self {
        let (mut search, mut questions) = (Search::default(), Questions::default());
        let mut prepare = |relocs: &'o Relocs<'o>| {
            let known = |record: &'o Record<'_>| {
                let spec = record.spec.as_ref().ok()?;
                let local = Local { endian: relocs.endian(), btf: relocs.btf(), spec };
                Some(Known { question: questions.number(local), local: local.answer() })
            };
            let known = relocs.records().iter().map(known).collect();
            Prepared { relocs, roots: Roots::new(relocs, &mut search), known }
        };
        let objects = objects.into_iter().map(&mut prepare).collect();
        Self { objects, search }
    }

    /// The plan of each object on a target.
    pub fn plans<'p>(&self, target: &'p Target<'p>) -> Vec<Plan<'p>>
    where
        'o: 'p,
    {
        let found: Vec<Arc<[_]>> = self.search.find(target).into_iter().map(Arc::from).collect();
        let mut followed = Followed::default();
        let mut plan = |object: &Prepared<'o>| {
            let lists = CandidateLists::new(&object.roots, &found);
            let shared = (&*object.known, &mut followed);
            Plan::decided(object.relocs, target, Options::default(), lists, &|_| true, shared)
        };
        self.objects.iter().map(&mut plan).collect()
    }
}
