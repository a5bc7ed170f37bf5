//! The object's BTF and its programs' `func_info` and `line_info` as a loader sends them, checked by the
//! rules of kernels.

use super::program::ProgramNeeds;
use crate::loaders::BtfPolicy;
use core_relo::{
    btf::{Btf, BtfViolation, BtfViolations, KernelBtfRules, kernel_violations},
    ext::InfoViolation,
};
use core_relo_object::{
    InternalError, ProgramIndex,
    link::{LinkError, ProgramLinker, SentTypes},
    load_plan::SentBtf,
};
use hashbrown::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The object's BTF, and what kernels say about it. Threads may share it.
#[derive(Debug, Default)]
pub(crate) struct ObjectBtf {
    sent: Option<SentBtf>,
    /// What the loader does with the BTF.
    policy: BtfPolicy,
    /// The reason why a load fails before the kernel sees the BTF.
    pub(crate) error: Option<LinkError>,
    /// Whether the BTF violates none of the strictest rules, which do not change it either: it violates those
    /// of no kernel.
    clean_by_strictest: OnceLock<bool>,
    /// The results by rules. Most kernels share their rules with others.
    results: Mutex<Vec<(KernelBtfRules, Option<SentViolation>)>>,
    /// The programs whose `func_info` or `line_info` some kernel may refuse.
    info_suspects: OnceLock<HashSet<ProgramIndex>>,
}

/// A violation of a kernel's rules by the BTF that a loader sends. For a loader that sends parts of the BTF,
/// it is one by the whole BTF.
#[derive(Clone, Debug)]
pub(crate) struct SentViolation {
    pub(crate) violation: BtfViolation,
    /// Whether core-relo sends a BTF that violates none of the kernel's rules.
    pub(crate) is_repairable: bool,
}

/// The violations of the rules for `func_info` and `line_info` by a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InfoViolations {
    /// The first violation that a loader can repair.
    pub(crate) repairable: Option<InfoViolation>,
    /// The first violation that no loader can repair.
    pub(crate) lasting: Option<InfoViolation>,
}

impl ObjectBtf {
    pub(super) fn new(linker: &ProgramLinker<'_, '_>, policy: BtfPolicy) -> Self {
        match SentBtf::new(linker) {
            Ok(sent) => Self { sent, policy, ..Self::default() },
            Err(error) => Self { error: Some(error), policy, ..Self::default() },
        }
    }

    /// Returns whether the BTF violates neither these rules nor the others. One check answers for most
    /// objects, and for all kernels.
    pub(crate) fn is_clean(
        &self,
        rules: &KernelBtfRules,
        others: &KernelBtfRules,
    ) -> Result<bool, InternalError> {
        let Some(sent) = &self.sent else { return Ok(true) };
        if self.is_clean_by_strictest(sent)? {
            return Ok(true);
        }
        let both = rules.or_stricter(*others);
        if sent.is_unchanged(&both) {
            return Ok(self.violation(&both)?.is_none());
        }
        Ok(self.violation(rules)?.is_none() && self.violation(others)?.is_none())
    }

    fn is_clean_by_strictest(&self, sent: &SentBtf) -> Result<bool, InternalError> {
        if let Some(known) = self.clean_by_strictest.get() {
            return Ok(*known);
        }
        let strictest = KernelBtfRules::strictest();
        let is_clean = sent.is_unchanged(&strictest) && self.violation(&strictest)?.is_none();
        Ok(*self.clean_by_strictest.get_or_init(|| is_clean))
    }

    /// Returns the first violation of the rules of a kernel: one that is left in the repaired BTF, if there
    /// is one.
    pub(crate) fn violation(&self, rules: &KernelBtfRules) -> Result<Option<SentViolation>, InternalError> {
        let Some(sent) = &self.sent else { return Ok(None) };
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, violation)) = results.iter().find(|(known, _)| known == rules) {
            return Ok(violation.clone());
        }
        let violation = SentViolation::find(sent, rules, self.policy)?;
        results.push((*rules, violation.clone()));
        Ok(violation)
    }

    /// Returns all violations of the rules of a kernel by the object's BTF.
    pub(crate) fn all_violations(&self, rules: &KernelBtfRules) -> Result<BtfViolations, InternalError> {
        match &self.sent {
            Some(sent) => Ok(kernel_violations(&sent.bytes(rules)?, rules)),
            None => Ok(BtfViolations::default()),
        }
    }
}

impl SentViolation {
    /// Validates the BTF, and once more after the repair of a load plan.
    fn find(
        sent: &SentBtf,
        rules: &KernelBtfRules,
        policy: BtfPolicy,
    ) -> Result<Option<Self>, InternalError> {
        let violations = kernel_violations(&sent.bytes(rules)?, rules);
        let Some(first) = violations.list().iter().find(|violation| !policy.avoids(violation)) else {
            return Ok(None);
        };
        let lasting = kernel_violations(&sent.repaired_bytes(rules)?, rules).first().cloned();
        Ok(match lasting {
            Some(violation) => Some(Self { violation, is_repairable: false }),
            None if policy == BtfPolicy::Repaired => None,
            None => Some(Self { violation: first.clone(), is_repairable: true }),
        })
    }
}

impl ObjectBtf {
    /// Returns the violations of a program's records by the rules of a kernel, as libbpf sends them.
    /// `programs` are those of the object.
    pub(crate) fn info_violations(
        &self,
        own: Option<&Btf<'_>>,
        programs: &[ProgramNeeds],
        program: &ProgramNeeds,
        rules: &KernelBtfRules,
    ) -> InfoViolations {
        let sent = own.zip(self.sent.as_ref());
        let types = sent.map(|(btf, sent)| SentTypes { btf, string_bytes: sent.string_bytes() });
        let suspects = self.info_suspects.get_or_init(|| {
            let strictest = KernelBtfRules::strictest();
            // Kernels with exception callbacks find one more function.
            let may_violate = |program: &&ProgramNeeds| {
                program.code.as_ref().is_ok_and(|linked| linked.exception_callback.is_some())
                    || InfoViolations::find(program, types, &strictest) != InfoViolations::default()
            };
            programs.iter().filter(may_violate).map(|program| program.index).collect()
        });
        if !suspects.contains(&program.index) {
            return InfoViolations::default();
        }
        InfoViolations::find(program, types, rules)
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

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{
        TypeId,
        btf::{BuiltMember, Kind},
    };
    use core_relo_object::{
        object::Object,
        test_support::{TestObject, returns},
    };

    /// Returns whether the first violation of an object's BTF is repairable. `None` without a violation.
    fn is_repairable(types: impl FnOnce(&mut TestObject)) -> Option<bool> {
        let mut object = TestObject::new();
        object.program("main", "tc", &returns(0));
        types(&mut object);
        let bytes = object.bytes();
        let object = Object::parse(&bytes).unwrap();
        let linker = ProgramLinker::collect(&object).unwrap();
        let btf = ObjectBtf::new(&linker, BtfPolicy::Unchanged);
        btf.violation(&KernelBtfRules::newest()).unwrap().map(|found| found.is_repairable)
    }

    #[test]
    fn names_of_sections_are_needed_and_other_missing_names_are_given() {
        let unnamed_type = is_repairable(|m| {
            m.types.typedef("", m.int);
        });
        let unnamed_tag = is_repairable(|m| {
            m.types.decl_tag("", m.int, -1);
        });
        assert_eq!([unnamed_type, unnamed_tag], [Some(true), Some(false)]);
    }

    /// Bytes cannot begin within a byte.
    #[test]
    fn floats_at_whole_bytes_become_bytes() {
        let float_at = |bit: u32| {
            is_repairable(|m| {
                let float = m.types.float("float", 4);
                m.types.structure("s", 8, &[("f", float, bit)]);
            })
        };
        assert_eq!([float_at(8), float_at(12)], [Some(true), Some(false)]);
    }

    /// The first violation is repairable, and hides another one of the same member.
    #[test]
    fn a_violation_behind_a_repaired_one_is_left() {
        let out_of_order = |size: u32, void: TypeId| {
            is_repairable(|m| {
                m.types.structure("s", size, &[("b", m.int, 32), ("a", void, 0)]);
            })
        };
        let int = TypeId(1);
        assert_eq!([out_of_order(8, int), out_of_order(4, int)], [Some(true), Some(false)]);
        let bitfield_of_void = is_repairable(|m| {
            let void = m.types.modifier(Kind::Const, TypeId::VOID);
            let member = BuiltMember { name: "f", ty: void, bit_offset: 0, bitfield_bits: 3 };
            m.types.composite(Kind::Struct, "s", 4, &[member]);
        });
        assert_eq!(bitfield_of_void, Some(false));
    }
}
