//! Types with parts: arrays, structs, unions and sections.

use super::{Frame, Progress, Resolver, Step, has_no_size, is_declaration, size::Resolved};
use crate::{
    format::Kind,
    ids::TypeId,
    kernel_check::{
        checker::Part,
        records::RawEntry,
        rule::{BtfRule, TypeIdError},
    },
};

impl<'d> Resolver<'_, 'd> {
    /// Resolves an ARRAY (kernel: `btf_array_resolve`).
    pub(super) fn step_array(&mut self, frame: Frame<'d>) -> Step {
        let array = frame.record.array();
        let found = array.index;
        let index_error = |reason| BtfRule::ArrayIndex { found, reason };
        let kind = match self.part_kind(found) {
            Ok(kind) => kind,
            Err(reason) => return self.fail(frame, index_error(reason)),
        };
        if let Some(step) = self.step_before(found, kind) {
            return step;
        }
        if !self.sized(found).is_some_and(|index| index.kind == Kind::Int && self.is_regular(index.id)) {
            return self.fail(frame, index_error(TypeIdError::NotInt));
        }
        let found = array.element;
        let element_error = |reason| BtfRule::ArrayElement { found, reason };
        let kind = match self.part_kind(found) {
            Ok(kind) => kind,
            Err(reason) => return self.fail(frame, element_error(reason)),
        };
        if let Some(step) = self.step_before(found, kind) {
            return step;
        }
        let Some(element) = self.sized(found) else {
            return self.fail(frame, element_error(TypeIdError::NoSize));
        };
        if element.kind == Kind::Int && !self.is_regular(element.id) {
            return self.fail(frame, BtfRule::ArrayOfInt);
        }
        let Some(size) = element.bytes.checked_mul(array.nelems) else {
            return self.fail(frame, BtfRule::ArrayOverflow { nelems: array.nelems, size: element.bytes });
        };
        Step::Pop(Resolved { id: element.id, size })
    }

    /// Resolves a STRUCT or UNION, member by member (kernel: `btf_struct_resolve`).
    pub(super) fn step_composite(&mut self, frame: &mut Frame<'d>) -> Step {
        for (index, member) in frame.record.members(frame.next_element) {
            let found = member.ty;
            let rule = match self.part_kind(found) {
                Err(reason) => Some(BtfRule::MemberType { found, reason }),
                Ok(kind) => match self.step_before(found, kind) {
                    Some(Step::Push(id)) => {
                        frame.next_element = index;
                        return Step::Push(id);
                    }
                    Some(_) => {
                        frame.has_failed = true;
                        None
                    }
                    None => self.check_member(frame.record, member).err(),
                },
            };
            if let Some(rule) = rule {
                frame.has_failed = true;
                self.report(frame.id, frame.record, Part::Member(index, member.name), rule);
            }
        }
        Step::Pop(Resolved::default())
    }

    /// Resolves a DATASEC, entry by entry (kernel: `btf_datasec_resolve`).
    pub(super) fn step_section(&mut self, frame: &mut Frame<'d>) -> Step {
        self.mode = super::Mode::Undecided;
        for (index, entry) in frame.record.entries(frame.next_element) {
            let is_var = self.kind(entry.ty) == Some(Kind::Var);
            let rule = match self.progress(entry.ty) {
                _ if !is_var => Some(BtfRule::EntryNotVar { found: entry.ty }),
                Progress::NotVisited | Progress::Visited => {
                    frame.next_element = index;
                    return Step::Push(entry.ty);
                }
                Progress::Resolved => self.check_entry(entry, frame.record.third).err(),
                Progress::Failed => {
                    frame.has_failed = true;
                    None
                }
            };
            if let Some(rule) = rule {
                frame.has_failed = true;
                self.report(frame.id, frame.record, Part::Entry(index, entry.ty), rule);
            }
        }
        Step::Pop(Resolved::default())
    }

    /// Checks that an entry of a section has the size of its variable at least.
    fn check_entry(&self, entry: RawEntry, section: u32) -> Result<(), BtfRule> {
        let ty = self.record(entry.ty).map_or(TypeId::VOID, |var| TypeId(var.third));
        let variable = self.sized(ty).ok_or(BtfRule::EntryType { found: entry.ty })?;
        if entry.size < variable.bytes {
            let at_least = variable.bytes;
            return Err(BtfRule::EntrySize { found: entry.size, at_least, at_most: section });
        }
        Ok(())
    }

    /// Returns the kind of the type of a member or element, which must have a size or refer to a type with a
    /// size.
    fn part_kind(&self, id: TypeId) -> Result<Kind, TypeIdError> {
        match self.kind(id) {
            None => Err(TypeIdError::Absent),
            Some(kind) if has_no_size(kind) => Err(TypeIdError::NoSize),
            Some(kind) if is_declaration(kind) => Err(TypeIdError::Declaration),
            Some(kind) => Ok(kind),
        }
    }

    /// Returns whether an INT fills 1, 2, 4, 8 or 16 bytes.
    fn is_regular(&self, id: TypeId) -> bool {
        self.record(id).is_some_and(|record| record.int().is_regular())
    }
}
