//! A fixture for tests of plans: builds an object with a few records and a target, and plans the records.

use crate::{
    CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target, TypeId,
    btf::{Btf, Builder},
    explain::Explainer,
    ext::{BtfExt, CoreRelo, ExtBuilder, ExtPart, ExtRecord as _, RelocKind},
    insn::{Insn, Slot},
    minimise::{MinimiseError, MinimisedBtf, Needs},
    plan::{Decision, Options, PlannedReloc, RelocError},
    resolve::MatchError,
};
use alloc::{string::String, string::ToString as _, sync::Arc, vec, vec::Vec};

/// `r1 = imm`
pub(super) fn mov(imm: i32) -> Slot {
    Slot::One(Insn { code: 0xb7, dst: 1, imm, ..Insn::default() })
}

/// `r1 = *(uN *)(r2 + off)`
pub(super) fn load(bytes: u32, off: i16) -> Slot {
    let insn = Insn { code: 0x61, dst: 1, src: 2, off, imm: 0 };
    Slot::One(insn.with_access_bytes(bytes).unwrap())
}

/// `r1 = imm ll`
pub(super) fn imm64(value: u64) -> Slot {
    let first = Insn { code: 0x18, dst: 1, ..Insn::default() };
    Slot::Two(first, Insn::default()).with_imm64(value)
}

/// One record: kind, root type, access string, instruction.
pub(super) type RecordSpec<'a> = (RelocKind, TypeId, &'a str, Slot);

/// An object and a target under construction.
pub(super) struct Fixture {
    pub(super) local: Builder,
    pub(super) target: Builder,
    pub(super) modules: Vec<Vec<u8>>,
    pub(super) options: Options,
    /// Whether the target is parsed without validation of its members and enumerators.
    pub(super) is_unvalidated: bool,
}

/// The decision about one record, its values and its explanation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannedRecord {
    pub(super) decision: Result<Decision, RelocError>,
    pub(super) local_value: Option<u64>,
    pub(super) target_value: Option<u64>,
    pub(super) target_spec: Option<String>,
    pub(super) reason: String,
    pub(super) help: Vec<String>,
    pub(super) has_warning: bool,
}

impl PlannedRecord {
    /// Returns the value in the target, and the instruction if it is patched.
    pub(super) fn patched(&self) -> (u64, Option<Slot>) {
        match self.decision {
            Ok(Decision::Keep { value }) => (value, None),
            Ok(Decision::Patch { target, slot, .. }) => (target, Some(slot)),
            other => panic!("expected a patch, got {other:?}"),
        }
    }

    pub(super) fn is_poison(&self) -> bool {
        matches!(self.decision, Ok(Decision::Poison { .. }))
    }
}

/// Runs a test in both byte orders.
pub(super) fn in_both_orders(test: impl Fn(&mut Fixture)) {
    for endian in [Endian::Little, Endian::Big] {
        test(&mut Fixture::new(endian));
    }
}

impl Fixture {
    pub(super) fn new(endian: Endian) -> Self {
        Self {
            local: Builder::new(endian),
            target: Builder::new(endian),
            modules: Vec::new(),
            options: Options::default(),
            is_unvalidated: false,
        }
    }

    /// Plans the records, all in one function.
    pub(super) fn plan(&mut self, records: &[RecordSpec<'_>]) -> Vec<PlannedRecord> {
        let (ext, code, endian) = self.object(records);
        let btf = Btf::parse(self.local.finish()).unwrap();
        let ext = BtfExt::parse(&ext).unwrap();
        let len = u32::try_from(code.len() / 8).unwrap();
        let functions = vec![Function { name: b"prog", start: InsnIndex(0), len }];
        let sections = [CodeSection { name: b"tp/x", code: &code, functions }];
        let relocs = Relocs::collect(&btf, &ext, &sections).unwrap();
        let target = self.target.finish();
        let vmlinux =
            if self.is_unvalidated { Btf::parse_unvalidated(target, None) } else { Btf::parse(target) };
        let vmlinux = Arc::new(vmlinux.unwrap());
        let split = |(n, bytes): (usize, &Vec<u8>)| {
            let btf = Btf::parse_split(bytes.clone(), Arc::clone(&vmlinux)).unwrap();
            (alloc::format!("module{n}"), Arc::new(btf))
        };
        let modules: Vec<_> = self.modules.iter().enumerate().map(split).collect();
        let target = Target::new("vmlinux", vmlinux).with_modules(modules);
        let plan = Plan::with_options(&relocs, &target, self.options, |_| true);
        assert_eq!(relocs.endian(), endian);
        check_patched(&plan);
        check_shared_plans(&relocs, &target);
        // The names of an unvalidated target may not exist, so that they cannot be copied.
        if !self.is_unvalidated {
            check_minimal_plans(&plan, self.options);
        }
        let mut explainer = Explainer::new(&plan);
        plan.iter()
            .map(|planned| (planned, explainer.explain(&planned)))
            .map(|(planned, explanation)| PlannedRecord {
                decision: planned.decision(),
                local_value: planned.local_value(),
                target_value: planned.target_value(),
                target_spec: planned.target_spec().map(|(source, spec)| spec.text(&source.btf).to_string()),
                reason: explanation.reason,
                help: explanation.help,
                has_warning: planned.warning().is_some(),
            })
            .collect()
    }

    /// Plans one record.
    pub(super) fn plan_one(&mut self, record: RecordSpec<'_>) -> PlannedRecord {
        self.plan(&[record]).pop().unwrap()
    }

    /// Returns the `.BTF.ext`, the code and the byte order of an object of these records.
    pub(super) fn object(&mut self, records: &[RecordSpec<'_>]) -> (Vec<u8>, Vec<u8>, Endian) {
        let endian = Btf::parse(self.local.finish()).unwrap().endian();
        let section = self.local.string("tp/x");
        let (mut code, mut core_relos) = (Vec::new(), Vec::new());
        for (kind, root, access, slot) in records {
            let offset = u32::try_from(code.len()).unwrap();
            let (first, second) = slot.encode(endian);
            code.extend_from_slice(&first);
            code.extend(second.iter().flatten());
            // `struct bpf_core_relo`
            for word in [offset, root.0, self.local.string(access).0, kind.raw()] {
                endian.put_u32(&mut core_relos, word);
            }
        }
        let mut ext = ExtBuilder::new(endian);
        ext.group(ExtPart::CoreRelo, section, CoreRelo::SIZE, &core_relos);
        (ext.finish(), code, endian)
    }
}

/// Checks that an object has the same plan alone and together with another object.
fn check_shared_plans(relocs: &Relocs<'_>, target: &Target<'_>) {
    let alone = describe(&Plan::new(relocs, target));
    let together = Plan::for_objects(&[relocs, relocs], target);
    let together: Vec<_> = together.iter().map(describe).collect();
    assert_eq!(together, [alone.clone(), alone]);
    assert!(Plan::for_objects(&[], target).is_empty());
}

/// Checks that the plan against the minimal BTF is the same, with the original type ids and with new ones.
fn check_minimal_plans(plan: &Plan<'_>, options: Options) {
    let mut needs = Needs::new(plan.target());
    if let Err(error) = needs.add_plan(plan) {
        let has_too_many_steps = |planned: PlannedReloc<'_>| {
            matches!(planned.decision(), Err(RelocError::Match { error: MatchError::TooManySteps, .. }))
        };
        assert!(matches!(error, MinimiseError::TooManySteps { .. }) && plan.iter().any(has_too_many_steps));
        return;
    }
    let has_target_ids = needs.keeps_ids();
    for keeps_ids in [false, true] {
        if keeps_ids {
            needs.keep_ids();
        }
        let minimal = needs.minimise().unwrap();
        let vmlinux = Arc::new(Btf::parse(minimal.vmlinux().bytes().to_vec()).unwrap());
        let parse_module = |module: &MinimisedBtf| {
            let btf = Btf::parse_split(module.bytes().to_vec(), Arc::clone(&vmlinux)).unwrap();
            (String::from(module.name()), Arc::new(btf))
        };
        let modules: Vec<_> = minimal.modules().iter().map(parse_module).collect();
        let target = Target::new("vmlinux", vmlinux).with_modules(modules);
        let minimal_plan = Plan::with_options(plan.relocs(), &target, options, |_| true);
        assert_eq!(minimal_plan.needs_modules(), plan.needs_modules());
        for (full, minimal) in plan.iter().zip(minimal_plan.iter()) {
            let facts = |planned: &PlannedReloc<'_>| {
                let values = (planned.local_value(), planned.target_value(), planned.candidate_count());
                (planned.before(), planned.after(), values)
            };
            assert_eq!(facts(&minimal), facts(&full));
            if keeps_ids || has_target_ids {
                assert_eq!(minimal.decision(), full.decision());
                assert_eq!(minimal.warning(), full.warning());
                assert_eq!(minimal.matched_candidate(), full.matched_candidate());
            } else {
                assert_eq!(minimal.decision().ok(), full.decision().ok());
                assert_eq!(minimal.warning().is_some(), full.warning().is_some());
            }
        }
    }
}

/// Returns the decision, values, target spec and warning of each record as text. Checks that the plan keeps
/// the last step of the target spec.
pub(super) fn describe(plan: &Plan<'_>) -> Vec<String> {
    let describe_record = |planned: PlannedReloc<'_>| {
        let last = planned.target_spec().and_then(|(_, spec)| spec.accessors.last().copied());
        assert_eq!(planned.target_step().map(|(_, step)| step), last);
        let spec = planned.target_spec().map(|(source, spec)| spec.text(&source.btf).to_string());
        let values = (planned.local_value(), planned.target_value());
        alloc::format!("{:?} {values:?} {spec:?} {:?}", planned.decision(), planned.warning())
    };
    plan.iter().map(describe_record).collect()
}

/// Checks that the patched code contains the instructions of the plan, or is an error if a record is in
/// error.
fn check_patched(plan: &Plan<'_>) {
    match plan.patched() {
        Err(error) => assert_eq!(error.failed.len(), plan.summary().failed),
        Ok(patched) => {
            let endian = plan.relocs().endian();
            for planned in plan.iter() {
                let start = usize::try_from(planned.record().relo.insn_offset.0).unwrap();
                let after = planned.after().unwrap().hex(endian).to_string();
                let code = &patched.sections[0][start..start + after.len() / 2];
                let hex: Vec<_> = code.iter().map(|b| alloc::format!("{b:02x}")).collect();
                assert_eq!(hex.concat(), after);
            }
        }
    }
}
