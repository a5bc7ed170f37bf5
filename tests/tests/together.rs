//! Objects planned together get the same decisions as objects planned alone.

use core_relo::{Plan, Target, plan::Objects};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use std::{fs, path::PathBuf, sync::Arc};

/// Returns the decision, the values and the warning of each record as text.
fn decisions(plan: &Plan<'_>) -> Vec<String> {
    let records = plan.iter();
    records
        .map(|p| format!("{:?} {:?} {:?} {:?}", p.decision(), p.local_value(), p.target_value(), p.warning()))
        .collect()
}

#[test]
fn objects_planned_together_get_the_same_decisions_as_alone() {
    let bytes: Vec<_> = artifacts::objects().iter().map(|path| fs::read(path).unwrap()).collect();
    let objects: Vec<_> = bytes.iter().filter_map(|bytes| Object::parse(bytes).ok()).collect();
    let relocs: Vec<_> = objects.iter().filter_map(|object| object.relocs().ok()).collect();
    assert!(relocs.len() > 10, "{} objects", relocs.len());
    let together = Objects::new(&relocs);
    let case_targets = artifacts::objects().into_iter().flat_map(|object| artifacts::targets_of(&object));
    let kernels: Vec<PathBuf> =
        artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()).collect();
    if kernels.is_empty() {
        skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
    }
    let (mut records, mut targets) = (0, 0);
    for path in case_targets.chain(kernels) {
        let Ok(btf) = BtfFile::read(&path).and_then(|file| file.parse_unvalidated(None)) else { continue };
        let target = Target::new("vmlinux", Arc::new(btf));
        let plans = together.plans(&target);
        assert_eq!(plans.len(), relocs.len());
        for (plan, relocs) in plans.iter().zip(&relocs) {
            let alone = decisions(&Plan::new(relocs, &target));
            assert_eq!(decisions(plan), alone, "on {}", path.display());
            records += alone.len();
        }
        targets += 1;
    }
    println!("{records} records of {} objects on {targets} targets, together and alone", relocs.len());
    assert!(records > 1000 && targets > 10, "{records} records on {targets} targets");
}
