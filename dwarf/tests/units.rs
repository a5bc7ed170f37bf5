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

/// The offsets of pointers to structs, by the structs' names.
type Pointers = HashMap<&'static str, u32>;

/// Returns a unit with some of the structs `S` and `T`, which have a pointer to a struct `X`, and `U`, which
/// has pointers to both.
fn unit_of_pointers(defines_x: bool, structs: &[&'static str]) -> Unit {
    // Types refer to later ones, whose offsets are known after the first time.
    let (_, pointers) = write_pointers(defines_x, structs, &Pointers::new());
    write_pointers(defines_x, structs, &pointers).0
}

fn write_pointers(defines_x: bool, structs: &[&'static str], known: &Pointers) -> (Unit, Pointers) {
    let (mut unit, mut pointers) = (Unit::new(), Pointers::new());
    let name = |name| (DW_AT_name, Value::Text(name));
    let size = |bytes| (DW_AT_byte_size, Value::Number(bytes));
    for of in structs.iter().copied().chain(["X"]) {
        let targets: &[&str] = match of {
            "U" => &["S", "T"],
            "X" => &[],
            _ => &["X"],
        };
        let declaration = (DW_AT_declaration, Value::Flag);
        let size = if of == "X" && !defines_x {
            declaration
        } else {
            size(8 * u64::try_from(targets.len()).unwrap())
        };
        let own = unit.die(DW_TAG_structure_type, true, &[name(of), size]);
        for (at, target) in (0u64..).zip(targets) {
            let place = (DW_AT_data_member_location, Value::Number(8 * at));
            let target = known.get(target).copied().unwrap_or(0);
            unit.die(DW_TAG_member, false, &[name("m"), (DW_AT_type, Value::Ref(target)), place]);
        }
        unit.end();
        pointers.insert(of, unit.die(DW_TAG_pointer_type, false, &[(DW_AT_type, Value::Ref(own))]));
    }
    unit.end();
    (unit, pointers)
}

/// One unit has `U` with a declaration of `X`, another one has `T` with the definition. If `S` kept the
/// declaration, `U` would reach both. To libbpf's algorithm, it would differ from a `U` that reaches the
/// definition only. Most structs of Linux on s390x were written once for each shard of units.
#[test]
fn types_with_declarations_and_definitions_equal_those_with_definitions() {
    let all = ["U", "S", "T"];
    let base = Arc::new(convert(&elf(vec![unit_of_pointers(true, &all)])));
    let units = vec![unit_of_pointers(false, &all), unit_of_pointers(true, &["T"])];
    let mut settings = EncodeSettings::default();
    settings.base = Some(Arc::clone(&base));
    let split = Btf::parse_split(encode(&elf(units), &settings).unwrap().bytes, base).unwrap();
    let own: Vec<_> = split.types().map(|ty| format!("{:?} {}", ty.kind(), ty.name())).collect();
    assert!(own.is_empty(), "{own:?}");
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
