//! An access from a root type through members and array elements.

use super::inline_vec::InlineVec;
use crate::{
    BitOffset, Name, TypeId,
    btf::{Btf, Type},
    ext::RelocKind,
};

/// One step of an access: the first index, a named member, an array element, or an enumerator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Accessor {
    /// The composite of a named member, the element type of an index, or the enumeration; without modifiers
    /// and typedefs.
    pub ty: TypeId,
    /// The index of the member, element or enumerator.
    pub index: u32,
    /// Whether the step is a named member or an enumerator.
    pub named: bool,
}

/// An access in one BTF (libbpf: `struct bpf_core_spec`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spec {
    /// The type that the access starts from, with its modifiers and typedefs.
    pub root: TypeId,
    /// The relocation kind.
    pub kind: RelocKind,
    /// The steps, without anonymous members; empty for a relocation of a type as a whole.
    pub accessors: InlineVec<Accessor>,
    /// The parts of the access string, anonymous members included.
    pub raw: InlineVec<u32>,
    /// The offset of the accessed field, in bits from the start of the root type.
    pub bit_offset: BitOffset,
}

impl Spec {
    /// Creates the access to the root type itself.
    pub(crate) fn new(root: TypeId, kind: RelocKind) -> Self {
        Self { root, kind, accessors: InlineVec::new(), raw: InlineVec::new(), bit_offset: BitOffset(0) }
    }

    /// Adds to the offset; 32 bits wrap, as in libbpf.
    pub(crate) fn advance(&mut self, bits: u32) {
        self.bit_offset = BitOffset(self.bit_offset.0.wrapping_add(bits));
    }
}

impl Accessor {
    /// Returns the name of the member or enumerator; `None` for an index.
    pub fn name<'b>(&self, btf: &'b Btf<'_>) -> Option<Name<'b>> {
        let ty = btf.ty(self.ty).filter(|_| self.named)?;
        let member = ty.member(self.index).map(|member| member.name);
        member.or_else(|| ty.enumerator(self.index).map(|enumerator| enumerator.name))
    }

    /// Returns whether the member of this accessor is a flexible array, if its type is an array of `nelems`
    /// elements.
    ///
    /// A flexible array has length 0 and is the last member of its struct or union (libbpf: `is_flex_arr`).
    pub(crate) fn is_flexible_array(&self, btf: &Btf<'_>, nelems: u32) -> bool {
        let is_last = |ty: Type<'_>| self.index.checked_add(1) == Some(ty.vlen());
        self.named && nelems == 0 && btf.ty(self.ty).is_some_and(is_last)
    }
}
