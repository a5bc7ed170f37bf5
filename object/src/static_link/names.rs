//! The types of a BTF that describe global symbols.

use super::error::SymbolFault;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use std::collections::HashMap;

/// A symbol's type, and the DATASEC it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) ty: TypeId,
    pub(super) datasec: Option<TypeId>,
}

/// Global and extern variables and functions by name.
#[derive(Debug, Default)]
pub(super) struct Names<'b>(HashMap<&'b [u8], NameEntry>);

#[derive(Clone, Copy, Debug, Default)]
struct NameEntry {
    /// The last type of this name before a DATASEC had one.
    loose: Option<TypeId>,
    in_datasec: Option<Result<Described, (TypeId, TypeId)>>,
}

impl<'b> Names<'b> {
    /// One pass over all types, for all symbols.
    pub(super) fn collect(btf: &'b Btf<'b>) -> Self {
        let mut names: HashMap<&'b [u8], NameEntry> = HashMap::new();
        for ty in btf.types() {
            if is_non_static(ty) {
                names.entry(ty.name().as_bytes()).or_default().loose = Some(ty.id());
            }
            for var in ty.secinfos().filter_map(|info| btf.ty(info.ty)).filter(|var| is_non_static(*var)) {
                let found = names.entry(var.name().as_bytes()).or_default();
                let is = match found.loose.filter(|loose| *loose != var.id()) {
                    Some(other) => Err((other, var.id())),
                    None => Ok(Described { ty: var.id(), datasec: Some(ty.id()) }),
                };
                found.in_datasec.get_or_insert(is);
            }
        }
        Self(names)
    }

    /// libbpf: `find_glob_sym_btf`
    pub(super) fn find(&self, name: &[u8], is_extern: bool) -> Result<Described, SymbolFault> {
        let found = self.0.get(name).copied().unwrap_or_default();
        match (found.in_datasec, found.loose) {
            (Some(Ok(described)), _) => Ok(described),
            (Some(Err((first, second))), _) => Err(SymbolFault::Ambiguous { first, second }),
            (None, Some(ty)) => Ok(Described { ty, datasec: None }),
            (None, None) => Err(SymbolFault::NoBtf { is_extern }),
        }
    }
}

/// A variable or function that other files may see, or are to define (libbpf: `btf_is_non_static`).
pub(super) fn is_non_static(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Var | Kind::Func) && ty.linkage() != Some(0)
}
