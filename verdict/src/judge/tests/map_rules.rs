//! Verdicts on definitions of maps that break the kernel's rules for the map type.

use super::*;
use core_relo_object::{load_plan::TokenSource, object::MapType};

/// Returns the reasons against a map of a type with a key, a value, entries and flags. The kernel may lack
/// the type.
fn reasons(map_type: u32, [key, value, entries, flags]: [u32; 4]) -> Vec<(Verdict, ReasonKind, String)> {
    let mut m = program("tc", &returns(0));
    let numbers = [("type", map_type), ("max_entries", entries), ("map_flags", flags)];
    let sizes = [("key_size", key), ("value_size", value)];
    // Local storage needs the types of keys and values.
    if matches!(map_type, 24 | 28 | 29 | 32) {
        let key = m.types.int("key", key, 0);
        let value = m.types.structure("bytes", value, &[]);
        m.typed_map("m", &numbers, key, value);
    } else {
        m.map("m", &[&numbers[..], &sizes].concat(), None);
    }
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

/// No kernel creates a map of struct_ops without the struct of its value, which loaders send for maps of
/// `.struct_ops` alone.
#[test]
fn maps_of_struct_ops_are_no_map_definitions() {
    let mut m = program("tc", &returns(0));
    m.map("m", &[("type", 26), ("key_size", 4), ("value_size", 8), ("max_entries", 1)], None);
    let verdict = judge_object(m);
    let text = "map m: BPF_MAP_TYPE_STRUCT_OPS in a map definition, expected a variable of the kernel's struct in `.struct_ops`";
    assert!(verdict.programs[0].reasons.iter().any(|reason| reason.text == text), "{verdict:?}");
    assert_eq!(verdict.verdict, Verdict::Refused);
}

/// Kernels since 6.9 take the flag with a token, which only user space can give.
#[test]
fn maps_with_the_flag_for_tokens_need_a_token() {
    let found = |commands: &[(&str, i64)], token: TokenSource| {
        let mut m = program("tc", &returns(0));
        let map =
            [("type", 2), ("key_size", 4), ("value_size", 8), ("max_entries", 1), ("map_flags", 1 << 16)];
        m.map("m", &map, None);
        let kernel = |b: &mut Builder| {
            add_kernel(b);
            b.enumeration("bpf_cmd", 4, commands);
        };
        let mut settings = Settings::default();
        settings.token = token;
        let verdict = judge_with_settings(&m.bytes(), kernel, &KernelInputs::default(), Some(&settings));
        let reasons = verdict.programs[0].reasons.iter().map(|reason| (reason.verdict, reason.text.clone()));
        reasons.filter(|(_, text)| text.contains("TOKEN")).collect::<Vec<_>>()
    };
    let old = ("BPF_MAP_CREATE", 0);
    let lacks = "map m: the kernel lacks maps with BPF_F_TOKEN_FD".to_owned();
    assert_eq!(found(&[old], TokenSource::Auto), [(Verdict::Refused, lacks)]);
    let demands = "map m: BPF_F_TOKEN_FD demands a BPF token, which user space must give".to_owned();
    let new = [old, ("BPF_TOKEN_CREATE", 36)];
    assert_eq!(found(&new, TokenSource::Auto), [(Verdict::NeedsInput, demands)]);
    assert_eq!(found(&new, TokenSource::Path("/sys/fs/bpf".into())), []);
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
fn flags_that_exclude_each_other() {
    let exclude =
        |map_type, attributes, text| assert_refused(map_type, attributes, ReasonKind::MapFlag, text);
    exclude(2, [4, 8, 1, 0x18], "flags BPF_F_RDONLY and BPF_F_WRONLY, which exclude each other");
    exclude(1, [4, 8, 1, 0x180], "flags BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG, which exclude each other");
    exclude(9, [4, 8, 1, 6], "flags BPF_F_NO_COMMON_LRU and BPF_F_NUMA_NODE, which exclude each other");
}

#[test]
fn numbers_of_entries_that_overflow() {
    let refused =
        |map_type, attributes, text| assert_refused(map_type, attributes, ReasonKind::MapSize, text);
    refused(
        1,
        [4, 8, u32::MAX, 0],
        "max_entries does not fit BPF_MAP_TYPE_HASH: 4294967295, expected at most 268435456",
    );
    refused(
        27,
        [0, 0, (1 << 31) + 1, 0],
        "max_entries does not fit BPF_MAP_TYPE_RINGBUF: 2147483649, expected at most 2147483648",
    );
    refused(
        7,
        [4, 64, (1 << 31) + 1, 0],
        "max_entries does not fit BPF_MAP_TYPE_STACK_TRACE: 2147483649, expected at most 2147483648",
    );
}

#[test]
fn map_extra_is_for_few_types() {
    let with_extra = |map_type: u32, key: u32, extra: u32| {
        let mut m = program("tc", &returns(0));
        let numbers = [
            ("type", map_type),
            ("key_size", key),
            ("value_size", 4),
            ("max_entries", 4),
            ("map_extra", extra),
        ];
        m.map("m", &numbers, None);
        let reasons = judge_object(m).programs[0].reasons.clone();
        reasons
            .into_iter()
            .map(|reason| reason.text)
            .filter(|text| text.contains("extra"))
            .collect::<Vec<_>>()
    };
    let text = "map m: map_extra does not fit BPF_MAP_TYPE_BLOOM_FILTER: 16, expected at most 15";
    assert_eq!(with_extra(30, 0, 16), [text]);
    assert_eq!(with_extra(30, 0, 15), [""; 0]);
    let text = "map m: map_extra does not fit BPF_MAP_TYPE_HASH: 1, expected 0";
    assert_eq!(with_extra(1, 4, 1), [text]);
}

#[test]
fn local_storage_needs_the_types_of_its_keys_and_values() {
    let mut m = program("tc", &returns(0));
    m.map("m", &[("type", 29), ("key_size", 4), ("value_size", 8), ("map_flags", 1)], None);
    let verdict = judge_object(m);
    let text = "map m: no types of key and value, which BPF_MAP_TYPE_TASK_STORAGE demands";
    assert!(verdict.programs[0].reasons.iter().any(|reason| reason.text == text), "{verdict:?}");
}

#[test]
fn a_size_that_user_space_sets_breaks_no_rule() {
    let verdicts = reasons(2, [0, 0, 0, 0]).into_iter().map(|(verdict, ..)| verdict);
    assert_eq!(verdicts.collect::<Vec<_>>(), [Verdict::NeedsInput; 3]);
}

#[test]
fn definitions_that_fit_break_no_rule() {
    let definitions = [
        (1, [512, 8, 1, 0x89]),
        (2, [4, 8, 1, 0x484]),
        (5, [4, 32_768, 1, 1]),
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

#[test]
fn maps_of_maps_hold_few_kinds_of_references() {
    let references = [(3, 4, "BPF_MAP_TYPE_PROG_ARRAY"), (34, 16, "BPF_MAP_TYPE_INSN_ARRAY")];
    for (map_type, value_size, name) in references {
        let mut m = program("tc", &returns(0));
        let members = [("type", map_type), ("key_size", 4), ("value_size", value_size), ("max_entries", 1)];
        let members: Vec<_> = members.map(|(name, number)| (name, m.number(number))).into();
        let members: Vec<_> = (0u32..).zip(members).map(|(at, (name, ty))| (name, ty, at * 64)).collect();
        let inner = m.types.structure("", 32, &members);
        m.map("outer", &[("type", 12), ("key_size", 4), ("max_entries", 1)], Some(inner));
        let verdict = judge_object(m);
        let text = format!("map outer: inner map: {name}, which no map of maps holds");
        assert!(verdict.programs[0].reasons.iter().any(|reason| reason.text == text), "{verdict:?}");
    }
}

/// Protects the rule of `bpf_local_storage_map_check_btf`, which 5.10, 6.1, 6.12, 6.18 and 7.2 have. Loaders
/// do not retry without types.
#[test]
fn local_storage_has_integers_as_keys() {
    let found = |map_type: u32, key: fn(&mut TestObject) -> TypeId| {
        let mut m = program("tc", &returns(0));
        let (key, value) = (key(&mut m), m.int);
        m.typed_map("m", &[("type", map_type), ("map_flags", 1)], key, value);
        let reasons = judge_object(m).programs[0].reasons.clone();
        let about_key = reasons.into_iter().find(|reason| reason.text.contains("keys"));
        about_key.map(|reason| (reason.verdict, reason.text))
    };
    let other = |name: &str| {
        let text = format!("map m: the type of its keys does not fit {name}, expected an integer of 32 bits");
        Some((Verdict::Refused, text))
    };
    let enumeration = |m: &mut TestObject| m.types.enumeration("key", 4, &[("ONE", 1)]);
    for (map_type, name) in [(24, "SK"), (28, "INODE"), (29, "TASK"), (32, "CGRP")] {
        let name = format!("BPF_MAP_TYPE_{name}_STORAGE");
        assert_eq!(found(map_type, |m| m.types.structure("key", 4, &[])), other(&name));
        assert_eq!(found(map_type, enumeration), other(&name));
        assert_eq!(found(map_type, |m| m.types.int("unsigned int", 4, 0)), None);
        let typedef = |m: &mut TestObject| m.types.typedef("u32", m.int);
        assert_eq!(found(map_type, typedef), None);
    }
    assert_eq!(found(1, enumeration), None, "a hash");
}

/// Protects the rule that depends on the type of the keys, for a type of maps that a load sets.
#[test]
fn a_map_type_of_the_settings_decides_on_the_type_of_the_keys() {
    let refused = |own: u32, set: MapType| {
        let mut m = program("tc", &returns(0));
        let (key, value) = (m.types.enumeration("key", 4, &[("ONE", 1)]), m.int);
        m.typed_map(
            "m",
            &[("type", own), ("max_entries", u32::from(own == 1)), ("map_flags", 1)],
            key,
            value,
        );
        let mut settings = Settings::default();
        let map = settings.map_mut("m");
        (map.map_type, map.max_entries) = (Some(set.number()), Some(u32::from(set == MapType::Hash)));
        let inputs = KernelInputs::default();
        let verdict = judge_with_settings(&m.bytes(), add_kernel, &inputs, Some(&settings));
        verdict.programs[0]
            .reasons
            .iter()
            .any(|reason| reason.text.contains("the type of its keys does not fit"))
    };
    assert!(!refused(24, MapType::Hash));
    assert!(refused(1, MapType::SkStorage));
}
