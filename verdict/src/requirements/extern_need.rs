//! The externs of an object.

use super::need::{Need, NeedId, NeedTable};
use core_relo::{Name, btf::Kind};
use core_relo_object::{
    link::{ExternBinding, ExternEntry},
    load_plan::SymbolAddress,
};

/// An extern of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternNeed {
    /// The requirement.
    pub id: NeedId,
    /// Whether the object loads without the extern, whose address or value is 0 then.
    pub is_weak: bool,
    /// The address that the caller chooses for a kernel symbol without a type, which core-relo takes.
    pub chosen: Option<SymbolAddress>,
}

impl ExternNeed {
    pub(super) fn new(entry: &ExternEntry<'_>, table: &mut NeedTable) -> Self {
        // As in libbpf, only functions have flavours.
        let function = Name::new(entry.name).essential().as_bytes();
        let need = match entry.binding {
            ExternBinding::Config(_) => Need::Kconfig(String::from_utf8_lossy(entry.name).into()),
            ExternBinding::Variable(_) => Need::Variable(table.names.declaration(entry.name, Kind::Var)),
            ExternBinding::Function(_) => Need::Kfunc(table.names.declaration(function, Kind::Func)),
            _ => Need::Symbol(table.names.symbol(entry.name)),
        };
        Self { id: table.add(need), is_weak: entry.is_weak, chosen: None }
    }
}
