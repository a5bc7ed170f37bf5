//! Verdicts on objects without a GPL-compatible license.

use super::{externs::calling_kfunc, *};

const TRACE_PRINTK: i32 = 6;

/// Judges an object with the license "MIT".
fn judge_mit(object: TestObject) -> ObjectVerdict {
    let mut bytes = object.bytes();
    let license = bytes.windows(4).rposition(|window| window == b"GPL\0").unwrap();
    bytes[license..][..3].copy_from_slice(b"MIT");
    let kernel = |b: &mut Builder| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_ctx_convert", 4, &[("BPF_PROG_TYPE_LSM_prog", int, 0)]);
    };
    judge_bytes(&bytes, kernel, &KernelInputs::default())
}

#[test]
fn a_helper_for_gpl_programs_refuses_where_the_verifier_reaches_the_call() {
    let text = "helper bpf_trace_printk needs a GPL-compatible license";
    let verdict = judge_mit(program("tc", &guarded(helper(TRACE_PRINTK), false)));
    let reasons = &verdict.programs[0].reasons;
    let reason = reasons.iter().find(|reason| reason.text == text).unwrap_or_else(|| panic!("{verdict:?}"));
    assert_eq!((reason.verdict, reason.kind), (Verdict::Refused, ReasonKind::Helper));
    assert_eq!(reason.evidence.as_ref().map(|evidence| evidence.source), Some(EvidenceSource::Object));
    assert!(reason.fix.as_ref().is_some_and(|fix| fix.contains("SEC(\"license\")")), "{reason:?}");
    assert_eq!(worst(&judge_mit(program("tc", &guarded(helper(TRACE_PRINTK), true)))).0, Verdict::Loads);
    // bpf_ktime_get_ns has no such condition.
    assert_eq!(worst(&judge_mit(program("tc", &guarded(helper(5), false)))).0, Verdict::Loads);
}

#[test]
fn a_call_of_a_kfunc_refuses_in_dead_code_too() {
    let text = "kfunc bpf_ct_release needs a GPL-compatible license";
    let verdict = judge_mit(calling_kfunc("bpf_ct_release", false));
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
    // libbpf replaces the call of a missing weak kfunc.
    assert_eq!(worst(&judge_mit(calling_kfunc("no_such_kfunc", true))).0, Verdict::Loads);
}

#[test]
fn lsm_programs_need_a_gpl_compatible_license() {
    let text = "program type BPF_PROG_TYPE_LSM needs a GPL-compatible license";
    let verdict = judge_mit(program("lsm/file_open", &returns(0)));
    let texts: Vec<_> = verdict.programs[0].reasons.iter().map(|reason| &*reason.text).collect();
    assert!(texts.contains(&text), "{texts:?}");
}
