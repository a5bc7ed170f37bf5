//! The types of global symbols in the BTF of an input.

use super::error::SymbolError;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashMap;

/// The VAR or FUNC of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SymbolType {
    pub(super) id: TypeId,
    /// The DATASEC with the VAR or FUNC.
    pub(super) datasec: Option<TypeId>,
}

/// The global and extern variables and functions of a BTF, by name.
#[derive(Debug, Default)]
pub(super) struct SymbolTypes<'b>(HashMap<&'b [u8], Candidates>);

/// The VARs and FUNCs of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Candidates {
    /// The last VAR or FUNC before a DATASEC with one.
    last: Option<TypeId>,
    /// The first VAR or FUNC in a DATASEC, or two different types of the name.
    in_datasec: Option<Result<SymbolType, (TypeId, TypeId)>>,
}

impl<'b> SymbolTypes<'b> {
    /// Collects the types of all symbols in one pass over the BTF.
    pub(super) fn collect(btf: &'b Btf<'b>) -> Self {
        let mut by_name: HashMap<&'b [u8], Candidates> = HashMap::new();
        for ty in btf.types() {
            if is_non_static(ty) {
                by_name.entry(ty.name().as_bytes()).or_default().last = Some(ty.id());
            }
            for var in ty.secinfos().filter_map(|info| btf.ty(info.ty)).filter(|var| is_non_static(*var)) {
                let candidates = by_name.entry(var.name().as_bytes()).or_default();
                let symbol_type = match candidates.last.filter(|last| *last != var.id()) {
                    Some(other) => Err((other, var.id())),
                    None => Ok(SymbolType { id: var.id(), datasec: Some(ty.id()) }),
                };
                candidates.in_datasec.get_or_insert(symbol_type);
            }
        }
        Self(by_name)
    }

    /// Finds the type of a symbol (libbpf: `find_glob_sym_btf`).
    pub(super) fn find(&self, name: &[u8], is_extern: bool) -> Result<SymbolType, SymbolError> {
        let no_btf = SymbolError::NoBtf { is_extern };
        match self.0.get(name).ok_or(no_btf)? {
            Candidates { in_datasec: Some(Ok(symbol_type)), .. } => Ok(*symbol_type),
            Candidates { in_datasec: Some(Err((first, second))), .. } => {
                Err(SymbolError::Ambiguous { first: *first, second: *second })
            }
            Candidates { last: Some(id), .. } => Ok(SymbolType { id: *id, datasec: None }),
            Candidates { last: None, .. } => Err(SymbolError::NoBtf { is_extern }),
        }
    }
}

/// Returns whether a type is a VAR or FUNC that other files may define or refer to (libbpf:
/// `btf_is_non_static`).
pub(super) fn is_non_static(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Var | Kind::Func) && ty.linkage() != Some(0)
}
