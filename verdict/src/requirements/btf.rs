//! The object's BTF and its programs' `func_info` and `line_info` as a loader sends them, checked by the rules of kernels.

use super::{ObjectNeeds, ProgramNeeds};
use alloc::sync::Arc;
use core_relo::{
    btf::{BtfPlace, BtfRule, BtfViolation, KernelBtfRules, Kind, NameError, TypeIdError, kernel_violations},
    ext::InfoViolation,
};
use core_relo_object::{
    InternalError, ProgramIndex,
    link::{LinkError, ProgramLinker, SentTypes},
    load_plan::SentBtf,
};
use hashbrown::HashMap;
use std::sync::{Mutex, PoisonError};

/// The object's BTF, and what kernels say about it. Threads may share it.
#[derive(Debug, Default)]
pub(crate) struct ObjectBtf {
    sent: Option<SentBtf>,
    /// The reason why a load fails before the kernel sees the BTF.
    pub(crate) error: Option<LinkError>,
    /// The results by rules. Most kernels share their rules with others.
    results: Mutex<Vec<(KernelBtfRules, Option<BtfViolation>)>>,
    /// The results of programs by rules, for the programs with violations.
    info_results: Mutex<Vec<(KernelBtfRules, InfoResults)>>,
}

/// The violations of each program that has any.
type InfoResults = Arc<HashMap<ProgramIndex, InfoViolations>>;

/// The violations of the rules for `func_info` and `line_info` by a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InfoViolations {
    /// The first violation that a loader can repair.
    pub(crate) repairable: Option<InfoViolation>,
    /// The first violation that no loader can repair.
    pub(crate) lasting: Option<InfoViolation>,
}

impl ObjectBtf {
    pub(super) fn new(linker: &ProgramLinker<'_, '_>) -> Self {
        match SentBtf::new(linker) {
            Ok(sent) => Self { sent, ..Self::default() },
            Err(error) => Self { error: Some(error), ..Self::default() },
        }
    }

    /// Returns whether the BTF violates neither these rules nor the others. One check answers for most objects, and for all kernels.
    pub(crate) fn is_clean(
        &self,
        rules: &KernelBtfRules,
        others: &KernelBtfRules,
    ) -> Result<bool, InternalError> {
        let Some(sent) = &self.sent else { return Ok(true) };
        let strictest = KernelBtfRules::strictest();
        if sent.is_unchanged(&strictest) && self.violation(&strictest)?.is_none() {
            return Ok(true);
        }
        let both = rules.or_stricter(*others);
        if sent.is_unchanged(&both) {
            return Ok(self.violation(&both)?.is_none());
        }
        Ok(self.violation(rules)?.is_none() && self.violation(others)?.is_none())
    }

    /// Returns the first violation of the rules of a kernel: one that no loader can repair, if there is one.
    pub(crate) fn violation(&self, rules: &KernelBtfRules) -> Result<Option<BtfViolation>, InternalError> {
        let Some(sent) = &self.sent else { return Ok(None) };
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, violation)) = results.iter().find(|(known, _)| known == rules) {
            return Ok(violation.clone());
        }
        let violations = kernel_violations(&sent.bytes(rules)?, rules);
        let lasting = violations.list().iter().find(|violation| !is_repairable(violation));
        let violation = lasting.or(violations.first()).cloned();
        results.push((*rules, violation.clone()));
        Ok(violation)
    }
}

impl ObjectNeeds<'_, '_> {
    /// Returns the violations of each program's records by the rules of a kernel, as libbpf sends them.
    pub(crate) fn info_violations(&self, rules: &KernelBtfRules) -> InfoResults {
        let mut results = self.btf.info_results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = results.iter().find(|(known, _)| known == rules) {
            return Arc::clone(known);
        }
        let sent = self.object.btf().zip(self.btf.sent.as_ref());
        let types = sent.map(|(btf, sent)| SentTypes { btf, string_bytes: sent.string_bytes() });
        let programs = self.programs.iter();
        let violations = programs.filter_map(|program| {
            let violations = InfoViolations::find(program, types, rules);
            (violations != InfoViolations::default()).then_some((program.index, violations))
        });
        let violations = Arc::new(violations.collect());
        results.push((*rules, Arc::clone(&violations)));
        violations
    }
}

impl InfoViolations {
    /// Returns the violations of a program's records. `types` is `None` for a load without BTF.
    pub(crate) fn find(program: &ProgramNeeds, types: Option<SentTypes<'_>>, rules: &KernelBtfRules) -> Self {
        let Ok(linked) = &program.code else { return Self::default() };
        let violations = linked.info_violations(types, rules);
        let find = |is_repairable: bool| {
            let mut list = violations.list().iter();
            list.find(|violation| violation.rule.is_repairable() == is_repairable).cloned()
        };
        Self { repairable: find(true), lasting: find(false) }
    }
}

/// Returns whether a loader can send another BTF that does not violate the rule, with the same meaning: core-relo sends other names, and
/// bytes in place of a type without a size or alignment. libbpf sends the BTF as it is.
pub(crate) fn is_repairable(violation: &BtfViolation) -> bool {
    const BYTE_BITS: u32 = 8;
    let kind = violation.ty.as_ref().map(|ty| ty.kind);
    let has_no_size = |reason| matches!(reason, TypeIdError::NoSize | TypeIdError::Void);
    match violation.rule {
        // A section or tag needs its own name.
        BtfRule::Name(NameError::Missing) if violation.place == BtfPlace::Whole => {
            kind.is_some_and(|kind| matches!(kind, Kind::Typedef | Kind::Fwd | Kind::Func | Kind::Var))
        }
        _ if violation.is_name() => true,
        BtfRule::TypeId { reason, .. } => {
            has_no_size(reason) && kind.is_some_and(|kind| kind == Kind::Var || kind.is_composite())
        }
        BtfRule::MemberType { reason, .. }
        | BtfRule::ArrayElement { reason, .. }
        | BtfRule::ParameterType { reason, .. } => has_no_size(reason),
        BtfRule::MemberOrder { is_union: false, .. } => true,
        // A floating-point number that is not aligned.
        BtfRule::MemberAlignment { found, bits } => bits != BYTE_BITS && found.is_multiple_of(BYTE_BITS),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        Endian, TypeId,
        btf::{Btf, Builder},
    };

    /// Returns whether the first violation of a BTF is repairable.
    fn first_is_repairable(build: impl FnOnce(&mut Builder)) -> bool {
        let mut b = Builder::new(Endian::native());
        build(&mut b);
        let violations = Btf::parse(b.finish()).unwrap().kernel_violations(&KernelBtfRules::newest());
        is_repairable(violations.first().unwrap())
    }

    #[test]
    fn names_of_sections_are_needed_and_other_missing_names_are_given() {
        assert!(first_is_repairable(|b| {
            b.typedef("", TypeId::VOID);
        }));
        assert!(!first_is_repairable(|b| {
            let int = b.int("int", 4, Builder::SIGNED);
            let var = b.var("x", int, 1);
            b.datasec("", 4, &[(var, 0, 4)]);
        }));
    }

    /// Bytes cannot begin within a byte.
    #[test]
    fn floats_at_whole_bytes_become_bytes() {
        let float_at = |bit: u32| {
            first_is_repairable(|b| {
                let float = b.float("float", 4);
                b.structure("s", 8, &[("f", float, bit)]);
            })
        };
        assert_eq!([float_at(8), float_at(12)], [true, false]);
    }
}
