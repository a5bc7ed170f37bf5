//! Records that ask whether something exists: guards of the instructions that access it.

use crate::{
    ext::RelocKind,
    ids::TypeId,
    plan::{Plan, Planned},
    relocs::Record,
    spec::Accessor,
};
use hashbrown::HashMap;

/// The guards of a plan's records, by what they ask and where.
#[derive(Debug)]
pub(super) struct Guards<'p>(HashMap<Asked<'p>, usize>);

/// A function, by its section and its place there; a root type; the access, which is empty for the type itself.
type Asked<'p> = (Option<usize>, Option<usize>, TypeId, &'p [Accessor]);

impl<'p> Guards<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        let mut guards = HashMap::new();
        for (record, number) in plan.relocs().records().iter().zip(0..) {
            let Ok(spec) = &record.spec else { continue };
            let asks = matches!(
                spec.kind,
                RelocKind::FieldExists | RelocKind::EnumvalExists | RelocKind::TypeExists
            );
            if asks {
                let asked = (record.code, record.function, spec.root, &*spec.accessors);
                guards.entry(asked).or_insert(number);
            }
        }
        Self(guards)
    }

    /// The first record of the same function that asks whether the thing exists: a guard, if this instruction lies behind it.
    pub(super) fn find(&self, planned: &Planned<'p>) -> Option<&'p Record<'p>> {
        let (record, spec) = (planned.record(), planned.local_spec()?);
        let find = |access| self.0.get(&(record.code, record.function, spec.root, access)).copied();
        let of_access = if spec.kind.is_type() { None } else { find(&*spec.accessors) };
        // The type's existence says something where there is no type of the name at all.
        let of_type = if planned.candidate_count() == 0 { find(&[]) } else { None };
        let first = of_access.into_iter().chain(of_type).min()?;
        planned.plan().relocs().records().get(first)
    }
}
