//! An access, spelled out: from a root type through members and array elements.

mod parse;
mod parts;
mod text;

pub use parse::SpecError;
pub use parts::Parts;
pub use text::{AccessText, SpecText};

pub(crate) use parse::local;

use crate::{
    btf::{Btf, Type},
    ext::RelocKind,
    ids::{BitOffset, TypeId},
    name::Name,
};

/// One meaningful step of an access: the first index, a named member, an array element, an enumerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Accessor {
    /// Of a named member, the composite that holds it; of an index, the element's type; of an enumerator, the enum. Stripped.
    pub ty: TypeId,
    /// The member's, element's or enumerator's number.
    pub index: u32,
    /// Whether it is a named member or an enumerator.
    pub named: bool,
}

/// An access in one BTF (libbpf: `struct bpf_core_spec`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spec {
    /// The type the access starts from, modifiers and all.
    pub root: TypeId,
    /// The question it was made for.
    pub kind: RelocKind,
    /// The meaningful steps; empty for a question about a type.
    pub accessors: Parts<Accessor>,
    /// The steps one by one, anonymous members included, as in the access string.
    pub raw: Parts<u32>,
    /// Where the access ends up, in bits from the start of the root.
    pub bit_offset: BitOffset,
}

impl Spec {
    pub(crate) fn of_root(root: TypeId, kind: RelocKind) -> Self {
        Self { root, kind, accessors: Parts::new(), raw: Parts::new(), bit_offset: BitOffset(0) }
    }

    /// Adds to the offset; 32 bits wrap, as in libbpf.
    pub(crate) fn advance(&mut self, bits: u32) {
        self.bit_offset = BitOffset(self.bit_offset.0.wrapping_add(bits));
    }

    /// The text form, given the BTF the spec was made in.
    pub fn text<'s>(&'s self, btf: &'s Btf<'_>) -> SpecText<'s> {
        SpecText::new(self, btf)
    }

    /// The access as C writes it, `task->mm->pgd` without the variable: `struct task_struct.mm`.
    pub fn access_text<'s>(&'s self, btf: &'s Btf<'_>) -> AccessText<'s> {
        AccessText::new(self, btf)
    }
}

impl Accessor {
    /// The name of the member or enumerator; empty for an index.
    pub fn name<'b>(&self, btf: &'b Btf<'_>) -> Name<'b> {
        if !self.named {
            return Name::default();
        }
        let ty = btf.ty(self.ty);
        let member = ty.and_then(|ty| ty.member(self.index)).map(|m| m.name);
        member.or_else(|| ty.and_then(|ty| ty.enumerator(self.index)).map(|v| v.name)).unwrap_or_default()
    }

    /// Whether an array of `nelems`, reached by this accessor, may be indexed beyond: it has no length and is the last
    /// member of its struct or union (libbpf: `is_flex_arr`).
    pub(crate) fn makes_flexible(&self, btf: &Btf<'_>, nelems: u32) -> bool {
        let last = |ty: Type<'_>| self.index.checked_add(1) == Some(ty.vlen());
        self.named && nelems == 0 && btf.ty(self.ty).is_some_and(last)
    }
}
