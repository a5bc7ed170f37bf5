//! What follows if the kernel refuses the object's BTF: a load goes on without BTF, unless a map or program
//! needs BTF.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Verdict},
};
use crate::{
    kernel::{Evidence, EvidenceSource, FieldFunction, InsnFeature},
    loaders::BtfPolicy,
    mismatch::{Declarations, Mismatch, MismatchKind},
    requirements::{MapNeed, Need, ObjectNeeds, ProgramNeeds, btf::SentViolation},
};
use core_relo::btf::KernelBtfRules;
use core_relo_object::{
    InternalError,
    object::{MapType, ProgramType},
};

/// The refusal of the object's BTF by a kernel.
#[derive(Debug)]
pub(super) struct BtfRefusal {
    /// Whether the refusal is certain.
    verdict: Verdict,
    sent: SentViolation,
    /// The evidence for the rule. `None` if only some kernels have it, and nothing tells the kernel's
    /// release.
    evidence: Option<Evidence>,
}

/// The kfuncs without a special field that need types of the object. Older kernels have them with the suffix
/// `_impl`.
const KFUNCS: [&[u8]; 2] = [b"bpf_obj_new", b"bpf_percpu_obj_new"];

/// Returns the evidence of a rule that every kernel has.
pub(super) fn rule_of_all() -> Evidence {
    Evidence { source: EvidenceSource::Object, text: "every kernel has the rule".to_owned() }
}

/// The question about a rule that only some kernels have.
pub(super) const SOME_KERNELS: &str =
    "only some kernels have the rule: give the kernel's version (--kernel-version)";

impl BtfRefusal {
    /// Returns the refusal of an object's BTF. The kernel refuses the BTF for certain if its release and the
    /// newest kernel refuse it.
    pub(super) fn find(
        needs: &ObjectNeeds<'_, '_>,
        answers: &KernelAnswers<'_, '_>,
    ) -> Result<Option<Self>, InternalError> {
        let facts = &answers.facts;
        let rules = facts.btf_rules();
        let newest = KernelBtfRules::newest();
        if needs.btf.is_clean(&rules, if facts.has_version() { &rules } else { &newest })? {
            return Ok(None);
        }
        if needs.loader.btf_policy() == BtfPolicy::Parts {
            return Ok(None);
        }
        let own = needs.btf.violation(&rules)?;
        if own.is_none() && facts.has_version() {
            return Ok(None);
        }
        let newest = needs.btf.violation(&newest)?;
        let verdict = if own.is_some() && newest.is_some() { Verdict::Refused } else { Verdict::Unknown };
        let Some(sent) = own.or(newest) else { return Ok(None) };
        let oldest = needs.btf.violation(&KernelBtfRules::of_release(5, 10))?;
        let is_rule_of_all = oldest.is_some_and(|oldest| oldest.violation.rule == sent.violation.rule);
        let evidence = match verdict {
            Verdict::Refused if is_rule_of_all => Some(rule_of_all()),
            Verdict::Refused => Some(facts.release_evidence().unwrap_or_else(rule_of_all)),
            _ => facts.version().map(|(_, evidence)| evidence),
        };
        Ok(Some(Self { verdict, sent, evidence }))
    }

    /// Returns the reasons of maps that are not created without BTF.
    pub(super) fn map_reasons(&self, needs: &ObjectNeeds<'_, '_>) -> Vec<Reason> {
        let needing = needs.maps.iter().filter(|map| needs_btf(map));
        needing
            .map(|map| Reason { map: Some(map.name.clone()), ..self.reason(&format!("map {}", map.name)) })
            .collect()
    }

    /// Returns the reason why aya does not load an object whose BTF the kernel refuses (aya/src/bpf.rs:
    /// `EbpfLoader::load`).
    pub(super) fn object_reason(&self, needs: &ObjectNeeds<'_, '_>) -> Option<Reason> {
        let is_tracing = |program: &ProgramNeeds| {
            let program_type = program.sec_def.map(|def| def.program_type);
            matches!(program_type, Some(ProgramType::Ext | ProgramType::Tracing | ProgramType::Lsm))
        };
        if needs.loader.btf_policy() != BtfPolicy::PartlyRepaired {
            return None;
        }
        if needs.programs.iter().any(|program| !program.records.is_empty()) {
            return Some(self.reason("aya's load of an object with CO-RE relocations").repaired());
        }
        let is_needed = needs.programs.iter().any(is_tracing);
        is_needed.then(|| self.reason("aya's load of an object with tracing programs").repaired())
    }

    /// Returns the reason of a program that does not load without BTF, whatever its instructions.
    pub(super) fn program_reason(&self, program: &ProgramNeeds) -> Option<Reason> {
        if program.sec_def.is_some_and(|def| def.program_type == ProgramType::Ext) {
            return Some(self.reason("a program that replaces a function"));
        }
        let linked = program.code.as_ref().ok()?;
        linked.exception_callback.is_some().then(|| self.reason("an exception callback"))
    }

    /// Returns the reason of an instruction that the verifier accepts only with BTF.
    pub(super) fn insn_reason(&self, need: &Need) -> Option<Reason> {
        match need {
            Need::Helper { helper, .. } if FieldFunction::of_helper(*helper).is_some() => {
                Some(self.reason(&need.text()))
            }
            Need::Kfunc(name) | Need::KfuncCall { name, .. }
                if FieldFunction::of_kfunc(name).is_some()
                    || KFUNCS.contains(&name.strip_suffix(b"_impl").unwrap_or(name)) =>
            {
                Some(self.reason(&need.text()))
            }
            Need::Instruction(InsnFeature::FunctionAddress) => Some(self.reason("a callback")),
            _ => None,
        }
    }

    /// Returns the warning about a load without BTF.
    pub(super) fn warning(&self, needs: &ObjectNeeds<'_, '_>) -> Mismatch {
        let program = needs.programs.iter().find(|program| program.autoload);
        let program = program.or(needs.programs.first()).map_or("", |program| &program.name);
        let text = match self.verdict {
            Verdict::Refused => "the object loads without BTF, which the kernel refuses",
            _ => "the object may load without BTF, which some kernels refuse",
        };
        let evidence = match &self.evidence {
            Some(Evidence { source, text }) => format!("{text} ({source})"),
            None => SOME_KERNELS.to_owned(),
        };
        let local = self.sent.violation.to_string();
        let declarations = Declarations { local: &local, target: &evidence };
        Mismatch::new(MismatchKind::Btf, program, text, declarations)
    }

    /// Returns what is left of a reason that depends on the object's BTF, if the kernel refuses the BTF, or
    /// may refuse it.
    pub(super) fn weaken(refusal: Option<&Self>, reason: Reason) -> Option<Reason> {
        match refusal {
            None => Some(reason),
            Some(refusal) if refusal.is_certain() => None,
            Some(_) => Some(Reason { verdict: Verdict::Unknown, evidence: None, ..reason }),
        }
    }

    /// Returns whether the kernel refuses the BTF for certain, so that no load sends `func_info` and
    /// `line_info`.
    pub(super) fn is_certain(&self) -> bool {
        self.verdict == Verdict::Refused
    }

    /// Returns the reason of a requirement that is not met without BTF.
    pub(super) fn reason(&self, subject: &str) -> Reason {
        let certainty = if self.verdict == Verdict::Refused { "refuses" } else { "may refuse" };
        let question = if self.evidence.is_none() { format!(": {SOME_KERNELS}") } else { String::new() };
        let text =
            format!("{subject} needs BTF, which the kernel {certainty}: {}{question}", self.sent.violation);
        let reason =
            Reason { evidence: self.evidence.clone(), ..Reason::new(ReasonKind::Btf, self.verdict, text) };
        if self.sent.is_repairable {
            return reason.with_fix("a loader that repairs the BTF, such as core-relo").repaired();
        }
        reason
    }
}

/// Returns whether the kernel creates a map only with BTF (kernel: `bpf_local_storage_map_alloc_check`;
/// libbpf: `kernel_needs_btf`).
fn needs_btf(map: &MapNeed) -> bool {
    use MapType as M;
    let known = map.definition.as_ref().and_then(core_relo_object::object::MapDef::known_type);
    map.struct_ops.is_some()
        || matches!(known, Some(M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage))
}
