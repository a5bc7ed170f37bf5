//! The fixes for the reasons of a verdict, as `explain` prints them.

use crate::kernel::PageKernel;
use core_relo_object::load_plan::PlanByLoad;
use core_relo_verdict::{
    advice::{Advisor, Fix},
    fleet::{FleetObject, KernelCase},
    judge::{ObjectVerdict, Reason},
};
use serde::Serialize;
use std::collections::HashMap;

/// The fixes for the reasons of a verdict.
#[derive(Debug, Serialize)]
pub(crate) struct ObjectFixes {
    /// Those for each reason of the object.
    reasons: Vec<Vec<Fix>>,
    /// Those for each reason of each program.
    programs: Vec<Vec<Vec<Fix>>>,
}

impl ObjectFixes {
    /// Finds the fixes for a verdict.
    pub(crate) fn new(
        object: &FleetObject<'_>,
        plan: &PlanByLoad<'_, '_>,
        case: &KernelCase<'_, '_, PageKernel>,
        verdict: &ObjectVerdict,
    ) -> Self {
        let Ok(needs) = &object.needs else {
            let plain = |reasons: &[Reason]| reasons.iter().map(known_fix).collect::<Vec<_>>();
            let programs = verdict.programs.iter().map(|program| plain(&program.reasons)).collect();
            return Self { reasons: plain(&verdict.reasons), programs };
        };
        let mut advisor = Advisor::new(needs, plan.plan(), &case.answers);
        let reasons = verdict.reasons.iter().map(|reason| advisor.object_fixes(reason)).collect();
        let by_name: HashMap<_, _> = needs.programs.iter().map(|needs| (&*needs.name, needs)).collect();
        let mut programs = Vec::new();
        for program in &verdict.programs {
            let fixes = program.reasons.iter().map(|reason| match by_name.get(&*program.name) {
                Some(needs) => advisor.fixes(needs, program, reason),
                None => known_fix(reason),
            });
            programs.push(fixes.collect());
        }
        Self { reasons, programs }
    }
}

/// Returns the fix that the judge knows.
fn known_fix(reason: &Reason) -> Vec<Fix> {
    reason.fix.iter().map(|fix| Fix::without_code(fix.clone())).collect()
}
