//! The source of answers: probes of the running kernel, or the evidence of a kernel's BTF, configuration, symbols and version.

use super::{
    answer::{Callers, FeatureAnswer, PROBE, Support},
    catalog::{Entry, Subject},
    system,
};
use crate::describe::short_type_name;
use core_relo::insn::Helper;
use core_relo_loader::{
    features::{ProbeError, ProbeResult, Prober},
    object::ProgramType,
};
use core_relo_verdict::kernel::{
    Answer, HelperCall, KernelFacts, KfuncCall, ProgramFeature, SleepableCode, answer_helper_call,
    answer_kfunc_call,
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
    /// The program types of the kernel that may have callers, with the answer whether the kernel has the type.
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
            Subject::ProgramType(ty) => self.program_type(*ty),
            Subject::MapType(ty) => {
                self.probe_or(&|prober| prober.map_type(*ty), &|facts| facts.map_type(ty.number()))
            }
            Subject::AttachType(ty) => {
                self.probe_or(&|prober| prober.attach_type(*ty), &|facts| facts.attachment(*ty))
            }
            Subject::LinkType(ty) => self.probe_or(&|prober| prober.link_type(*ty), &|facts| facts.link(*ty)),
            Subject::Feature(feature) => {
                self.probe_or(&|prober| prober.feature(*feature), &|facts| facts.feature(*feature))
            }
            Subject::Trampolines => self.evidence(KernelFacts::trampolines),
            Subject::KprobeEvents => self.evidence(KernelFacts::kprobe_events),
            Subject::Helper(number) => self.helper(*number),
            Subject::Kfunc => match self.facts {
                Some(facts) => self.kfunc(&entry.name, facts.kfunc(entry.name.as_bytes())),
                None => FeatureAnswer::unknown("the kernel has no BTF"),
            },
            Subject::Option => match self.facts {
                Some(facts) => facts.kconfig(&entry.name).into(),
                None => FeatureAnswer::unknown("the kernel's configuration is not known"),
            },
            Subject::Setting(setting) if self.prober.is_some() => setting.read(),
            Subject::Delegation if self.prober.is_some() => system::read_delegation(),
            Subject::Setting(_) | Subject::Delegation => {
                FeatureAnswer::unknown("it is a setting of a running system")
            }
        }
    }

    /// Probes the running kernel, and asks another one for evidence. The evidence also answers for the running kernel where no probe does,
    /// except for lack of privileges: the question is what this process may do.
    fn probe_or(
        &self,
        probe: &dyn Fn(&Prober) -> ProbeResult,
        evidence: &dyn Fn(&KernelFacts<'_>) -> Answer,
    ) -> FeatureAnswer {
        let probed = self.prober.map(probe);
        match (probed, self.facts) {
            (Some(answer @ (Ok(_) | Err(ProbeError::NotPermitted { .. }))), _) => answer.into(),
            (_, Some(facts)) => evidence(facts).into(),
            (Some(failed), None) => failed.into(),
            (None, None) => FeatureAnswer::unknown("the kernel has no BTF"),
        }
    }

    /// Answers by evidence, for what no probe answers: the running kernel creates it for an attachment only.
    fn evidence(&self, answer: impl FnOnce(&KernelFacts<'k>) -> Answer) -> FeatureAnswer {
        self.facts
            .map_or_else(|| FeatureAnswer::unknown("the kernel has no BTF"), |facts| answer(facts).into())
    }

    fn program_type(&self, ty: ProgramType) -> FeatureAnswer {
        self.probe_or(&|prober| prober.program_type(ty), &|facts| facts.program_type(ty.number()))
    }

    /// Returns the program types that may call something, and that the kernel may have.
    fn callers(&self) -> &[(ProgramType, Support)] {
        self.callers.get_or_init(|| {
            let types = ProgramType::ALL.iter().filter(|ty| ty.number() != 0);
            let asked = types.filter(|ty| self.caller.is_none_or(|caller| caller == **ty));
            let support = asked.map(|ty| (*ty, self.program_type(*ty).support));
            support.collect()
        })
    }

    fn helper(&self, number: u32) -> FeatureAnswer {
        let answer = self.calls(&|ty| {
            self.probe_or(&|prober| prober.helper(ty, number), &|facts| {
                let sleepable = if may_sleep(facts, ty) { SleepableCode::All } else { SleepableCode::None };
                let call = HelperCall {
                    helper: Helper(number),
                    program_type: Some(ty),
                    attach_type: None,
                    sleepable,
                };
                answer_helper_call(facts, call)
            })
        });
        match self.facts {
            // A helper that the kernel lacks, or that lockdown closes, whatever the program types.
            Some(facts)
                if !facts.helper(Helper(number)).is_present()
                    && (self.prober.is_none() || facts.lockdown_of_helper(Helper(number)).is_some()) =>
            {
                FeatureAnswer { callers: answer.callers, ..facts.helper(Helper(number)).into() }
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
            self.probe_or(&|prober| prober.kfunc(ty, name.as_bytes()), &|facts| {
                let call = KfuncCall { name: name.as_bytes(), program_type: Some(ty), attach_type: None };
                answer_kfunc_call(facts, call)
            })
        });
        match self.caller {
            Some(_) => calls,
            None => FeatureAnswer { callers: calls.callers, ..exists.into() },
        }
    }

    /// Answers whether programs of each type may call something.
    fn calls(&self, may_call: &dyn Fn(ProgramType) -> FeatureAnswer) -> FeatureAnswer {
        let mut callers = Callers::default();
        let (mut refused, mut unanswered) = (None, None);
        let mut accepted = None;
        for (ty, support) in self.callers() {
            let name = short_type_name(ty.name());
            match support {
                Support::No => continue,
                Support::Yes => {}
                Support::Unknown => {
                    unanswered.get_or_insert_with(|| self.program_type(*ty));
                    callers.unknown.push(name);
                    continue;
                }
            }
            let mut answer = may_call(*ty);
            // The helpers of these programs are those of a target, unless all programs of the type are refused.
            if matches!(ty, ProgramType::Ext | ProgramType::StructOps) && answer.support != Support::No {
                answer = FeatureAnswer::unknown(format!("it depends on the target of {name} programs"));
            }
            match answer.support {
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
            // An extension may call what the program that it extends may call: nothing that all other types are refused.
            (None, Some(refused), Some(_)) if callers.unknown == ["ext"] => refused,
            (None, _, Some(unanswered)) => unanswered,
            (None, None, None) => {
                let what = self.caller.map_or_else(
                    || String::from("any type"),
                    |ty| format!("type {}", short_type_name(ty.name())),
                );
                let source = if self.prober.is_some() { PROBE } else { "btf" };
                FeatureAnswer::new(Support::No, Some(source), format!("the kernel has no programs of {what}"))
            }
            (Some(accepted), ..) => {
                let count = callers.yes.len();
                let plural = if count == 1 { "" } else { "s" };
                let text = format!("{count} program type{plural} may call it");
                FeatureAnswer::new(Support::Yes, accepted.source, text)
            }
        };
        FeatureAnswer { callers: Some(callers), ..answer }
    }
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
