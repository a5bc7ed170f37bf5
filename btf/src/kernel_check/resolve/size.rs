//! The size of a type, through modifiers.

use super::{Progress, Resolver, has_no_size};
use crate::{format::Kind, ids::TypeId};

/// The result of resolving a type.
#[derive(Clone, Copy, Default)]
pub(super) struct Resolved {
    /// The type under the modifiers, or 0.
    pub(super) id: TypeId,
    /// The size of an array in bytes, else 0.
    pub(super) size: u32,
}

/// A type with a size.
#[derive(Clone, Copy)]
pub(super) struct Sized {
    pub(super) id: TypeId,
    pub(super) kind: Kind,
    pub(super) bytes: u32,
}

impl Resolver<'_, '_> {
    /// Returns the type with a size under a type (kernel: `btf_type_id_size`).
    pub(super) fn sized(&self, id: TypeId) -> Option<Sized> {
        let kind = self.kind(id)?;
        if let Some(sized) = self.own_size(id, kind) {
            return Some(sized);
        }
        if !kind.is_modifier_or_typedef() && kind != Kind::Var {
            return None;
        }
        let id = self.resolved_id(id);
        self.own_size(id, self.kind(id)?)
    }

    /// Returns a type that is no modifier with its size.
    fn own_size(&self, id: TypeId, kind: Kind) -> Option<Sized> {
        if has_no_size(kind) {
            return None;
        }
        let bytes = match kind {
            Kind::Int
            | Kind::Struct
            | Kind::Union
            | Kind::Enum
            | Kind::Enum64
            | Kind::Datasec
            | Kind::Float => self.record(id)?.third,
            Kind::Array => self.resolved.get(id.index())?.size,
            Kind::Ptr => self.checker.rules.pointer_bytes,
            _ => return None,
        };
        Some(Sized { id, kind, bytes })
    }

    /// Returns the type to which a type was resolved, or `void`.
    pub(super) fn resolved_id(&self, id: TypeId) -> TypeId {
        self.resolved.get(id.index()).map_or(TypeId::VOID, |resolved| resolved.id)
    }

    /// Returns whether the result of resolving a type is one that the kernel expects (kernel:
    /// `btf_resolve_valid`).
    pub(super) fn is_consistent(&self, id: TypeId) -> bool {
        debug_assert!(self.progress(id) == Progress::Resolved, "only resolved types are compared");
        let resolved = self.resolved_id(id);
        match self.kind(id) {
            Some(Kind::DeclTag | Kind::Func) => resolved != TypeId::VOID,
            Some(Kind::Ptr | Kind::Var) => self.is_final(resolved),
            Some(kind) if kind.is_modifier_or_typedef() => self.is_final(resolved),
            _ => true,
        }
    }

    /// Returns whether a type may be the result of resolving another.
    fn is_final(&self, id: TypeId) -> bool {
        self.kind(id)
            .is_some_and(|kind| !kind.is_modifier_or_typedef() && !matches!(kind, Kind::Var | Kind::Datasec))
    }
}
