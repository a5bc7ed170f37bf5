//! The mark of a minimal BTF, so that the absence of a type in it is not taken for its absence in the kernel.

use crate::{
    TypeId,
    btf::{Btf, Builder, Kind},
};

/// The purpose for which a minimal BTF was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MinimalBtf {
    /// For the relocations and the attach targets of some objects.
    ForLoading,
    /// Also for verdicts on these objects.
    ForVerdicts,
}

/// The number of types at the end of a BTF among which the mark is.
const LAST_TYPES: usize = 1024;

impl MinimalBtf {
    const ALL: [Self; 2] = [Self::ForLoading, Self::ForVerdicts];

    /// Returns the name of the typedef that marks the BTF. It is among the last types, and refers to `void`.
    const fn marker(self) -> &'static str {
        match self {
            Self::ForLoading => "core_relo_minimal_btf",
            Self::ForVerdicts => "core_relo_minimal_btf_for_verdicts",
        }
    }

    /// Returns the purpose of a minimal BTF; `None` for a BTF without a mark.
    pub fn find(btf: &Btf<'_>) -> Option<Self> {
        let end = btf.end_id().0;
        let last = (btf.first_id().0..end).rev().take(LAST_TYPES).filter_map(|id| btf.ty(TypeId(id)));
        let mut typedefs = last.filter(|ty| ty.kind() == Kind::Typedef);
        typedefs.find_map(|ty| {
            let name = ty.name().as_bytes();
            Self::ALL.into_iter().find(|purpose| name == purpose.marker().as_bytes())
        })
    }

    /// Returns the type in whose place the mark of a BTF is, if all types keep their ids: the last one that
    /// is not needed. `needed` is in order. Returns `None` if the last types are all needed.
    pub(super) fn place(end: TypeId, needed: &[TypeId]) -> Option<TypeId> {
        let mut needed = needed.iter().rev().peekable();
        let free = |id: &u32| needed.next_if(|needed| needed.0 == *id).is_none();
        (1..end.0).rev().take(LAST_TYPES).find(free).map(TypeId)
    }

    pub(super) fn add_marker(self, builder: &mut Builder) {
        builder.typedef(self.marker(), TypeId::VOID);
    }
}
