//! The mark of a minimal BTF, so that the absence of a type in it is not taken for its absence in the kernel.

use crate::{
    btf::{Btf, Builder, Kind},
    ids::TypeId,
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

impl MinimalBtf {
    const ALL: [Self; 2] = [Self::ForLoading, Self::ForVerdicts];

    /// Returns the name of the typedef that marks the BTF. It is the last type, and refers to `void`.
    const fn marker(self) -> &'static str {
        match self {
            Self::ForLoading => "core_relo_minimal_btf",
            Self::ForVerdicts => "core_relo_minimal_btf_for_verdicts",
        }
    }

    /// Returns the purpose of a minimal BTF; `None` for a BTF without a mark.
    pub fn find(btf: &Btf<'_>) -> Option<Self> {
        let last = btf.ty(TypeId(btf.end_id().0.checked_sub(1)?))?;
        let name = last.name().as_bytes();
        Self::ALL
            .into_iter()
            .find(|purpose| last.kind() == Kind::Typedef && name == purpose.marker().as_bytes())
    }

    pub(super) fn add_marker(self, builder: &mut Builder) {
        builder.typedef(self.marker(), TypeId::VOID);
    }
}
