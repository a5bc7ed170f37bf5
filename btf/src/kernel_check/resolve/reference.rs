//! Pointers, modifiers, variables and tags.

use super::{Frame, Resolver, Step, is_declaration, size::Resolved};
use crate::{
    endian::signed32,
    format::Kind,
    ids::TypeId,
    kernel_check::rule::{BtfRule, TypeIdError},
};

impl<'d> Resolver<'_, 'd> {
    /// Resolves a PTR, modifier or VAR (kernel: `btf_ptr_resolve`, `btf_modifier_resolve`,
    /// `btf_var_resolve`).
    pub(super) fn step_reference(&mut self, frame: Frame<'d>) -> Step {
        let kind = frame.record.kind();
        let found = TypeId(frame.record.third);
        let target = match self.kind(found) {
            None => Err(TypeIdError::Absent),
            Some(target) if is_declaration(target) => Err(TypeIdError::Declaration),
            Some(target) => Ok(target),
        };
        let target = match target {
            Ok(target) => target,
            Err(reason) => return self.fail(frame, BtfRule::TypeId { found, reason }),
        };
        if let Some(step) = self.step_before(found, target) {
            return step;
        }
        // A modifier that was resolved as a part of a struct ends at a pointer, which is not resolved yet.
        if target.is_modifier_or_typedef() && matches!(kind, Kind::Ptr | Kind::Var) {
            let pointer = self.resolved_id(found);
            if self.kind(pointer) == Some(Kind::Ptr)
                && let Some(step) = self.step_before(pointer, Kind::Ptr)
            {
                return step;
            }
        }
        if let Some(sized) = self.sized(found) {
            return Step::Pop(Resolved { id: sized.id, size: 0 });
        }
        // A variable needs a size. A pointer or modifier may lead to `void`, a forward declaration or a
        // function.
        let end = if self.is_resolved(found) { self.resolved_id(found) } else { found };
        let is_allowed = matches!(self.kind(end), Some(Kind::Void | Kind::Fwd | Kind::FuncProto));
        if kind == Kind::Var || !is_allowed {
            return self.fail(frame, BtfRule::TypeId { found, reason: TypeIdError::NoSize });
        }
        Step::Pop(Resolved { id: end, size: 0 })
    }

    /// Resolves a DECL_TAG (kernel: `btf_decl_tag_resolve`).
    pub(super) fn step_decl_tag(&mut self, frame: Frame<'d>) -> Step {
        let found = TypeId(frame.record.third);
        let target = match self.record(found) {
            Some(target) if is_taggable(target.kind()) => target,
            Some(_) => return self.fail(frame, BtfRule::TypeId { found, reason: TypeIdError::NotTaggable }),
            None if found == TypeId::VOID => {
                return self.fail(frame, BtfRule::TypeId { found, reason: TypeIdError::NotTaggable });
            }
            None => return self.fail(frame, BtfRule::TypeId { found, reason: TypeIdError::Absent }),
        };
        if let Some(step) = self.step_before(found, target.kind()) {
            return step;
        }
        let component = signed32(frame.record.linkage_or_component());
        let components = match target.kind() {
            Kind::Var | Kind::Typedef => 0,
            Kind::Func => self.record(TypeId(target.third)).map_or(0, |proto| proto.info.vlen()),
            _ => target.info.vlen(),
        };
        if component != -1 && component.cast_unsigned() >= components {
            return self.fail(frame, BtfRule::Component { found: component, components });
        }
        Step::Pop(Resolved { id: found, size: 0 })
    }
}

/// Returns whether types of this kind may have declaration tags (kernel: `btf_type_is_decl_tag_target`).
const fn is_taggable(kind: Kind) -> bool {
    matches!(kind, Kind::Func | Kind::Struct | Kind::Union | Kind::Var | Kind::Typedef)
}
