//! Requests that are made again, made differently, or made only where they are needed.

use super::{
    errno,
    kernel::{Ask, Fake, Refusing},
    offline,
};
use crate::live::harness::object;
use core_relo_loader::{
    features::{Feature, Features},
    load::{self, LoadError},
    load_plan::LoadPlan,
    sys::Errno,
};
use rustix::io::Errno as E;

fn plan(name: &str) -> LoadPlan {
    offline(&object(name), name, Features::newest()).unwrap()
}

#[test]
fn a_program_interrupted_by_a_signal_is_loaded_again() {
    let fake = Fake::new();
    let plan = plan("globals");
    let times =
        |n| Refusing::new(&fake, move |ask, nth| (ask == Ask::ProgLoad && nth < n).then(|| errno(E::AGAIN)));
    let three = times(3);
    drop(load::load(&plan, &three).unwrap());
    assert_eq!(three.details(Ask::ProgLoad), ["log 0"; 4], "no log is asked for, as nothing was refused");
    // Libbpf's five times; then five to hear why.
    let always = times(usize::MAX);
    let error = load::load(&plan, &always).unwrap_err();
    assert_eq!(error.errno(), Some(errno(E::AGAIN)));
    let expected: Vec<_> = ["log 0"; 5].into_iter().chain(["log 16777215"; 5]).collect();
    assert_eq!(always.details(Ask::ProgLoad), expected);
}

#[test]
fn the_verifiers_log_grows_until_all_of_it_is_there() {
    let fake = Fake::new();
    let plan = plan("globals");
    let answer = |ask, nth| match (ask, nth) {
        (Ask::ProgLoad, 1 | 2) => Some(errno(E::NOSPC)),
        (Ask::ProgLoad, _) => Some(errno(E::ACCESS)),
        _ => None,
    };
    let refusing = Refusing::new(&fake, answer);
    let error = load::load(&plan, &refusing).unwrap_err();
    let sizes = refusing.details(Ask::ProgLoad);
    if sizes.len() < 4 {
        return println!("SKIP: no memory for a log of 1 GiB here");
    }
    assert_eq!(error.errno(), Some(errno(E::ACCESS)), "{error}");
    assert_eq!(sizes, ["log 0", "log 16777215", "log 67108863", "log 1073741823"]);
}

#[test]
fn a_log_asked_for_is_asked_for_at_once() {
    let fake = Fake::new();
    let mut plan = plan("globals");
    plan.programs[0].log_level = 2;
    let kernel = Refusing::new(&fake, |_, _| None);
    drop(load::load(&plan, &kernel).unwrap());
    assert_eq!(kernel.details(Ask::ProgLoad)[0], "log 16777215");
}

#[test]
fn a_map_whose_types_the_kernel_refuses_is_made_without() {
    let fake = Fake::new();
    let plan = plan("pinned");
    let refusing =
        Refusing::new(&fake, |ask, nth| (ask == Ask::MapCreate && nth == 0).then(|| errno(E::INVAL)));
    drop(load::load(&plan, &refusing).unwrap());
    let created = refusing.details(Ask::MapCreate);
    assert_eq!(created[..2], ["core_relo_live with types", "core_relo_live"], "{created:?}");
    fake.pins.borrow_mut().clear();
    // Whatever the second answer is, it is the error: the first may have been about the types.
    let refusing = Refusing::new(&fake, |ask, nth| match (ask, nth) {
        (Ask::MapCreate, 0) => Some(errno(E::INVAL)),
        (Ask::MapCreate, 1) => Some(errno(E::PERM)),
        _ => None,
    });
    let error = load::load(&plan, &refusing).unwrap_err();
    assert_eq!(error.errno(), Some(errno(E::PERM)));
    let text = error.to_string();
    assert!(
        text.starts_with("pinned: map `core_relo_live`: creating it: EPERM: ") && text.contains(lacking()),
        "{text}"
    );
    assert!(text.contains("ulimit -l"), "{text}");
}

#[test]
fn types_the_kernel_refuses_are_left_out_unless_struct_ops_needs_them() {
    let fake = Fake::new();
    let refuse = |ask, _| (ask == Ask::BtfLoad).then(|| errno(E::INVAL));
    let without = Refusing::new(&fake, refuse);
    drop(load::load(&plan("globals"), &without).unwrap());
    assert_eq!(without.details(Ask::BtfLoad).len(), 2, "once, and once more to hear why");
    assert!(without.details(Ask::MapCreate).iter().all(|map| !map.ends_with(" with types")));
    let mut needs = plan("globals");
    needs.btf_is_mandatory = true;
    let error = load::load(&needs, &Refusing::new(&fake, refuse)).unwrap_err();
    assert!(error.to_string().starts_with("globals: BTF, which struct_ops needs"), "{error}");
}

#[test]
fn the_limit_on_locked_memory_is_raised_only_where_the_kernel_counts_by_it() {
    let fake = Fake::new();
    let old = Features::fixed(|f| f != Feature::MemcgAccounting);
    for (features, times) in [(Features::newest(), 0), (old, 1)] {
        let plan = offline(&object("globals"), "globals", features).unwrap();
        // That it cannot be raised does not matter: it may be high enough.
        let kernel = Refusing::new(&fake, |ask, _| (ask == Ask::Memlock).then(|| errno(E::PERM)));
        drop(load::load(&plan, &kernel).unwrap());
        assert_eq!(kernel.details(Ask::Memlock).len(), times);
    }
}

#[test]
fn what_is_pinned_already_is_used_and_survives_a_failure() {
    let fake = Fake::new();
    let plan = plan("pinned");
    let first = load::load(&plan, &Refusing::new(&fake, |_, _| None)).unwrap();
    let pins: Vec<_> = fake.pins.borrow().keys().cloned().collect();
    assert_eq!(pins.len(), 1);
    let refusing = Refusing::new(&fake, |ask, _| (ask == Ask::ProgLoad).then(|| errno(E::ACCESS)));
    load::load(&plan, &refusing).unwrap_err();
    assert!(refusing.details(Ask::Unpin).is_empty(), "the pin is not this load's");
    assert_eq!(fake.pins.borrow().keys().cloned().collect::<Vec<_>>(), pins);
    let again = load::load(&plan, &Refusing::new(&fake, |_, _| None)).unwrap();
    assert!(!first.map("core_relo_live").unwrap().is_reused());
    assert!(again.map("core_relo_live").unwrap().is_reused());

    fake.pins.borrow_mut().values_mut().for_each(|shape| shape.max_entries = 7);
    let error = load::load(&plan, &Refusing::new(&fake, |_, _| None)).unwrap_err();
    assert!(
        matches!(error, LoadError::PinMismatch { field: "max_entries", expected: 1, found: 7, .. }),
        "{error}"
    );
    assert_eq!(fake.pins.borrow().len(), 1);
}

/// Who has the capabilities is told that it is not for want of them.
fn lacking() -> &'static str {
    if rustix::process::geteuid().is_root() { "this process has the capabilities" } else { "CAP_BPF" }
}

#[test]
fn refusals_say_what_to_do() {
    let fake = Fake::new();
    let text = |name: &str, what: Ask, errno: Errno| {
        let refusing = Refusing::new(&fake, |ask, _| (ask == what).then_some(errno));
        let error = load::load(&plan(name), &refusing).unwrap_err().to_string();
        fake.pins.borrow_mut().clear();
        error
    };
    let lacking = lacking();
    let cases = [
        ("globals", Ask::MapCreate, E::MFILE, "RLIMIT_NOFILE"),
        ("globals", Ask::MapCreate, E::NFILE, "fs.file-max"),
        ("globals", Ask::MapCreate, E::NOMEM, "RLIMIT_MEMLOCK"),
        ("globals", Ask::ProgLoad, E::PERM, lacking),
        ("globals", Ask::ProgLoad, E::MFILE, "RLIMIT_NOFILE"),
        ("globals", Ask::MapFreeze, E::PERM, lacking),
        ("pinned", Ask::Pin, E::ROFS, "mounted read-only"),
        ("pinned", Ask::Pin, E::PERM, "bpffs"),
        ("pinned", Ask::Pin, E::NOENT, "mount -t bpf"),
    ];
    for (name, ask, errno, expected) in cases {
        let said = text(name, ask, super::errno(errno));
        assert!(said.contains(expected), "{ask:?} {errno:?}: {said}");
    }
}
