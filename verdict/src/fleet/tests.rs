//! Fleets on small kernels.

use super::*;
use crate::{
    judge::Verdict,
    kernel::{KernelInputs, WantedFacts},
};
use alloc::sync::Arc;
use core_relo::{
    Endian, Name, Target,
    btf::{Btf, Builder},
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

/// A kernel whose module has `struct s`.
#[derive(Clone)]
struct KernelWithModule {
    target: Target<'static>,
    can_add_modules: bool,
}

impl JudgedKernel for KernelWithModule {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, given: &KernelInputs, _wanted: WantedFacts) -> KernelInputs {
        given.clone()
    }

    fn can_add_modules(&self) -> bool {
        self.can_add_modules
    }

    fn with_modules_for(&self, names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        let names: Vec<_> = names.collect();
        if !names.contains(&Name::new(b"s")) {
            return None;
        }
        let base = Arc::clone(&self.target.vmlinux().btf);
        let mut b = Builder::split(&base);
        b.structure("s", 4, &[("a", core_relo::TypeId(1), 0)]);
        let module = Btf::parse_split(b.finish(), Arc::clone(&base)).unwrap();
        let target = self.target.clone().with_modules([("m".to_owned(), Arc::new(module))]);
        Some(Self { target, can_add_modules: false })
    }
}

#[test]
fn modules_are_added_for_the_types_that_vmlinux_lacks() {
    let bytes = object("kprobe/foo");
    let object = Object::parse(&bytes).unwrap();
    let target = kernel(Endian::native(), false).target;
    let verdict = |can_add_modules| {
        check(&object, &KernelWithModule { target: target.clone(), can_add_modules }).unwrap().verdict
    };
    assert_eq!(verdict(false), Verdict::Refused);
    assert_ne!(verdict(true), Verdict::Refused);
}
