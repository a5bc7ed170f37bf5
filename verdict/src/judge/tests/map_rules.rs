//! Verdicts on definitions of maps that break the kernel's rules for the map type.

use super::*;

/// Returns the reasons against a map of a type with a key, a value, entries and flags. The kernel may lack the type.
fn reasons(map_type: u32, [key, value, entries, flags]: [u32; 4]) -> Vec<(Verdict, ReasonKind, String)> {
    let mut m = program("tc", &returns(0));
    let numbers = [
        ("type", map_type),
        ("key_size", key),
        ("value_size", value),
        ("max_entries", entries),
        ("map_flags", flags),
    ];
    m.map("m", &numbers, None);
    let verdict = judge_object(m);
    let reasons = verdict.programs[0].reasons.iter();
    let reasons = reasons.filter(|reason| matches!(reason.kind, ReasonKind::MapFlag | ReasonKind::MapSize));
    reasons.map(|reason| (reason.verdict, reason.kind, reason.text.clone())).collect()
}

/// Checks that a definition is refused for one reason.
#[track_caller]
fn assert_refused(map_type: u32, attributes: [u32; 4], kind: ReasonKind, text: &str) {
    assert_eq!(reasons(map_type, attributes), [(Verdict::Refused, kind, format!("map m: {text}"))]);
}

#[test]
fn flags_that_a_type_demands_or_refuses() {
    let assert_refused = |map_type, attributes, text| {
        assert_refused(map_type, attributes, ReasonKind::MapFlag, text);
    };
    assert_refused(11, [8, 8, 1, 0], "no flag BPF_F_NO_PREALLOC, which BPF_MAP_TYPE_LPM_TRIE demands");
    assert_refused(2, [4, 8, 1, 1], "flag BPF_F_NO_PREALLOC, which BPF_MAP_TYPE_ARRAY does not accept");
    assert_refused(1, [4, 8, 1, 2], "flag BPF_F_NO_COMMON_LRU, which BPF_MAP_TYPE_HASH does not accept");
    assert_refused(5, [4, 8, 1, 4], "flag BPF_F_NUMA_NODE, which BPF_MAP_TYPE_PERCPU_HASH does not accept");
    assert_refused(
        27,
        [0, 0, 4096, 0x400],
        "flag BPF_F_MMAPABLE, which BPF_MAP_TYPE_RINGBUF does not accept",
    );
    assert_refused(33, [0, 0, 1, 0], "no flag BPF_F_MMAPABLE, which BPF_MAP_TYPE_ARENA demands");
}

#[test]
fn newer_flags_and_flags_of_no_kernel() {
    let refused = "map m: flag BPF_F_RB_OVERWRITE, which BPF_MAP_TYPE_HASH does not accept".to_owned();
    assert_eq!(reasons(1, [4, 8, 1, 1 << 19]), [(Verdict::Refused, ReasonKind::MapFlag, refused)]);
    let unknown = "map m: flag 1 << 25, which no known kernel has".to_owned();
    assert_eq!(reasons(1, [4, 8, 1, 1 << 25]), [(Verdict::Unknown, ReasonKind::MapFlag, unknown)]);

    let verdict_on = |member| {
        let mut m = program("tc", &returns(0));
        m.map("m", &[("type", 27), ("max_entries", 4096), ("map_flags", 1 << 19)], None);
        let kernel = |b: &mut Builder| {
            add_kernel(b);
            let long = b.int("long unsigned int", 8, 0);
            b.structure("bpf_ringbuf", 8, &[(member, long, 0)]);
        };
        let verdict = judge_on(m, kernel, &KernelInputs::default());
        let texts = verdict.programs[0].reasons.iter().map(|reason| reason.text.clone());
        texts.filter(|text| text.contains("overwrite")).collect::<Vec<_>>()
    };
    let text = "map m: the kernel lacks ring buffers that overwrite the oldest records";
    assert_eq!(verdict_on("mask"), [text]);
    assert_eq!(verdict_on("overwrite_pos"), [""; 0]);
}

#[test]
fn sizes_that_a_type_refuses() {
    let assert_refused = |map_type, attributes, text| {
        assert_refused(map_type, attributes, ReasonKind::MapSize, text);
    };
    assert_refused(2, [8, 8, 1, 0], "key_size does not fit BPF_MAP_TYPE_ARRAY: 8, expected 4");
    assert_refused(4, [4, 64, 0, 0], "value_size does not fit BPF_MAP_TYPE_PERF_EVENT_ARRAY: 64, expected 4");
    assert_refused(11, [4, 8, 1, 1], "key_size does not fit BPF_MAP_TYPE_LPM_TRIE: 4, expected 5 to 260");
    assert_refused(
        7,
        [4, 12, 1, 0],
        "value_size does not fit BPF_MAP_TYPE_STACK_TRACE: 12, expected a multiple of 8",
    );
    assert_refused(
        7,
        [4, 16, 1, 0x20],
        "value_size does not fit BPF_MAP_TYPE_STACK_TRACE: 16, expected a multiple of 32",
    );
    assert_refused(
        6,
        [4, 65_537, 1, 0],
        "value_size does not fit BPF_MAP_TYPE_PERCPU_ARRAY: 65537, expected at most 65536",
    );
    assert_refused(27, [0, 16, 4096, 0], "value_size does not fit BPF_MAP_TYPE_RINGBUF: 16, expected 0");
    assert_refused(29, [4, 8, 1, 1], "max_entries does not fit BPF_MAP_TYPE_TASK_STORAGE: 1, expected 0");
    assert_refused(
        33,
        [0, 0, (1 << 20) + 1, 0x400],
        "max_entries does not fit BPF_MAP_TYPE_ARENA: 1048577, expected at most 1048576",
    );
}

#[test]
fn a_size_that_user_space_sets_breaks_no_rule() {
    let verdicts = reasons(2, [0, 0, 0, 0]).into_iter().map(|(verdict, ..)| verdict);
    assert_eq!(verdicts.collect::<Vec<_>>(), [Verdict::NeedsInput; 3]);
}

#[test]
fn definitions_that_fit_break_no_rule() {
    let definitions = [
        // Linux 5.10 refuses keys of more than 512 bytes, newer kernels do not.
        (1, [513, 8, 1, 0xc9]),
        (2, [4, 8, 1, 0x484]),
        // Linux 5.10 creates the map, newer kernels do not.
        (5, [4, 65_537, 1, 1]),
        (7, [4, 64, 1, 0x20]),
        (9, [4, 8, 1, 2]),
        (11, [5, 1, 1, 1]),
        (14, [4, 8, 1, 0]),
        (18, [512, 8, 1, 0]),
        (19, [16, 8, 0, 0]),
        // libbpf rounds the size of a ring buffer.
        (27, [0, 0, 5000, 0]),
        (29, [4, 8, 0, 0x201]),
        (33, [0, 0, 1 << 20, 0x400]),
        // A type that no rule concerns, and a token.
        (34, [8, 8, 1, 1]),
        (1, [4, 8, 1, 1 << 16]),
    ];
    for (map_type, attributes) in definitions {
        assert_eq!(reasons(map_type, attributes), [], "{map_type} {attributes:?}");
    }
}

#[test]
fn the_inner_maps_are_created_too() {
    let mut m = program("tc", &returns(0));
    let members = [("type", 11), ("key_size", 4), ("value_size", 8), ("max_entries", 1), ("map_flags", 1)];
    let members: Vec<_> = members.map(|(name, number)| (name, m.number(number))).into();
    let members: Vec<_> = (0u32..).zip(members).map(|(at, (name, ty))| (name, ty, at * 64)).collect();
    let inner = m.types.structure("", 40, &members);
    m.map("outer", &[("type", 12), ("key_size", 4), ("max_entries", 1)], Some(inner));
    let verdict = judge_object(m);
    let mut reasons = verdict.programs[0].reasons.iter();
    let text = "map outer: inner map: key_size does not fit BPF_MAP_TYPE_LPM_TRIE: 4, expected 5 to 260";
    assert!(reasons.any(|reason| reason.text == text), "{verdict:?}");
}

#[test]
fn the_definition_of_inner_maps_is_complete() {
    let mut m = program("tc", &returns(0));
    let members = [("type", 1), ("key_size", 4), ("value_size", 8)];
    let members: Vec<_> = members.map(|(name, number)| (name, m.number(number))).into();
    let members: Vec<_> = (0u32..).zip(members).map(|(at, (name, ty))| (name, ty, at * 64)).collect();
    let inner = m.types.structure("", 24, &members);
    m.map("outer", &[("type", 13), ("key_size", 4), ("max_entries", 1)], Some(inner));
    let verdict = judge_object(m);
    let mut reasons =
        verdict.programs[0].reasons.iter().filter(|reason| reason.verdict == Verdict::NeedsInput);
    let text = "map outer: inner map: max_entries is 0, which user space must set";
    assert_eq!(reasons.next().map(|reason| &*reason.text), Some(text), "{verdict:?}");
}
