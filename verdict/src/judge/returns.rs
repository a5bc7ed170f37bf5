//! The values that programs return.
//!
//! The kernel refuses a program that may return another value (kernel: `check_return_code`). The ranges are
//! observations of Linux 5.10, 6.1, 6.12, 6.18 and 7.2, which agree, with a program of each type and attach
//! type that returns a constant or a random number.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource},
    reach::{Reachability, Returned, ReturnedValue},
    reads::Returns,
    requirements::ProgramNeeds,
};
use core_relo::btf::Kind;
use core_relo_object::object::{AttachType, ProgramType, SecDef};

/// The smallest result of an LSM hook (kernel: `MAX_ERRNO`).
const MIN_ERROR: i64 = -4095;

/// The LSM hooks that return a truth value (kernel: `bool_lsm_hooks`).
const BOOL_HOOKS: [&str; 3] =
    ["bpf_lsm_audit_rule_known", "bpf_lsm_inode_xattr_skipcap", "bpf_lsm_xfrm_state_pol_flow_match"];

/// The numbers that programs may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    min: i64,
    max: i64,
    /// Whether only the low 32 bits count.
    is_32bit: bool,
}

/// The rule for the values that a program returns.
pub(super) struct ReturnRule {
    range: Range,
    evidence: Evidence,
    /// Whether the verifier checks the value on each path. Before 6.8, it may skip a path that ends like
    /// another one.
    checks_every_path: bool,
}

impl Range {
    const fn new(min: i64, max: i64) -> Self {
        Self { min, max, is_32bit: false }
    }

    /// Returns the numbers that the programs of a section may return, on every kernel.
    const fn of_section(def: &SecDef) -> Option<Self> {
        use AttachType as A;
        use ProgramType as P;
        Some(match (def.program_type, def.attach_type) {
            (P::Tracing, Some(A::TraceFentry | A::TraceFexit)) => Self::new(0, 0),
            (P::Tracing, Some(A::TraceIter))
            | (P::Kprobe, Some(A::TraceKprobeSession | A::TraceUprobeSession))
            | (P::Lsm, Some(A::LsmCgroup))
            | (
                P::CgroupSock
                | P::SockOps
                | P::CgroupDevice
                | P::CgroupSysctl
                | P::CgroupSockopt
                | P::SkLookup
                | P::Netfilter,
                _,
            )
            | (P::CgroupSkb, Some(A::CgroupInetIngress)) => Self::new(0, 1),
            // Linux 5.10 permits 0 and 1 for programs of bind(2).
            (P::CgroupSkb, _) | (P::CgroupSockAddr, None | Some(A::CgroupInet4Bind | A::CgroupInet6Bind)) => {
                Self::new(0, 3)
            }
            (
                P::CgroupSockAddr,
                Some(
                    A::CgroupUdp4Recvmsg
                    | A::CgroupUdp6Recvmsg
                    | A::CgroupUnixRecvmsg
                    | A::CgroupInet4Getpeername
                    | A::CgroupInet6Getpeername
                    | A::CgroupUnixGetpeername
                    | A::CgroupInet4Getsockname
                    | A::CgroupInet6Getsockname
                    | A::CgroupUnixGetsockname,
                ),
            ) => Self::new(1, 1),
            (P::CgroupSockAddr, _) => Self::new(0, 1),
            _ => return None,
        })
    }

    /// Returns whether all numbers from one upwards to another are in the range.
    fn contains(self, lo: u64, hi: u64) -> bool {
        let signed = |number: u64| if self.is_32bit { low_half(number) } else { number.cast_signed() };
        let is_inside = |number: u64| (self.min..=self.max).contains(&signed(number));
        let span = self.max.abs_diff(self.min);
        is_inside(lo) && is_inside(hi) && hi.wrapping_sub(lo) <= span
    }

    /// Returns whether none of the numbers from one upwards to another is in the range.
    fn excludes(self, lo: u64, hi: u64) -> bool {
        let (min, max) = (self.min.cast_unsigned(), self.max.cast_unsigned());
        if self.is_32bit {
            return lo == hi && !self.contains(lo, hi);
        }
        let has_min = min.wrapping_sub(lo) <= hi.wrapping_sub(lo);
        let has_lo = lo.wrapping_sub(min) <= max.wrapping_sub(min);
        !has_min && !has_lo
    }

    fn text(self) -> String {
        if self.min == self.max { self.min.to_string() } else { format!("{} to {}", self.min, self.max) }
    }
}

impl ReturnRule {
    /// Returns the rule for a program that may return another value. `None` if no rule refuses one of its
    /// values.
    pub(super) fn new(
        program: &ProgramNeeds,
        def: Option<&SecDef>,
        answers: &KernelAnswers<'_, '_>,
    ) -> Option<Self> {
        let def = def?;
        let is_lsm =
            matches!((def.program_type, def.attach_type), (ProgramType::Lsm, Some(AttachType::LsmMac)));
        let range = if is_lsm { lsm_range(program) } else { Range::of_section(def) }?;
        if let Returns::Constants(min, max) = program.returns
            && i64::from(min) >= range.min
            && i64::from(max) <= range.max
        {
            return None;
        }
        let evidence = if is_lsm { lsm_evidence(program, answers)? } else { observed(def, range, answers)? };
        let checks_every_path = !answers.verifies_uncalled_functions;
        Some(Self { range, evidence, checks_every_path })
    }

    /// Returns the reason why the kernel refuses the program, with the exit.
    pub(super) fn reason(&self, reachability: &Reachability) -> Option<(u32, Reason)> {
        let returned = reachability.returned()?;
        let is_refused = |value: &ReturnedValue| match value.value {
            Returned::Number { lo, hi } => !self.range.contains(lo, hi),
            Returned::Pointer => true,
            Returned::Bounded { lo, hi } => self.range.excludes(lo, hi),
        };
        // Whichever path the verifier follows, it refuses the value.
        let are_all_refused = returned.iter().all(is_refused);
        let is_decisive =
            |value: &ReturnedValue| are_all_refused || self.checks_every_path && value.is_certain;
        let decisive = returned.iter().find(|value| is_refused(value) && is_decisive(value));
        // Otherwise one path that ends well leaves the question to the verifier.
        let ends_well =
            |value: &ReturnedValue| matches!(value.value, Returned::Number { .. }) && !is_refused(value);
        let undecided = || returned.iter().find(|value| is_refused(value));
        let found = decisive.or_else(|| undecided().filter(|_| !returned.iter().any(ends_well)))?;
        let value = match found.value {
            Returned::Number { lo, hi } | Returned::Bounded { lo, hi } if lo == hi && self.range.is_32bit => {
                low_half(lo).to_string()
            }
            Returned::Number { lo, hi } | Returned::Bounded { lo, hi } if lo == hi => {
                lo.cast_signed().to_string()
            }
            Returned::Number { .. } | Returned::Bounded { .. } => {
                "a number that the verifier does not know".to_owned()
            }
            Returned::Pointer => "a pointer".to_owned(),
        };
        let range = self.range.text();
        let (verdict, text) = match decisive {
            Some(_) => (Verdict::Refused, format!("the program returns {value}, expected {range}")),
            None => (
                Verdict::Unknown,
                format!(
                    "the program may return {value}, expected {range}: a branch depends on a value that only the verifier knows"
                ),
            ),
        };
        let reason = Reason::new(ReasonKind::ReturnValue, verdict, text);
        let reason = reason.with_evidence(self.evidence.clone());
        let fix = format!("return only {range}: check the value before the program returns it");
        Some((found.insn, reason.with_fix(fix)))
    }
}

/// Returns the low 32 bits of a number, with their sign.
const fn low_half(number: u64) -> i64 {
    number.wrapping_shl(32).cast_signed().wrapping_shr(32)
}

/// Returns the results of an LSM hook.
fn lsm_range(program: &ProgramNeeds) -> Option<Range> {
    let (name, _) = program.hook.kernel_type()?;
    let max = i64::from(BOOL_HOOKS.contains(&name));
    Some(Range { min: MIN_ERROR, max, is_32bit: true })
}

/// Returns the evidence that the kernel checks the values of an LSM program (6.12). Programs at hooks without
/// a result return anything.
fn lsm_evidence(program: &ProgramNeeds, answers: &KernelAnswers<'_, '_>) -> Option<Evidence> {
    let Answer::Present(evidence) = answers.facts.checks_lsm_results() else { return None };
    let hook = answers.facts.find_type(program.declaration.as_ref()?)?;
    let proto = hook.btf().ty(hook.target()?)?;
    let result = proto.btf().strip(proto.target()?).ok()?;
    (result.kind() == Kind::Int).then_some(evidence)
}

/// Returns the evidence for the range of a section. `None` for a kernel that is newer than the observed ones.
fn observed(def: &SecDef, range: Range, answers: &KernelAnswers<'_, '_>) -> Option<Evidence> {
    let exists = Evidence { source: EvidenceSource::Version, text: String::new() };
    let attach = def.attach_type.map_or_else(String::new, |attach_type| format!(" at {attach_type}"));
    let what = format!(
        "let programs of type {}{attach} return other values than {}",
        def.program_type,
        range.text()
    );
    answers.facts.never_observed(&what, Answer::Present(exists)).into_absence()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_continue_at_zero() {
        let bool_range = Range::new(0, 1);
        assert!(bool_range.contains(0, 1) && bool_range.contains(1, 1));
        for (lo, hi) in [(0, u64::MAX), (0, 2), (1, 0), (u64::MAX, 0), (5, 5), (0, 0xffff_ffff)] {
            assert!(!bool_range.contains(lo, hi), "{lo} {hi}");
        }
        assert!(bool_range.excludes(2, u64::MAX) && bool_range.excludes(u64::MAX, u64::MAX));
        for (lo, hi) in [(0, u64::MAX), (1, 5), (u64::MAX, 0), (0, 0), (1, 1)] {
            assert!(!bool_range.excludes(lo, hi), "{lo} {hi}");
        }
        let errors = Range { min: MIN_ERROR, max: 0, is_32bit: true };
        assert!(errors.contains(0, 0) && errors.contains(0xffff_ffff, 0xffff_ffff));
        assert!(errors.contains(u64::MAX, 0) && errors.contains(4095u64.wrapping_neg(), 0));
        assert!(!errors.contains(0, u64::MAX) && !errors.contains(1, 1) && !errors.contains(0, 0xffff_ffff));
        assert!(!errors.contains(4096u64.wrapping_neg(), 0));
    }
}
