//! Maps that belong to the kind of their first program.

use super::*;
use core_relo_object::test_support::{SectionKind, SymbolKind, load};

const PROG_ARRAY: u32 = 3;
const DEVMAP: u32 = 14;
const CGROUP_STORAGE: u32 = 19;

/// The number of `bpf_override_return`.
const OVERRIDE_RETURN: i32 = 58;

/// A program: its name, its section, and the maps that it refers to.
type UserOf<'p> = (&'p str, &'p str, &'p [usize]);

/// Creates an object with maps of these types, called `map0` and so on, and programs that refer to them.
fn object_with(map_types: &[u32], programs: &[UserOf<'_>]) -> TestObject {
    let mut m = TestObject::new();
    let symbols: Vec<_> = (0..)
        .zip(map_types)
        .map(|(number, map_type)| {
            let numbers = [("type", *map_type), ("key_size", 4), ("value_size", 4), ("max_entries", 2)];
            let count = if *map_type == CGROUP_STORAGE { 3 } else { 4 };
            m.map(&format!("map{number}"), &numbers[..count], None).1
        })
        .collect();
    for (name, section, maps) in programs {
        let loads = maps.iter().flat_map(|_| load(1, 0));
        let code: Vec<_> = loads.chain(returns(0)).collect();
        let section = m.program(name, section, &code);
        // A load of an address takes two instructions.
        for (position, map) in (0u64..).step_by(2).zip(*maps) {
            m.refer(section, position, symbols[*map], false);
        }
    }
    m
}

/// Adds the types of a kernel that compares these properties of programs.
fn add_owner(b: &mut Builder, properties: &[&str]) {
    add_kernel(b);
    let int = b.int("int", 4, Builder::SIGNED);
    let members: Vec<_> = properties.iter().map(|property| (*property, int, 0)).collect();
    let owner = b.structure("bpf_map_owner", 4, &[&[("type", int, 0)], &members[..]].concat());
    let owner = b.pointer(owner);
    b.structure("bpf_map", 8, &[("owner", owner, 0)]);
    b.structure("bpf_prog", 8, &[("sleepable", int, 0)]);
}

/// The properties that Linux 6.18 compares.
const LINUX_6_18: [&str; 4] =
    ["xdp_has_frags", "storage_cookie", "attach_func_proto", "expected_attach_type"];

/// Returns the verdict on an object, and the texts of its own reasons about shared maps.
fn shared(verdict: &ObjectVerdict) -> (Verdict, Vec<&str>) {
    let own = verdict.own_reasons().filter(|reason| reason.text.contains("share"));
    (verdict.verdict, own.map(|reason| &*reason.text).collect())
}

fn judge_owner(object: TestObject, properties: &[&str]) -> ObjectVerdict {
    judge_on(object, |b| add_owner(b, properties), &KernelInputs::default())
}

#[test]
fn a_program_array_belongs_to_the_type_of_its_first_program() {
    let programs = |second| [("a", "xdp", &[0][..]), ("b", second, &[0])];
    let verdict = judge_owner(object_with(&[PROG_ARRAY], &programs("tc")), &LINUX_6_18);
    let text = "map map0: programs a and b cannot share it: program type of b: BPF_PROG_TYPE_SCHED_CLS, expected \
                BPF_PROG_TYPE_XDP";
    assert_eq!(shared(&verdict), (Verdict::Refused, vec![text]));
    // Each program alone loads.
    assert!(verdict.programs.iter().all(|program| program.verdict == Verdict::Loads), "{verdict:?}");
    let evidence = verdict.reasons[0].evidence.as_ref().unwrap();
    assert_eq!(evidence.source, EvidenceSource::Object);
    // Every kernel has the rule.
    assert_eq!(judge_object(object_with(&[PROG_ARRAY], &programs("tc"))).verdict, Verdict::Refused);
    // One type, two maps, and a program that a default load leaves out.
    let loads = |object| assert_eq!(shared(&judge_owner(object, &LINUX_6_18)), (Verdict::Loads, vec![]));
    loads(object_with(&[PROG_ARRAY], &programs("xdp")));
    loads(object_with(&[PROG_ARRAY, PROG_ARRAY], &[("a", "xdp", &[0]), ("b", "tc", &[1])]));
    loads(object_with(&[PROG_ARRAY], &programs("?tc")));
    // Only these maps have owners.
    loads(object_with(&[1], &programs("tc")));
}

#[test]
fn maps_of_devices_have_owners_since_5_18() {
    let programs = [("a", "xdp", &[0][..]), ("b", "tc", &[0])];
    let judge_devmap = |types: fn(&mut Builder)| {
        judge_on(object_with(&[DEVMAP], &programs), types, &KernelInputs::default()).reasons
    };
    let is_shared = |reasons: &[Reason]| reasons.iter().any(|reason| reason.text.contains("cannot share it"));
    assert!(is_shared(&judge_devmap(|b| add_owner(b, &LINUX_6_18))));
    let without_owner = judge_devmap(|b| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_map", 4, &[("id", int, 0)]);
    });
    assert!(!is_shared(&without_owner));
}

#[test]
fn each_property_counts_on_kernels_that_compare_it() {
    let judge_pair = |sections: [&str; 2], properties: &[&str]| {
        let programs = [("a", sections[0], &[0][..]), ("b", sections[1], &[0])];
        let verdict = judge_owner(object_with(&[PROG_ARRAY], &programs), properties);
        shared(&verdict).1.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let cases = [
        (["xdp", "xdp.frags"], "xdp_has_frags", "BPF_F_XDP_HAS_FRAGS of b: set, expected not set"),
        (["tc", "tcx/ingress"], "expected_attach_type", "attach type of b: BPF_TCX_INGRESS, expected none"),
        (
            ["fentry.s/vfs_read", "fentry/vfs_read"],
            "sleepable",
            "BPF_F_SLEEPABLE of b: not set, expected set",
        ),
    ];
    for (sections, property, what) in cases {
        let expected = format!("map map0: programs a and b cannot share it: {what}");
        assert_eq!(judge_pair(sections, &[property]), [expected]);
        let others = ["xdp_has_frags", "expected_attach_type", "sleepable"];
        let others: Vec<_> = others.into_iter().filter(|other| *other != property).collect();
        assert_eq!(judge_pair(sections, &others), [""; 0]);
    }
}

#[test]
fn programs_at_hooks_share_a_map_if_the_hooks_have_one_prototype() {
    let judge_hooks = |second: &str, properties: &[&str]| {
        let programs = [("a", "fentry/vfs_read", &[0][..]), ("b", second, &[0])];
        let bytes = object_with(&[PROG_ARRAY], &programs).bytes();
        let types = |b: &mut Builder| {
            add_owner(b, properties);
            let int = b.int("int", 4, Builder::SIGNED);
            let proto = b.func_proto(int, &[("count", int)]);
            b.func("vfs_write", proto, 1);
        };
        let verdict = judge_bytes(&bytes, types, &KernelInputs::default());
        (verdict.verdict, shared(&verdict).1.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    // The test kernel's other functions have the prototype of `vfs_read`.
    assert_eq!(judge_hooks("fentry/bpf_ct_release", &LINUX_6_18), (Verdict::Loads, vec![]));
    let text = "map map0: programs a and b cannot share it: attach target of b: vfs_write, expected one with the prototype \
                of vfs_read";
    assert_eq!(judge_hooks("fentry/vfs_write", &LINUX_6_18), (Verdict::Refused, vec![text.to_owned()]));
    assert_eq!(judge_hooks("fentry/vfs_write", &["xdp_has_frags"]).1, [""; 0]);
}

/// Returns the texts of a program's reasons about shared maps.
fn shared_map_texts(program: &ProgramVerdict) -> Vec<String> {
    let texts = program.reasons.iter().map(|reason| reason.text.clone());
    texts.filter(|text| text.contains("share it")).collect()
}

#[test]
fn programs_that_a_load_has_beside_those_of_struct_ops_cannot_share_their_maps() {
    let mut m = struct_ops_object(".struct_ops", Some("user"));
    m.program("other", "xdp", &returns(0));
    let verdict = judge_owner(m, &["xdp_has_frags"]);
    let text = "map jumps: programs one and user cannot share it: program type of user: BPF_PROG_TYPE_SCHED_CLS, expected \
                BPF_PROG_TYPE_STRUCT_OPS";
    let texts: Vec<_> = verdict.programs.iter().map(shared_map_texts).collect();
    assert_eq!(texts, [vec![], vec![], vec![text.to_owned()], vec![]]);
}

/// Creates an object with a map of `struct ops` in the section `maps`, whose members `first` and `second`
/// have programs that refer to one program array, and a program of the type SCHED_CLS that refers to the
/// array, too.
fn struct_ops_object(maps: &str, other_user: Option<&str>) -> TestObject {
    let mut m = object_with(&[PROG_ARRAY], &[]);
    let proto = m.types.func_proto(m.int, &[]);
    let pointer = m.types.pointer(proto);
    let ty = m.types.structure("ops", 16, &[("first", pointer, 0), ("second", pointer, 64)]);
    let var = m.types.var("mine", ty, 1);
    m.types.datasec(maps, 16, &[(var, 0, 16)]);
    let data = m.section(maps, SectionKind::Data, &[0; 16]);
    m.symbol("mine", SymbolKind::Data, data, 0, 16);
    let numbers = [("type", PROG_ARRAY), ("key_size", 4), ("value_size", 4), ("max_entries", 2)];
    let (_, array) = m.map("jumps", &numbers, None);
    for (name, offset) in [("one", 0), ("two", 8)] {
        let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
        let section = m.code(&format!("struct_ops/{name}"), &code);
        let program = m.function(name, section, 0, 4);
        m.refer(section, 0, array, false);
        m.reloc(data, offset, program, 2);
    }
    if let Some(name) = other_user {
        let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
        let section = m.program(name, "tc", &code);
        m.refer(section, 0, array, false);
    }
    m
}

/// Adds the struct `ops` of the kernel, which struct_ops maps implement, and the properties of owners of
/// maps.
fn add_struct_ops(b: &mut Builder, second_has_own_prototype: bool, properties: &[&str]) {
    add_owner(b, properties);
    let int = b.int("int", 4, Builder::SIGNED);
    let proto = b.func_proto(int, &[("x", int)]);
    let other = b.func_proto(int, &[]);
    let pointer = b.pointer(proto);
    let second = if second_has_own_prototype { b.pointer(other) } else { pointer };
    let ops = b.structure("ops", 16, &[("first", pointer, 0), ("second", second, 64)]);
    b.structure("bpf_struct_ops_ops", 64, &[("data", ops, 0)]);
}

/// An object does not need the structs of an optional map, but the members of its programs are compared.
#[test]
fn programs_of_an_optional_struct_ops_map_are_compared() {
    let types = |b: &mut Builder| add_struct_ops(b, false, &["expected_attach_type"]);
    let verdict = judge_on(struct_ops_object("?.struct_ops", None), types, &KernelInputs::default());
    let text = "map jumps: programs one and two cannot share it: struct_ops member of two: ops.second, expected ops.first";
    assert_eq!(shared(&verdict), (Verdict::Refused, vec![text]));
}

#[test]
fn programs_of_struct_ops_share_a_map_if_their_members_are_equal() {
    let judge_members = |second_has_own_prototype: bool, properties: &[&str]| {
        let types = |b: &mut Builder| add_struct_ops(b, second_has_own_prototype, properties);
        let verdict = judge_on(struct_ops_object(".struct_ops", None), types, &KernelInputs::default());
        // A load of any program loads both, so that each has the reason.
        let [one, two] = &verdict.programs[..] else { panic!("{verdict:?}") };
        let [one, two] = [one, two].map(shared_map_texts);
        assert_eq!(one, two);
        one
    };
    let refused = |what| [format!("map jumps: programs one and two cannot share it: {what}")];
    let member = "struct_ops member of two: ops.second, expected ops.first";
    assert_eq!(judge_members(false, &["expected_attach_type"]), refused(member));
    let target = "attach target of two: ops.second, expected one with the prototype of ops.first";
    assert_eq!(judge_members(true, &["attach_func_proto"]), refused(target));
    assert_eq!(judge_members(false, &["attach_func_proto"]), [""; 0]);
    assert_eq!(judge_members(true, &["xdp_has_frags"]), [""; 0]);
}

#[test]
fn the_program_that_a_replacement_replaces_decides_and_is_not_known() {
    let judge_pair = |sections: [&str; 2]| {
        let programs = [("a", sections[0], &[0][..]), ("b", sections[1], &[0])];
        let verdict = judge_owner(object_with(&[PROG_ARRAY], &programs), &LINUX_6_18);
        shared(&verdict).1.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let text = "map map0: programs a and b may not be able to share it: whether the programs that they replace have one type";
    assert_eq!(judge_pair(["freplace/f", "freplace/g"]), [text]);
    assert_eq!(judge_pair(["tc", "freplace/f"]), [text]);
    // A program that replaces another one has no attach type, whatever its type.
    let text = "map map0: programs a and b cannot share it: attach type of b: none, expected BPF_XDP";
    assert_eq!(judge_pair(["xdp", "freplace/f"]), [text]);
}

#[test]
fn programs_with_other_cgroup_storage_cannot_share_a_map() {
    let judge_storage = |first: &[usize], second: &[usize]| {
        let programs = [("a", "tc", first), ("b", "tc", second)];
        let object = object_with(&[PROG_ARRAY, CGROUP_STORAGE, CGROUP_STORAGE], &programs);
        let verdict = judge_owner(object, &LINUX_6_18);
        shared(&verdict).1.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(judge_storage(&[0, 1], &[0, 1]), [""; 0]);
    let text = |verb, what| format!("map map0: programs a and b {verb} share it: {what}");
    let differs = text("cannot", "cgroup storage of b: map2, expected map1");
    assert_eq!(judge_storage(&[0, 1], &[0, 2]), [differs]);
    let alone = text("cannot", "cgroup storage of b: map1, expected none");
    assert_eq!(judge_storage(&[0], &[0, 1]), [alone]);
    assert_eq!(judge_storage(&[0, 1], &[0]), [""; 0], "b does no tail calls");
}

/// Linux 6.17 accepts the second program. Later point releases refuse it if it does tail calls: 6.12.117,
/// 6.18.44 and 7.2.13, and not 6.1.176.
#[test]
fn a_program_without_cgroup_storage_follows_one_with_it_if_it_does_no_tail_calls() {
    let judge_calls = |calls: &[Insn], version: Option<[u16; 3]>| {
        let mut m = TestObject::new();
        let (_, jumps) = m.map("jumps", &[("type", PROG_ARRAY), ("max_entries", 1), ("key_size", 4)], None);
        let (_, storage) =
            m.map("storage", &[("type", CGROUP_STORAGE), ("key_size", 4), ("value_size", 8)], None);
        let first = m.program("a", "tc", &[&load(1, 0)[..], &load(2, 0), &returns(0)].concat());
        m.refer(first, 0, jumps, false);
        m.refer(first, 2, storage, false);
        let second = m.program("b", "tc", &[&load(1, 0)[..], calls, &returns(0)].concat());
        m.refer(second, 0, jumps, false);
        let version = version.map(|[major, minor, patch]| {
            let release = KernelVersion::release(major.try_into().unwrap(), minor.try_into().unwrap());
            KernelVersion { patch, ..release }
        });
        let inputs = KernelInputs { version, ..KernelInputs::default() };
        let verdict = judge_on(m, |b| add_owner(b, &LINUX_6_18), &inputs);
        let texts = verdict.reasons.iter().map(|reason| reason.text.clone());
        texts.filter(|text| text.contains("cgroup storage")).collect::<Vec<_>>()
    };
    assert_eq!(judge_calls(&[], None), Vec::<String>::new());
    assert_eq!(judge_calls(&[], Some([7, 2, 13])), Vec::<String>::new());
    let question = "map jumps: programs a and b may not be able to share it: whether the kernel lets a program without cgroup storage follow one with it";
    let calls = [helper(12)];
    for version in [None, Some([6, 12, 50]), Some([6, 17, 3]), Some([7, 2, 0]), Some([6, 1, 200])] {
        assert_eq!(judge_calls(&calls, version), [question], "{version:?}");
    }
    let text = "map jumps: programs a and b cannot share it: cgroup storage of b: none, although the program does tail calls, expected storage";
    for version in [[6, 12, 117], [6, 18, 44], [6, 18, 50], [7, 2, 13], [7, 3, 0]] {
        assert_eq!(judge_calls(&calls, Some(version)), [text], "{version:?}");
    }
    assert_eq!(judge_calls(&calls, Some([6, 1, 176])), Vec::<String>::new());
}

#[test]
fn programs_that_an_array_holds_are_compared_too() {
    let object = |second: &str| {
        let mut m = TestObject::new();
        let void = TypeId::VOID;
        let proto = m.types.func_proto(void, &[]);
        let numbers = [("type", PROG_ARRAY), ("max_entries", 2), ("key_size", 4)];
        let (maps, symbol) = m.map("jumps", &numbers, Some(proto));
        let [first, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let main = m.program("main", "tc", &[first, high, zero, exit]);
        m.refer(main, 0, symbol, false);
        let code = m.code(second, &returns(0));
        let held = m.function("held", code, 0, 2);
        m.reloc(maps, 24, held, 2);
        m.bytes()
    };
    let judge_array = |second: &str, settings: Option<&Settings>| {
        let types = |b: &mut Builder| add_owner(b, &LINUX_6_18);
        judge_with_settings(&object(second), types, &KernelInputs::default(), settings)
    };
    let text = "map jumps: programs main and held cannot share it: program type of held: BPF_PROG_TYPE_XDP, expected \
                BPF_PROG_TYPE_SCHED_CLS";
    // A load of the first program loads the second.
    let verdict = judge_array("xdp", None);
    let verdicts: Vec<_> = verdict.programs.iter().map(|program| program.verdict).collect();
    assert_eq!((verdict.verdict, verdicts), (Verdict::Refused, vec![Verdict::Refused, Verdict::Loads]));
    assert_eq!(verdict.programs[0].reasons[0].text, text);
    assert_eq!(shared(&judge_array("tc", None)), (Verdict::Loads, vec![]));
    // In a load with known settings, the program that does not fit has the reason.
    let mut settings = Settings::default();
    let verdict = judge_array("xdp", Some(&settings));
    let verdicts: Vec<_> = verdict.programs.iter().map(|program| program.verdict).collect();
    assert_eq!((verdict.verdict, verdicts), (Verdict::Refused, vec![Verdict::Loads, Verdict::Refused]));
    assert_eq!(verdict.programs[1].reasons[0].text, text);
    settings.program_mut("main").autoload = Some(false);
    assert_eq!(judge_array("xdp", Some(&settings)).verdict, Verdict::Loads);
}

#[test]
fn a_program_that_overrides_results_uses_no_program_array() {
    let judge_override = |map_type: u32| {
        let mut m = TestObject::new();
        let numbers = [("type", map_type), ("key_size", 4), ("value_size", 4), ("max_entries", 2)];
        let (_, symbol) = m.map("jumps", &numbers, None);
        let [first, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let main = m.program("main", "kprobe/vfs_read", &[first, high, helper(OVERRIDE_RETURN), zero, exit]);
        m.refer(main, 0, symbol, false);
        let verdict = judge_object(m);
        let mut texts = verdict.programs[0].reasons.iter().map(|reason| reason.text.clone());
        texts.any(|text| {
            text == "map jumps: a program that calls helper bpf_override_return may use no program array"
        })
    };
    assert_eq!([PROG_ARRAY, 1].map(judge_override), [true, false]);
}
