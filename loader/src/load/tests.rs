//! Loads on the running kernel, and the messages of loads that it refuses.

use super::{LoadError, LoadedProgram, Prepared, RunningKernel, prepare};
use crate::{
    loader::Loader,
    sys::{self, Errno, Pod as _},
    target::running_kernel_btf,
};
use core_relo::btf::Kind;
use core_relo_object::{
    load_plan::LoadPlan,
    map_owner::OwnerRule,
    object::Object,
    test_support::{SectionKind, SymbolKind, TestObject, call, exit, load, returns},
};
use core_relo_test_support::skip;

/// Returns the error of an object that the running kernel must refuse. Skips the test if this process may
/// load nothing.
fn refused(object: TestObject) -> Option<LoadError> {
    let mut minimal = TestObject::new();
    minimal.program("main", "socket", &returns(0));
    if let Some(e) = load_error(minimal) {
        skip!(Root, "nothing can be loaded here: {e}");
        return None;
    }
    let error = load_error(object);
    assert!(error.is_some(), "the kernel loaded the object");
    error
}

fn load_error(object: TestObject) -> Option<LoadError> {
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    Loader::new(&object).name("bad").load().err()
}

/// Creates the maps of a plan. Skips the test if this process may load nothing.
fn prepared(plan: &LoadPlan) -> Option<Prepared<'_, RunningKernel>> {
    let prepared = prepare(plan, &RunningKernel);
    prepared.inspect_err(|e| skip!(Root, "nothing can be loaded here: {e}")).ok()
}

#[test]
fn a_refused_program_is_left_out_of_a_partial_load() {
    let mut m = map(&[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)]);
    m.program("bad", "socket", &[exit()]);
    m.program("later", "socket", &returns(1));
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Some(mut prepared) = prepared(&plan) else { return };
    let table = prepared.loaded().map("table").and_then(|m| m.handle().ok());
    assert!(table.is_some() && prepared.loaded().programs().is_empty());
    assert_eq!(prepared.load_program("main").map(|p| p.name().to_owned()), Ok("main".to_owned()));
    assert!(matches!(prepared.load_program("bad"), Err(LoadError::Program { .. })));
    let unknown = prepared.load_program("worse").unwrap_err().to_string();
    assert!(unknown.starts_with("it has no program to be loaded `worse`; it has "), "{unknown}");
    let loaded = prepared.finish_partial().unwrap();
    let names: Vec<_> = loaded.programs().iter().map(LoadedProgram::name).collect();
    assert_eq!(names, ["main"]);
    assert!(prepare(&plan, &RunningKernel).unwrap().finish().is_err());
}

#[test]
fn the_map_element_of_a_refused_program_stays_empty() {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(core_relo::TypeId::VOID, &[]);
    let numbers = [("type", 3), ("key_size", 4), ("max_entries", 2)];
    let (maps, _) = m.map("first", &numbers, Some(proto));
    m.map("second", &numbers, Some(proto));
    // The `values` of each map definition follow three pointers.
    for (at, (name, code)) in [(24, ("good", &returns(0)[..])), (32 + 24, ("bad", &[exit()][..]))] {
        let section = m.code("socket", code);
        let program = m.function(name, section, 0, u64::try_from(code.len()).unwrap());
        m.reloc(maps, at, program, 2);
    }
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Some(mut prepared) = prepared(&plan) else { return };
    prepared.load_program("good").unwrap();
    prepared.load_program("bad").unwrap_err();
    let loaded = prepared.finish_partial().unwrap();
    let program_id = |map: &str| {
        let (map, mut id) = (loaded.map(map).unwrap().handle().unwrap(), 0u32);
        map.shape().lookup(0u32.as_bytes(), id.as_bytes_mut(), 0).map(|()| id)
    };
    let id = sys::ProgramInfo::query(&loaded.programs()[0]).unwrap().id;
    assert_eq!((program_id("first"), program_id("second")), (Ok(id), Err(Errno(libc::ENOENT))));
}

#[test]
fn programs_with_the_same_name_are_all_loaded() {
    let mut m = TestObject::new();
    m.program("main", "socket", &returns(0));
    m.program("main", "xdp", &returns(1));
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Some(mut prepared) = prepared(&plan) else { return };
    // A name stands for the first program that has it.
    assert_eq!(prepared.load_program("main").unwrap().plan.section(), "socket");
    assert_eq!(prepared.loaded().programs().len(), 1);
    let loaded = prepared.finish().unwrap();
    let sections: Vec<_> = loaded.programs().iter().map(|p| p.plan.section()).collect();
    assert_eq!(sections, ["socket", "xdp"]);
}

/// The numbers of a map's definition.
type Numbers<'n> = &'n [(&'n str, u32)];

fn map(numbers: Numbers<'_>) -> TestObject {
    let mut m = TestObject::new();
    m.map("table", numbers, None);
    m.program("main", "socket", &returns(0));
    m
}

#[test]
fn a_map_that_no_kernel_creates_is_an_error_with_a_hint() {
    let cases: [(Numbers<'_>, i32, &str); 6] = [
        (
            &[("type", 999), ("max_entries", 1), ("key_size", 4), ("value_size", 4)],
            libc::EINVAL,
            "unknown map type 999",
        ),
        (
            &[("type", 1), ("max_entries", 1), ("key_size", 4)],
            libc::EINVAL,
            "the map definition has no value, or a value of size 0",
        ),
        (
            &[("type", 1), ("max_entries", 1), ("value_size", 4)],
            libc::EINVAL,
            "the map definition has no key",
        ),
        (
            &[("type", 1), ("key_size", 4), ("value_size", 4)],
            libc::EINVAL,
            "the map definition has no max_entries",
        ),
        (
            &[("type", 2), ("max_entries", 1), ("key_size", 8), ("value_size", 4)],
            libc::EINVAL,
            "every kernel refuses the map: key_size does not fit BPF_MAP_TYPE_ARRAY: 8, expected 4",
        ),
        (
            &[("type", 2), ("max_entries", u32::MAX), ("key_size", 4), ("value_size", 1 << 30)],
            libc::E2BIG,
            "the kernel does not allow keys or values of this size, or this many entries",
        ),
    ];
    for (numbers, errno, hint) in cases {
        let Some(error) = refused(map(numbers)) else { return };
        let text = error.to_string();
        // Kernels differ in the limit on a map's size and in the error number.
        let is_size = errno == libc::E2BIG && error.errno() == Some(Errno(libc::ENOMEM));
        assert!(error.errno() == Some(Errno(errno)) || is_size, "{text}");
        assert!(text.starts_with("bad: map `table`: creating it: ") && !text.contains('\n'), "{text}");
        assert!(text.contains(hint) || is_size, "{text}");
        // Newer kernels give their reason.
        if text.contains("(the kernel's reason: ") {
            println!("{text}");
        }
    }
}

#[test]
fn an_exclusive_map_is_for_its_program_only() {
    let mut m = TestObject::new();
    let numbers = [("type", 2), ("max_entries", 1), ("key_size", 4), ("value_size", 4)];
    let (_, symbol) = m.map("table", &numbers, None);
    for (name, result) in [("owner", 0), ("stranger", 1)] {
        let [set, exit] = returns(result);
        let program = m.program(name, "socket", &[load(1, 0)[0], load(1, 0)[1], set, exit]);
        m.refer(program, 0, symbol, false);
    }
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("bad");
    loader.map_mut("table").exclusive_to = Some("nobody".to_owned());
    let unknown = loader.plan().unwrap_err().to_string();
    assert_eq!(unknown, "bad: map `table`: it is exclusive to program `nobody`, which is not loaded");
    loader.map_mut("table").exclusive_to = Some("owner".to_owned());
    let plan = loader.plan().unwrap();
    let mut prepared = match prepare(&plan, &RunningKernel) {
        Ok(prepared) => prepared,
        Err(e) => return skip!("{e}"),
    };
    prepared.load_program("owner").unwrap_or_else(|e| panic!("{e}"));
    let refused = prepared.load_program("stranger").unwrap_err();
    assert_eq!(refused.errno(), Some(Errno(libc::EACCES)), "{refused}");
}

#[test]
fn recursion_is_named_in_the_error() {
    for is_mutual in [false, true] {
        let mut m = TestObject::new();
        // a calls itself, or b, which calls a.
        let code = if is_mutual { vec![call(1), exit(), call(-3), exit()] } else { vec![call(-1), exit()] };
        let text = m.code(".text", &code);
        let a = m.function("a", text, 0, 2);
        if is_mutual {
            m.function("b", text, 2, 2);
        }
        let main = m.program("main", "socket", &[call(-1), exit()]);
        m.refer(main, 0, a, true);
        let Some(error) = refused(m) else { return };
        let text = error.to_string();
        assert!(text.starts_with("bad: program `main` (section socket): refused by the kernel: "), "{text}");
        assert!(text.contains("BPF has no recursion"), "{text}");
    }
}

#[test]
fn an_error_without_a_verifier_log_is_one_line() {
    let mut m = TestObject::new();
    m.program("main", "socket", &returns(0));
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("bad");
    loader.program_mut("main").flags = 1 << 31;
    match loader.load() {
        Ok(_) => panic!("no kernel knows the flag"),
        Err(e) if e.errno() == Some(Errno(libc::EPERM)) => skip!(Root, "nothing can be loaded here: {e}"),
        Err(e) => {
            let text = e.to_string();
            let expected = "bad: program `main` (section socket): refused by the kernel: EINVAL: Invalid argument (the verifier's \
                            log is empty: this kernel probably does not know programs of type ";
            assert!(text.starts_with(expected) && !text.contains('\n'), "{text}");
        }
    }
}

/// Creates an object whose programs `a` and `b`, of these sections, refer to one map of a type.
fn sharing(map_type: u32, sections: [&str; 2]) -> TestObject {
    let mut m = TestObject::new();
    let numbers = [("type", map_type), ("key_size", 4), ("value_size", 4), ("max_entries", 2)];
    let (_, symbol) = m.map("shared", &numbers, None);
    for (name, section) in ["a", "b"].into_iter().zip(sections) {
        let [first, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let section = m.program(name, section, &[first, high, zero, exit]);
        m.refer(section, 0, symbol, false);
    }
    m
}

#[test]
fn a_program_that_does_not_fit_the_owner_of_its_map_is_explained() {
    let cases = [
        (3, ["xdp", "tc"], "program type of `b`: BPF_PROG_TYPE_SCHED_CLS, expected BPF_PROG_TYPE_XDP"),
        (3, ["xdp", "xdp.frags"], "BPF_F_XDP_HAS_FRAGS of `b`: set, expected not set"),
        (14, ["xdp", "xdp.frags"], "BPF_F_XDP_HAS_FRAGS of `b`: set, expected not set"),
    ];
    for (map_type, sections, difference) in cases {
        let Some(error) = refused(sharing(map_type, sections)) else { return };
        let message = format!(
            "bad: program `b` (section {}): refused by the kernel: EINVAL: Invalid argument (map `shared`: it belongs to its \
             first program, `a`: {difference}: give each kind of program a map of its own)",
            sections[1]
        );
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn programs_of_two_members_of_struct_ops_that_share_a_program_array_are_explained() {
    let kernel = running_kernel_btf();
    let Ok(types) = kernel.vmlinux() else { return skip!("the kernel's BTF cannot be read") };
    let has_struct = types.find(b"bpf_struct_ops_tcp_congestion_ops", Kind::Struct).is_some();
    if !has_struct || OwnerRule::AttachType.is_compared_by(types) != Some(true) {
        return skip!("the kernel does not compare members of struct_ops");
    }
    let mut m = TestObject::new();
    let proto = m.types.func_proto(m.int, &[]);
    let pointer = m.types.pointer(proto);
    let members = [("ssthresh", pointer, 0), ("undo_cwnd", pointer, 64)];
    let ty = m.types.structure("tcp_congestion_ops", 16, &members);
    let var = m.types.var("mine", ty, 1);
    m.types.datasec(".struct_ops", 16, &[(var, 0, 16)]);
    let data = m.section(".struct_ops", SectionKind::Data, &[0; 16]);
    m.symbol("mine", SymbolKind::Data, data, 0, 16);
    let numbers = [("type", 3), ("key_size", 4), ("value_size", 4), ("max_entries", 2)];
    let (_, jumps) = m.map("jumps", &numbers, None);
    for (name, offset) in [("one", 0), ("two", 8)] {
        let [first, high] = load(1, 0);
        let [two, exit] = returns(2);
        let section = m.code(&format!("struct_ops/{name}"), &[first, high, two, exit]);
        let program = m.function(name, section, 0, 4);
        m.refer(section, 0, jumps, false);
        m.reloc(data, offset, program, 2);
    }
    let Some(error) = refused(m) else { return };
    let part = "map `jumps`: it belongs to its first program, `one`: struct_ops member of `two`: ";
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_program_that_does_not_fit_the_owner_of_its_program_array_is_explained() {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(core_relo::TypeId::VOID, &[]);
    let numbers = [("type", 3), ("key_size", 4), ("max_entries", 2)];
    let (maps, symbol) = m.map("jumps", &numbers, Some(proto));
    let [first, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let main = m.program("main", "tc", &[first, high, zero, exit]);
    m.refer(main, 0, symbol, false);
    let code = m.code("xdp", &returns(0));
    let held = m.function("held", code, 0, 2);
    m.reloc(maps, 24, held, 2);
    let Some(error) = refused(m) else { return };
    let message = "bad: map `jumps`: putting a program at 0: EINVAL: Invalid argument (map `jumps`: it belongs to its first program, \
                   `main`: program type of `held`: BPF_PROG_TYPE_XDP, expected BPF_PROG_TYPE_SCHED_CLS: give each kind of program a \
                   map of its own)";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_program_is_loaded_with_the_programs_that_its_program_array_holds() {
    let mut m = TestObject::new();
    let proto = m.types.func_proto(core_relo::TypeId::VOID, &[]);
    let numbers = [("type", 3), ("key_size", 4), ("max_entries", 2)];
    let (maps, symbol) = m.map("jumps", &numbers, Some(proto));
    let [first, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let main = m.program("main", "tc", &[first, high, zero, exit]);
    m.refer(main, 0, symbol, false);
    let code = m.code("?tc", &returns(0));
    let held = m.function("held", code, 0, 2);
    m.program("other", "tc", &returns(0));
    m.reloc(maps, 24, held, 2);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    for (selected, names, filled) in [("main", &["main", "held"][..], true), ("other", &["other"], false)] {
        let mut loader = Loader::new(&object);
        loader.select_programs([selected]);
        let plan = loader.plan().unwrap();
        let Some(prepared) = prepared(&plan) else { return };
        let loaded = prepared.finish().unwrap();
        let programs: Vec<_> = loaded.programs().iter().map(LoadedProgram::name).collect();
        assert_eq!(programs, names);
        let (jumps, mut id) = (loaded.map("jumps").unwrap().handle().unwrap(), 0u32);
        let found = jumps.shape().lookup(0u32.as_bytes(), id.as_bytes_mut(), 0);
        assert_eq!(found.is_ok(), filled);
    }
}

#[test]
fn names_that_the_kernel_refuses_are_repaired_so_that_the_object_keeps_its_types() {
    let mut m = map(&[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)]);
    let int = m.int;
    m.types.structure("Option<u32>", 4, &[("größe", int, 0)]);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Some(prepared) = prepared(&plan) else { return };
    assert_eq!((prepared.loaded().btf_refusal(), plan.repair_count()), (None, 2));
    assert!(prepared.loaded().btf().is_some());
}

#[test]
fn a_load_without_btf_has_the_whole_line_of_the_type_that_the_kernel_refuses() {
    // A member lies outside of its struct, which no repair changes.
    let mut m = map(&[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)]);
    let int = m.int;
    m.types.structure("outside", 4, &[("a", int, 0), ("b", int, 32)]);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Some(prepared) = prepared(&plan) else { return };
    let refusal = prepared.loaded().btf_refusal().expect("the kernel refuses the BTF");
    assert!(refusal.contains("STRUCT outside size=4 vlen=2: b type_id=1 bits_offset=32 "), "{refusal}");
}

#[test]
fn a_map_that_every_kernel_refuses_is_the_cause_although_the_btf_is_refused_too() {
    let mut m = map(&[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", u32::MAX)]);
    let int = m.int;
    m.types.structure("outside", 4, &[("a", int, 0), ("b", int, 32)]);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).plan().unwrap();
    let Err(error) = prepare(&plan, &RunningKernel) else { panic!("the map is refused") };
    if matches!(&error, LoadError::Kernel { errno, .. } if errno.0 == libc::EPERM) {
        skip!("no privileges");
        return;
    }
    let text = error.to_string();
    let cause =
        text.find("every kernel refuses the map: max_entries does not fit BPF_MAP_TYPE_HASH").unwrap();
    assert!(cause < text.find("the kernel refused the object's BTF").unwrap(), "{text}");
}
