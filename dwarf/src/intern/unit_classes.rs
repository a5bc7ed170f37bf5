//! The classes of the types of one unit.

use super::classes::{ClassId, Classes};
use crate::{
    error::{EncodeError, EntryProblem},
    graph::{Record, TypeRef, TypeWords},
    lower::Lowered,
};
use core_relo::{InternalError, internal::Invariant as _};

/// The class of a record that is not computed yet.
const UNKNOWN: u32 = u32::MAX;
/// The class of a record that is being computed. A second visit is a cycle.
const IN_PROGRESS: u32 = u32::MAX - 1;

const HAS_CLASS: &str = "a reference leads to a record of the unit";

/// A record whose references are being followed, and the remaining references.
struct Pending {
    record: usize,
    words: TypeWords,
    /// The position on the stack of the last struct or union, this record included.
    last_composite: Option<usize>,
}

/// Computes the classes of the records of a unit.
pub(super) struct UnitClasses<'a> {
    unit: &'a Lowered,
    classes: &'a mut Classes,
    /// The class of each record.
    found: Vec<u32>,
    /// The position on the stack of each record that is being computed.
    positions: Vec<usize>,
    key: Vec<u32>,
}

impl<'a> UnitClasses<'a> {
    /// Returns the class of each record.
    pub(super) fn compute(unit: &'a Lowered, classes: &'a mut Classes) -> Result<Vec<ClassId>, EncodeError> {
        let found = vec![UNKNOWN; unit.records.len()];
        let positions = vec![0; unit.records.len()];
        let mut this = Self { unit, classes, found, positions, key: Vec::new() };
        let mut pending = Vec::new();
        for record in 0..unit.records.len() {
            if this.found(record)? == UNKNOWN {
                this.visit(record, &mut pending)?;
            }
        }
        Ok(this.found.into_iter().map(ClassId).collect())
    }

    /// Computes the class of a record after those of the records to which it refers.
    fn visit(&mut self, record: usize, pending: &mut Vec<Pending>) -> Result<(), EncodeError> {
        self.begin(record, pending)?;
        while let Some(Pending { record, words, last_composite }) = pending.last_mut() {
            let (record, last_composite) = (*record, *last_composite);
            let Some(at) = words.next() else {
                self.finish(record)?;
                pending.pop();
                continue;
            };
            let Some(target) = index_of(self.record(record)?.word(at)?)? else { continue };
            if is_cut(self.record(target)?) {
                continue;
            }
            match self.found(target)? {
                UNKNOWN => self.begin(target, pending)?,
                IN_PROGRESS => {
                    let position = *self.positions.get(target).invariant(HAS_CLASS)?;
                    // The cycle has no struct or union if the last one on the stack is before it.
                    if last_composite.is_none_or(|composite| composite < position) {
                        return Err(self.unit.error(record, EntryProblem::Cycle));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, record: usize, pending: &mut Vec<Pending>) -> Result<(), InternalError> {
        let view = self.record(record)?;
        let position = pending.len();
        *self.found.get_mut(record).invariant(HAS_CLASS)? = IN_PROGRESS;
        *self.positions.get_mut(record).invariant(HAS_CLASS)? = position;
        let before = pending.last().and_then(|pending| pending.last_composite);
        let last_composite = if view.kind().is_composite() { Some(position) } else { before };
        pending.push(Pending { record, words: view.type_words(), last_composite });
        Ok(())
    }

    /// Stores the class of a record.
    fn finish(&mut self, index: usize) -> Result<(), EncodeError> {
        let record = self.record(index)?;
        let is_composite = record.kind().is_composite();
        let mut key = core::mem::take(&mut self.key);
        record.copy_with_targets(&mut key, |target| {
            let class = self.class_of(target)?;
            // Structs are equal if one of them refers to a forward declaration of what the other refers to.
            // The shard then keeps the reference to the definition.
            let class = if is_composite { self.classes.defined(class)? } else { class };
            Ok::<_, EncodeError>(class.0)
        })?;
        let class = self.classes.intern(&key)?;
        self.key = key;
        *self.found.get_mut(index).invariant(HAS_CLASS)? = class.0;
        Ok(())
    }

    /// Returns the class of a reference.
    fn class_of(&mut self, target: TypeRef) -> Result<ClassId, EncodeError> {
        let Some(target) = index_of(target)? else { return Ok(ClassId::VOID) };
        let record = self.record(target)?;
        if is_cut(record) {
            return self.classes.intern_name(record.tag_kind(), record.name, record.is_declaration());
        }
        match self.found(target)? {
            // A cycle through a struct without a name. Its types are never equal to others.
            UNKNOWN | IN_PROGRESS => self.classes.add_unique(),
            class => Ok(ClassId(class)),
        }
    }

    fn record(&self, index: usize) -> Result<Record<'a>, InternalError> {
        self.unit.records.get(index)
    }

    fn found(&self, record: usize) -> Result<u32, InternalError> {
        self.found.get(record).copied().invariant(HAS_CLASS)
    }
}

/// Returns whether the keys of other types have the name instead of the type.
fn is_cut(record: Record<'_>) -> bool {
    record.is_named_definition() || record.is_declaration()
}

/// Returns the index of the record to which a reference refers; `None` for `void`.
pub(super) fn index_of(target: TypeRef) -> Result<Option<usize>, InternalError> {
    target.checked_sub(1).map(usize::try_from).transpose().invariant("32 bits fit an index")
}
