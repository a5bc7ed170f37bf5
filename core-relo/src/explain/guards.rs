//! Guards: existence checks, such as `bpf_core_field_exists()`, for the accesses of a plan.

use crate::{
    TypeId,
    ext::RelocKind,
    plan::{Plan, PlannedReloc},
    relocs::Record,
    spec::Accessor,
};
use hashbrown::HashMap;

/// The first guard of each access, by function.
#[derive(Debug)]
pub(super) struct Guards<'p> {
    /// The index of the guard's record.
    records: HashMap<GuardKey<'p>, usize>,
}

/// The index of a section, the index of a function in the section, a root type, and an access. The access to
/// the type itself has no accessors.
type GuardKey<'p> = (Option<usize>, Option<usize>, TypeId, &'p [Accessor]);

impl<'p> Guards<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Self {
        let mut records = HashMap::new();
        for (record, index) in plan.relocs().records().iter().zip(0..) {
            let Ok(spec) = &record.spec else { continue };
            let is_guard = matches!(
                spec.kind,
                RelocKind::FieldExists | RelocKind::EnumvalExists | RelocKind::TypeExists
            );
            if is_guard {
                let key = (record.section_index, record.function_index, spec.root, &*spec.accessors);
                records.entry(key).or_insert(index);
            }
        }
        Self { records }
    }

    /// Returns the first guard of the record's access in the same function. The guard may come after the
    /// instruction.
    pub(super) fn find(&self, planned: &PlannedReloc<'p>) -> Option<&'p Record<'p>> {
        let (record, spec) = (planned.record(), planned.local_spec()?);
        let find = |access| {
            self.records.get(&(record.section_index, record.function_index, spec.root, access)).copied()
        };
        let access_guard = if spec.kind.is_type() { None } else { find(&*spec.accessors) };
        // A check of the type is a guard only if the target has no type of the name at all.
        let type_guard = if planned.candidate_count() == 0 { find(&[]) } else { None };
        let first = access_guard.into_iter().chain(type_guard).min()?;
        planned.plan().relocs().records().get(first)
    }
}
