//! Verdicts on definitions of maps that exceed a limit of some kernels.

use super::*;
use core_relo_object::memory_nodes::MemoryNodes;

/// Judges a map on a kernel of an age: without the marks of 5.10, with them, or with those of a release.
fn reasons(
    numbers: &[(&str, u32)],
    helpers: &[(&str, i64)],
    inputs: &KernelInputs,
) -> Vec<(Verdict, String)> {
    let mut m = program("tc", &returns(0));
    m.map("m", numbers, None);
    let types = |b: &mut Builder| {
        b.enumeration("bpf_func_id", 4, helpers);
        let long = b.int("long unsigned int", 8, 0);
        b.structure("pt_regs", 8, &[("orig_ax", long, 0)]);
        let bits = b.array(long, long, 2);
        b.structure("cpumask", 16, &[("bits", bits, 0)]);
    };
    let verdict = judge_on(m, types, inputs);
    let reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::MapSize);
    reasons.map(|reason| (reason.verdict, reason.text.clone())).collect()
}

const OLD: [(&str, i64); 1] = [("BPF_FUNC_per_cpu_ptr", 153)];
const NEW: [(&str, i64); 2] = [("BPF_FUNC_per_cpu_ptr", 153), ("BPF_FUNC_task_storage_get", 156)];

#[test]
fn long_keys_came_with_a_release() {
    let map = [("type", 1), ("key_size", 600), ("value_size", 4), ("max_entries", 4)];
    let inputs = KernelInputs::default();
    let text = "map m: key_size does not fit BPF_MAP_TYPE_HASH: 600, expected at most 512".to_owned();
    assert_eq!(reasons(&map, &OLD, &inputs), [(Verdict::Refused, text)]);
    assert_eq!(reasons(&map, &NEW, &inputs), []);
}

/// Linux 5.10 refuses maps whose entries have 4 GiB or more. Later kernels charge no memory for them.
#[test]
fn the_entries_of_a_map_have_less_than_4_gib_before_5_11() {
    let inputs = KernelInputs::default();
    for (map_type, name) in [(1, "BPF_MAP_TYPE_HASH"), (11, "BPF_MAP_TYPE_LPM_TRIE")] {
        let map = |entries| {
            [
                ("type", map_type),
                ("key_size", 8),
                ("value_size", 8),
                ("max_entries", entries),
                ("map_flags", 1),
            ]
        };
        let text =
            format!("map m: max_entries does not fit {name}: 134217728, expected less than 4 GiB of entries");
        assert_eq!(reasons(&map(1 << 27), &OLD, &inputs), [(Verdict::Refused, text)]);
        assert_eq!(reasons(&map(1 << 27), &NEW, &inputs), []);
        assert_eq!(reasons(&map(1 << 20), &OLD, &inputs), []);
    }
}

#[test]
fn values_for_each_cpu_fit_the_smallest_unit() {
    let map = [("type", 6), ("key_size", 4), ("value_size", 40000), ("max_entries", 4)];
    let inputs = KernelInputs::default();
    let text =
        "map m: value_size does not fit BPF_MAP_TYPE_PERCPU_ARRAY: 40000, expected at most 32768".to_owned();
    assert_eq!(reasons(&map, &OLD, &inputs), [(Verdict::Refused, text)]);
}

#[test]
fn a_map_of_cpus_fits_the_configuration() {
    let map = |entries| [("type", 16), ("key_size", 4), ("value_size", 4), ("max_entries", entries)];
    let inputs = KernelInputs::default();
    let problem = |found: u32| {
        let text = "does not fit BPF_MAP_TYPE_CPUMAP";
        format!("map m: max_entries {text}: {found}, expected at most CONFIG_NR_CPUS")
    };
    // The mask has 128 bits, so that the kernel is compiled for 65 to 128 CPUs.
    assert_eq!(reasons(&map(129), &OLD, &inputs), [(Verdict::Refused, problem(129))]);
    assert_eq!(reasons(&map(64), &OLD, &inputs), []);
    let [(verdict, _)] = &*reasons(&map(65), &OLD, &inputs) else { panic!("one reason") };
    assert_eq!(*verdict, Verdict::Unknown);
    let kconfig = Some("CONFIG_NR_CPUS=100\n".into());
    let inputs = KernelInputs { kconfig, ..KernelInputs::default() };
    assert_eq!(reasons(&map(101), &OLD, &inputs), [(Verdict::Refused, problem(101))]);
    assert_eq!(reasons(&map(100), &OLD, &inputs), []);
}

#[test]
fn the_depth_of_a_stack_trace_is_a_setting_of_the_machine() {
    let map = |bytes| [("type", 7), ("key_size", 4), ("value_size", bytes), ("max_entries", 4)];
    let inputs = KernelInputs::default();
    assert_eq!(reasons(&map(127 * 8), &OLD, &inputs), []);
    let [(verdict, text)] = &*reasons(&map(128 * 8), &OLD, &inputs) else { panic!("one reason") };
    assert_eq!(*verdict, Verdict::Unknown);
    assert!(text.contains("kernel.perf_event_max_stack allows 127"), "{text}");
    // The running machine shows the setting.
    let inputs = KernelInputs { perf_event_max_stack: Some(128), ..KernelInputs::default() };
    assert_eq!(reasons(&map(128 * 8), &OLD, &inputs), []);
    let [(verdict, _)] = &*reasons(&map(129 * 8), &OLD, &inputs) else { panic!("one reason") };
    assert_eq!(*verdict, Verdict::Refused);
}

#[test]
fn a_memory_node_is_one_of_the_machine() {
    let map = |flags, node| {
        let sizes = [("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 4)];
        [&sizes[..], &[("map_flags", flags), ("numa_node", node)]].concat()
    };
    let inputs = KernelInputs::default();
    // Another machine has a first node, and maybe others. Without the flag, the kernel ignores the node.
    for (flags, node) in [(4, 0), (0, 5), (4, u32::MAX)] {
        assert_eq!(reasons(&map(flags, node), &OLD, &inputs), [], "{flags} {node}");
    }
    let [(verdict, text)] = &*reasons(&map(4, 5), &OLD, &inputs) else { panic!("one reason") };
    assert_eq!(*verdict, Verdict::Unknown);
    assert!(text.starts_with("map m: numa_node may not fit BPF_MAP_TYPE_HASH: 5, expected"), "{text}");
    // The running machine shows its nodes.
    let inputs = KernelInputs { memory_nodes: MemoryNodes::parse("0-1"), ..KernelInputs::default() };
    assert_eq!(reasons(&map(4, 1), &OLD, &inputs), []);
    let text = "map m: numa_node does not fit BPF_MAP_TYPE_HASH: 5, expected a memory node of the machine";
    assert_eq!(reasons(&map(4, 5), &OLD, &inputs), [(Verdict::Refused, text.to_owned())]);
    let [(verdict, _)] = &*reasons(&map(4, 1024), &OLD, &inputs) else { panic!("one reason") };
    assert_eq!(*verdict, Verdict::Refused);
}

/// A kernel that is like the newest observed one.
const NEWEST: [(&str, i64); 2] = [("BPF_FUNC_per_cpu_ptr", 153), ("BPF_FUNC_user_ringbuf_drain", 209)];

#[test]
fn large_values_fit_one_allocation() {
    let map = |map_type, key, bytes| {
        [("type", map_type), ("key_size", key), ("value_size", bytes), ("max_entries", 1)]
    };
    let inputs = KernelInputs::default();
    let problem = |name: &str, found: u32, expected: &str| {
        let text = format!("map m: value_size does not fit {name}: {found}, expected {expected}");
        [(Verdict::Refused, text)]
    };
    let array = map(2, 4, 4_194_305);
    assert_eq!(reasons(&array, &OLD, &inputs), problem("BPF_MAP_TYPE_ARRAY", 4_194_305, "at most 4194304"));
    assert_eq!(reasons(&map(2, 4, 4_194_304), &OLD, &inputs), []);
    assert_eq!(reasons(&array, &NEWEST, &inputs), []);
    let hash = map(1, 4, 4_194_252);
    for helpers in [OLD, [NEWEST[1]]] {
        let expected = problem("BPF_MAP_TYPE_HASH", 4_194_252, "at most 4194251");
        assert_eq!(reasons(&hash, &helpers, &inputs), expected);
    }
    assert_eq!(reasons(&map(1, 4, 4_194_251), &NEWEST, &inputs), []);
    let queue = map(22, 0, 4_194_305);
    assert_eq!(
        reasons(&queue, &NEWEST, &inputs),
        problem("BPF_MAP_TYPE_QUEUE", 4_194_305, "at most 4194304")
    );
}

#[test]
fn data_of_more_than_an_allocation_needs_a_newer_kernel() {
    let found = |helpers: &[(&str, i64)]| {
        let mut m = program("tc", &returns(0));
        m.bss(".bss", 5 << 20);
        let types = |b: &mut Builder| {
            b.enumeration("bpf_func_id", 4, helpers);
            let long = b.int("long unsigned int", 8, 0);
            b.structure("pt_regs", 8, &[("orig_ax", long, 0)]);
        };
        let verdict = judge_on(m, types, &KernelInputs::default());
        let mut reasons = verdict.programs[0].reasons.iter();
        reasons.any(|reason| reason.kind == ReasonKind::MapSize && reason.verdict == Verdict::Refused)
    };
    assert!(found(&OLD));
    assert!(!found(&NEWEST));
}

#[test]
fn the_values_of_local_storage_have_less_than_64_kib() {
    let map = |bytes| [("type", 24), ("key_size", 4), ("value_size", bytes), ("map_flags", 1)];
    let inputs = KernelInputs::default();
    let size = |bytes| {
        let reasons = reasons(&map(bytes), &NEWEST, &inputs);
        reasons.iter().any(|(_, text)| text.contains("expected at most 65407"))
    };
    assert_eq!((size(65_407), size(65_408)), (false, true));
}
