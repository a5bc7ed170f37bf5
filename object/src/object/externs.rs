//! Externs: configuration values, variables and functions of the kernel that an object uses.

use super::{
    error::ObjectError,
    symbols::{Linkage, Symbols},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind},
};
use hashbrown::HashMap;

/// The kind of an extern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExternKind {
    /// A kernel configuration value (`.kconfig`).
    Kconfig,
    /// A kernel variable's address (`.ksyms`, a VAR).
    Ksym,
    /// A kernel function (`.ksyms`, a FUNC).
    Kfunc,
    /// Not in the BTF, or neither of the above. libbpf refuses such an object.
    Unknown,
}

/// An undefined symbol that the kernel supplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extern<'d> {
    /// The name, with the flavour if there is one (`bpf_foo___v2`).
    pub name: &'d [u8],
    /// The index of the ELF symbol.
    pub symbol: u32,
    /// The kind.
    pub kind: ExternKind,
    /// Whether the extern is weak, and so may be missing in the kernel.
    pub is_weak: bool,
    /// The VAR or FUNC in the object's BTF.
    pub type_id: Option<TypeId>,
}

/// Collects the undefined symbols in order, with their kinds and types from the BTF (libbpf:
/// `bpf_object__collect_externs`).
pub(crate) fn collect<'d>(
    symbols: &Symbols<'d>,
    btf: Option<&Btf<'_>>,
) -> Result<Vec<Extern<'d>>, ObjectError> {
    let mut externs = Vec::new();
    for symbol in symbols.iter() {
        let symbol = symbol?;
        if !symbol.is_extern() || symbol.name.is_empty() {
            continue;
        }
        externs.push(Extern {
            name: symbol.name,
            symbol: symbol.index,
            kind: ExternKind::Unknown,
            is_weak: symbol.linkage == Linkage::Weak,
            type_id: None,
        });
    }
    let (Some(btf), false) = (btf, externs.is_empty()) else { return Ok(externs) };
    let declared = declared_externs(btf);
    for ext in &mut externs {
        if let Some((kind, id)) = declared.get(ext.name) {
            (ext.kind, ext.type_id) = (*kind, Some(*id));
        }
    }
    Ok(externs)
}

/// Returns the externs in the `.kconfig` and `.ksyms` DATASECs, by name.
fn declared_externs<'b>(btf: &'b Btf<'_>) -> HashMap<&'b [u8], (ExternKind, TypeId)> {
    let mut declared = HashMap::new();
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
            declared.entry(ty.name().as_bytes()).or_insert((kind, info.ty));
        }
    }
    declared
}
