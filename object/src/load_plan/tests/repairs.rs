//! Repairs of what the kernel would refuse: names and types of the BTF, names of maps and programs.

use crate::{
    load_plan::{LoadPlan, RepairKind, TargetKernel},
    test_support::{TestObject, kernel, returns},
};
use core_relo::{
    TypeId,
    btf::{Btf, BuiltMember, BuiltRecord, KernelBtfRules, Kind},
};
use object::SectionKind;

/// `KERNEL_VERSION(6, 12, 0)`.
const LINUX_6_12: u32 = 0x6_0c00;

fn newer_kernel() -> TargetKernel {
    let mut kernel = kernel(|_| {});
    kernel.kernel_version = LINUX_6_12;
    kernel
}

/// Plans an object with these types.
fn plan<T>(kernel: TargetKernel, types: impl FnOnce(&mut TestObject) -> T) -> (LoadPlan, T) {
    let mut object = TestObject::new();
    object.program("main", "tc", &returns(0));
    let ids = types(&mut object);
    (object.plan_on(kernel, |_| {}).unwrap(), ids)
}

fn btf(plan: &LoadPlan) -> Btf<'_> {
    Btf::parse(plan.btf().unwrap()).unwrap()
}

fn name(plan: &LoadPlan, id: TypeId) -> String {
    btf(plan).ty(id).unwrap().name().to_string()
}

fn repairs(plan: &LoadPlan) -> Vec<String> {
    plan.repairs().iter().map(ToString::to_string).collect()
}

#[test]
fn invalid_names_are_replaced_equal_ones_by_equal_ones_and_others_stay_distinct() {
    let (plan, ids) = plan(newer_kernel(), |m| {
        let (int, types) = (m.int, &mut m.types);
        [
            types.structure("Opt<u32>", 4, &[("größe", int, 0)]),
            types.forward("Opt<u32>", Kind::Struct),
            types.structure("Opt_u32_", 4, &[("a.b", int, 0)]),
            types.union("Opt(u32)", 4, &[]),
            types.typedef("9p", int),
            types.enumeration("e", 4, &[("core::X", 1)]),
        ]
    });
    let names = ids.map(|id| name(&plan, id));
    assert_eq!(names, ["Opt_u32__2", "Opt_u32__2", "Opt_u32_", "Opt_u32__3", "_9p", "e"]);
    let btf = btf(&plan);
    let member = |id| btf.ty(id).unwrap().member(0).unwrap().name.to_string();
    assert_eq!([member(ids[0]), member(ids[2])], ["gr__e", "a.b"].map(str::to_owned));
    assert_eq!(btf.ty(ids[5]).unwrap().enumerator(0).unwrap().name.to_string(), "core__X");
    let expected = [
        "BTF type [2] STRUCT `Opt<u32>`: has a name with `<` at byte 3, which the kernel does not allow: sent as `Opt_u32__2`",
        "BTF type [2] STRUCT `Opt_u32__2`: element `größe` has a name with the byte 0xb6 at byte 3, which the kernel does not allow: sent as `gr__e`",
        "BTF type [5] UNION `Opt(u32)`: has a name with `(` at byte 3, which the kernel does not allow: sent as `Opt_u32__3`",
        "BTF type [6] TYPEDEF `9p`: has a name that begins with `9`, expected a letter, `_` or `.`: sent as `_9p`",
        "BTF type [7] ENUM `e`: element `core::X` has a name with `:` at byte 4, which the kernel does not allow: sent as `core__X`",
    ];
    assert_eq!(repairs(&plan), expected);
    assert!(plan.to_string().contains("\nrepaired: BTF type [2] STRUCT `Opt<u32>`: "), "{plan}");
}

#[test]
fn the_longest_name_depends_on_the_kernel() {
    let long = "x".repeat(194);
    let (new, id) = plan(newer_kernel(), |m| m.types.structure(&long, 0, &[]));
    assert_eq!((name(&new, id), new.repair_count()), (long.clone(), 0));
    let (old, ids) = plan(kernel(|_| {}), |m| {
        let other = format!("{}y", "x".repeat(193));
        [&long, &other].map(|name| m.types.structure(name, 0, &[]))
    });
    assert_eq!(ids.map(|id| name(&old, id)), ["x".repeat(127), format!("{}_2", "x".repeat(117))]);
    assert!(repairs(&old)[0].contains("has a name of more than 128 bytes"), "{:?}", repairs(&old));
    // Every kernel that was observed accepts dots.
    let (old, id) = plan(kernel(|_| {}), |m| m.types.structure("a.b", 0, &[]));
    assert_eq!((name(&old, id), old.repair_count()), ("a.b".to_owned(), 0));
}

#[test]
fn sections_may_have_dots_and_on_newer_kernels_any_printable_character() {
    let section = |kernel| {
        let (plan, id) = plan(kernel, |m| {
            let data = m.section(".data.a$b", SectionKind::Data, &[0; 4]);
            m.symbol("v", object::SymbolKind::Data, data, 0, 4);
            let int = m.int;
            let var = m.types.var("v", int, 1);
            m.types.datasec(".data.a$b", 4, &[(var, 0, 4)])
        });
        name(&plan, id)
    };
    assert_eq!(section(newer_kernel()), ".data.a$b");
    let old = super::without(kernel(|_| {}), &[crate::features::Feature::BtfQmarkDatasec]);
    assert_eq!(section(old), ".data.a_b");
}

#[test]
fn parameters_of_functions_get_names_and_those_of_pointers_need_none() {
    let (plan, [of_function, of_pointer, _]) = plan(newer_kernel(), |m| {
        let (int, types) = (m.int, &mut m.types);
        let of_function = types.func_proto(int, &[("", int), ("b", int), ("", TypeId::VOID)]);
        let of_pointer = types.func_proto(int, &[("", int)]);
        types.pointer(of_pointer);
        [of_function, of_pointer, types.func("f", of_function, 0)]
    });
    let btf = btf(&plan);
    let params = |id| -> Vec<_> { btf.ty(id).unwrap().params().map(|p| p.name.to_string()).collect() };
    assert_eq!(params(of_function), ["arg1", "b", ""]);
    assert_eq!(params(of_pointer), [""]);
    assert_eq!(repairs(&plan), ["BTF type [5] FUNC `f`: parameter 1 has no name: sent as `arg1`"]);
}

#[test]
fn types_without_a_size_and_unaligned_floats_become_bytes() {
    let (plan, [var, packed, aligned, holes]) = plan(newer_kernel(), |m| {
        let data = m.section(".data", SectionKind::Data, &[0; 16]);
        m.symbol("g", object::SymbolKind::Data, data, 0, 16);
        let (int, types) = (m.int, &mut m.types);
        let complex = types.typedef("complex_t", TypeId::VOID);
        let var = types.var("g", complex, 1);
        types.datasec(".data", 16, &[(var, 0, 16)]);
        let float = types.float("float", 4);
        let packed = types.structure("packed", 5, &[("c", int, 0), ("f", float, 8)]);
        let aligned = types.structure("aligned", 8, &[("c", int, 0), ("f", float, 32)]);
        let holes = types.structure("holes", 24, &[("a", int, 0), ("z", complex, 64), ("b", int, 160)]);
        [var, packed, aligned, holes]
    });
    let btf = btf(&plan);
    let bytes = |id| {
        let array = btf.ty(id).unwrap().array().unwrap();
        assert_eq!(btf.ty(array.element).unwrap().size_or_type(), 1);
        array.nelems
    };
    assert_eq!(bytes(btf.ty(var).unwrap().target().unwrap()), 16);
    assert_eq!(bytes(btf.ty(packed).unwrap().member(1).unwrap().ty), 4);
    let float = btf.ty(aligned).unwrap().member(1).unwrap().ty;
    assert_eq!(btf.ty(float).unwrap().kind(), Kind::Float);
    assert_eq!(bytes(btf.ty(holes).unwrap().member(1).unwrap().ty), 12);
    assert!(plan.repairs().iter().all(|repair| repair.kind == RepairKind::BtfType));
    let texts = repairs(&plan);
    assert!(texts[0].ends_with("VAR `g`: its type has no size: sent as an array of 16 bytes"), "{texts:?}");
    let expected = "member `f` is a floating-point number that is not aligned: sent as an array of 4 bytes";
    assert!(texts[1].ends_with(expected), "{texts:?}");
}

#[test]
fn members_are_sorted_by_offset_and_their_tags_follow() {
    let (plan, [ty, tag, whole]) = plan(newer_kernel(), |m| {
        let (int, types) = (m.int, &mut m.types);
        let member = |name, bit_offset| BuiltMember { name, ty: int, bit_offset, bitfield_bits: 0 };
        let ty = types.composite(Kind::Struct, "s", 12, &[member("c", 64), member("a", 0), member("b", 32)]);
        [ty, types.decl_tag("of_c", ty, 0), types.decl_tag("of_s", ty, -1)]
    });
    let btf = btf(&plan);
    let names: Vec<_> = btf.ty(ty).unwrap().members().map(|m| m.name.to_string()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let index = |id| btf.ty(id).unwrap().component_index();
    assert_eq!([index(tag), index(whole)], [Some(2), Some(-1)]);
    assert_eq!(plan.repairs()[0].kind, RepairKind::BtfOrder);
}

/// The space of a member without a size ends at the next member by offset.
#[test]
fn members_without_a_size_are_repaired_in_the_order_of_their_offsets() {
    let (plan, ty) = plan(newer_kernel(), |m| {
        let (int, types) = (m.int, &mut m.types);
        let complex = types.typedef("complex_t", TypeId::VOID);
        let member = |name, ty, bit_offset| BuiltMember { name, ty, bit_offset, bitfield_bits: 0 };
        types.composite(Kind::Struct, "s", 12, &[member("z", complex, 32), member("a", int, 0)])
    });
    let btf = btf(&plan);
    let member = btf.ty(ty).unwrap().member(1).unwrap();
    assert_eq!(member.name.to_string(), "z");
    assert_eq!(btf.ty(member.ty).unwrap().array().unwrap().nelems, 8);
}

#[test]
fn tags_in_which_the_kernel_finds_names_follow_the_new_names() {
    let (plan, tags) = plan(newer_kernel(), |m| {
        let (int, types) = (m.int, &mut m.types);
        types.structure("list::Node", 4, &[("link", int, 0)]);
        let head = types.structure("head", 4, &[("first", int, 0)]);
        let tag = |types: &mut core_relo::btf::Builder, text: &str| types.decl_tag(text, head, 0);
        [tag(types, "contains:list::Node:link"), tag(types, "contains:other:link"), tag(types, "a::b")]
    });
    let names = tags.map(|tag| name(&plan, tag));
    assert_eq!(names, ["contains:list__Node:link", "contains:other:link", "a::b"]);
}

#[test]
fn maps_and_programs_get_names_that_the_kernel_accepts() {
    let mut object = TestObject::new();
    object.map("m::<q>", &[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
    object.program("run::it", "tc", &returns(0));
    object.program("fifteen_letters::x", "xdp", &returns(0));
    let plan = object.plan_on(newer_kernel(), |_| {}).unwrap();
    assert_eq!((plan.maps()[0].name(), plan.maps()[0].kernel_name()), ("m::<q>", &b"m___q_"[..]));
    let names: Vec<_> = plan.programs().iter().map(|p| (p.name(), p.kernel_name())).collect();
    // The kernel gets 15 bytes of a name only.
    let expected = [("run::it", &b"run__it"[..]), ("fifteen_letters::x", &b"fifteen_letters::x"[..])];
    assert_eq!(names, expected);
    let problem = "its name has other characters than letters, digits, `_` and `.`, which the kernel refuses";
    let expected = [
        format!("map `m::<q>`: {problem}: sent as `m___q_`"),
        format!("program `run::it`: {problem}: sent as `run__it`"),
    ];
    // The third repair is that of the map's variable in the BTF.
    assert_eq!(repairs(&plan)[..2], expected);
}

#[test]
fn a_btf_that_the_kernel_accepts_stays_as_it_is_and_repairs_are_counted_beyond_the_list() {
    let (plan, _) = plan(newer_kernel(), |m| {
        let int = m.int;
        m.types.structure("s", 4, &[("a", int, 0)])
    });
    assert_eq!(plan.repair_count(), 0);
    let (plan, ()) = self::plan(newer_kernel(), |m| {
        for n in 0..2000 {
            m.types.structure(&format!("{n}"), 0, &[]);
        }
    });
    assert_eq!((plan.repairs().len(), plan.repair_count()), (1024, 2000));
    assert!(plan.to_string().contains("repaired: 1992 more\n"), "{plan}");
}

#[test]
fn an_empty_name_at_another_string_offset_is_no_name() {
    let (plan, id) = plan(newer_kernel(), |m| {
        // The NUL byte after the string.
        let empty = m.types.string("x").0 + 1;
        m.types.raw(
            "s",
            BuiltRecord {
                vlen: 1,
                size_or_type: 4,
                words: &[empty, m.int.0, 0],
                ..BuiltRecord::new(Kind::Struct)
            },
        )
    });
    let btf = btf(&plan);
    assert!(btf.ty(id).unwrap().member(0).unwrap().name.is_empty());
    assert!(btf.kernel_violations(&KernelBtfRules::of_release(6, 12)).is_empty());
    let repair = "has an empty name at another string offset than 0: sent as no name";
    assert_eq!(repairs(&plan), [format!("BTF type [{id}] STRUCT `s`: {repair}")]);
}
