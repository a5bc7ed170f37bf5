//! Verdicts on the uses of maps that kernels refuse.

use super::*;

/// A kernel that is like one of the observed ones.
#[derive(Clone, Copy)]
pub(super) enum Age {
    Oldest,
    Newest,
}

pub(super) fn add_kernel_of(age: Age, b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let mut helpers = vec![
        ("BPF_FUNC_map_lookup_elem", 1),
        ("BPF_FUNC_map_update_elem", 2),
        ("BPF_FUNC_map_delete_elem", 3),
        ("BPF_FUNC_redirect_map", 51),
        ("BPF_FUNC_per_cpu_ptr", 153),
    ];
    let mut attach_types = vec![("BPF_TRACE_ITER", 28)];
    if let Age::Newest = age {
        helpers.extend([("BPF_FUNC_task_storage_get", 156), ("BPF_FUNC_check_mtu", 163)]);
        attach_types.push(("BPF_TRACE_FSESSION_MULTI", 61));
    }
    b.enumeration("bpf_func_id", 4, &helpers);
    b.enumeration("bpf_attach_type", 4, &attach_types);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
}

/// Returns the reasons about the maps `m` and `.rodata`.
pub(super) fn reasons(
    m: TestObject,
    age: Age,
    settings: Option<&Settings>,
) -> Vec<(Verdict, ReasonKind, String)> {
    let inputs = KernelInputs::default();
    let verdict = judge_with_settings(&m.bytes(), |b| add_kernel_of(age, b), &inputs, settings);
    let program = verdict.programs.iter().find(|program| program.name == "main").unwrap();
    let about_maps =
        |reason: &&Reason| ["map m", "map .rodata"].iter().any(|map| reason.text.starts_with(map));
    let reasons = program.reasons.iter().filter(about_maps).filter(|reason| reason.requirement.is_some());
    let uses = reasons.filter(|reason| !reason.text.contains("map type"));
    uses.map(|reason| (reason.verdict, reason.kind, reason.text.clone())).collect()
}

/// Creates a program that begins with `r1 = m`.
pub(super) fn with_map(section: &str, map: &[(&str, u32)], insns: &[Insn]) -> TestObject {
    let mut m = TestObject::new();
    let id = m.program("main", section, &[&load(1, 0)[..], insns, &returns(0)].concat());
    let (_, map) = m.map("m", map, None);
    m.refer(id, 0, map, false);
    m
}

pub(super) const fn sized(map_type: u32) -> [(&'static str, u32); 4] {
    [("type", map_type), ("key_size", 4), ("value_size", 8), ("max_entries", 4)]
}

const REDIRECT_MAP: i32 = 51;
const UPDATE: i32 = 2;
pub(super) const LOOKUP: i32 = 1;
const DELETE: i32 = 3;
const PERF_EVENT_OUTPUT: i32 = 25;
const SKB_LOAD_BYTES: i32 = 26;
const SKB_STORE_BYTES: i32 = 9;
pub(super) const HASH: u32 = 1;
pub(super) const ARRAY: u32 = 2;
pub(super) const LPM_TRIE: u32 = 11;
const DEVMAP: u32 = 14;
const SOCKMAP: u32 = 15;
const SOCKHASH: u32 = 18;

#[test]
fn a_helper_takes_maps_of_its_types_only() {
    let call = [helper(REDIRECT_MAP)];
    let text = "map m: its type does not fit helper bpf_redirect_map: BPF_MAP_TYPE_HASH, expected BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH, BPF_MAP_TYPE_CPUMAP or BPF_MAP_TYPE_XSKMAP";
    for age in [Age::Oldest, Age::Newest] {
        let found = reasons(with_map("xdp", &sized(HASH), &call), age, None);
        assert_eq!(found, [(Verdict::Refused, ReasonKind::Helper, text.to_owned())]);
        assert_eq!(reasons(with_map("xdp", &sized(DEVMAP), &call), age, None), []);
    }
}

/// Protects the rule of `may_update_sockmap`, which 5.10, 6.1, 6.12, 6.18 and 7.2 have for programs of each
/// type.
#[test]
fn programs_of_some_types_alone_change_maps_of_sockets() {
    for map_type in [SOCKMAP, SOCKHASH] {
        let found = |section: &str, helper_number: i32, age: Age| {
            let reasons = reasons(with_map(section, &sized(map_type), &[helper(helper_number)]), age, None);
            reasons.into_iter().map(|(verdict, _, text)| (verdict, text)).collect::<Vec<_>>()
        };
        let text = |program_type: &str, helper: &str| {
            format!(
                "map m: programs of type {program_type} may not change maps of sockets, as helper {helper} does"
            )
        };
        let by_update = text("BPF_PROG_TYPE_SOCK_OPS", "bpf_map_update_elem");
        let by_delete = text("BPF_PROG_TYPE_TRACING", "bpf_map_delete_elem");
        for age in [Age::Oldest, Age::Newest] {
            assert_eq!(found("sockops", UPDATE, age), [(Verdict::Refused, by_update.clone())]);
            assert_eq!(found("sockops", DELETE, age), []);
            for section in
                ["tc", "xdp", "sk_lookup", "flow_dissector", "iter/sockmap", "socket", "freplace/f"]
            {
                assert_eq!(found(section, UPDATE, age), [], "{section}");
                assert_eq!(found(section, DELETE, age), [], "{section}");
            }
            assert_eq!(found("kprobe/f", LOOKUP, age), []);
        }
        assert_eq!(found("fentry/f", DELETE, Age::Newest), [(Verdict::Refused, by_delete)]);
        let before = &found("fentry/f", DELETE, Age::Oldest)[0];
        assert_eq!(before.0, Verdict::Unknown, "some point releases: {before:?}");
    }
}

#[test]
fn a_copy_of_the_map_counts_and_dead_calls_do_not() {
    // r6 = r1, r1 = r6.
    let copies = [insn(0xbf, 6, 1, 0, 0), insn(0xbf, 1, 6, 0, 0), helper(REDIRECT_MAP)];
    assert_eq!(reasons(with_map("xdp", &sized(HASH), &copies), Age::Newest, None).len(), 1);
    let [zero, jump, ..] = guarded(helper(REDIRECT_MAP), true);
    let dead = [zero, jump, helper(REDIRECT_MAP)];
    assert_eq!(reasons(with_map("xdp", &sized(HASH), &dead), Age::Newest, None), []);
}

#[test]
fn a_map_that_depends_on_the_path_is_not_judged() {
    let mut m = TestObject::new();
    // r1 = m; if r2 == 0 goto +2; r1 = other; call.
    let insns =
        [&load(1, 0)[..], &[insn(0x15, 2, 0, 2, 0)], &load(1, 0), &[helper(REDIRECT_MAP)], &returns(0)];
    let id = m.program("main", "xdp", &insns.concat());
    let (_, map) = m.map("m", &sized(HASH), None);
    let (_, other) = m.map("other", &sized(DEVMAP), None);
    m.refer(id, 0, map, false);
    m.refer(id, 3, other, false);
    assert_eq!(reasons(m, Age::Newest, None), []);
}

#[test]
fn a_map_that_user_space_replaces_is_not_judged() {
    let mut settings = Settings::default();
    settings.map_mut("m").map_type = Some(DEVMAP);
    let m = with_map("xdp", &sized(HASH), &[helper(REDIRECT_MAP)]);
    assert_eq!(reasons(m, Age::Newest, Some(&settings)), []);
}

#[test]
fn programs_do_not_write_to_read_only_maps() {
    let text = "map m: the program writes to the map, which programs only read".to_owned();
    let refused = [(Verdict::Refused, ReasonKind::MapFlag, text)];
    let map = |flags| [&sized(ARRAY)[..], &[("map_flags", flags)]].concat();
    let update = [helper(UPDATE)];
    assert_eq!(reasons(with_map("xdp", &map(0x80), &update), Age::Oldest, None), refused);
    assert_eq!(reasons(with_map("xdp", &map(0), &update), Age::Oldest, None), []);
    // r0 = lookup; if r0 == 0 goto +1; *(u64 *)(r0 + 0) = 7.
    let store = [helper(LOOKUP), insn(0x15, 0, 0, 1, 0), insn(0x7a, 0, 0, 0, 7)];
    assert_eq!(reasons(with_map("xdp", &map(0x80), &store), Age::Newest, None), refused);
    // A load-acquire reads: r2 = load_acquire((u64 *)(r0 + 0)).
    let acquire = [helper(LOOKUP), insn(0x15, 0, 0, 1, 0), insn(0xdb, 2, 0, 0, 0x100)];
    assert_eq!(reasons(with_map("xdp", &map(0x80), &acquire), Age::Newest, None), []);
}

#[test]
fn programs_do_not_read_write_only_maps() {
    let text = "map m: the program reads a value of the map, which programs only write to".to_owned();
    let refused = [(Verdict::Refused, ReasonKind::MapFlag, text)];
    let map = |flags| [&sized(ARRAY)[..], &[("map_flags", flags)]].concat();
    // r0 = lookup; if r0 == 0 goto +1; an access to the value.
    let access = |access: Insn| [helper(LOOKUP), insn(0x15, 0, 0, 1, 0), access];
    let (read, write) = (insn(0x79, 2, 0, 0, 0), insn(0x7a, 0, 0, 0, 7));
    // lock *(u64 *)(r0 + 0) += r10, which the kernel takes for a read first, and
    // r2 = load_acquire((u64 *)(r0 + 0)).
    let (add, acquire) = (insn(0xdb, 0, 10, 0, 0), insn(0xdb, 2, 0, 0, 0x100));
    for access in [read, add, acquire].map(access) {
        assert_eq!(reasons(with_map("xdp", &map(0x100), &access), Age::Newest, None), refused);
        assert_eq!(reasons(with_map("xdp", &map(0), &access), Age::Newest, None), []);
    }
    assert_eq!(reasons(with_map("xdp", &map(0x100), &access(write)), Age::Oldest, None), []);
    // store_release((u64 *)(r0 + 0), r10).
    let release = insn(0xdb, 0, 10, 0, 0x110);
    assert_eq!(reasons(with_map("xdp", &map(0x100), &access(release)), Age::Newest, None), []);
}

/// Protects the tables of the memory that helpers read and write, which Linux 6.18 confirms.
#[test]
fn helpers_read_and_write_values_as_programs_do() {
    let map = |flags| [&sized(ARRAY)[..], &[("map_flags", flags)]].concat();
    // r0 = lookup; if r0 == 0 goto +2; rN = r0; a helper with the value in rN.
    let call = |register: u8, number: i32| {
        let value = insn(0xbf, register, 0, 0, 0);
        [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), value, helper(number)]
    };
    let found = |flags, insns: &[Insn]| reasons(with_map("tc", &map(flags), insns), Age::Oldest, None);
    for (register, number, reads) in [
        (3, UPDATE, true),
        (2, LOOKUP, true),
        (4, PERF_EVENT_OUTPUT, true),
        (3, SKB_STORE_BYTES, true),
        (3, SKB_LOAD_BYTES, false),
    ] {
        let (read_only, write_only) =
            (found(0x80, &call(register, number)), found(0x100, &call(register, number)));
        assert_eq!(
            (read_only.len(), write_only.len()),
            if reads { (0, 1) } else { (1, 0) },
            "helper {number}"
        );
        assert_eq!(found(0, &call(register, number)), []);
    }
    // bpf_csum_diff takes null for no bytes: if r0 != 0 goto +3; r1 = r0; r3 = r0; bpf_csum_diff.
    let null = |jump: u8| {
        let copies = [1, 3].map(|register| insn(0xbf, register, 0, 0, 0));
        [helper(LOOKUP), insn(jump, 0, 0, 3, 0), copies[0], copies[1], helper(28)]
    };
    assert_eq!(found(0x100, &null(0x55)), [], "null");
    assert_eq!(found(0x100, &null(0x15)).len(), 1, "an address");
}

#[test]
fn programs_do_not_write_to_constants() {
    let mut m = TestObject::new();
    // r1 = constant; r1 += 4; *(u32 *)(r1 + 0) = 5.
    let insns = [&load(1, 0)[..], &[insn(0x07, 1, 0, 0, 4), insn(0x62, 1, 0, 0, 5)], &returns(0)];
    let id = m.program("main", "xdp", &insns.concat());
    let data = m.section(".rodata", SectionKind::ReadOnlyData, &[0; 8]);
    let symbol = m.section_symbol(data);
    m.refer(id, 0, symbol, false);
    let text = "map .rodata: the program writes to the map, which programs only read".to_owned();
    assert_eq!(reasons(m, Age::Oldest, None), [(Verdict::Refused, ReasonKind::MapFlag, text)]);
}

#[test]
fn special_fields_are_closed_to_some_program_types() {
    let object = |section: &str, field: &str, bytes: u32, map_type: u32| {
        let mut m = TestObject::new();
        let id = m.program("main", section, &[&load(1, 0)[..], &returns(0)].concat());
        let int = m.int;
        let field = m.types.structure(field, bytes, &[]);
        let value = m.types.structure("value", bytes + 8, &[("field", field, 0), ("n", int, bytes * 8)]);
        let (_, map) = m.typed_map("m", &[("type", map_type), ("max_entries", 4)], int, value);
        m.refer(id, 0, map, false);
        m
    };
    let refused = |program_type: &str, field: &str| {
        let text = format!("map m: programs of type {program_type} cannot use maps with {field}");
        [(Verdict::Refused, ReasonKind::MapType, text)]
    };
    let lock = |section, age| reasons(object(section, "bpf_spin_lock", 4, HASH), age, None);
    assert_eq!(lock("kprobe/x", Age::Newest), refused("BPF_PROG_TYPE_KPROBE", "bpf_spin_lock"));
    assert_eq!(lock("socket", Age::Oldest), refused("BPF_PROG_TYPE_SOCKET_FILTER", "bpf_spin_lock"));
    assert_eq!(lock("tc", Age::Newest), []);
    // Linux 5.10 knows no timers, and 7.2 lets all programs use them.
    let timer = |age| reasons(object("kprobe/x", "bpf_timer", 16, HASH), age, None);
    assert_eq!((timer(Age::Oldest), timer(Age::Newest)), (Vec::new(), Vec::new()));
    let lock = |section| reasons(object(section, "bpf_res_spin_lock", 4, HASH), Age::Newest, None);
    assert_eq!(lock("kprobe/x"), refused("BPF_PROG_TYPE_KPROBE", "bpf_res_spin_lock"));
    assert_eq!(lock("tc"), []);
    // The kernel creates no LPM trie with a lock, so that a loader creates it without types.
    assert_eq!(reasons(object("kprobe/x", "bpf_spin_lock", 4, LPM_TRIE), Age::Newest, None), []);
    // So it does a map with values of another size than the object's type.
    let sized = |bytes| {
        let mut settings = Settings::default();
        settings.map_mut("m").value_size = Some(bytes);
        reasons(object("socket", "bpf_spin_lock", 4, HASH), Age::Newest, Some(&settings))
    };
    assert_eq!(sized(12), refused("BPF_PROG_TYPE_SOCKET_FILTER", "bpf_spin_lock"), "the type's own size");
    assert_eq!(sized(32), []);
}

/// The DATASEC of a data section is the type of its map's value.
#[test]
fn locks_among_variables_are_closed_to_some_program_types() {
    let found = |section: &str, locks: u32, age: Age| {
        let mut m = TestObject::new();
        let id = m.program("main", section, &[&load(1, 0)[..], &returns(0)].concat());
        let data = m.bss(".bss", 16);
        let lock = m.types.structure("bpf_spin_lock", 4, &[]);
        let (var, int) = (m.types.var("lock", lock, 1), m.int);
        let other = m.types.var("other", if locks == 2 { lock } else { int }, 1);
        m.types.datasec(".bss", 16, &[(var, 0, 4), (other, 4, 4)]);
        let symbol = m.section_symbol(data);
        m.refer(id, 0, symbol, false);
        let verdict =
            judge_with_settings(&m.bytes(), |b| add_kernel_of(age, b), &KernelInputs::default(), None);
        let mut reasons = verdict.programs[0].reasons.iter();
        let reason = reasons.find(|reason| reason.text.starts_with("map .bss: programs"));
        reason.map(|reason| (reason.verdict, reason.text.clone()))
    };
    let text = "map .bss: programs of type BPF_PROG_TYPE_KPROBE cannot use maps with bpf_spin_lock";
    assert_eq!(found("kprobe/x", 1, Age::Newest), Some((Verdict::Refused, text.to_owned())));
    assert_eq!(found("kprobe/x", 1, Age::Oldest), None, "Linux 5.10 looks at members alone");
    assert_eq!(found("tc", 1, Age::Newest), None);
    assert_eq!(found("kprobe/x", 2, Age::Newest), None, "loaders leave out a type that the kernel refuses");
}

/// The kernel refuses the program with EBUSY, also if dead code uses one of the maps.
#[test]
fn a_program_has_one_cgroup_storage_of_each_type() {
    const CGROUP_STORAGE: u32 = 19;
    const PERCPU_CGROUP_STORAGE: u32 = 21;
    let found = |types: [u32; 2]| {
        let mut m = TestObject::new();
        let id = m.program(
            "main",
            "cgroup_skb/egress",
            &[load(1, 0), load(2, 0), load(3, 0), returns(0)].concat(),
        );
        let storage = |map_type| [("type", map_type), ("key_size", 8), ("value_size", 8)];
        let other = m.map("other", &storage(types[0]), None).1;
        let map = m.map("m", &storage(types[1]), None).1;
        // The same map twice is one.
        for (insn, symbol) in [(0, other), (2, other), (4, map)] {
            m.refer(id, insn, symbol, false);
        }
        reasons(m, Age::Oldest, None)
    };
    let text = "map m: the program uses another map of BPF_MAP_TYPE_CGROUP_STORAGE, expected at most one";
    let refused = [(Verdict::Refused, ReasonKind::MapType, text.to_owned())];
    assert_eq!(found([CGROUP_STORAGE, CGROUP_STORAGE]), refused);
    assert_eq!(found([PERCPU_CGROUP_STORAGE, CGROUP_STORAGE]), []);
}

/// Protects the rule of the kernel's `check_mem_access` for the memory that helpers fill.
#[test]
fn helpers_do_not_write_to_read_only_maps() {
    let map = |flags| [&sized(ARRAY)[..], &[("map_flags", flags)]].concat();
    // r0 = lookup; if r0 == 0 goto +2; rN = r0; helper.
    let filled = |register, number| {
        [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, register, 0, 0, 0), helper(number)]
    };
    let text = "map m: the program writes to the map, which programs only read".to_owned();
    let refused = [(Verdict::Refused, ReasonKind::MapFlag, text)];
    // bpf_get_current_comm, bpf_skb_get_tunnel_key, bpf_skb_load_bytes, bpf_getsockopt.
    for (register, number) in [(1, 16), (2, 20), (3, 26), (4, 57)] {
        let call = filled(register, number);
        assert_eq!(reasons(with_map("tc", &map(0x80), &call), Age::Oldest, None), refused, "{number}");
        assert_eq!(reasons(with_map("tc", &map(0), &call), Age::Oldest, None), [], "{number}");
    }
    // bpf_skb_load_bytes reads r2, and bpf_trace_printk reads r1.
    for (register, number) in [(2, 26), (1, 6)] {
        assert_eq!(reasons(with_map("tc", &map(0x80), &filled(register, number)), Age::Newest, None), []);
    }
}

/// Returns instructions that look up a value of a map and call a helper with it. Instruction 0 loads the map.
pub(super) fn call_with_value(number: i32) -> Vec<Insn> {
    // r0 = bpf_map_lookup_elem(m, …); if r0 == 0 goto exit; r1 = r0; helper(r1).
    let call = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), helper(number)];
    [&load(1, 0)[..], &call, &returns(0)].concat()
}

/// Loaders create a map without types if the kernel refuses them. 5.10, 6.1, 6.12, 6.18 and 7.2 refuse all of
/// these.
#[test]
fn maps_of_most_types_have_no_locks_and_timers() {
    const PERCPU_HASH: u32 = 5;
    const PERCPU_ARRAY: u32 = 6;
    const LRU_HASH: u32 = 9;
    let found = |map_type: u32, members: &[&'static str], number: i32| {
        let mut m = TestObject::new();
        let id = m.program("main", "tc", &call_with_value(number));
        let int = m.int;
        let lock = m.types.structure("bpf_spin_lock", 4, &[]);
        let timer = m.types.structure("bpf_timer", 16, &[]);
        let member =
            |(name, bit): (&&'static str, u32)| (*name, if *name == "lock" { lock } else { timer }, bit);
        let members: Vec<_> = members.iter().zip((0..).step_by(128)).map(member).collect();
        let value = m.types.structure("value", 64, &members);
        let map = m.typed_map("m", &[("type", map_type), ("max_entries", 4)], int, value).1;
        m.refer(id, 0, map, false);
        reasons(m, Age::Newest, None).into_iter().next().map(|(verdict, ..)| verdict)
    };
    let refused = Some(Verdict::Refused);
    for map_type in [PERCPU_HASH, PERCPU_ARRAY, LRU_HASH, LPM_TRIE] {
        assert_eq!(found(map_type, &["lock"], 93), refused, "{map_type}");
    }
    for map_type in [PERCPU_HASH, PERCPU_ARRAY, LPM_TRIE] {
        assert_eq!(found(map_type, &["timer"], 169), refused, "{map_type}");
    }
    assert_eq!(found(LRU_HASH, &["timer"], 169), None);
    assert_eq!(found(HASH, &["lock"], 93), None);
    assert_eq!(found(HASH, &["timer", "lock"], 169), None);
    // A value has one lock, and one timer.
    assert_eq!(found(HASH, &["timer", "timer"], 169), refused);
    assert_eq!(found(ARRAY, &["lock", "lock"], 93), refused);
}

/// The kernel finds the field by the types of the map, which a load leaves out if a setting changes the size
/// of the values.
#[test]
fn helpers_of_special_fields_need_values_with_them() {
    let object = |field: &str, bytes: u32, number: i32, is_typed: bool| {
        let mut m = TestObject::new();
        let id = m.program("main", "tc", &call_with_value(number));
        let int = m.int;
        let field = m.types.structure(field, bytes, &[]);
        let value = m.types.structure("value", bytes + 8, &[("field", field, 0), ("n", int, bytes * 8)]);
        let map = if is_typed {
            m.typed_map("m", &[("type", HASH), ("max_entries", 4)], int, value).1
        } else {
            let sizes = [("type", HASH), ("key_size", 4), ("value_size", bytes + 8), ("max_entries", 4)];
            m.map("m", &sizes, None).1
        };
        m.refer(id, 0, map, false);
        m
    };
    let refused = |helper: &str, field: &str| {
        let text = format!(
            "map m: {helper} takes a value with {field}, which the kernel does not find in the types of the map"
        );
        [(Verdict::Refused, ReasonKind::Helper, text)]
    };
    let lock = |is_typed| object("bpf_spin_lock", 4, 93, is_typed);
    assert_eq!(reasons(lock(true), Age::Newest, None), []);
    assert_eq!(reasons(lock(false), Age::Newest, None), refused("helper bpf_spin_lock", "bpf_spin_lock"));
    assert_eq!(
        reasons(object("bpf_timer", 16, 169, false), Age::Newest, None),
        refused("helper bpf_timer_init", "bpf_timer")
    );
    assert_eq!(
        reasons(object("other", 4, 93, true), Age::Newest, None),
        refused("helper bpf_spin_lock", "bpf_spin_lock"),
        "the values have another field"
    );
    let sized = |bytes| {
        let mut settings = Settings::default();
        settings.map_mut("m").value_size = Some(bytes);
        reasons(lock(true), Age::Newest, Some(&settings))
    };
    assert_eq!(sized(12), [], "the type's own size");
    assert_eq!(sized(16), refused("helper bpf_spin_lock", "bpf_spin_lock"));
}

#[test]
fn local_storage_accepts_some_special_fields_only() {
    const SK_STORAGE: u32 = 24;
    let object = |field: &str, bytes: u32, map: &[(&str, u32)]| {
        let mut m = TestObject::new();
        m.program("main", "tc", &returns(0));
        let int = m.int;
        let field = m.types.structure(field, bytes, &[]);
        let value = m.types.structure("value", bytes + 8, &[("field", field, 0), ("n", int, bytes * 8)]);
        m.typed_map("m", map, int, value);
        m
    };
    let storage = [("type", SK_STORAGE), ("map_flags", 1)];
    let found = |field: &str, bytes: u32, age: Age| reasons(object(field, bytes, &storage), age, None);
    let refused = |field: &str| {
        let text = format!("map m: local storage does not accept values with {field}");
        [(Verdict::Refused, ReasonKind::MapType, text)]
    };
    for (field, bytes) in [("bpf_timer", 16), ("bpf_wq", 16), ("bpf_task_work", 8)] {
        assert_eq!(found(field, bytes, Age::Newest), refused(field));
        assert_eq!(found(field, bytes, Age::Oldest), [], "Linux 5.10 does not know {field}");
    }
    assert_eq!(found("bpf_spin_lock", 4, Age::Newest), []);
    // Without a lock and the tag of its elements, the kernel finds no tree.
    assert_eq!(found("bpf_rb_root", 16, Age::Newest)[0].0, Verdict::Unknown);
    // The type that a load sets decides.
    let set = |map: &[(&str, u32)], map_type: u32, entries: u32| {
        let mut settings = Settings::default();
        let map_settings = settings.map_mut("m");
        (map_settings.map_type, map_settings.max_entries) = (Some(map_type), Some(entries));
        map_settings.map_flags = Some(1);
        reasons(object("bpf_timer", 16, map), Age::Newest, Some(&settings))
    };
    assert_eq!(set(&storage, HASH, 4), []);
    assert_eq!(set(&[("type", HASH), ("max_entries", 4)], SK_STORAGE, 0), refused("bpf_timer"));
}

#[test]
fn older_kernels_hold_no_inner_maps_with_locks() {
    let found = |age: Age| {
        let mut m = TestObject::new();
        m.program("main", "tc", &returns(0));
        let (int, lock) = (m.int, m.types.structure("bpf_spin_lock", 4, &[]));
        let value = m.types.structure("value", 8, &[("lock", lock, 0), ("n", int, 32)]);
        let numbers = [("type", HASH), ("max_entries", 1)].map(|(name, number)| (name, m.number(number)));
        let types = [("key", int), ("value", value)].map(|(name, ty)| (name, m.types.pointer(ty)));
        let members = numbers.into_iter().chain(types);
        let members: Vec<_> = (0u32..).zip(members).map(|(at, (name, ty))| (name, ty, at * 64)).collect();
        let inner = m.types.structure("", 32, &members);
        m.map("m", &[("type", 12), ("key_size", 4), ("max_entries", 1)], Some(inner));
        reasons(m, age, None)
    };
    let text = "map m: maps of maps hold no maps of values with bpf_spin_lock".to_owned();
    assert_eq!(found(Age::Oldest), [(Verdict::Refused, ReasonKind::MapType, text)]);
    assert_eq!(found(Age::Newest), []);
}
