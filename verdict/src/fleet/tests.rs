//! Fleets on small kernels.

use super::*;
use crate::{
    judge::Verdict,
    kernel::{KernelInputs, WantedFacts},
};
use alloc::sync::Arc;
use core_relo::{
    Endian, Name, Target, TypeId,
    btf::{Btf, Builder, ModuleFilter},
};
use core_relo_object::{
    object::Object,
    test_support::{self, TestObject, returns},
};

/// `BPF_CORE_FIELD_BYTE_OFFSET` of relocation records.
const BYTE_OFFSET: u32 = 0;

/// Returns an object whose program reads `struct s.a`.
fn object(section: &str) -> Vec<u8> {
    let mut m = TestObject::new();
    let int = m.int;
    let root = m.types.structure("s", 4, &[("a", int, 0)]);
    m.program("main", section, &returns(0));
    m.core_relo(section, &[(0, root, "0:0", BYTE_OFFSET)]);
    m.bytes()
}

fn add_kernel(b: &mut Builder, has_struct: bool) {
    let int = b.int("int", 4, Builder::SIGNED);
    b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_KPROBE", 2), ("BPF_PROG_TYPE_XDP", 6)]);
    if has_struct {
        b.structure("s", 4, &[("a", int, 0)]);
    }
}

fn kernel(order: Endian, has_struct: bool) -> OfflineKernel {
    let mut b = Builder::new(order);
    add_kernel(&mut b, has_struct);
    OfflineKernel::from_btf(b.finish()).unwrap()
}

fn other_order() -> Endian {
    if Endian::native() == Endian::Little { Endian::Big } else { Endian::Little }
}

#[test]
fn an_object_is_checked_in_one_call() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    let verdict = |has_struct| check(&object, &kernel(Endian::native(), has_struct)).unwrap();
    assert_ne!(verdict(true).verdict, Verdict::Refused, "{:?}", verdict(true));
    assert_eq!(verdict(false).verdict, Verdict::Refused);
}

/// An adaptive load chooses by these verdicts.
#[test]
fn the_kernel_of_a_load_gives_the_verdicts_of_its_types() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    for has_struct in [true, false] {
        let target = test_support::kernel(|b| add_kernel(b, has_struct));
        let planned = check(&object, &LoadKernel::new(&target).unwrap()).unwrap();
        assert_eq!(
            reasons(&planned),
            reasons(&check(&object, &kernel(Endian::native(), has_struct)).unwrap())
        );
    }
}

#[test]
fn given_facts_precede_those_of_the_kernel_of_a_load() {
    let target = test_support::kernel(|b| add_kernel(b, true));
    let kernel = LoadKernel::new(&target).unwrap();
    let version = "4.19.1".parse().ok();
    let given = KernelInputs { version, kconfig: Some("CONFIG_HZ=7".into()), ..KernelInputs::default() };
    let found = kernel.inputs(&given, WantedFacts::default());
    assert_eq!((found.version, found.kconfig, found.kconfig_error), (version, given.kconfig, None));
}

/// Workers that lose all results.
struct LostResults;

impl Workers for LostResults {
    fn map_chunks<'i, I: Sync, R: Send>(
        &self,
        _items: &'i [I],
        _work: impl Fn(&'i [I]) -> Vec<R> + Sync,
    ) -> Vec<R> {
        Vec::new()
    }
}

/// The object would be missing in the verdicts.
#[test]
fn workers_that_lose_results_are_an_error() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    let mut fleet = Fleet::default();
    fleet.add(&object, ()).unwrap();
    let judge = FleetJudge::with_workers(&fleet, KernelInputs::default(), LostResults);
    let verdicts = judge.verdicts(&kernel(Endian::native(), true));
    assert!(matches!(&*verdicts, [(_, Err(FleetError::Plan(_)))]), "{verdicts:?}");
}

#[test]
fn a_kernel_of_the_other_byte_order_is_an_error() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    let expected = FleetError::ByteOrder { kernel: other_order(), object: Endian::native() };
    assert_eq!(check(&object, &kernel(other_order(), true)).unwrap_err(), CheckError::Kernel(expected));
}

/// Returns the verdict and the reasons of each program. The ids of requirements differ between fleets.
fn reasons(verdict: &ObjectVerdict) -> Vec<(Verdict, Vec<&str>)> {
    let programs = verdict.programs.iter();
    programs.map(|p| (p.verdict, p.reasons.iter().map(|reason| &*reason.text).collect())).collect()
}

#[test]
fn objects_keep_their_order_and_the_data_of_the_caller() {
    let bytes = ["kprobe/foo", "xdp"].map(object);
    let objects = bytes.each_ref().map(|bytes| Object::parse(bytes).unwrap());
    let mut fleet = Fleet::default();
    for (object, name) in objects.iter().zip(["first", "second"]) {
        fleet.add(object, name).unwrap();
    }
    let judge = FleetJudge::new(&fleet);
    for has_struct in [true, false] {
        let verdicts = judge.verdicts(&kernel(Endian::native(), has_struct));
        let names: Vec<_> = verdicts.iter().map(|(object, _)| object.data).collect();
        assert_eq!(names, ["first", "second"]);
        for (object, verdict) in verdicts {
            // A fleet gives the verdicts that each object has by itself.
            let alone = check(object.object, &kernel(Endian::native(), has_struct)).unwrap();
            assert_eq!(reasons(&verdict.unwrap()), reasons(&alone), "{}", object.data);
        }
    }
}

#[test]
fn given_facts_take_precedence_over_those_of_a_kernel() {
    let mut kernel = kernel(Endian::native(), true);
    kernel.inputs.version = "6.1.20".parse().ok();
    kernel.inputs.kconfig = Some("CONFIG_BPF=y".into());
    let given = KernelInputs { version: "5.10".parse().ok(), ..KernelInputs::default() };
    let inputs = kernel.inputs(&given, WantedFacts::default());
    assert_eq!(inputs.version, given.version);
    assert_eq!(inputs.kconfig.as_deref(), Some("CONFIG_BPF=y"));
}

/// A kernel with modules, which a filter selects.
#[derive(Clone)]
struct KernelWithModules {
    target: Target<'static>,
    modules: Vec<(&'static str, Vec<u8>)>,
}

impl KernelWithModules {
    fn new(kernel: &Builder) -> Self {
        let vmlinux = Arc::new(Btf::parse(kernel.finish()).unwrap());
        Self { target: Target::new("vmlinux", vmlinux), modules: Vec::new() }
    }

    /// Adds a module that is so large that it is searched before it is parsed.
    fn with_module(mut self, name: &'static str, add_types: impl FnOnce(&mut Builder)) -> Self {
        let mut b = Builder::split(&self.target.vmlinux().btf);
        b.structure(&"x".repeat(4096), 4, &[]);
        add_types(&mut b);
        self.modules.push((name, b.finish()));
        self
    }
}

impl JudgedKernel for KernelWithModules {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, given: &KernelInputs, _wanted: WantedFacts) -> KernelInputs {
        given.clone()
    }

    fn can_add_modules(&self) -> bool {
        !self.modules.is_empty()
    }

    fn with_modules_for(&self, names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        let base = Arc::clone(&self.target.vmlinux().btf);
        let mut module_filter = ModuleFilter::new(&base, names);
        let (accepted, excluded): (Vec<_>, Vec<_>) =
            self.modules.iter().partition(|(_, btf)| module_filter.may_contain(btf));
        let accepted = accepted.into_iter().map(|(name, btf)| {
            let btf = Btf::parse_split(btf.clone(), Arc::clone(&base)).unwrap();
            ((*name).to_owned(), Arc::new(btf))
        });
        let excluded = excluded.into_iter().map(|(name, _)| (*name).to_owned());
        let target = self.target.clone().with_modules(accepted);
        let target = target.with_excluded_modules(excluded, &module_filter);
        Some(Self { target, modules: Vec::new() })
    }
}

#[test]
fn modules_are_added_for_the_types_that_vmlinux_lacks() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b, false);
    let alone = KernelWithModules::new(&b);
    assert_eq!(check(&object, &alone).unwrap().verdict, Verdict::Refused);
    let with_module = alone.with_module("m", |b| {
        b.structure("s", 4, &[("a", TypeId(1), 0)]);
    });
    assert_ne!(check(&object, &with_module).unwrap().verdict, Verdict::Refused);
}

/// Another object of the fleet may need modules that the object does not need.
#[test]
fn the_verdict_on_an_object_does_not_depend_on_the_other_objects() {
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b, true);
    b.structure("btf_module", 4, &[]);
    let function = |b: &mut Builder, name: &str| {
        let proto = b.func_proto(TypeId(0), &[]);
        b.func(name, proto, 1);
    };
    for name in ["array_map_alloc", "htab_map_alloc", "bpf_check", "in_both"] {
        function(&mut b, name);
    }
    let kernel = KernelWithModules::new(&b)
        .with_module("xfs", |b| function(b, "in_module"))
        .with_module("ext4", |b| function(b, "in_both"))
        .with_module("btrfs", |_| {});
    let sections = [
        "kprobe/foo",
        "fentry/absent",
        "fentry/in_module",
        "fentry/in_both",
        "fentry/ext4:in_both",
        "fentry/xfs:in_both",
        "kprobe.multi/xfs:in*",
        "kprobe.multi/f2fs:*",
        "raw_tp/absent",
    ];
    let bytes = sections.map(object);
    let objects: Vec<_> = bytes.iter().map(|bytes| Object::parse(bytes).unwrap()).collect();
    let mut fleet = Fleet::default();
    for (object, section) in objects.iter().zip(sections) {
        fleet.add(object, section).unwrap();
    }
    for (object, verdict) in FleetJudge::new(&fleet).verdicts(&kernel) {
        let alone = check(object.object, &kernel).unwrap();
        assert_eq!(reasons_and_evidence(&verdict.unwrap()), reasons_and_evidence(&alone), "{}", object.data);
    }
}

/// Returns the verdict of each program, and its reasons with their evidence.
fn reasons_and_evidence(verdict: &ObjectVerdict) -> Vec<String> {
    let programs = verdict.programs.iter().map(|program| {
        let reasons = program.reasons.iter().map(|reason| format!("{}: {:?}", reason.text, reason.evidence));
        format!("{:?}: {:?}", program.verdict, reasons.collect::<Vec<_>>())
    });
    let warnings = verdict.warnings.iter().map(|warning| format!("{}: {:?}", warning.text, warning.target));
    programs.chain(warnings).collect()
}
