//! The source of answers: probes of the running kernel, or the evidence of a kernel's BTF, configuration,
//! symbols and version.

use super::{
    answer::{Callers, FeatureAnswer, Support, probed, support},
    catalog::{Entry, Subject},
};
use core_relo::insn::Helper;
use core_relo_loader::{
    features::{ProbeError, ProbeResult, Prober, read_delegation},
    object::{KernelFeature, ProgramType},
};
use core_relo_verdict::kernel::{
    Answer, Evidence, EvidenceSource, HelperCall, KernelFacts, KfuncCall, ProgramFeature, SleepableCode,
    answer_helper_call, answer_kfunc_call,
};
use std::cell::OnceCell;

/// A kernel that answers questions.
pub(super) struct AnswerSource<'k> {
    /// The evidence; `None` for a running kernel without BTF.
    pub(super) facts: Option<&'k KernelFacts<'k>>,
    /// The prober of the running kernel; `None` for another kernel.
    pub(super) prober: Option<&'k Prober>,
    /// The only program type for which calls are answered.
    pub(super) caller: Option<ProgramType>,
    /// Whether the callers of kfuncs are answered, which takes a probe for each program type.
    pub(super) lists_kfunc_callers: bool,
    /// The program types of the kernel that may have callers, with the answer whether the kernel has the
    /// type.
    callers: OnceCell<Vec<(ProgramType, Support)>>,
}

impl<'k> AnswerSource<'k> {
    pub(super) fn new(
        facts: Option<&'k KernelFacts<'k>>,
        prober: Option<&'k Prober>,
        caller: Option<ProgramType>,
        lists_kfunc_callers: bool,
    ) -> Self {
        Self { facts, prober, caller, lists_kfunc_callers, callers: OnceCell::new() }
    }

    /// Answers whether the kernel has a feature.
    pub(super) fn answer(&self, entry: &Entry) -> FeatureAnswer {
        match &entry.subject {
            Subject::Kernel(KernelFeature::Helper(helper)) => self.helper(*helper),
            Subject::Kernel(feature) => self.offers(*feature).into(),
            Subject::Trampolines => self.evidence(KernelFacts::trampolines).into(),
            Subject::KprobeEvents => self.evidence(KernelFacts::kprobe_events).into(),
            // The BTF of a kernel tells its kfuncs: see `FeatureQuery`.
            Subject::Kfunc => no_btf().into(),
            Subject::Option => match self.facts {
                Some(facts) => facts.kconfig(&entry.name).into(),
                None => Answer::Unknown("the kernel's configuration is not known".into()).into(),
            },
            Subject::Setting(setting) if self.prober.is_some() => {
                let read = setting.read();
                let value = read.as_ref().ok().and_then(|read| read.value.clone());
                FeatureAnswer { value, ..probed(EvidenceSource::System, read.map(|read| read.probed)).into() }
            }
            Subject::Delegation if self.prober.is_some() => {
                probed(EvidenceSource::System, read_delegation()).into()
            }
            Subject::Setting(_) | Subject::Delegation => {
                Answer::Unknown("it is a setting of a running system".into()).into()
            }
        }
    }

    /// Probes the running kernel, and asks another one for evidence. The evidence also answers for the
    /// running kernel where no probe does, except for lack of privileges: the question is what this process
    /// may do.
    fn probe_or(
        &self,
        probe: impl FnOnce(&Prober) -> ProbeResult,
        evidence: impl FnOnce(&KernelFacts<'_>) -> Answer,
    ) -> Answer {
        match (self.prober.map(probe), self.facts) {
            (Some(answer @ (Ok(_) | Err(ProbeError::NotPermitted { .. }))), _) => {
                probed(EvidenceSource::Probe, answer)
            }
            (_, Some(facts)) => evidence(facts),
            (Some(failed), None) => probed(EvidenceSource::Probe, failed),
            (None, None) => no_btf(),
        }
    }

    /// Answers by evidence, for what no probe answers: the running kernel creates it for an attachment only.
    fn evidence(&self, answer: impl FnOnce(&KernelFacts<'k>) -> Answer) -> Answer {
        self.facts.map_or_else(no_btf, answer)
    }

    fn offers(&self, feature: KernelFeature) -> Answer {
        self.probe_or(|prober| prober.offers(feature), |facts| facts.offers(feature))
    }

    fn program_type(&self, ty: ProgramType) -> Answer {
        self.offers(KernelFeature::ProgramType(ty))
    }

    /// Returns the program types that may call something, and that the kernel may have.
    fn callers(&self) -> &[(ProgramType, Support)] {
        self.callers.get_or_init(|| {
            let asked = ProgramType::offered().filter(|ty| self.caller.is_none_or(|caller| caller == *ty));
            asked.map(|ty| (ty, support(&self.program_type(ty)))).collect()
        })
    }

    fn helper(&self, helper: Helper) -> FeatureAnswer {
        let answer = self.calls(&|ty| {
            self.probe_or(
                |prober| prober.helper(ty, helper.0),
                |facts| {
                    let sleepable =
                        if may_sleep(facts, ty) { SleepableCode::All } else { SleepableCode::None };
                    let call = HelperCall { helper, program_type: Some(ty), attach_type: None, sleepable };
                    answer_helper_call(facts, call)
                },
            )
        });
        match self.facts {
            // A helper that the kernel lacks, or that lockdown closes, whatever the program types.
            Some(facts)
                if !facts.helper(helper).is_present()
                    && (self.prober.is_none() || facts.lockdown_of_helper(helper).is_some()) =>
            {
                FeatureAnswer { callers: answer.callers, ..facts.helper(helper).into() }
            }
            _ => answer,
        }
    }

    /// Answers whether programs may call a kfunc. `exists` is the answer whether the kernel has the kfunc.
    pub(super) fn kfunc(&self, name: &str, exists: Answer) -> FeatureAnswer {
        if !exists.is_present() || !(self.lists_kfunc_callers || self.caller.is_some()) {
            return exists.into();
        }
        let calls = self.calls(&|ty| {
            let exists = &exists;
            let call = KfuncCall { name: name.as_bytes(), exists, program_type: Some(ty), attach_type: None };
            self.probe_or(|prober| prober.kfunc(ty, call.name), |facts| answer_kfunc_call(facts, call))
        });
        match self.caller {
            Some(_) => calls,
            None => FeatureAnswer { callers: calls.callers, ..exists.into() },
        }
    }

    /// Answers whether programs of each type may call something.
    fn calls(&self, may_call: &dyn Fn(ProgramType) -> Answer) -> FeatureAnswer {
        let mut callers = Callers::default();
        let (mut refused, mut unanswered) = (None, None);
        let mut accepted = None;
        for (ty, was_offered) in self.callers() {
            let name = ty.short_name();
            match was_offered {
                Support::No => continue,
                Support::Yes => {}
                Support::Unknown => {
                    unanswered.get_or_insert_with(|| self.program_type(*ty));
                    callers.unknown.push(name);
                    continue;
                }
            }
            let mut answer = may_call(*ty);
            // The helpers of these programs are those of a target, unless all programs of the type are
            // refused.
            if matches!(ty, ProgramType::Ext | ProgramType::StructOps) && !matches!(answer, Answer::Absent(_))
            {
                answer = Answer::Unknown(format!("it depends on the target of {name} programs"));
            }
            match support(&answer) {
                Support::Yes => {
                    callers.yes.push(name);
                    accepted.get_or_insert(answer);
                }
                Support::No => {
                    callers.no.push(name);
                    refused.get_or_insert(answer);
                }
                Support::Unknown => {
                    callers.unknown.push(name);
                    unanswered.get_or_insert(answer);
                }
            }
        }
        let answer = match (accepted, refused, unanswered) {
            // The answer for a single type has the evidence of this type.
            (Some(accepted), ..) if self.caller.is_some() => accepted,
            (None, Some(refused), None) => refused,
            // An extension may call what the program that it extends may call: nothing that all other types
            // are refused.
            (None, Some(refused), Some(_)) if callers.unknown == ["ext"] => refused,
            (None, _, Some(unanswered)) => unanswered,
            (None, None, None) => {
                let what = match self.caller {
                    Some(ty) => format!("type {}", ty.short_name()),
                    None => "any type".into(),
                };
                let source = if self.prober.is_some() { EvidenceSource::Probe } else { EvidenceSource::Btf };
                Answer::Absent(Evidence { source, text: format!("the kernel has no programs of {what}") })
            }
            (Some(Answer::Present(accepted)), ..) => {
                let count = callers.yes.len();
                let plural = if count == 1 { "" } else { "s" };
                let text = format!("{count} program type{plural} may call it");
                Answer::Present(Evidence { text, ..accepted })
            }
            (Some(accepted), ..) => accepted,
        };
        FeatureAnswer { callers: Some(callers), ..answer.into() }
    }
}

fn no_btf() -> Answer {
    Answer::Unknown("the kernel has no BTF".into())
}

/// Returns whether some programs of a type may sleep, so that they call helpers that sleep.
fn may_sleep(facts: &KernelFacts<'_>, ty: ProgramType) -> bool {
    match ty {
        ProgramType::Syscall | ProgramType::StructOps => true,
        ProgramType::Tracing | ProgramType::Lsm => facts.sleepable_programs().is_present(),
        ProgramType::Kprobe => facts.program_feature(ProgramFeature::SleepableUprobe).is_present(),
        _ => false,
    }
}
