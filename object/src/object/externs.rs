//! What an object takes from the kernel: configuration, symbols, functions.

use super::{
    error::ObjectError,
    symbols::{Linkage, Symbols},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind},
};
use std::collections::HashMap;

/// What an extern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExternKind {
    /// A kernel configuration value (`.kconfig`).
    Kconfig,
    /// A kernel variable's address (`.ksyms`, a VAR).
    Ksym,
    /// A kernel function (`.ksyms`, a FUNC).
    Kfunc,
    /// The BTF does not say, or says something else; libbpf refuses such an object.
    Unknown,
}

/// Something undefined in the object that the kernel is to supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extern<'d> {
    /// Its name, with its flavour (`bpf_foo___v2`) if it has one.
    pub name: &'d [u8],
    /// Number of its symbol.
    pub symbol: u32,
    /// What it is.
    pub kind: ExternKind,
    /// Whether the object does without it.
    pub is_weak: bool,
    /// Its VAR or FUNC in the object's BTF.
    pub type_id: Option<TypeId>,
}

/// The undefined symbols of an object in order, with what its BTF says of them (libbpf: `bpf_object__collect_externs`).
pub(crate) fn collect<'d>(
    symbols: &Symbols<'d>,
    btf: Option<&Btf<'_>>,
) -> Result<Vec<Extern<'d>>, ObjectError> {
    let mut found = Vec::new();
    for symbol in symbols.iter() {
        let symbol = symbol?;
        if !symbol.is_extern() || symbol.name.is_empty() {
            continue;
        }
        found.push(Extern {
            name: symbol.name,
            symbol: symbol.index,
            kind: ExternKind::Unknown,
            is_weak: symbol.linkage == Linkage::Weak,
            type_id: None,
        });
    }
    let (Some(btf), false) = (btf, found.is_empty()) else { return Ok(found) };
    let known = declared(btf);
    for ext in &mut found {
        if let Some((kind, id)) = known.get(ext.name) {
            (ext.kind, ext.type_id) = (*kind, Some(*id));
        }
    }
    Ok(found)
}

/// Names in the `.kconfig` and `.ksyms` DATASECs.
fn declared<'b>(btf: &'b Btf<'_>) -> HashMap<&'b [u8], (ExternKind, TypeId)> {
    let mut known = HashMap::new();
    for section in btf.types().filter(|t| t.kind() == Kind::Datasec) {
        let is_kconfig = match section.name().as_bytes() {
            b".kconfig" => true,
            b".ksyms" => false,
            _ => continue,
        };
        for info in section.secinfos() {
            let Some(ty) = btf.ty(info.ty) else { continue };
            let kind = match (ty.kind(), is_kconfig) {
                (Kind::Var, true) => ExternKind::Kconfig,
                (Kind::Var, false) => ExternKind::Ksym,
                (Kind::Func, false) => ExternKind::Kfunc,
                _ => continue,
            };
            known.entry(ty.name().as_bytes()).or_insert((kind, info.ty));
        }
    }
    known
}
