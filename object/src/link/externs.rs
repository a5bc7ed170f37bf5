//! What an object takes from the kernel, in libbpf's order, with the place that configuration values get.

use super::LinkError;
use crate::{
    elf::text,
    object::{Extern, ExternKind, Object},
};
use core::cmp::Reverse;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};

/// An extern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternEntry<'d> {
    /// Its name, with its flavour.
    pub(crate) name: &'d [u8],
    /// Its ELF symbol.
    pub(crate) symbol: u32,
    /// Whether the object does without it.
    pub(crate) is_weak: bool,
    /// Its VAR or FUNC.
    pub(crate) btf_id: TypeId,
    /// What it is.
    pub(crate) what: What,
}

/// What an extern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A configuration value.
    Config(ConfigSlot),
    /// A kernel variable without a type of its own: its address.
    Address,
    /// A kernel variable of this type.
    Variable(TypeId),
    /// A kernel function of this prototype.
    Function(TypeId),
}

/// Where a configuration value lies in `.kconfig`, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConfigSlot {
    pub(crate) ty: ConfigType,
    pub(crate) size: u32,
    pub(crate) align: u32,
    pub(crate) offset: u32,
}

/// The types a configuration value may have (libbpf: `enum kcfg_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigType {
    Bool,
    Tristate,
    Char { signed: bool },
    Int { signed: bool },
    Text,
}

/// All externs (libbpf: `bpf_object__collect_externs`).
pub(crate) fn collect<'d>(object: &Object<'d>) -> Result<Vec<ExternEntry<'d>>, LinkError> {
    if object.externs().is_empty() {
        return Ok(Vec::new());
    }
    let btf = object.btf().ok_or(LinkError::NoBtf { what: "externs" })?;
    let mut found: Vec<_> = object.externs().iter().map(|e| entry(btf, e)).collect::<Result<_, _>>()?;
    // By kind; configuration by descending alignment, then size; then by name.
    found.sort_by(|a, b| {
        let key = |e: &ExternEntry<'_>| match e.what {
            What::Config(slot) => (0, Reverse(slot.align), slot.size),
            _ => (1, Reverse(0), 0),
        };
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
    });
    let mut end = 0u32;
    for e in &mut found {
        let What::Config(slot) = &mut e.what else { continue };
        let too_large = || LinkError::Extern { name: text(e.name), what: ".kconfig would be too large" };
        slot.offset = end.checked_next_multiple_of(slot.align.max(1)).ok_or_else(too_large)?;
        end = slot.offset.checked_add(slot.size).ok_or_else(too_large)?;
    }
    Ok(found)
}

/// The size of `.kconfig`; 0 if there are no configuration values.
pub(crate) fn config_size(externs: &[ExternEntry<'_>]) -> u32 {
    let end = |e: &ExternEntry<'_>| match e.what {
        What::Config(slot) => slot.offset.saturating_add(slot.size),
        _ => 0,
    };
    externs.iter().map(end).max().unwrap_or_default()
}

fn entry<'d>(btf: &Btf<'_>, e: &Extern<'d>) -> Result<ExternEntry<'d>, LinkError> {
    let fail = |what| LinkError::Extern { name: text(e.name), what };
    let id =
        e.type_id.ok_or_else(|| fail("the object's BTF does not describe it in `.ksyms` or `.kconfig`"))?;
    let ty = btf.ty(id).ok_or_else(|| fail("its type does not exist"))?;
    if ty.linkage() != Some(2) {
        return Err(fail("the object's BTF says that it is defined here"));
    }
    let target = ty.target().unwrap_or_default();
    let what = match e.kind {
        ExternKind::Kconfig => What::Config(config_slot(btf, target).ok_or_else(|| {
            fail("a configuration value has to be bool, char, an integer, enum libbpf_tristate or an array of char")
        })?),
        ExternKind::Ksym => match btf.strip(target).map_err(|_endless| fail("its type cannot be followed"))? {
            void if void.id() == TypeId::VOID => What::Address,
            of => What::Variable(of.id()),
        },
        ExternKind::Kfunc => What::Function(target),
        ExternKind::Unknown => return Err(fail("it is neither in `.ksyms` nor a variable in `.kconfig`")),
    };
    Ok(ExternEntry { name: e.name, symbol: e.symbol, is_weak: e.is_weak, btf_id: id, what })
}

/// libbpf: `find_kcfg_type`.
fn config_slot(btf: &Btf<'_>, id: TypeId) -> Option<ConfigSlot> {
    let ty = btf.strip(id).ok()?;
    let size = btf.size_of(id).ok()?.0;
    let slot = |ty, align| Some(ConfigSlot { ty, size, align, offset: 0 });
    match ty.kind() {
        Kind::Int => {
            let int = int_type(ty)?;
            slot(int, size.min(8))
        }
        Kind::Enum | Kind::Enum64 if ty.name().as_bytes() == b"libbpf_tristate" && size == 4 => {
            slot(ConfigType::Tristate, 4)
        }
        Kind::Array => {
            let array = ty.array().filter(|a| a.nelems > 0)?;
            let element = btf.strip(array.element).ok().filter(|t| t.kind() == Kind::Int)?;
            matches!(int_type(element)?, ConfigType::Char { .. }).then_some(())?;
            slot(ConfigType::Text, 1)
        }
        _ => None,
    }
}

fn int_type(ty: Type<'_>) -> Option<ConfigType> {
    const SIGNED: u8 = 1;
    const BOOL: u8 = 4;
    let encoding = ty.int()?.encoding;
    let signed = encoding & SIGNED != 0;
    match ty.size_or_type() {
        1 if encoding & BOOL != 0 => Some(ConfigType::Bool),
        _ if encoding & BOOL != 0 => None,
        1 => Some(ConfigType::Char { signed }),
        2 | 4 | 8 => Some(ConfigType::Int { signed }),
        _ => None,
    }
}
