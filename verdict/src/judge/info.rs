//! The `func_info` and `line_info` that a load sends with a program: the kernel refuses the program if they
//! violate its rules.

use super::{
    btf::{BtfRefusal, SOME_KERNELS, rule_of_all},
    model::{Reason, ReasonKind, Verdict},
    object_context::ObjectContext,
};
use crate::{
    kernel::InsnFeature,
    linked_code::function_addresses,
    loaders::BtfPolicy,
    requirements::{Need, ProgramNeeds, btf::InfoViolations},
};
use core_relo::{
    Name,
    btf::KernelBtfRules,
    explain::text,
    ext::{InfoRule, InfoViolation},
};
use core_relo_object::link::LinkedProgram;

impl ObjectContext<'_, '_> {
    /// Returns the reasons why the kernel refuses the records of a program. Without BTF, a load sends none.
    pub(super) fn info_reasons(&self, program: &ProgramNeeds) -> Vec<Reason> {
        let mut reasons = self.reasons_without_btf(program);
        if self.btf_refusal.is_some_and(BtfRefusal::is_certain) {
            return reasons;
        }
        let facts = &self.answers.facts;
        let find = |rules: &KernelBtfRules| {
            self.needs.btf.info_violations(self.needs.object.btf(), &self.needs.programs, program, rules)
        };
        let own = find(&facts.btf_rules());
        // Newer kernels accept what the oldest one accepts, but for exception callbacks.
        let has_callback = program.code.as_ref().is_ok_and(|linked| linked.exception_callback.is_some());
        if own == InfoViolations::default() && (facts.has_version() || !has_callback) {
            return reasons;
        }
        let newest = find(&KernelBtfRules::newest());
        match self.needs.loader.btf_policy() {
            BtfPolicy::Unchanged => reasons.extend(self.info_reason(own.repairable, newest.repairable)),
            // The loader drops records of func_info that belong to no function, and moves those of line_info.
            BtfPolicy::PartlyRepaired => {
                let own = own.repairable.filter(|violation| violation.place.is_line_info());
                let text = |violation| format!("{violation}, unless {} moves the record", self.needs.loader);
                let reason = |text| Reason::new(ReasonKind::Btf, Verdict::Unknown, text).repaired();
                reasons.extend(own.map(text).map(reason));
            }
            BtfPolicy::Repaired | BtfPolicy::Parts => {}
        }
        reasons.extend(self.info_reason(own.lasting, newest.lasting));
        reasons
    }

    /// Returns the reasons of a program's functions, if the kernel refuses the BTF.
    fn reasons_without_btf(&self, program: &ProgramNeeds) -> Vec<Reason> {
        let Some(refusal) = self.btf_refusal else { return Vec::new() };
        let violation = InfoViolations::find(program, None, &self.answers.facts.btf_rules()).lasting;
        let subject = violation.map(|violation| match violation.rule {
            InfoRule::TailCallWithoutInfo => "a tail call in a function other than the first",
            _ => "a load of packet data (`LD_ABS`, `LD_IND`) in a function other than the first",
        });
        subject.map(|subject| refusal.reason(subject)).into_iter().collect()
    }

    /// Returns the reason of a violation of the rules of the kernel's release, or of the newest kernel. Only
    /// both are certain.
    fn info_reason(&self, own: Option<InfoViolation>, newest: Option<InfoViolation>) -> Option<Reason> {
        let facts = &self.answers.facts;
        if own.is_none() && facts.has_version() {
            return None;
        }
        let is_certain = own.is_some() && newest.is_some() && self.btf_refusal.is_none();
        let violation = own.or(newest)?;
        let reason = if is_certain {
            Reason::new(ReasonKind::Btf, Verdict::Refused, violation.to_string()).with_evidence(rule_of_all())
        } else {
            let evidence = facts.version().map(|(_, evidence)| evidence);
            let question = if evidence.is_none() { format!(": {SOME_KERNELS}") } else { String::new() };
            let text = format!("{violation}, which the kernel may refuse{question}");
            Reason { evidence, ..Reason::new(ReasonKind::Btf, Verdict::Unknown, text) }
        };
        let fix = "a loader that leaves such records out, such as core-relo";
        Some(if violation.rule.is_repairable() { reason.with_fix(fix).repaired() } else { reason })
    }

    /// Returns the reasons of addresses of functions whose `func_info` does not declare them as static
    /// (kernel: `check_ld_imm`), by instruction.
    pub(super) fn callback_reasons(
        &self,
        program: &ProgramNeeds,
        linked: &LinkedProgram,
    ) -> Vec<(u32, Reason)> {
        let is_address =
            |need| matches!(self.answers.need(need), Some(Need::Instruction(InsnFeature::FunctionAddress)));
        let has_callback = program.sites.iter().any(|site| is_address(site.need));
        if !has_callback || self.btf_refusal.is_some_and(BtfRefusal::is_certain) {
            return Vec::new();
        }
        let reason =
            |text: String| Reason::new(ReasonKind::Btf, Verdict::Refused, text).with_evidence(rule_of_all());
        let refused = function_addresses(linked).filter_map(|(insn, start)| {
            // The functions are in the order of their first instructions.
            let found = linked.functions.binary_search_by_key(&start, |copy| copy.start).ok()?;
            let copy = linked.functions.get(found)?;
            let name = self.needs.object.programs().get(copy.function.0)?.name();
            let name = text(Name::new(name).shortened());
            if linked.func_info.is_empty() {
                return Some((
                    insn,
                    reason(format!("callback `{name}` has no func_info, which callbacks need")),
                ));
            }
            let is_global = self.needs.linker.is_global(linked, *copy);
            let global = || reason(format!("callback `{name}` is a global function, expected a static one"));
            is_global.then(|| (insn, global().with_fix(format!("static int {name}(…)"))))
        });
        refused.collect()
    }
}
