//! Files with several units: what one of them knows about the types of another.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::little_endian_bytes,
    clippy::std_instead_of_alloc,
    reason = "tests fail by panicking; the files are little-endian"
)]

mod common;

use common::{Unit, Value, elf};
use core_relo::btf::{Btf, Kind};
use core_relo_dwarf::{EncodeSettings, encode};
use gimli::{DwAt, DwTag, constants::*};
use std::{collections::HashMap, sync::Arc};

fn convert(file: &[u8]) -> Btf<'static> {
    Btf::parse(encode(file, &EncodeSettings::default()).unwrap().bytes).unwrap()
}

/// Returns a unit with a definition of `struct B`, if it has a size, and with `struct A { struct B *b; }`.
fn unit(size_of_b: Option<u64>, has_a: bool) -> Unit {
    let mut unit = Unit::new();
    let b = match size_of_b {
        None => unit.die(
            DW_TAG_structure_type,
            false,
            &[(DW_AT_name, Value::Text("B")), (DW_AT_declaration, Value::Flag)],
        ),
        Some(size) => {
            let number = [(DW_AT_byte_size, Value::Number(size)), (DW_AT_encoding, Value::Number(5))];
            let int =
                unit.die(DW_TAG_base_type, false, &[&[(DW_AT_name, Value::Text("n"))], &number[..]].concat());
            let b = unit.die(DW_TAG_structure_type, true, &[(DW_AT_name, Value::Text("B")), number[0]]);
            unit.die(DW_TAG_member, false, &[(DW_AT_name, Value::Text("x")), (DW_AT_type, Value::Ref(int))]);
            unit.end();
            b
        }
    };
    let pointer = unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(b))]);
    if has_a {
        unit.die(
            DW_TAG_structure_type,
            true,
            &[(DW_AT_name, Value::Text("A")), (DW_AT_byte_size, Value::Number(8))],
        );
        unit.die(DW_TAG_member, false, &[(DW_AT_name, Value::Text("b")), (DW_AT_type, Value::Ref(pointer))]);
        unit.end();
    }
    unit.end();
    unit
}

/// Returns the size of each `struct B` to which a `struct A` has a pointer; `None` for a forward declaration.
fn targets_of_a(btf: &Btf<'_>) -> Vec<Option<u64>> {
    let all = btf.types().filter(|ty| ty.kind() == Kind::Struct && ty.name().as_bytes() == b"A");
    all.map(|a| {
        let pointer = btf.ty(a.members().next().unwrap().ty).unwrap();
        let b = btf.ty(pointer.target().unwrap()).unwrap();
        (b.kind() == Kind::Struct).then(|| b.size().unwrap().0.into())
    })
    .collect()
}

/// A unit knows the definition to which a member of `A` leads, another has a forward declaration only, and
/// another one has a `struct B` that has nothing to do with it. In every order, `A` leads to the definition,
/// as with libbpf's deduplication.
#[test]
fn a_member_leads_to_the_definition_that_one_unit_knows() {
    let kinds = [(None, true), (Some(4), true), (Some(8), false)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let units = order.map(|index: usize| unit(kinds[index].0, kinds[index].1));
        assert_eq!(targets_of_a(&convert(&elf(units.into()))), [Some(4)], "{order:?}");
    }
}

/// The offsets of pointers to structs and enums, by the types' names.
type Pointers = HashMap<&'static str, u32>;

/// A unit with structs: `S` and `T` have a pointer to `X`, `U` has pointers to both, and `X` has a pointer to
/// an enum `E`.
#[derive(Clone, Copy)]
struct UnitOfPointers {
    structs: &'static [&'static str],
    /// Whether the unit has the definition of `X`. Otherwise it has a declaration.
    defines_x: bool,
    /// The value of the enumerator of `E`; `None` for a declaration.
    e: Option<u64>,
}

impl UnitOfPointers {
    fn write(&self) -> Unit {
        // Types refer to later ones, whose offsets are known after the first time.
        let (_, pointers) = self.write_with(&Pointers::new());
        self.write_with(&pointers).0
    }

    fn write_with(&self, known: &Pointers) -> (Unit, Pointers) {
        let (mut unit, mut pointers) = (Unit::new(), Pointers::new());
        let name = |name| (DW_AT_name, Value::Text(name));
        let size = |bytes| (DW_AT_byte_size, Value::Number(bytes));
        let declaration = (DW_AT_declaration, Value::Flag);
        for of in self.structs.iter().copied().chain(["X"]) {
            let targets: &[&str] = match of {
                "U" => &["S", "T"],
                "X" if !self.defines_x => &[],
                "X" => &["E"],
                _ => &["X"],
            };
            let own_size = if targets.is_empty() {
                declaration
            } else {
                size(8 * u64::try_from(targets.len()).unwrap())
            };
            let own = unit.die(DW_TAG_structure_type, true, &[name(of), own_size]);
            for (at, target) in (0u64..).zip(targets) {
                let place = (DW_AT_data_member_location, Value::Number(8 * at));
                let target = known.get(target).copied().unwrap_or(0);
                unit.die(DW_TAG_member, false, &[name("m"), (DW_AT_type, Value::Ref(target)), place]);
            }
            unit.end();
            pointers.insert(of, unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(own))]));
        }
        let own = if let Some(value) = self.e {
            let own = unit.die(DW_TAG_enumeration_type, true, &[name("E"), size(4)]);
            unit.die(DW_TAG_enumerator, false, &[name("E1"), (DW_AT_const_value, Value::Number(value))]);
            unit.end();
            own
        } else {
            unit.die(DW_TAG_enumeration_type, false, &[name("E"), size(4), declaration])
        };
        pointers.insert("E", unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(own))]));
        unit.end();
        (unit, pointers)
    }
}

/// All structs, with the definitions of `X` and `E`.
const COMPLETE: UnitOfPointers = UnitOfPointers { structs: &["U", "S", "T"], defines_x: true, e: Some(1) };

/// Returns the types that units have and a base of the complete types lacks.
fn types_besides_the_complete_ones(units: &[UnitOfPointers]) -> Vec<String> {
    let base = Arc::new(convert(&elf(vec![COMPLETE.write()])));
    let mut settings = EncodeSettings::default();
    settings.base = Some(Arc::clone(&base));
    let units = units.iter().map(UnitOfPointers::write).collect();
    let split = Btf::parse_split(encode(&elf(units), &settings).unwrap().bytes, base).unwrap();
    split.types().map(|ty| format!("{:?} {}", ty.kind(), ty.name())).collect()
}

/// One unit has `U` with a declaration of `X`, another one has `T` with the definition. If `S` kept the
/// declaration, `U` would reach both. To libbpf's algorithm, it would differ from a `U` that reaches the
/// definition only. Most structs of Linux on s390x were written once for each shard of units.
#[test]
fn types_with_declarations_and_definitions_equal_those_with_definitions() {
    let own = types_besides_the_complete_ones(&[
        UnitOfPointers { defines_x: false, ..COMPLETE },
        UnitOfPointers { structs: &["T"], ..COMPLETE },
    ]);
    assert!(own.is_empty(), "{own:?}");
}

/// Two units have the same `X`, one of them with a declaration of `E`. If those were two types, nobody could
/// know which one a declaration of `X` means: `U` would again reach a declaration and a definition. In Linux
/// 6.1, `enum dev_dma_attr` of `struct fwnode_operations`, to which most structs lead, is such an enum.
#[test]
fn structs_with_declared_and_defined_enums_are_the_same() {
    let units = [
        UnitOfPointers { defines_x: false, ..COMPLETE },
        UnitOfPointers { structs: &["T"], ..COMPLETE },
        UnitOfPointers { structs: &["T"], e: None, ..COMPLETE },
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let own = types_besides_the_complete_ones(&order.map(|index: usize| units[index]));
        assert!(own.is_empty(), "{order:?}: {own:?}");
    }
}

/// Enums of one name with different enumerators are different types, and so are all types that lead to them.
#[test]
fn structs_with_different_enums_are_kept_apart() {
    let btf = convert(&elf(vec![COMPLETE.write(), UnitOfPointers { e: Some(2), ..COMPLETE }.write()]));
    for name in ["E", "X", "S", "T", "U"] {
        let count = btf.types().filter(|ty| ty.name().as_bytes() == name.as_bytes()).count();
        assert_eq!(count, 2, "{name}");
    }
}

/// GCC's declaration tag of a member is an entry of its own, to which no type of another unit refers.
#[test]
fn tags_of_members_of_types_in_another_unit() {
    let (tag, next) = (DwTag(0x6001), DwAt(0x2139));
    let mut first = Unit::new();
    let text = [(DW_AT_name, Value::Text("btf_decl_tag")), (DW_AT_const_value, Value::Text("user"))];
    let annotation = first.die(tag, false, &text);
    let name = (DW_AT_name, Value::Text("s"));
    let target = first.die(DW_TAG_structure_type, true, &[name, (DW_AT_byte_size, Value::Number(8))]);
    let pointer = first.after_member() + 4;
    let member =
        [(DW_AT_name, Value::Text("m")), (DW_AT_type, Value::Ref(pointer)), (next, Value::Ref(annotation))];
    first.die(DW_TAG_member, false, &member);
    first.end();
    assert_eq!(first.next(), pointer);
    first.die(DW_TAG_pointer_type, false, &[]);
    first.end();
    let mut second = Unit::new();
    second.die(
        DW_TAG_typedef,
        false,
        &[(DW_AT_name, Value::Text("t")), (DW_AT_type, Value::Address(target))],
    );
    second.end();
    let btf = convert(&elf(vec![first, second]));
    let tags: Vec<_> = btf.types().filter(|ty| ty.kind() == Kind::DeclTag).collect();
    assert_eq!(tags.len(), 1);
    assert_eq!((tags[0].name().as_bytes(), tags[0].component_index()), (&b"user"[..], Some(0)));
}
