//! Functions and their prototypes.

use super::{Frame, Resolver, Step, is_declaration, size::Resolved};
use crate::{
    format::Kind,
    ids::{StrOffset, TypeId},
    kernel_check::{
        checker::Part,
        name::NameError,
        records::Record,
        rule::{BtfRule, TypeIdError},
    },
};

impl<'d> Resolver<'_, 'd> {
    /// Resolves a FUNC (kernel: `btf_func_resolve`).
    pub(super) fn step_func(&mut self, frame: Frame<'d>) -> Step {
        match self.check_prototype_of(frame.record) {
            Ok(()) => Step::Pop(Resolved { id: TypeId(frame.record.third), size: 0 }),
            Err(rule) => self.fail(frame, rule),
        }
    }

    /// Checks that a function has a prototype, and a name for each parameter (kernel: `btf_func_check`).
    pub(super) fn check_prototype_of(&mut self, function: Record<'d>) -> Result<(), BtfRule> {
        let proto = TypeId(function.third);
        let record = self.record(proto).filter(|record| record.kind() == Kind::FuncProto);
        let record = record.ok_or(BtfRule::TypeId { found: proto, reason: TypeIdError::NotProto })?;
        let is_unnamed = |(_, (name, ty)): &(u32, (StrOffset, TypeId))| name.0 == 0 && *ty != TypeId::VOID;
        // Many functions can share a prototype.
        let unnamed = self.unnamed_parameters.entry(proto);
        match *unnamed.or_insert_with(|| record.params().find(is_unnamed).map(|(index, _)| index)) {
            Some(index) => Err(BtfRule::ParameterUnnamed { proto, index }),
            None => Ok(()),
        }
    }

    /// Checks the types and names of a FUNC_PROTO (kernel: `btf_func_proto_check`).
    pub(super) fn check_prototype(&mut self, id: TypeId, record: Record<'d>) {
        let found = TypeId(record.third);
        if found != TypeId::VOID
            && let Err(Some(reason)) = self.check_return_type(found)
        {
            self.report(id, record, Part::Whole, BtfRule::ReturnType { found, reason });
        }
        let last = record.info.vlen().checked_sub(1);
        for (index, (name, ty)) in record.params() {
            let part = Part::Parameter(index, name);
            // A last parameter of type `void` stands for variable arguments.
            if ty == TypeId::VOID && Some(index) == last {
                if name.0 != 0 {
                    self.report(id, record, part, BtfRule::ParameterName(NameError::Unexpected));
                }
                continue;
            }
            if let Some(rule) = self.check_parameter(name, ty) {
                self.report(id, record, part, rule);
            }
        }
    }

    /// Checks a parameter. Returns the rule that it violates, unless the violation has been reported.
    fn check_parameter(&mut self, name: StrOffset, ty: TypeId) -> Option<BtfRule> {
        let wrong_type = |reason| Some(BtfRule::ParameterType { found: ty, reason });
        match self.kind(ty) {
            None => return wrong_type(TypeIdError::Absent),
            Some(kind) if is_declaration(kind) => return wrong_type(TypeIdError::Declaration),
            Some(_) => {}
        }
        if let Err(error) = self.checker.check_optional_identifier(name) {
            return Some(BtfRule::ParameterName(error));
        }
        match self.check_value_type(ty) {
            Err(Some(reason)) => wrong_type(reason),
            Ok(()) | Err(None) => None,
        }
    }

    /// Checks the type that a function returns.
    fn check_return_type(&mut self, id: TypeId) -> Result<(), Option<TypeIdError>> {
        if self.checker.rules.checks_return_kind && self.kind(id).is_some_and(is_declaration) {
            return Err(Some(TypeIdError::Declaration));
        }
        self.check_value_type(id)
    }

    /// Checks that a type has a size, after it was resolved. The error is `None` if the violation has been
    /// reported.
    fn check_value_type(&mut self, id: TypeId) -> Result<(), Option<TypeIdError>> {
        let kind = self.kind(id).ok_or(Some(TypeIdError::Absent))?;
        if self.needs_resolution(kind) && !self.is_resolved(id) {
            let is_failed = self.progress(id) == super::Progress::Failed;
            if is_failed || !self.resolve(id) {
                return Err(None);
            }
        }
        match self.sized(id) {
            Some(_) => Ok(()),
            None if kind == Kind::Void => Err(Some(TypeIdError::Void)),
            None => Err(Some(TypeIdError::NoSize)),
        }
    }
}
