//! Properties of verdicts: every program has one, it follows from its reasons, and a reason comes with a text
//! and with advice.

use super::kernel;
use core_relo::{Plan, Relocs, Target, btf::Btf};
use core_relo_loader::object::Object;
use core_relo_verdict::{
    advice::Advisor,
    btf_diff::{Filter, ObjectUses, diff},
    judge::{KernelAnswers, ObjectVerdict, ReasonKind, Verdict, judge},
    kernel::{KernelInputs, KernelVersion},
    requirements::{NeedTable, ObjectNeeds},
};
use std::sync::Arc;

/// Judges an object on a kernel with these types, and on the fixed small kernel.
pub fn check(object: &[u8], types: &[u8]) {
    let Ok(object) = Object::parse(object) else { return };
    let Ok(relocs) = object.relocs() else { return };
    let mut table = NeedTable::default();
    let Ok(needs) = ObjectNeeds::collect(&object, &relocs, &mut table) else { return };
    let small = kernel::btf();
    let given = Btf::parse(types.to_vec()).ok().map(Arc::new);
    for btf in [Some(&small), given.as_ref()].into_iter().flatten() {
        check_kernel(&object, &relocs, &needs, &table, Arc::clone(btf));
    }
    let Some(given) = given else { return };
    let mut uses = ObjectUses::default();
    uses.add_object(&needs, &table, Some(&relocs));
    for uses in [None, Some(&uses)] {
        let filter = Filter { is_wanted: &|_, _| true, uses };
        let _changes = diff(&small, &given, &filter);
        assert_eq!(diff(&given, &given, &filter), []);
    }
}

/// Judges an object on a kernel with nothing but its types, and with all other facts.
fn check_kernel(
    object: &Object<'_>,
    relocs: &Relocs<'_>,
    needs: &ObjectNeeds<'_, '_>,
    table: &NeedTable,
    btf: Arc<Btf<'static>>,
) {
    let target = Target::new("fuzz", btf);
    let plan = Plan::new(relocs, &target);
    let all = KernelInputs {
        version: "6.12.0".parse::<KernelVersion>().ok(),
        kconfig: Some(kernel::CONFIG.into()),
        kallsyms: Some(kernel::SYMBOLS.into()),
        ..KernelInputs::default()
    };
    for inputs in [KernelInputs::default(), all] {
        let answers = KernelAnswers::new(table, &target, &inputs);
        assert!(answers.facts.list().len() >= answers.facts.helper_count());
        let _contradictions = answers.facts.contradictions();
        let verdict = judge(needs, &plan, &answers).unwrap_or_else(|error| panic!("{error}"));
        check_verdict(object, &verdict);
        assert_eq!(judge(needs, &plan, &answers).as_ref(), Ok(&verdict));
        let mut advisor = Advisor::new(needs, &plan, &answers);
        for (program, judged) in needs.programs.iter().zip(&verdict.programs) {
            for reason in judged.reasons.iter().take(20) {
                let fixes = advisor.fixes(program, judged, reason);
                assert!(fixes.iter().all(|fix| !fix.text.is_empty()), "{reason:?}");
            }
        }
    }
}

/// Checks that verdicts follow from reasons.
fn check_verdict(object: &Object<'_>, verdict: &ObjectVerdict) {
    let programs = object.programs().iter().filter(|program| !program.is_subprogram);
    assert_eq!(programs.count(), verdict.programs.len());
    for program in &verdict.programs {
        let worst = program.reasons.iter().map(|reason| reason.verdict).max();
        assert_eq!(program.verdict, worst.unwrap_or(Verdict::Loads), "{program:?}");
        assert!(program.reasons.is_sorted_by_key(|reason| std::cmp::Reverse(reason.verdict)), "{program:?}");
        assert!(program.reasons.iter().all(|reason| !reason.text.is_empty() && !reason.text.contains('\n')));
        // A program that is loaded alone leaves out the other programs of a program array. The default load
        // need not.
        let is_alone = |kind, verdict| kind == ReasonKind::Object && verdict == Verdict::NeedsInput;
        let reasons = program.reasons.iter().filter(|reason| !is_alone(reason.kind, reason.verdict));
        let worst = reasons.map(|reason| reason.verdict).max().unwrap_or(Verdict::Loads);
        assert!(!program.autoload || worst <= verdict.verdict, "{verdict:?}");
    }
}
