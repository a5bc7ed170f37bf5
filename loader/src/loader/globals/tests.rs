//! Variables of objects made byte by byte, found and set.
#![cfg(test)]

use crate::{globals::GlobalValue, loader::Loader, sys::Pod as _};
use core_relo::{
    Endian, TypeId,
    btf::{Builder, BuiltMember, Kind},
};
use core_relo_object::{
    globals::{Global, GlobalError, GlobalKind},
    load_plan::{LoadPlanError, TargetKernel},
    object::Object,
    test_support::{self, TestObject, kernel, returns},
};
use core_relo_test_support::skip;
use object::{SectionKind, SymbolKind};

crate::pod! {
    /// Two ports, as `struct ports` has them.
    #[derive(Debug, PartialEq, Eq)]
    struct Ports { low: u32, high: u32 }

    struct Flag { is_set: u8 }
}

/// An object whose section has a variable of each of these types, each `size` bytes long.
fn made(
    section: &str,
    variables: impl FnOnce(&mut TestObject) -> Vec<(&'static str, TypeId, u32)>,
) -> Vec<u8> {
    let mut m = TestObject::new();
    let variables = variables(&mut m);
    let (mut end, mut infos) = (0u32, Vec::new());
    let mut places = Vec::new();
    for (name, ty, size) in variables {
        let var = m.types.var(name, ty, 1);
        infos.push((var, 0, size));
        places.push((name, end, size));
        end = end.saturating_add(size.next_multiple_of(8));
    }
    m.types.datasec(section, 0, &infos);
    let data = m.section(section, SectionKind::Data, &vec![0; usize::try_from(end).unwrap()]);
    for (name, at, size) in places {
        m.symbol(name, SymbolKind::Data, data, at.into(), size.into());
    }
    m.program("main", "socket", &returns(0));
    m.bytes()
}

/// One variable `v`.
fn one(size: u32, ty: impl FnOnce(&mut Builder, TypeId) -> TypeId) -> Vec<u8> {
    made(".data", |m| {
        let ty = ty(&mut m.types, m.int);
        vec![("v", ty, size)]
    })
}

fn set<T: GlobalValue>(bytes: &[u8], name: &str, value: &T) -> Result<(), GlobalError> {
    let Ok(object) = Object::parse(bytes) else { panic!("it is an object") };
    let mut loader = Loader::for_kernel(&object, kernel(|_| {}));
    let read = loader.global::<T>(name);
    let done = match loader.set_global(name, value) {
        Ok(_) => {
            let now = loader.global::<T>(name).map(|now| now.to_stored().as_bytes().to_vec());
            assert_eq!(now, Ok(value.to_stored().as_bytes().to_vec()));
            Ok(())
        }
        Err(LoadPlanError::Global(why)) => Err(why),
        Err(other) => panic!("{other}"),
    };
    if !matches!(done, Err(GlobalError::Bool { .. })) {
        assert_eq!(read.is_ok(), done.is_ok(), "{name} is read and set as the same types");
    }
    done
}

fn said<T: GlobalValue>(bytes: &[u8], name: &str, value: &T) -> String {
    set(bytes, name, value).unwrap_err().to_string()
}

#[test]
fn integers_take_integers_of_their_size_with_or_without_sign() {
    let int = one(4, |b, int| b.modifier(Kind::Const, int));
    assert_eq!(
        (set(&int, "v", &1u32), set(&int, "v", &-1i32), set(&int, "v", &[1u8; 4])),
        (Ok(()), Ok(()), Ok(()))
    );
    assert_eq!(
        said(&int, "v", &1f32),
        "global `v` of type `const int`: f32, expected an integer of 4 bytes or [u8; 4]"
    );
    assert!(said(&int, "v", &[1u16, 2]).contains(": [u16; 2], expected "));
    assert!(said(&int, "v", &[1u32]).contains(": [u32; 1], expected "));
    assert_eq!(said(&int, "v", &1u64), "global `v`: value size 8, expected 4 (`const int`)");
    let long = one(8, |b, _| b.int("long", 8, Builder::SIGNED));
    assert!(said(&long, "v", &Ports::zeroed()).contains("expected an integer of 8 bytes"));
    let of_names = one(4, |b, _| b.enumeration("mode", 4, &[("OFF", 0)]));
    assert_eq!((set(&of_names, "v", &1u32), set(&of_names, "v", &-1i32)), (Ok(()), Ok(())));
    assert!(said(&of_names, "v", &1f32).contains("`enum mode`"));
    let of_names = one(8, |b, _| b.enumeration64("wide", 8, &[("OFF", 0)]));
    assert_eq!(set(&of_names, "v", &1u64), Ok(()));
}

#[test]
fn a_bool_takes_0_and_1() {
    let bool = one(1, |b, _| b.int("_Bool", 1, 4));
    assert_eq!(
        (set(&bool, "v", &1u8), set(&bool, "v", &0i8), set(&bool, "v", &[1u8])),
        (Ok(()), Ok(()), Ok(()))
    );
    assert_eq!(said(&bool, "v", &2u8), "global `v` of type `_Bool`: 2, expected 0 or 1");
    assert_eq!((set(&bool, "v", &true), set(&bool, "v", &false)), (Ok(()), Ok(())));
    assert_eq!(
        said(&bool, "v", &Flag::zeroed()),
        "global `v` of type `_Bool`: core_relo_loader::loader::globals::tests::Flag, expected a bool or an integer of 1 byte or [u8; 1]"
    );
    let number = one(1, |b, _| b.int("unsigned char", 1, 0));
    assert_eq!(
        said(&number, "v", &true),
        "global `v` of type `unsigned char`: bool, expected an integer of 1 byte or [u8; 1]"
    );
    let wide = one(4, |b, _| b.int("int", 4, 1));
    assert_eq!(said(&wide, "v", &true), "global `v`: value size 1, expected 4 (`int`)");
}

#[test]
fn a_byte_that_is_no_bool_is_not_read_as_one() {
    let bytes = one(1, |b, _| b.int("_Bool", 1, 4));
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::for_kernel(&object, kernel(|_| {}));
    loader.set_global_bytes("v", &[7]).unwrap();
    assert_eq!(
        loader.global::<bool>("v").unwrap_err().to_string(),
        "global `v` of type `bool`: 7, expected 0 or 1"
    );
    loader.set_global("v", &true).unwrap();
    assert_eq!(loader.global::<bool>("v"), Ok(true));
    assert_eq!(loader.global::<u8>("v"), Ok(1));
}

#[test]
fn a_bool_is_read_and_set_while_the_program_runs() {
    let bytes = one(1, |b, _| b.int("_Bool", 1, 4));
    let object = Object::parse(&bytes).unwrap();
    let loaded = match Loader::new(&object).load() {
        Ok(loaded) => loaded,
        Err(e) => return skip!(Root, "nothing can be loaded here: {e}"),
    };
    assert_eq!(loaded.global::<bool>("v"), Ok(false));
    loaded.set_global("v", &true).unwrap();
    assert_eq!((loaded.global::<bool>("v"), loaded.global::<u8>("v")), (Ok(true), Ok(1)));
    loaded.set_global_bytes("v", &[2]).unwrap();
    let error = loaded.global::<bool>("v").unwrap_err().to_string();
    assert_eq!(error, "global `v` of type `bool`: 2, expected 0 or 1");
}

#[test]
fn floats_and_pointers_take_what_they_are() {
    let float = one(8, |b, _| b.float("double", 8));
    assert_eq!(set(&float, "v", &1.5f64), Ok(()));
    assert!(said(&float, "v", &1u64).contains("expected a float of 8 bytes"));
    let pointer = one(8, Builder::pointer);
    assert_eq!(set(&pointer, "v", &1u64), Ok(()));
    assert!(said(&pointer, "v", &1i64).contains("`int *`: i64, expected an address of 8 bytes"));
    assert!(said(&pointer, "v", &1f64).contains("expected an address"));
}

#[test]
fn structs_and_arrays_take_plain_old_data() {
    let ports = |b: &mut Builder, int| b.structure("ports", 8, &[("low", int, 0), ("high", int, 32)]);
    let structure = one(8, ports);
    assert_eq!(
        (set(&structure, "v", &Ports { low: 1, high: 2 }), set(&structure, "v", &[1u32, 2])),
        (Ok(()), Ok(()))
    );
    assert!(said(&structure, "v", &1u64).contains("`struct ports`: u64, expected plain old data of 8 bytes"));
    let array = one(16, |b, int| {
        let row = b.array(int, int, 2);
        b.array(row, int, 2)
    });
    assert_eq!((set(&array, "v", &[1u32, 2, 3, 4]), set(&array, "v", &[[1i32; 2]; 2])), (Ok(()), Ok(())));
    assert_eq!((set(&array, "v", &[Ports::zeroed(); 2]), set(&array, "v", &[7u8; 16])), (Ok(()), Ok(())));
    let said_of = said(&array, "v", &[1u64, 2]);
    assert!(
        said_of.contains("[u64; 2], expected an array of an integer of 4 bytes each or [u8; 16]"),
        "{said_of}"
    );
    assert!(said(&array, "v", &[1f32; 4]).contains(": [f32; 4], expected "));
    assert!(said(&array, "v", &1u128).contains(": u128, expected "));
    let of_structs = one(16, |b, int| {
        let ports = ports(b, int);
        b.array(ports, int, 2)
    });
    assert_eq!(set(&of_structs, "v", &[Ports::zeroed(); 2]), Ok(()));
    let text = one(16, |b, int| {
        let char = b.int("char", 1, Builder::SIGNED);
        b.array(char, int, 16)
    });
    assert_eq!((set(&text, "v", &[b'x'; 16]), set(&text, "v", &[-1i8; 16])), (Ok(()), Ok(())));
}

#[test]
fn without_types_and_where_they_contradict_the_symbol_the_size_counts() {
    let longer = one(8, |_, int| int);
    assert_eq!((set(&longer, "v", &1u64), set(&longer, "v", &1f64)), (Ok(()), Ok(())));
    let mut m = TestObject::new().without_types();
    let data = m.section(".data", SectionKind::Data, &[0; 8]);
    m.symbol("v", SymbolKind::Data, data, 0, 4);
    let bytes = m.bytes();
    assert_eq!((set(&bytes, "v", &1u32), set(&bytes, "v", &1f32)), (Ok(()), Ok(())));
    assert_eq!(said(&bytes, "v", &1u8), "global `v`: value size 1, expected 4");
    let untyped = said(&bytes, "v.x", &1u8);
    assert!(untyped.contains("the object has no BTF for it"), "{untyped}");
}

/// `struct { int first; struct { int inner; struct ports nested[2]; }; int bits : 3; } config`, and
/// `int table.x`
fn config() -> Vec<u8> {
    made(".rodata", |m| {
        let (b, int) = (&mut m.types, m.int);
        let ports = b.structure("ports", 8, &[("low", int, 0), ("high", int, 32)]);
        let array = b.array(ports, int, 2);
        let inner = b.structure("", 20, &[("inner", int, 0), ("nested", array, 32)]);
        let bit = |name, ty, bit_offset, bits| BuiltMember { name, ty, bit_offset, bitfield_bits: bits };
        let members = [bit("first", int, 0, 0), bit("", inner, 32, 0), bit("bits", int, 192, 3)];
        let config = b.composite(Kind::Struct, "config", 28, &members);
        let pointer = b.pointer(config);
        vec![("config", config, 28), ("table.x", int, 4), ("to", pointer, 8)]
    })
}

#[test]
fn members_and_elements_are_found_by_path() {
    let bytes = config();
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::for_kernel(&object, kernel(|_| {}));
    let place = |loader: &Loader<'_, '_>, name| loader.find_global(name).map(|g| (g.offset, g.size)).unwrap();
    assert_eq!(place(&loader, "config"), (0, 28));
    assert_eq!(place(&loader, "config.first"), (0, 4));
    assert_eq!(place(&loader, "config.inner"), (4, 4));
    assert_eq!(place(&loader, "config.nested"), (8, 16));
    assert_eq!(place(&loader, "config.nested[1]"), (16, 8));
    assert_eq!(place(&loader, ".rodata/config.nested[1].high"), (20, 4));
    assert_eq!(place(&loader, "table.x"), (32, 4));
    loader.set_global("config.nested[1]", &Ports { low: 3, high: 4 }).unwrap();
    loader.set_global("config.nested[0].high", &2u32).unwrap();
    let mut expected = [0; 28];
    for (place, value) in [(12, 2), (16, 3), (20, 4)] {
        expected[place..place + 4].copy_from_slice(&Endian::native().u32_bytes(value));
    }
    assert_eq!(loader.global_bytes("config").unwrap(), expected);
    let wrong = loader.set_global("config.nested[0].high", &2f32).unwrap_err().to_string();
    assert!(wrong.starts_with("global `config.nested[0].high` of type `int`: f32, expected "), "{wrong}");
}

#[test]
fn paths_that_lead_nowhere_say_where_they_end() {
    let bytes = config();
    let said = |name| said(&bytes, name, &0u32);
    assert_eq!(
        said("config.last"),
        "no global variable `config.last`: `struct config` has no member `last`; it has first, bits"
    );
    assert!(said("config.nested[2]").ends_with("`config.nested` has 2 elements"));
    assert!(said("config.nested[x]").ends_with("`x` is not an array index"));
    let unclosed = said("config.nested[0");
    assert!(unclosed.contains("unexpected `[0` after `config.nested`"), "{unclosed}");
    assert!(
        said("config.nested[0]low")
            .ends_with("unexpected `low` after `config.nested[0]`, expected `.member` or `[index]`")
    );
    assert!(said("config.first.x").ends_with("`config.first` is `int`, which has no members"));
    assert!(said("config[0]").ends_with("`config` is `struct config`, which has no elements"));
    assert!(said("config.bits").contains("is a bitfield"));
    assert!(said("to.first").ends_with("`to` is `struct config *`, which has no members"));
    assert!(said("config.").contains("has no member ``"));
    assert!(said("other.first").starts_with("no global variable `other.first` in "));
}

#[test]
fn members_that_contain_themselves_end() {
    let bytes = one(8, |b, int| {
        let own = b.next_id();
        b.structure("endless", 8, &[("", own, 0), ("", own, 32), ("x", int, 32)])
    });
    assert_eq!(set(&bytes, "v.x", &1u32), Ok(()));
    assert!(said(&bytes, "v.y", &1u32).contains("has no member `y`"));
    let outside = one(8, |b, int| b.structure("large", 8, &[("x", int, 64)]));
    assert!(said(&outside, "v.x", &1u32).ends_with("it reaches past the 8 bytes of `v`"));
}

#[test]
fn an_array_at_the_end_of_a_resized_section_has_more_elements() {
    let bytes = made(".data.more", |m| {
        let array = m.types.array(m.int, m.int, 1);
        vec![("first", array, 4), ("last", array, 4)]
    });
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::for_kernel(&object, kernel(|_| {}));
    loader.set_global("last", &[1u32]).unwrap();
    loader.map_mut(".data.more").value_size = Some(24);
    loader.set_global("last", &[1u32, 2, 3, 4]).unwrap();
    loader.set_global("last[2]", &7u32).unwrap();
    loader.set_global("last", &[5u32]).unwrap();
    assert_eq!(loader.global::<[u32; 1]>("last"), Ok([5]));
    assert!(loader.set_global("last[4]", &7u32).is_err() && loader.set_global("first[1]", &7u32).is_err());
    let plan = loader.plan().unwrap();
    let last = plan.globals().iter().find(|g| g.name == "last").unwrap();
    assert_eq!((last.offset, last.size, plan.maps()[0].data().len()), (8, 16, 24));
    let expected: Vec<u8> =
        [0, 0, 5, 2, 7, 4].into_iter().flat_map(|n| Endian::native().u32_bytes(n)).collect();
    assert_eq!(plan.maps()[0].data(), expected);
}

/// A kernel with a `struct ops` of two numbers and a function.
fn kernel_with_btf() -> TargetKernel {
    kernel(|b| {
        let int = b.int("int", 4, 1);
        let proto = b.func_proto(int, &[]);
        let pointer = b.pointer(proto);
        let ops = b.structure("ops", 16, &[("number", int, 0), ("flags", int, 32), ("hook", pointer, 64)]);
        let common = b.structure("bpf_struct_ops_common_value", 8, &[]);
        b.structure("bpf_struct_ops_ops", 32, &[("common", common, 0), ("data", ops, 128)]);
    })
}

#[test]
fn members_of_struct_ops_tables_are_set_before_the_load() {
    let mut m = TestObject::new();
    let int = m.int;
    let proto = m.types.func_proto(int, &[]);
    let pointer = m.types.pointer(proto);
    let ops = m.types.structure("ops", 16, &[("number", int, 0), ("flags", int, 32), ("hook", pointer, 64)]);
    let (one, two) = (m.types.var("one", ops, 1), m.types.var("two", ops, 1));
    m.types.datasec(".struct_ops.link", 32, &[(one, 0, 16), (two, 16, 16)]);
    // What is no program has to be 0.
    let data = m.section(".struct_ops.link", SectionKind::Data, &[[1; 8], [0; 8]].concat().repeat(2));
    m.symbol("one", SymbolKind::Data, data, 0, 16);
    m.symbol("two", SymbolKind::Data, data, 16, 16);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::for_kernel(&object, kernel_with_btf());
    {
        let two = loader.find_global("two").unwrap();
        assert_eq!((two.kind, two.offset, two.size, &*two.map), (GlobalKind::StructOps, 16, 16, "two"));
        assert_eq!(loader.global::<u32>("two.flags").unwrap(), 0x0101_0101);
        loader.set_global("two.flags", &7u32).unwrap();
        assert_eq!(loader.global::<u32>("two.flags").unwrap(), 7);
        assert_eq!(loader.global::<u32>("one.flags").unwrap(), 0x0101_0101);
        let pointer = loader.set_global("two.hook", &7u64).unwrap_err().to_string();
        assert!(pointer.contains("the loader fills pointers in struct_ops maps: set programs"), "{pointer}");
        assert!(loader.set_global("two.flags", &7f32).is_err());
    }
    let plan = loader.plan().unwrap();
    let flags: Vec<_> = plan.maps().iter().map(|m| test_support::words(m.data())[4..6].to_vec()).collect();
    assert_eq!(flags, [[0x0101_0101, 0x0101_0101], [0x0101_0101, 7]]);
}

#[test]
fn configuration_is_listed_and_not_set_here() {
    let mut m = TestObject::new();
    let var = m.types.var("CONFIG_HZ", m.int, 2);
    m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
    let symbol = m.undefined("CONFIG_HZ", false);
    let mut code = test_support::load(1, 0).to_vec();
    code.extend(returns(0));
    let section = m.program("main", "socket", &code);
    m.refer(section, 0, symbol, false);
    let bytes = m.bytes();
    assert!(said(&bytes, "CONFIG_HZ", &100u32).contains("give the loader a line of configuration"));
    let object = Object::parse(&bytes).unwrap();
    let all = Global::collect(&object);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].kind, &*all[0].map, all[0].size), (GlobalKind::Config, ".kconfig", 4));
}

/// The linker puts static variables of several files into one DATASEC, whose order is the compiler's.
#[test]
fn static_variables_of_one_name_have_the_types_declared_at_their_offsets() {
    let mut m = TestObject::new();
    let short = m.types.int("short", 2, Builder::SIGNED);
    let types = [(8, m.int), (0, short), (4, m.types.pointer(m.int)), (0, m.int)];
    let declared: Vec<_> = types.iter().map(|(at, ty)| (m.types.var("v", *ty, 0), *at, 4)).collect();
    m.types.datasec(".data", 16, &declared);
    let data = m.section(".data", SectionKind::Data, &[0; 16]);
    for at in [0, 4, 8, 12] {
        m.symbol("v", SymbolKind::Data, data, at, 4);
    }
    m.program("main", "socket", &returns(0));
    let bytes = m.bytes();
    let found: Vec<_> = Global::collect(&Object::parse(&bytes).unwrap()).iter().map(|g| g.ty).collect();
    let [(_, third), (_, first), (_, second), _] = types;
    assert_eq!(found, [Some(first), Some(second), Some(third), None]);
}
