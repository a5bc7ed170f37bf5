//! Comparison of a symbol's types in two files.

use super::{
    budget::ComparisonBudget,
    mismatch::{MapMismatch, TypeMismatch},
};
use crate::{
    elf::text,
    object::{MapDef, maps::Definitions},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Member, Type},
};

/// A type of a file.
#[derive(Clone, Copy)]
pub(super) struct FileType<'b> {
    pub(super) btf: &'b Btf<'b>,
    pub(super) id: TypeId,
}

/// Two types that must match.
struct Pair {
    /// The type in the earlier file.
    expected: TypeId,
    /// The type in this file.
    found: TypeId,
    /// Whether the members of structs must match, too. False for types behind a pointer.
    is_exact: bool,
}

/// Compares the types of a symbol (libbpf: `glob_sym_btf_matches`, with a stack instead of recursion).
pub(super) fn compare_types(
    budget: &mut ComparisonBudget,
    expected: FileType<'_>,
    found: FileType<'_>,
) -> Result<(), TypeMismatch> {
    let mut stack = Vec::from([Pair { expected: expected.id, found: found.id, is_exact: true }]);
    while let Some(pair) = stack.pop() {
        let expected = budget.strip(expected.btf, pair.expected)?;
        let found = budget.strip(found.btf, pair.found)?;
        let mut referenced = compare_records(budget, expected, found, pair.is_exact)?;
        referenced.reverse();
        stack.append(&mut referenced);
    }
    Ok(())
}

/// Compares the records of two types. Returns the referenced types, which must match, too.
fn compare_records(
    budget: &mut ComparisonBudget,
    expected: Type<'_>,
    found: Type<'_>,
    is_exact: bool,
) -> Result<Vec<Pair>, TypeMismatch> {
    let kind = expected.kind();
    let different_kinds = TypeMismatch::Kind { expected: kind, found: found.kind() };
    if !is_exact && (kind == Kind::Fwd) != (found.kind() == Kind::Fwd) {
        compare_names(budget, expected, found)?;
        let (declaration, definition) = if kind == Kind::Fwd { (expected, found) } else { (found, expected) };
        let declared_kind = if declaration.kflag() { Kind::Union } else { Kind::Struct };
        return if definition.kind() == declared_kind { Ok(Vec::new()) } else { Err(different_kinds) };
    }
    if kind != found.kind() {
        return Err(different_kinds);
    }
    match kind {
        Kind::Void => Ok(Vec::new()),
        Kind::Fwd => compare_names(budget, expected, found).map(|()| Vec::new()),
        Kind::Int | Kind::Float => compare_sizes(expected, found),
        Kind::Enum | Kind::Enum64 => {
            compare_names(budget, expected, found)?;
            compare_sizes(expected, found)
        }
        Kind::Ptr => Ok(target_pair(expected, found, false)),
        Kind::Array => {
            let elements = expected.array().zip(found.array());
            let pair = elements.map(|(a, b)| Pair { expected: a.element, found: b.element, is_exact });
            Ok(pair.into_iter().collect())
        }
        Kind::Func | Kind::Var => {
            compare_names(budget, expected, found)?;
            if (expected.linkage() == Some(0)) != (found.linkage() == Some(0)) {
                return Err(TypeMismatch::Unsupported { kind });
            }
            Ok(target_pair(expected, found, is_exact))
        }
        Kind::Struct | Kind::Union => {
            compare_names(budget, expected, found)?;
            if is_exact { compare_members(budget, expected, found) } else { Ok(Vec::new()) }
        }
        Kind::FuncProto => {
            compare_counts(budget, expected, found)?;
            let params = expected.params().zip(found.params());
            let params = params.map(|(a, b)| Pair { expected: a.ty, found: b.ty, is_exact });
            Ok(params.chain(target_pair(expected, found, is_exact)).collect())
        }
        _ => Err(TypeMismatch::Unsupported { kind }),
    }
}

fn compare_members(
    budget: &mut ComparisonBudget,
    expected: Type<'_>,
    found: Type<'_>,
) -> Result<Vec<Pair>, TypeMismatch> {
    compare_counts(budget, expected, found)?;
    let pair = |(a, b): (Member<'_>, Member<'_>)| {
        let position = |m: &Member<'_>| (m.bit_offset, m.bitfield_bits);
        budget.charge_name(a.name.as_bytes())?;
        if a.name == b.name && position(&a) == position(&b) {
            return Ok(Pair { expected: a.ty, found: b.ty, is_exact: true });
        }
        Err(TypeMismatch::Member {
            index: a.index,
            expected: text(a.name.as_bytes()),
            expected_bit: a.bit_offset.0,
            found: text(b.name.as_bytes()),
            found_bit: b.bit_offset.0,
        })
    };
    expected.members().zip(found.members()).map(pair).collect()
}

/// Returns the targets of two types that have a target.
fn target_pair(expected: Type<'_>, found: Type<'_>, is_exact: bool) -> Vec<Pair> {
    let targets = expected.target().zip(found.target());
    targets.map(|(expected, found)| Pair { expected, found, is_exact }).into_iter().collect()
}

fn compare_names(
    budget: &mut ComparisonBudget,
    expected: Type<'_>,
    found: Type<'_>,
) -> Result<(), TypeMismatch> {
    budget.charge_name(expected.name().as_bytes())?;
    if expected.name() == found.name() {
        return Ok(());
    }
    Err(TypeMismatch::Name {
        kind: expected.kind(),
        expected: text(expected.name().as_bytes()),
        found: text(found.name().as_bytes()),
    })
}

fn compare_sizes(expected: Type<'_>, found: Type<'_>) -> Result<Vec<Pair>, TypeMismatch> {
    let kind = expected.kind();
    let (expected, found) = (expected.size_or_type(), found.size_or_type());
    if expected == found { Ok(Vec::new()) } else { Err(TypeMismatch::Size { kind, expected, found }) }
}

/// Compares the numbers of members or parameters, and charges a step for each.
fn compare_counts(
    budget: &mut ComparisonBudget,
    expected: Type<'_>,
    found: Type<'_>,
) -> Result<(), TypeMismatch> {
    let kind = expected.kind();
    let (expected, found) = (expected.vlen(), found.vlen());
    budget.charge(expected)?;
    if expected == found { Ok(()) } else { Err(TypeMismatch::Count { kind, expected, found }) }
}

/// Parses the definition of a map from the map's variable.
pub(super) fn map_definition(known: &mut Definitions, variable: FileType<'_>) -> Result<MapDef, MapMismatch> {
    let var = variable.btf.ty(variable.id).filter(|ty| ty.kind() == Kind::Var);
    let ty = var.and_then(Type::target).ok_or(MapMismatch::NotVariable)?;
    known.parse(variable.btf, ty).map_err(MapMismatch::from)
}

/// A map definition of a file.
#[derive(Clone, Copy)]
pub(super) struct FileMap<'b> {
    pub(super) btf: &'b Btf<'b>,
    pub(super) def: &'b MapDef,
}

/// Compares two definitions of a map (libbpf: `glob_map_defs_match`).
pub(super) fn compare_maps(
    budget: &mut ComparisonBudget,
    expected: FileMap<'_>,
    found: FileMap<'_>,
) -> Result<(), MapMismatch> {
    compare_definitions(budget, expected, found)?;
    match (&expected.def.inner, &found.def.inner) {
        (None, None) => Ok(()),
        (Some(expected_inner), Some(found_inner)) => {
            let expected = FileMap { def: expected_inner, ..expected };
            compare_definitions(budget, expected, FileMap { def: found_inner, ..found })
        }
        _ => Err(MapMismatch::Presence { field: "values" }),
    }
}

/// Compares two definitions without their inner maps (libbpf: `map_defs_match`).
fn compare_definitions(
    budget: &mut ComparisonBudget,
    expected: FileMap<'_>,
    found: FileMap<'_>,
) -> Result<(), MapMismatch> {
    let (a, b) = (expected.def, found.def);
    // As in libbpf, a missing NUMA node counts as node 0.
    let numa_node = |def: &MapDef| def.numa_node.unwrap_or(0);
    for (field, expected, found) in [
        ("type", a.map_type, b.map_type),
        ("key_size", a.key_size, b.key_size),
        ("value_size", a.value_size, b.value_size),
        ("max_entries", a.max_entries, b.max_entries),
        ("map_flags", a.map_flags, b.map_flags),
        ("numa_node", numa_node(a), numa_node(b)),
        ("pinning", a.pinning(), b.pinning()),
    ] {
        if expected != found {
            return Err(MapMismatch::Number { field, expected, found });
        }
    }
    for (field, a, b) in [("key", a.key_type, b.key_type), ("value", a.value_type, b.value_type)] {
        match (a, b) {
            (None, None) => {}
            (Some(a), Some(b)) => {
                let expected = FileType { btf: expected.btf, id: a };
                compare_types(budget, expected, FileType { btf: found.btf, id: b })
                    .map_err(|cause| MapMismatch::Type { field, cause })?;
            }
            _ => return Err(MapMismatch::Presence { field }),
        }
    }
    Ok(())
}
