//! Properties of plans: every record has a decision, which does not depend on how the target was parsed, and
//! a patched object is valid.

use core_relo::{Plan, Relocs, Target, btf::Btf, explain::explain, plan::Objects};
use core_relo_loader::object::{CoreRecords, Object};
use std::sync::Arc;

/// Plans an object for a target.
pub fn check(object: &[u8], target: &[u8]) {
    let Ok(object) = Object::parse(object) else { return };
    let Ok(relocs) = object.relocs() else { return };
    let validated = Btf::parse(target).ok();
    let is_valid = validated.is_some();
    let parsed = [validated, Btf::parse_unvalidated(target, None).ok()];
    let decisions: Vec<_> =
        parsed.into_iter().flatten().map(|btf| decisions_on(&object, &relocs, btf)).collect();
    // For a valid target, both ways to parse give the same decisions.
    assert!(!is_valid || matches!(&*decisions, [one, other] if one == other));
}

/// Returns the decision of each record.
fn decisions_on(object: &Object<'_>, relocs: &Relocs<'_>, btf: Btf<'_>) -> Vec<String> {
    let target = Target::new("fuzz", Arc::new(btf));
    let plan = Plan::new(relocs, &target);
    assert_eq!(plan.summary().total(), relocs.records().len());
    assert_eq!(plan.patched().is_ok(), plan.summary().failed == 0);
    patch(object, &plan);
    for planned in plan.iter().take(50) {
        assert!(!explain(&planned).reason.is_empty());
    }
    let decisions =
        |plan: &Plan<'_>| plan.iter().map(|planned| format!("{:?}", planned.decision())).collect();
    let alone: Vec<_> = decisions(&plan);
    // Objects planned together get the same decisions.
    for plan in Objects::new([relocs, relocs]).plans(&target) {
        assert_eq!(decisions(&plan), alone);
    }
    alone
}

/// Writes the patched object.
fn patch(object: &Object<'_>, plan: &Plan<'_>) {
    let Ok(patched) = plan.patched() else { return };
    let names = plan.relocs().code().iter().map(|section| section.name);
    let sections = names.zip(patched.sections.iter().map(Vec::as_slice));
    let Ok(bytes) = object.rewrite(sections, CoreRecords::Keep) else { return };
    let again = Object::parse(&bytes).expect("a patched object is an object");
    let code: Vec<_> = again.code_sections().iter().map(|section| section.code).collect();
    assert_eq!(code, patched.sections);
    let records = again.relocs().map(|relocs| relocs.records().len());
    assert_eq!(records, Ok(plan.relocs().records().len()));
}
