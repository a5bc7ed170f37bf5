//! Tests of struct_ops maps.
#![expect(clippy::arithmetic_side_effects, reason = "small offsets in bytes that the tests build")]

use crate::{
    load_plan::{LoadPlan, MapPlan, MapRole, TargetKernel},
    test_support::{Setup, TestObject, kernel, plan_bytes, returns, skipped},
};
use core_relo::{
    Endian,
    btf::{Btf, Kind},
};
use object::SectionKind;

/// Returns a kernel whose `struct ops` has `number` at byte 0, `first` at 8, `second` at 16 and `data` at 24.
/// The struct is at byte 64 of the map's value.
fn kernel_with_ops() -> TargetKernel {
    kernel(|b| {
        let int = b.int("int", 4, 1);
        let proto = b.func_proto(int, &[]);
        let pointer = b.pointer(proto);
        let data = b.pointer(int);
        let ops = b.structure(
            "ops",
            32,
            &[("number", int, 0), ("first", pointer, 64), ("second", pointer, 128), ("data", data, 192)],
        );
        let common = b.structure("bpf_struct_ops_common_value", 8, &[]);
        b.structure("bpf_struct_ops_ops", 128, &[("common", common, 0), ("data", ops, 512)]);
    })
}

/// Creates an object with a table in a section. Each member has 8 bytes, with a number or a pointer to a
/// program.
fn table(section: &str, structure: &str, members: &[(&str, Result<u32, &str>)]) -> TestObject {
    let mut m = TestObject::new();
    let int = m.int;
    let proto = m.types.func_proto(int, &[]);
    let pointer = m.types.pointer(proto);
    let (mut bytes, mut fields, mut programs) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in members {
        let offset = u32::try_from(bytes.len()).unwrap();
        match value {
            Ok(number) => {
                fields.push((*name, int, offset * 8));
                Endian::native().put_u32(&mut bytes, *number);
                bytes.extend([0; 4]);
            }
            Err(program) => {
                fields.push((*name, pointer, offset * 8));
                programs.push((u64::from(offset), *program));
                bytes.extend([0; 8]);
            }
        }
    }
    let size = u32::try_from(bytes.len()).unwrap();
    let ty = m.types.structure(structure, size, &fields);
    let var = m.types.var("mine", ty, 1);
    m.types.datasec(section, 0, &[(var, 0, size)]);
    let data = m.section(section, SectionKind::Data, &bytes);
    m.symbol("mine", object::SymbolKind::Data, data, 0, size.into());
    for (offset, program) in programs {
        let code = m.code(&format!("struct_ops/{program}"), &returns(0));
        let symbol = m.function(program, code, 0, 2);
        m.reloc(data, offset, symbol, 2);
    }
    m
}

/// Plans an object with a table whose member `first` is the program `one`.
pub(super) fn with_program(
    set: impl FnOnce(&mut Setup<'_, '_>),
) -> Result<LoadPlan, crate::load_plan::LoadPlanError> {
    table(".struct_ops", "ops", &[("first", Err("one"))]).plan_on(kernel_with_ops(), set)
}

/// Returns the offset and the function of each program in a table's value.
fn slots(map: &MapPlan) -> Vec<(usize, usize)> {
    map.programs().iter().map(|slot| (slot.offset(), slot.program().0)).collect()
}

/// Returns the name, the struct and the member of each program.
fn programs(plan: &LoadPlan) -> Vec<(&str, u32, u32)> {
    plan.programs().iter().map(|p| (p.name(), p.attach().type_id().unwrap().0, p.attach_type())).collect()
}

#[test]
fn members_are_matched_by_name() {
    let members = [("second", Err("two")), ("number", Ok(7)), ("first", Err("one"))];
    let plan = table(".struct_ops.link", "ops___mine", &members).plan_on(kernel_with_ops(), |_| {}).unwrap();
    let map = &plan.maps()[0];
    assert_eq!((map.name(), map.role(), map.map_flags()), ("mine", MapRole::StructOps, 1 << 13));
    assert_eq!(
        (map.value_size(), map.kernel_value_type(), map.value_type()),
        (128, core_relo::TypeId(7), core_relo::TypeId::VOID)
    );
    assert_eq!(slots(map), [(64 + 16, 0), (64 + 8, 1)]);
    let mut value = vec![0; 128];
    value[64..68].copy_from_slice(&Endian::native().u32_bytes(7));
    assert_eq!(map.data(), value);
    // The struct is the kernel's type 5; `first` is its member 1.
    assert_eq!(programs(&plan), [("two", 5, 2), ("one", 5, 1)]);
    assert!(plan.btf_is_mandatory());
}

#[test]
fn programs_are_replaced_by_name_before_the_load() {
    let members = [("first", Err("one")), ("number", Ok(7)), ("second", Err("two"))];
    let object = || table(".struct_ops.link", "ops", &members);
    let set = |m: TestObject, member: &str, program: Option<&str>| {
        let member = member.to_owned();
        m.plan_on(kernel_with_ops(), move |loader| {
            loader.map_mut("mine").programs.insert(member, program.map(str::to_owned));
        })
    };
    // `one` is no longer in any table.
    let error = set(object(), "first", Some("two")).unwrap_err();
    assert_eq!(
        crate::test_support::line(&error),
        "map `mine`: member `second`: its program is also in another table, for another member"
    );
    let plan = object().plan_on(kernel_with_ops(), |loader| {
        loader.map_mut("mine").programs.insert("second".into(), Some("one".into()));
        loader.map_mut("mine").programs.insert("first".into(), None);
    });
    let plan = plan.unwrap();
    assert_eq!(slots(&plan.maps()[0]), [(64 + 16, 0)]);
    assert_eq!(programs(&plan), [("one", 5, 2)]);
    assert_eq!(skipped(&plan), [("two", "no struct_ops map that is created uses it")]);
    for (member, program, message) in [
        ("third", None, "map `mine`: member `third` does not exist, but the settings have a program for it"),
        (
            "number",
            Some("one"),
            "map `mine`: member `number` is not a function pointer, but the settings have a program for it",
        ),
        (
            "first",
            Some("none"),
            "map `mine`: member `first` cannot hold `none`, which is not a program of a section `struct_ops`",
        ),
    ] {
        assert_eq!(crate::test_support::line(&set(object(), member, program).unwrap_err()), message);
    }
}

#[test]
fn members_that_the_kernel_lacks_have_to_be_0() {
    let plan = table(".struct_ops", "ops", &[("newer", Ok(0)), ("number", Ok(1))])
        .plan_on(kernel_with_ops(), |_| {});
    assert_eq!(plan.unwrap().maps()[0].map_flags(), 0);
    let error = table(".struct_ops", "ops", &[("newer", Ok(3))]).error_on(kernel_with_ops());
    assert_eq!(
        error,
        "map `mine`: member `newer`: it is not 0, and the kernel's struct ops has no such member"
    );
    let error = table(".struct_ops", "ops", &[("newer", Err("one"))]).error_on(kernel_with_ops());
    assert!(error.contains("member `newer`"), "{error}");
}

#[test]
fn members_of_another_kind_are_refused() {
    let error = table(".struct_ops", "ops", &[("number", Err("one"))]).error_on(kernel_with_ops());
    assert_eq!(error, "map `mine`: member `number`: wrong kind: PTR, expected INT as in the kernel");
    let error = table(".struct_ops", "ops", &[("data", Err("one"))]).error_on(kernel_with_ops());
    assert_eq!(error, "map `mine`: member `data`: the kernel's member is not a function pointer");
}

#[test]
fn a_pointer_without_a_program_has_to_be_0() {
    for (member, offset) in [("first", 8), ("data", 24)] {
        let mut m = TestObject::new();
        let pointer = if member == "first" {
            let proto = m.types.func_proto(m.int, &[]);
            m.types.pointer(proto)
        } else {
            m.types.pointer(m.int)
        };
        let ty = m.types.structure("ops", 32, &[(member, pointer, offset * 8)]);
        let var = m.types.var("mine", ty, 1);
        m.types.datasec(".struct_ops", 0, &[(var, 0, 32)]);
        let mut bytes = [0; 32];
        bytes[usize::try_from(offset).unwrap()] = 1;
        let data = m.section(".struct_ops", SectionKind::Data, &bytes);
        m.symbol("mine", object::SymbolKind::Data, data, 0, 32);
        let set = |loader: &mut Setup<'_, '_>| {
            loader.map_mut("mine").programs.insert("first".into(), None);
        };
        let message =
            format!("map `mine`: member `{member}`: it is a pointer other than 0 without a program");
        let bytes = m.bytes();
        let plan = |set: &dyn Fn(&mut Setup<'_, '_>)| {
            plan_bytes(&bytes, &kernel_with_ops(), set).map_err(|e| e.to_string())
        };
        let error = plan(&|_| {}).expect_err("refused");
        assert!(error.ends_with(&message), "{error}");
        // The settings empty the member.
        assert_eq!(plan(&set).is_ok(), member == "first");
    }
}

#[test]
fn all_tables_of_an_optional_section_are_optional() {
    let mut m = TestObject::new();
    let ty = m.types.structure("ops", 8, &[]);
    let (one, two) = (m.types.var("one", ty, 1), m.types.var("two", ty, 1));
    m.types.datasec("?.struct_ops", 16, &[(one, 0, 8), (two, 8, 8)]);
    let data = m.section("?.struct_ops", SectionKind::Data, &[0; 16]);
    for (name, offset) in [("one", 0), ("two", 8)] {
        m.symbol(name, object::SymbolKind::Data, data, offset, 8);
    }
    let plan = m.plan_on(kernel_with_ops(), |_| {}).unwrap();
    assert_eq!(plan.maps().iter().map(MapPlan::autocreate).collect::<Vec<_>>(), [false, false]);
}

#[test]
fn overlapping_tables_are_refused() {
    let mut m = TestObject::new();
    let ty = m.types.structure("ops", 8, &[]);
    let (one, two) = (m.types.var("one", ty, 1), m.types.var("two", ty, 1));
    // The BTF gives the offsets if the section has a size.
    m.types.datasec(".struct_ops", 16, &[(one, 0, 8), (two, 4, 8)]);
    m.section(".struct_ops", SectionKind::Data, &[0; 16]);
    assert_eq!(m.error_on(kernel_with_ops()), "map `two`: it overlaps the struct_ops map before it");
}

#[test]
fn a_table_without_a_struct_in_the_kernel_is_refused() {
    let error = table(".struct_ops", "others", &[("number", Ok(1))]).error_on(kernel_with_ops());
    assert_eq!(
        error,
        "map `mine`: this kernel has no struct_ops `others`: no struct bpf_struct_ops_others in the BTF of the kernel or a module"
    );
    assert_eq!(
        table(".struct_ops", "", &[("number", Ok(1))]).error_on(kernel_with_ops()),
        "map `mine`: its type is not a named struct"
    );
}

#[test]
fn an_optional_table_and_its_programs_are_loaded_on_request() {
    let optional = || table("?.struct_ops", "others", &[("first", Err("one"))]);
    let plan = optional().plan_on(kernel_with_ops(), |_| {}).unwrap();
    assert!(!plan.maps()[0].autocreate() && plan.programs().is_empty());
    assert_eq!(skipped(&plan), [("one", "no struct_ops map that is created uses it")]);
    let request =
        |m: TestObject| m.plan_on(kernel_with_ops(), |loader| loader.map_mut("mine").autocreate = Some(true));
    assert!(request(optional()).is_err());
    let plan = request(table("?.struct_ops", "ops", &[("first", Err("one"))])).unwrap();
    assert_eq!(programs(&plan), [("one", 5, 1)]);
    // The kernel gets the section's name with its `?`.
    let btf = Btf::parse(plan.btf().unwrap()).unwrap();
    assert!(btf.find(b"?.struct_ops", Kind::Datasec).is_some());
}

#[test]
fn a_struct_ops_program_without_a_table_is_refused() {
    let mut m = TestObject::new();
    m.program("alone", "struct_ops/first", &returns(0));
    assert_eq!(
        m.error_on(kernel_with_ops()),
        "program `alone`: no struct_ops map that is created refers to it"
    );
    let m = table(".struct_ops", "ops", &[("first", Err("one"))]);
    let plan =
        m.plan_on(kernel_with_ops(), |loader| loader.map_mut("mine").autocreate = Some(false)).unwrap();
    assert!(plan.programs().is_empty());
}

/// A small file must not cause a large allocation.
#[test]
fn a_large_kernel_struct_is_refused() {
    let kernel = kernel(|b| {
        let int = b.int("int", 4, 1);
        let ops = b.structure("ops", 8, &[("number", int, 0)]);
        b.structure("bpf_struct_ops_ops", 300 << 20, &[("data", ops, 512)]);
    });
    assert_eq!(
        table(".struct_ops", "ops", &[("number", Ok(1))]).error_on(kernel),
        "map `mine`: the kernel's struct is too large: 314572800 bytes, expected at most 268435456 in all struct_ops maps together"
    );
}
