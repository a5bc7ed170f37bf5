//! The kernels of a set that have what others lack.

use crate::cmd::verdicts::kernel_judge::KernelCase;
use core_relo::plan::Decision;
use core_relo_kernels::KernelRelease;
use core_relo_verdict::{judge::Requirement, kernel::KernelVersion, requirements::NeedId};
use std::collections::HashMap;

/// For each requirement of the objects, the first and the last kernel of a set that meets it.
#[derive(Debug, Default)]
pub(super) struct Availability {
    kernels: Vec<RankedKernel>,
    needs: HashMap<NeedId, Span>,
    /// By the index of the object and of the record.
    records: HashMap<(usize, usize), Span>,
}

/// A kernel of the set, with the version in its name.
#[derive(Debug)]
struct RankedKernel {
    name: String,
    version: Option<KernelVersion>,
}

/// The first and the last kernel in the order of versions. Kernels without a version are in the order of the
/// arguments.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    last: usize,
}

/// The neighbours of a kernel that lacks something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours<'a> {
    /// The first kernel of the set that has it. All kernels of the set that have it are newer.
    pub(crate) first: Option<&'a str>,
    /// The last kernel of the set that has it. All kernels of the set that have it are older.
    pub(crate) last: Option<&'a str>,
}

impl Availability {
    /// Adds a kernel, and returns its index.
    pub(super) fn add(&mut self, name: &str, case: &KernelCase<'_, '_>) -> usize {
        let kernel = self.kernels.len();
        self.kernels
            .push(RankedKernel { name: name.to_owned(), version: KernelRelease::from_name(name).version });
        for (need, answer) in case.answers.iter() {
            if answer.is_present() {
                extend(&mut self.needs, need, kernel, &self.kernels);
            }
        }
        for (object, planned) in case.objects.iter().enumerate() {
            let Ok(plan) = &planned.plan else { continue };
            for reloc in plan.plan().iter() {
                if matches!(reloc.decision(), Ok(Decision::Keep { .. } | Decision::Patch { .. })) {
                    extend(&mut self.records, (object, reloc.record_index()), kernel, &self.kernels);
                }
            }
        }
        kernel
    }

    /// Returns the neighbours of a kernel that lacks a requirement of an object.
    pub(super) fn neighbours(&self, kernel: usize, object: usize, lacks: Requirement) -> Neighbours<'_> {
        let span = match lacks {
            Requirement::Need(need)
            | Requirement::MapNeed { need, .. }
            | Requirement::StructOpsMember { need, .. } => self.needs.get(&need),
            Requirement::Relocation(record) => self.records.get(&(object, record)),
            _ => None,
        };
        let Some(span) = span else { return Neighbours::default() };
        let rank = |kernel: usize| self.kernels.get(kernel).map(|known| (known.version, kernel));
        let name = |kernel: usize| self.kernels.get(kernel).map(|known| known.name.as_str());
        Neighbours {
            first: name(span.first).filter(|_| rank(span.first) > rank(kernel)),
            last: name(span.last).filter(|_| rank(span.last) < rank(kernel)),
        }
    }
}

fn extend<K: Eq + std::hash::Hash>(
    spans: &mut HashMap<K, Span>,
    key: K,
    kernel: usize,
    kernels: &[RankedKernel],
) {
    let rank = |kernel: usize| kernels.get(kernel).map(|known| (known.version, kernel));
    let span = spans.entry(key).or_insert(Span { first: kernel, last: kernel });
    if rank(kernel) < rank(span.first) {
        span.first = kernel;
    }
    if rank(kernel) > rank(span.last) {
        span.last = kernel;
    }
}
