//! Adaptive loads: variants that the kernel refuses or cannot attach, constants of the kernel's types, and
//! what a failure leaves.

use super::{
    harness::{Need, Veth, hits, in_vm, kernel_version, live, object, run},
    network, struct_ops,
};
use core_relo_adaptive::{
    AdaptiveError, AdaptiveLoad, AdaptiveLoader, AdaptiveSkeletonError, Outcome, RejectionStage,
    StartupReport, Status, variants::VariantTable,
};
use core_relo_loader::{
    Loader,
    attach::{Link, PacketDirection},
    load::Loaded,
    object::Object,
    target::KernelBtf,
};
use std::{fs::File, process, sync::Arc};

include!("skeletons/variants.skel.rs");

use variants::Variants;

/// Loads and attaches the variants of the object that work on this kernel, with a table in addition.
fn adapt(text: &str) -> Result<AdaptiveLoad<(Loaded, Vec<Link>)>, AdaptiveError> {
    let bytes = object("variants");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("variants");
    loader.set_global("only_pid", &process::id()).unwrap();
    let table = VariantTable::from_object(&object)?.merge(VariantTable::parse(text)?)?;
    AdaptiveLoader::new(&loader, &table)?.load_and_attach()
}

/// Checks that the programs of a load do their work, and that the report says what is loaded.
fn expect_working(loaded: &Loaded, report: &StartupReport) {
    let before = hits(loaded);
    let file = File::open("/proc/self/status").unwrap();
    drop(file);
    assert!(hits(loaded) > before, "no variant counts opened files: {report}");
    let sent: u64 = loaded.global("sent").unwrap();
    assert!(sent > 0, "no variant sends: {report}");
    assert!(loaded.global::<u64>("same_tgid").unwrap() > 0, "wrong offset of tgid: {report}");
    let has_bloom: bool = loaded.global("has_bloom").unwrap();
    assert_eq!(has_bloom, loaded.map("bloom").unwrap().fd().is_some());
    assert_eq!(has_bloom, loaded.global::<u64>("pushed").unwrap() > 0);
    let has_state: bool = loaded.global("has_state").unwrap();
    let state_offset: u32 = loaded.global("state_offset").unwrap();
    assert_eq!(has_state, state_offset != u32::MAX, "{report}");
    assert!(loaded.global::<u64>("task_size").unwrap() > 1000);
    // The kernel has one of the helpers and loops.
    let sum = report.groups.iter().find(|group| group.name == "sum").unwrap();
    run(loaded, &sum.alternatives[sum.chosen.unwrap()].programs[0]);
    assert_eq!(loaded.global::<u64>("sum").unwrap(), 45);
    for group in &report.groups {
        for (index, alternative) in group.alternatives.iter().enumerate() {
            let is_used = group.chosen == Some(index);
            assert_eq!(alternative.status == Status::Used, is_used, "{report}");
            for program in &alternative.programs {
                assert_eq!(loaded.program(program).is_some(), is_used, "{report}");
            }
            assert_eq!(
                alternative.status == Status::Rejected,
                !alternative.rejections.is_empty(),
                "{report}"
            );
        }
    }
    assert!(loaded.program("absent").is_none());
    // A test run of a tracing program calls the functions that are probed.
    let probes = report.groups.iter().find(|group| group.name == "probes").unwrap().chosen;
    if probes.is_some() && loaded.program("open_fentry").is_some() {
        run(loaded, "open_fentry");
        let probed: u64 = loaded.global("probed").unwrap();
        // The link of several probes counts all test functions, of which each kernel has a different number.
        assert!(if probes == Some(0) { probed > 2 } else { probed == 2 }, "{probed} calls: {report}");
    }
    let ingress = report.groups.iter().find(|group| group.name == "ingress").unwrap();
    run(loaded, &ingress.alternatives[ingress.chosen.unwrap()].programs[0]);
    assert_eq!(loaded.global::<u64>("packets").unwrap(), 1);
}

/// The first alternative if a need of it is met, or else the second.
fn first_if(need: &Need) -> Option<usize> {
    Some(usize::from(need.is_met().is_err()))
}

/// Chooses the variants of the object for this kernel, without loading.
fn choose() -> StartupReport {
    let bytes = object("variants");
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::new(&object).name("variants");
    let table = VariantTable::from_object(&object).unwrap();
    AdaptiveLoader::new(&loader, &table).unwrap().plan().unwrap().report
}

#[test]
fn the_load_makes_the_choice_of_the_verdicts() {
    let test = "adaptive::the_load_makes_the_choice_of_the_verdicts";
    let Some(_live) = live(test, &[Need::Tracefs, Need::Btf, Need::FunctionEntries]) else { return };
    let chosen = choose();
    let AdaptiveLoad { value, report, .. } = adapt("").unwrap_or_else(|e| panic!("{e}: {:?}", e.report()));
    for (chosen, loaded) in chosen.groups.iter().zip(&report.groups) {
        // The load finds out what no verdict knows, such as a policy: it goes on from the choice, and says
        // why.
        let first = chosen.chosen.unwrap_or(chosen.alternatives.len());
        let last = loaded.chosen.unwrap_or(loaded.alternatives.len());
        assert!(first <= last, "{}: {report}", chosen.name);
        for alternative in &loaded.alternatives[first..last] {
            assert!(alternative.rejections[0].stage != RejectionStage::Verdict, "{report}");
        }
        // Distribution kernels have no such policy.
        assert!(first == last || !in_vm(), "{}: {report}", chosen.name);
    }
    if in_vm() {
        let version = kernel_version();
        let chosen = |name: &str| report.groups.iter().find(|group| group.name == name).unwrap().chosen;
        let since = |major, minor| Some(usize::from(version < (major, minor)));
        let (fentry, callbacks) = (first_if(&Need::Tracing), first_if(&Need::Jit).max(since(5, 17)));
        assert_eq!((chosen("open"), chosen("send")), (fentry, since(5, 8)), "{report}");
        assert_eq!((chosen("sum"), chosen("ingress")), (callbacks, since(6, 6)), "{report}");
        // Some newer kernels are compiled without the links of several probes, too.
        assert!(chosen("probes") >= since(5, 18), "{report}");
    }
    drop(value);
}

#[test]
fn the_chosen_classifier_is_attached_with_and_without_tcx() {
    let test = "adaptive::the_chosen_classifier_is_attached_with_and_without_tcx";
    let Some(_live) = live(test, &[Need::Tracefs, Need::Btf, Need::Veth]) else { return };
    let AdaptiveLoad { value: (loaded, _links), report, .. } = adapt("").unwrap_or_else(|e| panic!("{e}"));
    let program = loaded.program_ref("ingress_tcx").or_else(|_| loaded.program_ref("ingress_tc"));
    let program = program.unwrap_or_else(|e| panic!("{e}: {report}"));
    let (veth, ingress) = (Veth::new(), PacketDirection::Ingress);
    let link = veth.far.inside(|| program.attach_classifier(veth.far_index, ingress)).unwrap();
    let packets = || loaded.global::<u64>("packets").unwrap();
    assert!(network::arrives(&veth) && packets() > 0, "{}: {report}", link.label());
    link.detach().unwrap();
    let after = packets();
    assert!(network::arrives(&veth) && packets() == after, "{report}");
}

#[test]
fn without_kernel_types_the_variant_that_needs_none_is_loaded() {
    let test = "adaptive::without_kernel_types_the_variant_that_needs_none_is_loaded";
    let Some(_live) = live(test, &[Need::Tracefs]) else { return };
    let bytes = object("variants_no_btf");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("no_btf");
    loader.set_global("only_pid", &process::id()).unwrap();
    loader.kernel_mut().btf = Arc::new(KernelBtf::none());
    let table = VariantTable::from_object(&object).unwrap();
    let adapted = AdaptiveLoader::new(&loader, &table).unwrap().load_and_attach();
    let AdaptiveLoad { value: (loaded, links), report, .. } =
        adapted.unwrap_or_else(|e| panic!("{e}: {:?}", e.report()));
    assert_eq!((report.groups[0].chosen, report.attempts, links.len()), (Some(2), 3, 1), "{report}");
    let before = hits(&loaded);
    drop(File::open("/proc/self/status").unwrap());
    assert!(hits(&loaded) > before, "{report}");
    // The weak kernel function is missing, and the optional constant keeps its value.
    assert_eq!(loaded.global::<u32>("has_kfunc").unwrap(), 0);
    assert_eq!(loaded.global::<u32>("pid_offset").unwrap(), u32::MAX);
}

/// Loads an object by a table.
fn load_by(name: &str, table: &str) -> AdaptiveLoad<Loaded> {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::new(&object).name(name);
    let adaptive = AdaptiveLoader::new(&loader, &VariantTable::parse(table).unwrap()).unwrap();
    adaptive.load().unwrap_or_else(|e| panic!("{e}: {:?}", e.report()))
}

#[test]
fn a_program_array_contains_the_chosen_variant() {
    let Some(_live) = live("adaptive::a_program_array_contains_the_chosen_variant", &[]) else { return };
    for (table, returned) in [("group step = next > other", 7), ("group step = other > next", 9)] {
        let AdaptiveLoad { value: loaded, report, .. } = load_by("tail_call", table);
        assert_eq!((run(&loaded, "start"), hits(&loaded)), (returned, 1), "{report}");
    }
}

#[test]
fn a_struct_ops_map_contains_the_chosen_variant() {
    let test = "adaptive::a_struct_ops_map_contains_the_chosen_variant";
    let Some(_live) = live(test, &[Need::Btf, Need::StructOps]) else { return };
    for (table, expected) in
        [("group init = init > init_other", (1, 0)), ("group init = init_other > init", (0, 1))]
    {
        let AdaptiveLoad { value: loaded, report, .. } = load_by("struct_ops", table);
        let link = loaded.attach_struct_ops("still").unwrap();
        struct_ops::send_with("bpf_still").unwrap();
        let counts = (loaded.global::<u64>("inits").unwrap(), loaded.global::<u64>("other_inits").unwrap());
        assert_eq!(counts, expected, "{report}");
        link.detach().unwrap();
        struct_ops::wait_until_unregistered("bpf_still");
    }
}

#[test]
fn the_first_variant_that_this_kernel_attaches_is_used() {
    let test = "adaptive::the_first_variant_that_this_kernel_attaches_is_used";
    let Some(_live) = live(test, &[Need::Tracefs, Need::Btf, Need::FunctionEntries]) else { return };
    let AdaptiveLoad { value: (loaded, links), report, .. } =
        adapt("").unwrap_or_else(|e| panic!("{e}: {:?}", e.report()));
    assert_eq!(report.outcome, Outcome::Attached);
    expect_working(&loaded, &report);
    let open = &report.groups.iter().find(|group| group.name == "open").unwrap();
    // The features of the kernel tell in advance that it has no kprobes. If they do not tell that it lacks
    // the target of a program, an attempt finds out: for a variant of the group, and without trampolines for
    // the optional program.
    let of_optional = usize::from(Need::Tracing.is_met().is_err() && in_vm());
    assert!((1..=open.chosen.unwrap() + 1 + of_optional).contains(&report.attempts), "{report}");
    if in_vm() {
        // Distribution kernels trace functions, if the architecture has trampolines.
        assert_eq!(open.chosen, first_if(&Need::Tracing), "{report}");
    } else if cfg!(target_arch = "x86_64") {
        // Each variant before the chosen one was refused by the kernel, at the load or when its policy was
        // probed.
        for alternative in &open.alternatives[..open.chosen.unwrap()] {
            let rejection = &alternative.rejections[0];
            let is_policy = rejection.reasons.iter().any(|text| text.starts_with("a policy of this machine"));
            assert!(is_policy || rejection.stage != RejectionStage::Verdict, "{report}");
        }
    }
    let text = report.to_string();
    assert!(text.contains("group     open: open_") && text.contains("needs     CAP_PERFMON"), "{text}");
    assert!(serde_json::to_string(&report).is_ok());
    drop((links, loaded));
}

#[test]
fn a_group_without_a_working_variant_leaves_nothing_unless_it_is_optional() {
    let test = "adaptive::a_group_without_a_working_variant_leaves_nothing_unless_it_is_optional";
    let Some(_live) = live(test, &[Need::Btf]) else { return };
    let bytes = object("variants");
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::new(&object).name("variants");
    let load = |text: &str| AdaptiveLoader::new(&loader, &VariantTable::parse(text).unwrap()).unwrap().load();
    // Linux 5.10 has no Bloom filters and no bpf_loop.
    let required = "group all = absent\ngroup open = open_kprobe > open_fentry\noptional open\n\
                    group sum = sum_helper > sum_loop\noptional map:bloom\nloaded has_bloom = map:bloom";
    match load(required) {
        Err(AdaptiveError::Exhausted { group, report, .. }) => {
            assert_eq!((group.as_str(), report.outcome), ("all", Outcome::Failed));
            let reason = &report.groups[0].alternatives[0].rejections[0];
            assert!(reason.reasons.iter().any(|text| text.contains("core_relo_absent")), "{report}");
        }
        other => panic!("{other:?}"),
    }
    let AdaptiveLoad { value: loaded, report, .. } = load(&format!("{required}\noptional all")).unwrap();
    assert_eq!(report.groups[0].chosen, None);
    assert!(loaded.program("send_ring").is_some() && loaded.program("absent").is_none());
}

#[test]
fn a_skeleton_has_optional_programs_and_maps_for_variants() {
    let test = "adaptive::a_skeleton_has_optional_programs_and_maps_for_variants";
    let Some(_live) = live(test, &[Need::Tracefs, Need::Btf]) else { return };
    let mut open = Variants::open().unwrap();
    *open.globals.only_pid = process::id();
    let (skeleton, links, report) = match open.attach_adaptive() {
        Err(AdaptiveSkeletonError::Adaptive { problem, report, .. }) => panic!("{problem}: {report:?}"),
        attached => attached.unwrap(),
    };
    expect_working(skeleton.loaded(), &report);
    let programs = &skeleton.programs;
    assert!(programs.absent.is_none());
    assert_eq!(programs.send_ring.is_some(), skeleton.maps.ring.is_some());
    assert_eq!(programs.send_perf.is_some(), skeleton.maps.perf.is_some());
    drop(links);
}
