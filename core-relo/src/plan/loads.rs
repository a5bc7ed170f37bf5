//! Plans of objects whose programs belong to several loads.

use super::{
    decide::decide_loads,
    entries::Plan,
    local_access::{AccessInterner, LocalAccess},
    planned::PlannedReloc,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

impl Plan<'_> {
    /// Returns whether a record eliminated a candidate. If none did, the decision about a record is the same
    /// in every load that has the record.
    pub fn depends_on_selection(&self) -> bool {
        self.lists.any_narrowed()
    }

    /// Returns whether the decision about a record depends on the other records of a load: a record of the
    /// same root type eliminated a candidate.
    pub fn is_selection_dependent(&self, record_index: usize) -> bool {
        let record = self.relocs().records().get(record_index);
        record.is_some_and(|record| self.lists.is_narrowed(record.relo.root))
    }

    /// Returns the plan of several loads, such as the default load of an object, and each other program by
    /// itself. `self` is a plan of all records.
    ///
    /// A load has the indices of its records in [`Relocs::records`](crate::Relocs::records), in order.
    /// Records eliminate candidates for records of the same load only. The decision about a record is that of
    /// the first load that has the record; [`get_in_load`](Self::get_in_load) returns those of other loads.
    #[must_use]
    pub fn split_by_loads(&self, loads: &[Vec<usize>]) -> Self {
        let mut plan = self.clone();
        plan.other_loads.clear();
        let (records, btf, endian) = (self.relocs().records(), self.relocs().btf(), self.relocs().endian());
        // The other records are decided by themselves.
        let is_dependent = |index: &usize| self.is_selection_dependent(*index);
        let dependent = |load: &Vec<usize>| load.iter().copied().filter(is_dependent).collect();
        let loads: Vec<Vec<usize>> = loads.iter().map(dependent).collect();
        let (mut interner, mut accesses) = (AccessInterner::default(), HashMap::new());
        for index in loads.iter().flatten() {
            let Some(record) = records.get(*index).filter(|_| !accesses.contains_key(index)) else {
                continue;
            };
            let access = record.spec.as_ref().map_err(|error| *error);
            let access = access.map(|spec| LocalAccess::new(endian, btf, spec, &mut interner));
            accesses.insert(*index, access);
        }
        decide_loads(&mut plan, &loads, &accesses);
        plan
    }

    /// Returns a record and the decision about it in a load of [`split_by_loads`](Self::split_by_loads). In a
    /// plan of one load, this is [`get`](Self::get).
    pub fn get_in_load(&self, load: usize, record_index: usize) -> Option<PlannedReloc<'_>> {
        let planned = self.get(record_index)?;
        Some(match self.other_loads.get(&(load, record_index)) {
            Some(entry) => planned.with_entry(entry),
            None => planned,
        })
    }
}
