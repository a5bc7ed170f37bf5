//! Adaptive loads: variants that the kernel refuses or cannot attach, constants of the kernel's types, and what a failure leaves.

use super::harness::{Need, hits, in_vm, live, object, run};
use core_relo_loader::{
    Loader,
    adaptive::{AdaptiveError, AdaptiveLoad, AdaptiveLoader, Outcome, RejectionStage, StartupReport, Status},
    attach::Link,
    load::Loaded,
    object::Object,
    skeleton::SkeletonError,
    variants::VariantTable,
};
use std::{fs::File, process};

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
            assert_eq!(loaded.program(&alternative.programs[0]).is_some(), is_used, "{report}");
            assert_eq!(
                alternative.status == Status::Rejected,
                !alternative.rejections.is_empty(),
                "{report}"
            );
        }
    }
    assert!(loaded.program("absent").is_none());
}

#[test]
fn the_first_variant_that_this_kernel_attaches_is_used() {
    let test = "adaptive::the_first_variant_that_this_kernel_attaches_is_used";
    let Some(_live) = live(test, &[Need::Tracefs, Need::Btf]) else { return };
    let AdaptiveLoad { value: (loaded, links), report, .. } =
        adapt("").unwrap_or_else(|e| panic!("{e}: {:?}", e.report()));
    assert_eq!(report.outcome, Outcome::Attached);
    expect_working(&loaded, &report);
    let open = &report.groups.iter().find(|group| group.name == "open").unwrap();
    // Each variant before the chosen one was refused by the kernel, not by the verdict.
    for alternative in &open.alternatives[..open.chosen.unwrap()] {
        assert!(alternative.rejections[0].stage != RejectionStage::Verdict, "{report}");
    }
    // The features of the kernel tell in advance that it has no kprobes.
    assert!((1..=open.chosen.unwrap() + 1).contains(&report.attempts), "{report}");
    if in_vm() {
        // Distribution kernels trace functions.
        assert_eq!(open.chosen, Some(0), "{report}");
    }
    let text = report.to_string();
    assert!(text.contains("group     open: open_") && text.contains("needs     CAP_PERFMON"), "{text}");
    assert!(serde_json::from_str::<serde_json::Value>(&report.to_json()).is_ok());
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
            assert!(reason.reasons[0].contains("core_relo_absent"), "{report}");
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
        Err(SkeletonError::Adaptive { problem, report, .. }) => panic!("{problem}: {report:?}"),
        attached => attached.unwrap(),
    };
    expect_working(skeleton.loaded(), &report);
    let programs = &skeleton.programs;
    assert!(programs.absent.is_none());
    assert_eq!(programs.send_ring.is_some(), skeleton.maps.ring.is_some());
    assert_eq!(programs.send_perf.is_some(), skeleton.maps.perf.is_some());
    drop(links);
}
