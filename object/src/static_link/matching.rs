//! The comparison of a symbol's types in two files.

use super::mismatch::{MapMismatch, TypeMismatch};
use crate::{
    elf::text,
    limits,
    object::{MapDef, maps::Definitions},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};

/// A type of a file.
pub(super) type In<'b> = (&'b Btf<'b>, TypeId);

/// Two types that have to agree; `exact` no longer holds behind a pointer.
type Pair = (TypeId, TypeId, bool);

/// The steps that are left for comparing the types of all symbols.
#[derive(Debug)]
pub(super) struct Steps(u32);

impl Default for Steps {
    fn default() -> Self {
        Self(limits::LINK_STEPS)
    }
}

impl Steps {
    fn take(&mut self, n: usize) -> Result<(), TypeMismatch> {
        let left = u32::try_from(n).ok().and_then(|n| self.0.checked_sub(n));
        self.0 = left.ok_or(TypeMismatch::TooManySteps)?;
        Ok(())
    }

    /// For a name that is read.
    pub(super) fn take_name(&mut self, name: &[u8]) -> Result<(), TypeMismatch> {
        self.take(name.len() / limits::LINK_STEP_BYTES)
    }

    fn strip<'b>(&mut self, (btf, id): In<'b>) -> Result<Type<'b>, TypeMismatch> {
        let ty = btf.strip(id)?;
        self.take(if ty.id() == id { 1 } else { limits::LINK_STEPS_STRIPPED })?;
        Ok(ty)
    }
}

/// Compares the types of a symbol (libbpf: `glob_sym_btf_matches`; a list of pairs stands for its recursion).
pub(super) fn types(
    steps: &mut Steps,
    (there, first): In<'_>,
    (here, second): In<'_>,
    exact: bool,
) -> Result<(), TypeMismatch> {
    let mut pairs = Vec::from([(first, second, exact)]);
    while let Some((first, second, exact)) = pairs.pop() {
        let (a, b) = (steps.strip((there, first))?, steps.strip((here, second))?);
        let mut below = compare(steps, a, b, exact)?;
        below.reverse();
        pairs.append(&mut below);
    }
    Ok(())
}

/// Compares two records; what is left to compare.
fn compare(steps: &mut Steps, a: Type<'_>, b: Type<'_>, exact: bool) -> Result<Vec<Pair>, TypeMismatch> {
    let kinds = TypeMismatch::Kind { first: a.kind(), second: b.kind() };
    if !exact && (a.kind() == Kind::Fwd) != (b.kind() == Kind::Fwd) {
        same_name(steps, a, b)?;
        let (declared, defined) = if a.kind() == Kind::Fwd { (a, b) } else { (b, a) };
        let wanted = if declared.kflag() { Kind::Union } else { Kind::Struct };
        return if defined.kind() == wanted { Ok(Vec::new()) } else { Err(kinds) };
    }
    if a.kind() != b.kind() {
        return Err(kinds);
    }
    let kind = a.kind();
    match kind {
        Kind::Void => Ok(Vec::new()),
        Kind::Fwd => same_name(steps, a, b).map(|()| Vec::new()),
        Kind::Int | Kind::Float => same_size(a, b),
        Kind::Enum | Kind::Enum64 => same_name(steps, a, b).and_then(|()| same_size(a, b)),
        Kind::Ptr => Ok(targets(a, b, false)),
        Kind::Array => {
            let elements = a.array().zip(b.array()).map(|(a, b)| (a.element, b.element, exact));
            Ok(elements.into_iter().collect())
        }
        Kind::Func | Kind::Var => {
            same_name(steps, a, b)?;
            if (a.linkage() == Some(0)) != (b.linkage() == Some(0)) {
                return Err(TypeMismatch::Unsupported { kind });
            }
            Ok(targets(a, b, exact))
        }
        Kind::Struct | Kind::Union => {
            same_name(steps, a, b)?;
            if exact { members(steps, a, b) } else { Ok(Vec::new()) }
        }
        Kind::FuncProto => {
            same_count(steps, a, b)?;
            let params = a.params().zip(b.params()).map(|(a, b)| (a.ty, b.ty, exact));
            Ok(params.chain(targets(a, b, exact)).collect())
        }
        _ => Err(TypeMismatch::Unsupported { kind }),
    }
}

fn members(steps: &mut Steps, a: Type<'_>, b: Type<'_>) -> Result<Vec<Pair>, TypeMismatch> {
    same_count(steps, a, b)?;
    let pair = |(a, b): (core_relo::btf::Member<'_>, core_relo::btf::Member<'_>)| {
        let place = |m: &core_relo::btf::Member<'_>| (m.bit_offset, m.bitfield_bits);
        steps.take_name(a.name.as_bytes())?;
        if a.name == b.name && place(&a) == place(&b) {
            return Ok((a.ty, b.ty, true));
        }
        Err(TypeMismatch::Member {
            index: a.index,
            first: text(a.name.as_bytes()),
            first_at: a.bit_offset.0,
            second: text(b.name.as_bytes()),
            second_at: b.bit_offset.0,
        })
    };
    a.members().zip(b.members()).map(pair).collect()
}

fn targets(a: Type<'_>, b: Type<'_>, exact: bool) -> Vec<Pair> {
    a.target().zip(b.target()).map(|(a, b)| (a, b, exact)).into_iter().collect()
}

fn same_name(steps: &mut Steps, a: Type<'_>, b: Type<'_>) -> Result<(), TypeMismatch> {
    let (first, second) = (a.name(), b.name());
    steps.take_name(first.as_bytes())?;
    if first == second {
        return Ok(());
    }
    let (first, second) = (text(first.as_bytes()), text(second.as_bytes()));
    Err(TypeMismatch::Name { kind: a.kind(), first, second })
}

fn same_size(a: Type<'_>, b: Type<'_>) -> Result<Vec<Pair>, TypeMismatch> {
    let (first, second) = (a.size_or_type(), b.size_or_type());
    if first == second { Ok(Vec::new()) } else { Err(TypeMismatch::Size { kind: a.kind(), first, second }) }
}

/// Compares the numbers of elements, and takes a step for each element.
fn same_count(steps: &mut Steps, a: Type<'_>, b: Type<'_>) -> Result<(), TypeMismatch> {
    let (first, second) = (a.vlen(), b.vlen());
    steps.take(usize::try_from(first).unwrap_or(usize::MAX))?;
    if first == second { Ok(()) } else { Err(TypeMismatch::Elements { kind: a.kind(), first, second }) }
}

/// A map's definition, by the variable it is.
pub(super) fn map(known: &mut Definitions, (btf, var): In<'_>) -> Result<MapDef, MapMismatch> {
    let ty = btf.ty(var).and_then(Type::target).ok_or(MapMismatch::NotVariable)?;
    known.parse(btf, ty).map_err(MapMismatch::from)
}

/// Compares two definitions of a map (libbpf: `glob_map_defs_match`).
pub(super) fn maps(
    steps: &mut Steps,
    (there, first): (&Btf<'_>, &MapDef),
    (here, second): (&Btf<'_>, &MapDef),
) -> Result<(), MapMismatch> {
    definitions(steps, (there, first), (here, second))?;
    match (&first.inner, &second.inner) {
        (None, None) => Ok(()),
        (Some(first), Some(second)) => definitions(steps, (there, first), (here, second)),
        _ => Err(MapMismatch::Field { field: "values" }),
    }
}

/// libbpf: `map_defs_match`
fn definitions(
    steps: &mut Steps,
    (there, first): (&Btf<'_>, &MapDef),
    (here, second): (&Btf<'_>, &MapDef),
) -> Result<(), MapMismatch> {
    for (field, a, b) in [
        ("type", first.map_type, second.map_type),
        ("key_size", first.key_size, second.key_size),
        ("value_size", first.value_size, second.value_size),
        ("max_entries", first.max_entries, second.max_entries),
        ("map_flags", first.map_flags, second.map_flags),
        ("numa_node", first.numa_node.unwrap_or_default(), second.numa_node.unwrap_or_default()),
        ("pinning", first.pin_by_name.into(), second.pin_by_name.into()),
    ] {
        if a != b {
            return Err(MapMismatch::Field { field });
        }
    }
    for (field, a, b) in
        [("key", first.key_type, second.key_type), ("value", first.value_type, second.value_type)]
    {
        match (a, b) {
            (None, None) => {}
            (Some(a), Some(b)) => types(steps, (there, a), (here, b), true)
                .map_err(|cause| MapMismatch::Type { field, cause })?,
            _ => return Err(MapMismatch::Field { field }),
        }
    }
    Ok(())
}
