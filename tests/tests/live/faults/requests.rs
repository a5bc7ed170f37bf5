//! Requests that the loader repeats, changes, or makes only if the kernel needs them.

use super::{
    kernel::{FakeKernel, FaultInjector, Request, errno},
    offline_kernel, offline_plan,
};
use crate::live::harness::object;
use core_relo::btf::{Btf, Builder, Kind};
use core_relo_loader::{
    Errno, Loader,
    features::{Feature, Features},
    load::{self, LoadError},
    load_plan::{LoadPlan, TargetKernel},
    object::Object,
    target::{self, KernelBtf},
};
use core_relo_test_support::skip;
use rustix::io::Errno as E;
use std::sync::Arc;

fn plan(name: &str) -> LoadPlan {
    offline_plan(&object(name), name, Features::newest()).unwrap()
}

/// Plans a load with a struct_ops map, for a kernel with a module that has the struct of the map's value.
fn struct_ops_plan() -> LoadPlan {
    let bytes = object("struct_ops");
    let own = Arc::new(Btf::parse(target::extract(&bytes).unwrap().btf.to_vec()).unwrap());
    let table = own.find(b"tcp_congestion_ops", Kind::Struct).unwrap();
    let mut module = Builder::split(&own);
    let members = [("data", table.id(), 0)];
    module.structure("bpf_struct_ops_tcp_congestion_ops", table.size_or_type(), &members);
    let module = Arc::new(Btf::parse_split(module.finish(), Arc::clone(&own)).unwrap());
    let kernel = TargetKernel::offline(Arc::new(KernelBtf::from_btf(own, [("module".to_owned(), module)])));
    let object = Object::parse(&bytes).unwrap();
    Loader::for_kernel(&object, kernel).name("struct_ops").plan().unwrap()
}

#[test]
fn a_program_interrupted_by_a_signal_is_loaded_again() {
    let fake = FakeKernel::new();
    let plan = plan("globals");
    let times = |n| {
        FaultInjector::new(&fake, move |request, nth| {
            (request == Request::ProgLoad && nth < n).then(|| errno(E::AGAIN))
        })
    };
    let three = times(3);
    drop(load::execute(&plan, &three).unwrap());
    assert_eq!(
        three.details(Request::ProgLoad),
        ["log 0"; 4],
        "no log is requested, because no load was refused"
    );
    // Five attempts as in libbpf, then five attempts with a log.
    let always = times(usize::MAX);
    let error = load::execute(&plan, &always).unwrap_err();
    assert_eq!(error.errno(), Some(errno(E::AGAIN)));
    let expected: Vec<_> = ["log 0"; 5].into_iter().chain(["log 16777215"; 5]).collect();
    assert_eq!(always.details(Request::ProgLoad), expected);
}

#[test]
fn the_log_buffer_grows_until_the_verifier_log_fits() {
    let fake = FakeKernel::new();
    let plan = plan("globals");
    let fault = |request, nth| match (request, nth) {
        (Request::ProgLoad, 1 | 2) => Some(errno(E::NOSPC)),
        (Request::ProgLoad, _) => Some(errno(E::ACCESS)),
        _ => None,
    };
    let refusing = FaultInjector::new(&fake, fault);
    let error = load::execute(&plan, &refusing).unwrap_err();
    let sizes = refusing.details(Request::ProgLoad);
    if sizes.len() < 4 {
        return skip!("no memory for a log of 1 GiB here");
    }
    assert_eq!(error.errno(), Some(errno(E::ACCESS)), "{error}");
    assert_eq!(sizes, ["log 0", "log 16777215", "log 67108863", "log 1073741823"]);
}

#[test]
fn a_requested_log_is_passed_with_the_first_attempt() {
    let fake = FakeKernel::new();
    let bytes = object("globals");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::for_kernel(&object, offline_kernel(&bytes, Features::newest()));
    loader.settings_mut().log_level = 2;
    let plan = loader.plan().unwrap();
    let kernel = FaultInjector::new(&fake, |_, _| None);
    drop(load::execute(&plan, &kernel).unwrap());
    assert_eq!(kernel.details(Request::ProgLoad)[0], "log 16777215");
}

#[test]
fn a_map_whose_types_are_refused_is_created_without_types() {
    let fake = FakeKernel::new();
    let plan = plan("pinned");
    let refusing = FaultInjector::new(&fake, |request, nth| {
        (request == Request::MapCreate && nth == 0).then(|| errno(E::INVAL))
    });
    drop(load::execute(&plan, &refusing).unwrap());
    let created = refusing.details(Request::MapCreate);
    assert_eq!(created[..2], ["core_relo_live with types", "core_relo_live"], "{created:?}");
    fake.pins.borrow_mut().clear();
    // The error is that of the second attempt, because the first may have failed due to the types.
    let refusing = FaultInjector::new(&fake, |request, nth| match (request, nth) {
        (Request::MapCreate, 0) => Some(errno(E::INVAL)),
        (Request::MapCreate, 1) => Some(errno(E::PERM)),
        _ => None,
    });
    let error = load::execute(&plan, &refusing).unwrap_err();
    assert_eq!(error.errno(), Some(errno(E::PERM)));
    let text = error.to_string();
    assert!(
        text.starts_with("pinned: map `core_relo_live`: creating it: EPERM: ")
            && text.contains(capability_help()),
        "{text}"
    );
    assert!(text.contains("ulimit -l"), "{text}");
}

#[test]
fn refused_btf_is_omitted_unless_struct_ops_needs_it() {
    let fake = FakeKernel::new();
    let refuse = |request, _| (request == Request::BtfLoad).then(|| errno(E::INVAL));
    let without = FaultInjector::new(&fake, refuse);
    drop(load::execute(&plan("globals"), &without).unwrap());
    assert_eq!(without.details(Request::BtfLoad).len(), 2, "one attempt, and one more with a log");
    assert!(without.details(Request::MapCreate).iter().all(|map| !map.ends_with(" with types")));
    let error = load::execute(&struct_ops_plan(), &FaultInjector::new(&fake, refuse)).unwrap_err();
    assert!(error.to_string().starts_with("struct_ops: BTF, which struct_ops needs"), "{error}");
}

#[test]
fn the_memlock_limit_is_raised_only_without_memcg_accounting() {
    let fake = FakeKernel::new();
    let old = Features::fixed(|f| f != Feature::MemcgAccounting);
    for (features, times) in [(Features::newest(), 0), (old, 1)] {
        let plan = offline_plan(&object("globals"), "globals", features).unwrap();
        // The limit may be high enough, so a failure to raise it does not matter.
        let kernel =
            FaultInjector::new(&fake, |request, _| (request == Request::Memlock).then(|| errno(E::PERM)));
        drop(load::execute(&plan, &kernel).unwrap());
        assert_eq!(kernel.details(Request::Memlock).len(), times);
    }
}

#[test]
fn an_existing_pin_is_reused_and_survives_a_failed_load() {
    let fake = FakeKernel::new();
    let plan = plan("pinned");
    let first = load::execute(&plan, &FaultInjector::new(&fake, |_, _| None)).unwrap();
    let pins: Vec<_> = fake.pins.borrow().keys().cloned().collect();
    assert_eq!(pins.len(), 1);
    let refusing =
        FaultInjector::new(&fake, |request, _| (request == Request::ProgLoad).then(|| errno(E::ACCESS)));
    load::execute(&plan, &refusing).unwrap_err();
    assert!(refusing.details(Request::Unpin).is_empty(), "the load did not make the pin");
    assert_eq!(fake.pins.borrow().keys().cloned().collect::<Vec<_>>(), pins);
    let again = load::execute(&plan, &FaultInjector::new(&fake, |_, _| None)).unwrap();
    assert!(!first.map("core_relo_live").unwrap().is_reused());
    assert!(again.map("core_relo_live").unwrap().is_reused());

    fake.pins.borrow_mut().values_mut().for_each(|info| info.max_entries = 7);
    let error = load::execute(&plan, &FaultInjector::new(&fake, |_, _| None)).unwrap_err();
    assert!(
        matches!(error, LoadError::PinMismatch { field: "max_entries", expected: 1, found: 7, .. }),
        "{error}"
    );
    assert_eq!(fake.pins.borrow().len(), 1);
}

/// Returns the part of EPERM errors about capabilities, which depends on the user.
fn capability_help() -> &'static str {
    if rustix::process::geteuid().is_root() { "this process has the capabilities" } else { "CAP_BPF" }
}

#[test]
fn errors_of_requests_contain_help() {
    let fake = FakeKernel::new();
    let text = |name: &str, kind: Request, errno: Errno| {
        let refusing = FaultInjector::new(&fake, |request, _| (request == kind).then_some(errno));
        let error = load::execute(&plan(name), &refusing).unwrap_err().to_string();
        fake.pins.borrow_mut().clear();
        error
    };
    let capabilities = capability_help();
    let cases = [
        ("globals", Request::MapCreate, E::MFILE, "RLIMIT_NOFILE"),
        ("globals", Request::MapCreate, E::NFILE, "fs.file-max"),
        ("globals", Request::MapCreate, E::NOMEM, "RLIMIT_MEMLOCK"),
        ("globals", Request::ProgLoad, E::PERM, capabilities),
        ("globals", Request::ProgLoad, E::MFILE, "RLIMIT_NOFILE"),
        ("globals", Request::MapFreeze, E::PERM, capabilities),
        ("pinned", Request::Pin, E::ROFS, "mounted read-only"),
        ("pinned", Request::Pin, E::PERM, "bpffs"),
        ("pinned", Request::Pin, E::NOENT, "mount -t bpf"),
    ];
    for (name, request, errno, expected) in cases {
        let text = text(name, request, super::kernel::errno(errno));
        assert!(text.contains(expected), "{request:?} {errno:?}: {text}");
    }
}
