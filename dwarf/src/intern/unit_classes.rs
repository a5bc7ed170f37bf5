//! The classes of the types of one unit.

use super::classes::{ClassId, Classes};
use crate::{
    error::{EncodeError, EntryProblem},
    graph::{RecordHead, TypeRef, TypeWords},
    lower::Lowered,
};
use core_relo::btf::Kind;

/// The class of a record that is not computed yet.
const UNKNOWN: u32 = u32::MAX;
/// The class of a record that is being computed. A second visit is a cycle.
const IN_PROGRESS: u32 = u32::MAX - 1;

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
            if this.found.get(record) == Some(&UNKNOWN) {
                this.visit(record, &mut pending)?;
            }
        }
        Ok(this.found.into_iter().map(ClassId).collect())
    }

    /// Computes the class of a record after those of the records to which it refers.
    fn visit(&mut self, record: usize, pending: &mut Vec<Pending>) -> Result<(), EncodeError> {
        self.begin(record, pending);
        while let Some(Pending { record, words, last_composite }) = pending.last_mut() {
            let (record, last_composite) = (*record, *last_composite);
            let Some(at) = words.next() else {
                self.finish(record)?;
                pending.pop();
                continue;
            };
            let target = self.unit.records.get(record).get(at).copied().unwrap_or_default();
            let Some(target) = index_of(target).filter(|target| !is_cut(self.head(*target))) else {
                continue;
            };
            match self.found.get(target) {
                Some(&UNKNOWN) => self.begin(target, pending),
                // The cycle has no struct or union if the last one on the stack is before it.
                Some(&IN_PROGRESS) if last_composite < self.positions.get(target).copied() => {
                    return Err(self.unit.error(record, EntryProblem::Cycle));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, record: usize, pending: &mut Vec<Pending>) {
        if let Some(slot) = self.found.get_mut(record) {
            *slot = IN_PROGRESS;
        }
        let words = self.unit.records.get(record);
        let kind = self.head(record).kind;
        let position = pending.len();
        if let Some(slot) = self.positions.get_mut(record) {
            *slot = position;
        }
        let before = pending.last().and_then(|pending| pending.last_composite);
        let last_composite = if kind.is_composite() { Some(position) } else { before };
        pending.push(Pending { record, words: TypeWords::new(kind, words.len()), last_composite });
    }

    /// Stores the class of a record.
    fn finish(&mut self, record: usize) -> Result<(), EncodeError> {
        let words = self.unit.records.get(record);
        let head = RecordHead::new(words);
        self.key.clear();
        self.key.extend_from_slice(words);
        for at in TypeWords::new(head.kind, words.len()) {
            let target = words.get(at).copied().unwrap_or_default();
            let mut class = self.class_of(target).ok_or(EncodeError::TooManyTypes)?;
            // Structs are equal if one of them refers to a forward declaration of what the other refers to. The shard then keeps the
            // reference to the definition.
            if head.kind.is_composite() {
                class = self.classes.defined(class);
            }
            if let Some(word) = self.key.get_mut(at) {
                *word = class.0;
            }
        }
        let class = self.classes.intern(&self.key).ok_or(EncodeError::TooManyTypes)?;
        if let Some(slot) = self.found.get_mut(record) {
            *slot = class.0;
        }
        Ok(())
    }

    /// Returns the class of a reference.
    fn class_of(&mut self, target: TypeRef) -> Option<ClassId> {
        let Some(target) = index_of(target) else { return Some(ClassId::VOID) };
        let head = self.head(target);
        if is_cut(head) {
            let is_forward = head.kind == Kind::Fwd;
            let kind = if is_forward { self.declared_kind(target) } else { head.kind };
            return self.classes.intern_name(kind, head.name, is_forward);
        }
        match self.found.get(target).copied() {
            Some(class) if class < IN_PROGRESS => Some(ClassId(class)),
            // A cycle through a struct without a name. Its types are never equal to others.
            _ => self.classes.add_unique(),
        }
    }

    fn head(&self, record: usize) -> RecordHead {
        RecordHead::new(self.unit.records.get(record))
    }

    fn declared_kind(&self, forward: usize) -> Kind {
        let info = self.unit.records.get(forward).get(1).copied().unwrap_or_default();
        if info >> 31 == 1 { Kind::Union } else { Kind::Struct }
    }
}

/// Returns whether the keys of other types have the name instead of the type.
fn is_cut(head: RecordHead) -> bool {
    head.is_named_composite() || head.kind == Kind::Fwd
}

/// Returns the index of the record to which a reference refers; `None` for `void`.
pub(super) fn index_of(target: TypeRef) -> Option<usize> {
    usize::try_from(target.checked_sub(1)?).ok()
}
