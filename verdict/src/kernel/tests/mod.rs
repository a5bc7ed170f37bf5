//! Facts of synthetic kernels.

mod architectures;
mod modules;

use super::*;
use alloc::sync::Arc;
use core_relo::insn::Helper;
use core_relo::{
    Endian, Name, Target, TypeId,
    btf::{Btf, Builder, Kind, ModuleFilter},
};
use core_relo_object::object::AttachType;

const FUNCTIONS: [&str; 5] = ["array_map_alloc", "htab_map_alloc", "bpf_check", "fget", "stack_map_alloc"];

fn add_function(b: &mut Builder, name: &str) -> TypeId {
    let proto = b.func_proto(TypeId(0), &[]);
    b.func(name, proto, 1)
}

/// A kernel with a few helpers, map types and program types.
fn builder() -> Builder {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let helpers = [("BPF_FUNC_unspec", 0), ("BPF_FUNC_map_lookup_elem", 1), ("__BPF_FUNC_MAX_ID", 2)];
    b.enumeration("bpf_func_id", 4, &helpers);
    let map_types = [
        ("BPF_MAP_TYPE_HASH", 1),
        ("BPF_MAP_TYPE_STACK_TRACE", 7),
        ("BPF_MAP_TYPE_CGROUP_ARRAY", 8),
        ("BPF_MAP_TYPE_CGROUP_STORAGE_DEPRECATED", 19),
        ("BPF_MAP_TYPE_CGROUP_STORAGE", 19),
    ];
    b.enumeration("bpf_map_type", 4, &map_types);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_KPROBE", 2), ("BPF_PROG_TYPE_XDP", 6)]);
    b.enumeration(
        "bpf_cmd",
        4,
        &[("BPF_MAP_CREATE", 0), ("BPF_MAP_FREEZE", 22), ("BPF_COMMON_ATTRS", 65536)],
    );
    b.structure(
        "bpf_ctx_convert",
        8,
        &[("BPF_PROG_TYPE_XDP_prog", int, 0), ("BPF_PROG_TYPE_XDP_kern", int, 32)],
    );
    b.structure("bpf_verifier_state", 4, &[("branches", int, 0)]);
    b.structure("bpf_func_info_aux", 4, &[("unreliable", int, 0)]);
    for name in FUNCTIONS {
        add_function(&mut b, name);
    }
    b
}

/// The same kernel with kprobe events.
fn builder_with_kprobes() -> Builder {
    let mut b = builder();
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("trace_kprobe", 4, &[("nhit", int, 0)]);
    b
}

fn parse(b: &Builder) -> Arc<Btf<'static>> {
    Arc::new(Btf::parse_unvalidated(b.finish(), None).unwrap())
}

/// Calls `test` with the facts of a kernel.
fn with_facts(target: &Target<'_>, inputs: &KernelInputs, test: impl Fn(&KernelFacts<'_>)) {
    let mut query = NameQuery::default();
    for name in ["fget", "in_module", "absent", "tagged", "bpf_ct_release", "bpf_lsm_file_open"] {
        query.declaration(name.as_bytes(), Kind::Func);
    }
    query.declaration(b"btf_trace_sched_switch", Kind::Typedef);
    for name in ["jiffies", "fget", "xfs_read", "helper", "weak"] {
        query.symbol(name.as_bytes());
    }
    query.struct_ops(b"tcp_congestion_ops");
    test(&KernelFacts::new(target, &query, inputs));
}

/// Returns the name of a function that the query of the facts has.
fn kernel_name(facts: &KernelFacts<'_>, name: &[u8]) -> KernelName {
    facts.vmlinux.query.clone().declaration(name, Kind::Func)
}

fn function(facts: &KernelFacts<'_>, name: &[u8], module: Option<&str>) -> Answer {
    facts.declaration(&kernel_name(facts, name), module)
}

fn symbol(facts: &KernelFacts<'_>, name: &[u8]) -> Answer {
    facts.symbol(&facts.vmlinux.query.clone().symbol(name))
}

fn text(answer: &Answer) -> (&'static str, &str) {
    match answer {
        Answer::Present(evidence) => ("present", &evidence.text),
        Answer::Absent(evidence) => ("absent", &evidence.text),
        Answer::Unknown(question) => ("unknown", question),
    }
}

#[test]
fn threads_can_share_facts_and_queries() {
    fn assert_shareable<T: Send + Sync>() {}
    assert_shareable::<KernelFacts<'_>>();
    assert_shareable::<NameQuery>();
}

#[test]
fn enumerators_answer_for_numbers() {
    with_facts(&Target::new("vmlinux", parse(&builder())), &KernelInputs::default(), |facts| {
        assert_eq!(
            text(&facts.helper(Helper::MAP_LOOKUP_ELEM)),
            ("present", "enum bpf_func_id has BPF_FUNC_map_lookup_elem")
        );
        let expected = "enum bpf_func_id has no BPF_FUNC_loop: it ends with BPF_FUNC_map_lookup_elem";
        assert_eq!(text(&facts.helper(Helper::LOOP)), ("absent", expected));
        assert_eq!(text(&facts.helper(Helper::MAP_UPDATE_ELEM)).0, "absent");
        assert_eq!(text(&facts.helper(Helper(0))).0, "absent");
        assert_eq!(text(&facts.helper(Helper(u32::MAX))).0, "absent");
        assert_eq!(text(&facts.command(22)).0, "present");
        assert_eq!(
            text(&facts.command(36)),
            ("absent", "enum bpf_cmd has no value 36: it ends with BPF_MAP_FREEZE")
        );
        assert_eq!(text(&facts.link_type(1)), ("unknown", "the kernel's BTF has no enum bpf_link_type"));
        assert_eq!(facts.helper_count(), 2);
    });
}

#[test]
fn types_that_the_configuration_leaves_out_are_absent() {
    with_facts(&Target::new("vmlinux", parse(&builder())), &KernelInputs::default(), |facts| {
        assert_eq!(text(&facts.map_type(1)), ("present", "enum bpf_map_type has BPF_MAP_TYPE_HASH"));
        assert_eq!(text(&facts.map_type(7)), ("present", "FUNC stack_map_alloc"));
        assert_eq!(text(&facts.map_type(33)).0, "absent");
        let expected = "BPF_MAP_TYPE_CGROUP_ARRAY is not compiled: no FUNC cgroup_fd_array_get_ptr or \
                        cgroup_fd_array_put_ptr";
        assert_eq!(text(&facts.map_type(8)), ("absent", expected));
        assert_eq!(
            text(&facts.program_type(6)),
            ("present", "struct bpf_ctx_convert has BPF_PROG_TYPE_XDP_prog")
        );
        let expected = "struct bpf_ctx_convert has no BPF_PROG_TYPE_KPROBE_prog";
        assert_eq!(text(&facts.program_type(2)), ("absent", expected));
        assert_eq!(text(&facts.program_type(31)).0, "absent");
        assert_eq!(text(&facts.trampolines()).0, "absent");
    });
}

#[test]
fn helpers_that_the_configuration_leaves_out_are_absent() {
    let build = |functions: &[&str]| {
        let mut b = Builder::new(Endian::Little);
        let helpers = [("BPF_FUNC_probe_read", 4), ("BPF_FUNC_override_return", 58)];
        b.enumeration("bpf_func_id", 4, &helpers);
        for name in functions {
            add_function(&mut b, name);
        }
        Target::new("vmlinux", parse(&b))
    };
    let neighbours = ["bpf_probe_read_kernel", "bpf_probe_read_user"];
    let inputs = KernelInputs::default();
    with_facts(&build(&neighbours), &inputs, |facts| {
        let expected = "BPF_FUNC_probe_read is not compiled: no FUNC bpf_probe_read_compat";
        assert_eq!(text(&facts.helper(Helper::PROBE_READ)), ("absent", expected));
        assert_eq!(text(&facts.helper(Helper::OVERRIDE_RETURN)).0, "absent");
    });
    // Reduced BTF may lack the enum. The answer names the helper all the same.
    let mut b = Builder::new(Endian::Little);
    for name in neighbours {
        add_function(&mut b, name);
    }
    let known_version = KernelInputs { version: Some("6.8".parse().unwrap()), ..KernelInputs::default() };
    with_facts(&Target::new("vmlinux", parse(&b)), &known_version, |facts| {
        let expected = "BPF_FUNC_probe_read is not compiled: no FUNC bpf_probe_read_compat";
        assert_eq!(text(&facts.helper(Helper::PROBE_READ)), ("absent", expected));
    });
    with_facts(&build(&["bpf_probe_read_compat"]), &inputs, |facts| {
        assert_eq!(text(&facts.helper(Helper::PROBE_READ)), ("present", "FUNC bpf_probe_read_compat"));
    });
    with_facts(&build(&[]), &inputs, |facts| {
        assert_eq!(text(&facts.helper(Helper::PROBE_READ)).0, "present");
        let expected =
            "it depends on CONFIG_BPF_KPROBE_OVERRIDE: give the kernel's configuration (--kconfig)";
        assert_eq!(text(&facts.helper(Helper::OVERRIDE_RETURN)), ("unknown", expected));
    });
    let inputs = KernelInputs { kconfig: Some("CONFIG_BPF_KPROBE_OVERRIDE=y".into()), ..inputs };
    with_facts(&build(&[]), &inputs, |facts| {
        assert_eq!(text(&facts.helper(Helper::OVERRIDE_RETURN)).0, "present");
    });
}

#[test]
fn without_functions_the_configuration_answers() {
    let mut b = Builder::new(Endian::Big);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_HASH", 1), ("BPF_MAP_TYPE_STACK_TRACE", 7)]);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_XDP", 6)]);
    let target = Target::new("vmlinux", parse(&b));
    with_facts(&target, &KernelInputs::default(), |facts| {
        assert_eq!(
            text(&facts.map_type(7)),
            ("unknown", "it depends on CONFIG_PERF_EVENTS: give the kernel's configuration (--kconfig)")
        );
        assert_eq!(text(&facts.program_type(6)).0, "unknown");
        assert_eq!(text(&function(facts, b"fget", None)).0, "unknown");
        assert_eq!(text(&function(facts, b"fget", Some("vmlinux"))).0, "unknown");
        assert_eq!(text(&facts.trampolines()).0, "unknown");
    });
    for (config, expected) in [("CONFIG_PERF_EVENTS=y\n", "present"), ("# CONFIG_NET is not set\n", "absent")]
    {
        let inputs = KernelInputs { kconfig: Some(config.into()), ..KernelInputs::default() };
        with_facts(&target, &inputs, |facts| assert_eq!(text(&facts.map_type(7)).0, expected));
    }
}

#[test]
fn symbols_are_those_of_kallsyms() {
    let target = Target::new("vmlinux", parse(&builder()));
    with_facts(&target, &KernelInputs::default(), |facts| {
        assert_eq!(text(&symbol(facts, b"fget")), ("present", "FUNC fget"));
        assert_eq!(text(&symbol(facts, b"jiffies")).0, "unknown");
    });
    let empty =
        KernelInputs { kallsyms: Some("".into()), kconfig: Some("".into()), ..KernelInputs::default() };
    with_facts(&target, &empty, |facts| {
        assert_eq!(text(&symbol(facts, b"jiffies")).0, "unknown");
        assert!(matches!(facts.kconfig("CONFIG_HZ"), KconfigAnswer::Unknown(_)));
    });
    let kallsyms = "ffffffff81000000 D jiffies\nbroken\nffffffffc0000000 t xfs_read\t[xfs]\n";
    let inputs = KernelInputs { kallsyms: Some(kallsyms.into()), ..KernelInputs::default() };
    with_facts(&target, &inputs, |facts| {
        assert_eq!(text(&symbol(facts, b"jiffies")), ("present", "symbol jiffies"));
        assert_eq!(text(&symbol(facts, b"xfs_read")), ("present", "symbol xfs_read of module xfs"));
        assert_eq!(text(&symbol(facts, b"fget")).0, "absent");
    });
}

#[test]
fn variables_of_the_linked_kernel_need_a_configuration_that_shows_them() {
    let target = Target::new("vmlinux", parse(&builder()));
    let map = "ffffffff81000000 D jiffies\nffffffff81000008 t helper\nffffffff81000010 W weak\n";
    let with_config = |kconfig: Option<&str>| KernelInputs {
        kallsyms: Some(map.into()),
        kconfig: kconfig.map(Into::into),
        symbol_scope: SymbolScope::Linked,
        origins: InputOrigins { kallsyms: Some("System.map-6.1".into()), ..InputOrigins::default() },
        ..KernelInputs::default()
    };
    for (kconfig, expected) in [
        (None, "unknown"),
        (Some("CONFIG_KALLSYMS_ALL=y\n"), "present"),
        (Some("# CONFIG_KALLSYMS_ALL is not set\n"), "absent"),
    ] {
        with_facts(&target, &with_config(kconfig), |facts| {
            assert_eq!(text(&symbol(facts, b"jiffies")).0, expected);
            assert_eq!(text(&symbol(facts, b"helper")), ("present", "symbol helper (System.map-6.1)"));
            assert_eq!(text(&symbol(facts, b"weak")).0, "present");
            assert_eq!(text(&symbol(facts, b"fget")), ("absent", "no symbol fget (System.map-6.1)"));
        });
    }
}

#[test]
fn system_call_wrappers_are_known_from_symbols() {
    let target = Target::new("vmlinux", parse(&builder_with_kprobes()));
    for (kallsyms, expected) in [
        ("0 T __s390x_sys_bpf\n0 T __se_sys_bpf\n", "1"),
        // PowerPC: from 6.1, and before.
        ("0 T sys_bpf\n0 T __se_sys_getpid\n", "1"),
        ("0 T sys_bpf\n0 T __se_sys_bpf\n", "0"),
    ] {
        let inputs = KernelInputs { kallsyms: Some(kallsyms.into()), ..KernelInputs::default() };
        with_facts(&target, &inputs, |facts| {
            let found = facts.kconfig("LINUX_HAS_SYSCALL_WRAPPER");
            assert!(matches!(found, KconfigAnswer::Value(value, _) if value == expected), "{kallsyms}");
        });
        // The probe of a load needs kprobes.
        with_facts(&Target::new("vmlinux", parse(&builder())), &inputs, |facts| {
            let found = facts.kconfig("LINUX_HAS_SYSCALL_WRAPPER");
            assert!(matches!(found, KconfigAnswer::Value(value, _) if value == "0"), "{kallsyms}");
        });
    }
}

#[test]
fn the_configuration_has_values() {
    let target = Target::new("vmlinux", parse(&builder_with_kprobes()));
    with_facts(&target, &KernelInputs::default(), |facts| {
        assert!(matches!(facts.kconfig("CONFIG_HZ"), KconfigAnswer::Unknown(_)));
        assert!(matches!(facts.kconfig("LINUX_KERNEL_VERSION"), KconfigAnswer::Unknown(_)));
        assert!(matches!(facts.kconfig("LINUX_HAS_SYSCALL_WRAPPER"), KconfigAnswer::Unknown(_)));
        assert!(
            matches!(facts.kconfig("LINUX_HAS_BPF_COOKIE"), KconfigAnswer::Value(value, _) if value == "0")
        );
    });
    let config = "# Automatically generated\nCONFIG_HZ=250\nCONFIG_A=y\r\n# CONFIG_B is not set\n# CONFIG_C is not set\nCONFIG_C=y\nCONFIG_S=\"a=b\"\n\
                  CONFIG_HZ=1000\nCONFIG_BROKEN\n# CONFIG_\n";
    let inputs = KernelInputs {
        kconfig: Some(config.into()),
        version: Some(KernelVersion { major: 6, minor: 1, patch: 5 }),
        ..KernelInputs::default()
    };
    with_facts(&target, &inputs, |facts| {
        let value = |name| match facts.kconfig(name) {
            KconfigAnswer::Value(value, _) => value,
            KconfigAnswer::NotSet(evidence) => evidence.text,
            KconfigAnswer::Unknown(question) => question,
        };
        assert_eq!(value("CONFIG_HZ"), "250");
        assert_eq!(value("CONFIG_A"), "y");
        assert_eq!(value("CONFIG_S"), "\"a=b\"");
        assert_eq!(value("CONFIG_B"), "the configuration has no CONFIG_B");
        assert_eq!(value("CONFIG_C"), "y");
        assert_eq!(value("CONFIG_BROKEN"), "the configuration has no CONFIG_BROKEN");
        assert_eq!(value("LINUX_KERNEL_VERSION"), "393477");
    });
}

#[test]
fn btf_answers_before_the_version() {
    let target = Target::new("vmlinux", parse(&builder()));
    let source = |answer: Answer| match answer {
        Answer::Present(evidence) => ("present", evidence.source),
        Answer::Absent(evidence) => ("absent", evidence.source),
        Answer::Unknown(question) => panic!("{question}"),
    };
    let inputs = KernelInputs { version: Some(KernelVersion::release(6, 12)), ..KernelInputs::default() };
    with_facts(&target, &inputs, |facts| {
        let set = |feature| source(facts.instruction_set(feature));
        assert_eq!(set(InsnFeature::BackwardJump), ("present", EvidenceSource::Btf));
        assert_eq!(set(InsnFeature::MayGoto), ("absent", EvidenceSource::Btf));
        assert_eq!(set(InsnFeature::Alu32), ("present", EvidenceSource::Object));
        // The BTF has neither the enum nor the functions.
        assert_eq!(set(InsnFeature::LoadSignExtended), ("present", EvidenceSource::Version));
        assert_eq!(set(InsnFeature::LoadAcquireStoreRelease), ("absent", EvidenceSource::Version));
        assert_eq!(source(facts.verifies_uncalled_functions()), ("present", EvidenceSource::Btf));
        let [oldest] = &facts.contradictions()[..] else { panic!("{:?}", facts.contradictions()) };
        assert!(
            oldest.contains("before 5.5: enum bpf_func_id has no BPF_FUNC_probe_read_kernel"),
            "{oldest}"
        );
    });
    with_facts(&target, &KernelInputs::default(), |facts| {
        let expected = "gotol came with 6.6: give the kernel's version (--kernel-version)";
        assert_eq!(text(&facts.instruction_set(InsnFeature::LongJump)), ("unknown", expected));
        assert!(facts.contradictions().is_empty());
        assert!(facts.list().len() > InsnFeature::ALL.len());
    });
    let inputs = KernelInputs { version: Some(KernelVersion::release(4, 18)), ..KernelInputs::default() };
    with_facts(&target, &inputs, |facts| {
        let [newest] = &facts.contradictions()[..] else { panic!("{:?}", facts.contradictions()) };
        assert!(newest.contains("of Linux 5.2 or later: enum bpf_cmd has BPF_MAP_FREEZE"), "{newest}");
    });
}
