//! The externs of an object in libbpf's order, and the layout of `.kconfig`.

use super::{error::LinkError, undefined_check};
use crate::{
    elf::text,
    internal::{InternalError, Invariant as _},
    object::{Extern, ExternKind, Object},
};
use core::cmp::Reverse;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};

/// An extern that the object's BTF describes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternEntry<'d> {
    /// The name, with its flavour.
    pub name: &'d [u8],
    /// The index of the ELF symbol.
    pub symbol: u32,
    /// Whether the extern is weak, and so may be missing in the kernel.
    pub is_weak: bool,
    /// The VAR or FUNC in the object's BTF.
    pub btf_id: TypeId,
    /// The entity that the extern binds to.
    pub binding: ExternBinding,
}

/// The entity that an extern binds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExternBinding {
    /// A configuration value.
    Config(ConfigSlot),
    /// The address of a kernel symbol, declared without a type.
    Address,
    /// A kernel variable, declared with this type.
    Variable(TypeId),
    /// A kernel function, declared with this prototype.
    Function(TypeId),
}

/// The position and type of a configuration value in `.kconfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigSlot {
    /// The type.
    pub ty: ConfigType,
    /// The size in bytes.
    pub size: u32,
    /// The alignment in bytes.
    pub align: u32,
    /// The offset in bytes.
    pub offset: u32,
}

/// The type of a configuration value (libbpf: `enum kcfg_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigType {
    /// `bool`.
    Bool,
    /// `enum libbpf_tristate`.
    Tristate,
    /// `char`.
    Char {
        /// Whether the type is signed.
        signed: bool,
    },
    /// An integer.
    Int {
        /// Whether the type is signed.
        signed: bool,
    },
    /// An array of `char`.
    Text,
}

/// Collects the externs of an object and lays out `.kconfig` (libbpf: `bpf_object__collect_externs`).
///
/// Configuration values come first, by offset.
pub(crate) fn collect<'d>(object: &Object<'d>) -> Result<Vec<ExternEntry<'d>>, LinkError> {
    if object.externs().is_empty() {
        return Ok(Vec::new());
    }
    let btf = object.btf().ok_or(LinkError::NoBtf { what: "externs" })?;
    undefined_check::check(object)?;
    let mut entries: Vec<_> = object.externs().iter().map(|e| entry(btf, e)).collect::<Result<_, _>>()?;
    // Configuration values first, by descending alignment and ascending size; then by name.
    entries.sort_by(|a, b| {
        let key = |e: &ExternEntry<'_>| match e.binding {
            ExternBinding::Config(slot) => (0, Reverse(slot.align), slot.size),
            _ => (1, Reverse(0), 0),
        };
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
    });
    let mut end = 0u32;
    for e in &mut entries {
        let ExternBinding::Config(slot) = &mut e.binding else { continue };
        let too_large = || LinkError::Extern { name: text(e.name), what: "`.kconfig` is too large" };
        slot.offset = end.checked_next_multiple_of(slot.align.max(1)).ok_or_else(too_large)?;
        end = slot.offset.checked_add(slot.size).ok_or_else(too_large)?;
    }
    Ok(entries)
}

/// Returns the size of `.kconfig`; 0 if there are no configuration values.
pub(crate) fn config_size(externs: &[ExternEntry<'_>]) -> Result<u32, InternalError> {
    let slot = |e: &ExternEntry<'_>| match e.binding {
        ExternBinding::Config(slot) => Some(slot),
        _ => None,
    };
    match externs.iter().filter_map(slot).next_back() {
        Some(last) => last.offset.checked_add(last.size).invariant("the size of `.kconfig` was checked"),
        None => Ok(0),
    }
}

/// Checks an extern against the object's BTF.
fn entry<'d>(btf: &Btf<'_>, e: &Extern<'d>) -> Result<ExternEntry<'d>, LinkError> {
    let fail = |what| LinkError::Extern { name: text(e.name), what };
    let id = e.type_id.invariant("an extern without a type is an undefined symbol")?;
    let ty = btf.ty(id).ok_or_else(|| fail("its type does not exist"))?;
    if ty.linkage() != Some(2) {
        return Err(fail("the object's BTF declares it as a definition, expected an extern"));
    }
    let target = ty.target().invariant("a type with linkage is a VAR or FUNC, which has a type")?;
    let binding = match e.kind {
        ExternKind::Kconfig => ExternBinding::Config(config_slot(btf, target).ok_or_else(|| {
            fail("its type is not that of a configuration value, expected bool, char, an integer, enum libbpf_tristate or an array of char")
        })?),
        ExternKind::Ksym => match btf.strip(target).map_err(|_endless| fail("its type cannot be followed"))? {
            void if void.id() == TypeId::VOID => ExternBinding::Address,
            variable => ExternBinding::Variable(variable.id()),
        },
        ExternKind::Kfunc => ExternBinding::Function(target),
        ExternKind::Unknown => return Err(fail("the object's BTF describes it neither in `.ksyms` nor as a variable in `.kconfig`")),
    };
    Ok(ExternEntry { name: e.name, symbol: e.symbol, is_weak: e.is_weak, btf_id: id, binding })
}

/// Returns the slot for a configuration value of a type, if the type is supported (libbpf: `find_kcfg_type`).
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
    /// `BTF_INT_SIGNED`.
    const SIGNED: u8 = 1;
    /// `BTF_INT_BOOL`.
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
