//! Facts of modules, and kfuncs.

use super::*;

#[test]
fn functions_of_modules_need_the_modules() {
    let kernel = parse(&builder());
    let mut b = Builder::split(&kernel);
    add_function(&mut b, "in_module");
    let module = Btf::parse_unvalidated(b.finish(), Some(Arc::clone(&kernel))).unwrap();
    let alone = Target::new("vmlinux", kernel);
    let with_module = alone.clone().with_modules([(String::from("xfs"), Arc::new(module))]);
    let mut b = Builder::split(&alone.vmlinux().btf);
    add_function(&mut b, "fget");
    let other = Btf::parse_unvalidated(b.finish(), Some(Arc::clone(&alone.vmlinux().btf))).unwrap();
    // A guest need not load a module for a function that vmlinux has.
    let with_both = with_module.clone().with_modules([(String::from("btrfs"), Arc::new(other))]);
    let partial = KernelInputs { modules: ModuleCoverage::Partial, ..KernelInputs::default() };
    let complete = KernelInputs::default();

    with_facts(&alone, &complete, |facts| {
        assert!(facts.needed_modules().is_empty());
        assert_eq!(text(&function(facts, b"fget", None)), ("present", "FUNC fget"));
        assert_eq!(text(&function(facts, b"absent", None)), ("absent", "no FUNC absent in vmlinux"));
        assert_eq!(text(&function(facts, b"fget", Some("vmlinux"))).0, "present");
        assert_eq!(text(&function(facts, b"absent", Some("vmlinux"))).0, "absent");
        // The kernel does not read the BTF of modules.
        assert_eq!(text(&function(facts, b"in_module", Some("xfs"))).0, "absent");
    });
    with_facts(&with_module, &complete, |facts| {
        assert_eq!(text(&function(facts, b"in_module", None)), ("present", "FUNC in_module of module xfs"));
        assert_eq!(text(&function(facts, b"in_module", Some("xfs"))).0, "present");
        let expected = ("absent", "no FUNC absent of module xfs");
        assert_eq!(text(&function(facts, b"absent", Some("xfs"))), expected);
        assert_eq!(
            text(&function(facts, b"fget", Some("btrfs"))),
            ("unknown", "give the BTF of module btrfs (--module)")
        );
        assert_eq!(text(&function(facts, b"in_module", Some("vmlinux"))).0, "absent");
        assert_eq!(
            text(&function(facts, b"absent", None)),
            ("absent", "no FUNC absent in vmlinux and module xfs")
        );
    });
    with_facts(&with_both, &complete, |facts| assert_eq!(facts.needed_modules(), ["xfs"]));
    with_facts(&with_module, &partial, |facts| {
        assert_eq!(text(&function(facts, b"absent", None)).0, "unknown");
        assert_eq!(text(&function(facts, b"in_module", None)).0, "present");
        assert_eq!(
            text(&facts.declaration(
                &facts.vmlinux.query.clone().declaration(b"btf_trace_sched_switch", Kind::Typedef),
                None
            ))
            .0,
            "unknown"
        );
        assert_eq!(text(&function(facts, b"bpf_lsm_file_open", None)).0, "absent");
        assert_eq!(
            text(&facts.struct_ops(&facts.vmlinux.query.clone().struct_ops(b"tcp_congestion_ops"))).0,
            "unknown"
        );
    });
    with_facts(&with_module.clone().with_unread_modules(1), &complete, |facts| {
        assert_eq!(text(&function(facts, b"absent", None)).0, "unknown");
    });
    let mut query = NameQuery::default();
    for name in ["fget", "in_module"] {
        query.declaration(name.as_bytes(), Kind::Func);
    }
    let vmlinux = VmlinuxNames::new(&alone, &query);
    assert_eq!(vmlinux.names_for_modules().map(|name| name.to_string()).collect::<Vec<_>>(), ["in_module"]);
}

/// The filter proves that the modules do not have the names that it searched, and proves nothing else.
#[test]
fn excluded_modules_count_as_searched_for_the_names_of_the_filter() {
    let kernel = parse(&builder());
    let module_filter = ModuleFilter::new(&kernel, [Name::new(b"absent")]);
    let excluded = ["xfs", "ext4"].map(String::from);
    let alone = Target::new("vmlinux", Arc::clone(&kernel));
    let excluding =
        |count| alone.clone().with_excluded_modules(excluded.iter().take(count).cloned(), &module_filter);
    let inputs = KernelInputs::default();
    with_facts(&excluding(2), &inputs, |facts| {
        assert_eq!(
            text(&function(facts, b"absent", None)),
            ("absent", "no FUNC absent in vmlinux and 2 modules")
        );
        assert_eq!(
            text(&function(facts, b"absent", Some("ext4"))),
            ("absent", "no FUNC absent of module ext4")
        );
        assert_eq!(
            text(&function(facts, b"tagged", None)),
            ("unknown", "no FUNC tagged in vmlinux, but another module may have it: give its BTF (--module)")
        );
        for (name, module) in [("tagged", "ext4"), ("absent", "btrfs")] {
            assert_eq!(text(&function(facts, name.as_bytes(), Some(module))).0, "unknown", "{name}");
        }
        assert_eq!(text(&facts.module("ext4")), ("present", "module ext4"));
        assert_eq!(text(&facts.module("btrfs")).0, "unknown");
    });
    with_facts(&excluding(1), &inputs, |facts| {
        assert_eq!(
            text(&function(facts, b"absent", None)),
            ("absent", "no FUNC absent in vmlinux and module xfs")
        );
    });
    with_facts(&excluding(1).with_unread_modules(1), &inputs, |facts| {
        assert_eq!(text(&function(facts, b"absent", None)).0, "unknown");
    });
}

#[test]
fn kfuncs_have_the_tag_if_the_kernel_has_tags() {
    let target = Target::new("vmlinux", parse(&builder()));
    let inputs = KernelInputs::default();
    with_facts(&target, &inputs, |facts| {
        let question = "the kernel's BTF does not tell whether FUNC fget is a kfunc";
        assert_eq!(text(&facts.kfunc(&kernel_name(facts, b"fget"))), ("unknown", question));
        assert_eq!(text(&facts.kfunc(&kernel_name(facts, b"absent"))).0, "absent");
    });
    let mut b = builder();
    add_function(&mut b, "bpf_ct_release");
    with_facts(&Target::new("vmlinux", parse(&b)), &inputs, |facts| {
        assert_eq!(
            text(&facts.kfunc(&kernel_name(facts, b"bpf_ct_release"))),
            ("present", "FUNC bpf_ct_release")
        );
    });
    let mut b = builder();
    let tagged = add_function(&mut b, "tagged");
    b.decl_tag("bpf_kfunc", tagged, -1);
    with_facts(&Target::new("vmlinux", parse(&b)), &inputs, |facts| {
        assert_eq!(
            text(&facts.kfunc(&kernel_name(facts, b"tagged"))),
            ("present", "FUNC tagged has the tag bpf_kfunc")
        );
        assert_eq!(
            text(&facts.kfunc(&kernel_name(facts, b"fget"))),
            ("absent", "FUNC fget is no kfunc: it has no tag bpf_kfunc")
        );
    });
}
