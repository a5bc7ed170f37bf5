//! Two loads of one object with maps pinned by name, at every interleaving. Each successful load uses the map
//! at the path.

use super::{
    kernel::{FakeKernel, FaultInjector, Request, errno},
    offline_plan,
};
use crate::live::harness::{Bpffs, live, object};
use core_relo_loader::{
    Loader,
    features::Features,
    inventory::MapInfo,
    load::{self, Kernel, LoadError, Loaded, RunningKernel},
    load_plan::LoadPlan,
    object::Object,
};
use rustix::io::Errno as E;
use std::cell::{Cell, RefCell};

/// Objects with one pinned map and with several.
const OBJECTS: [&str; 2] = ["pinned", "map_in_map"];

fn plan(name: &str) -> LoadPlan {
    offline_plan(&object(name), name, Features::newest()).unwrap()
}

/// Checks that every pinned map of a loaded object is the map at its path.
fn expect_pinned_maps(place: &str, fake: &FakeKernel, loaded: &Loaded) {
    for map in loaded.maps().iter().filter(|m| m.plan.pin().is_some()) {
        let pinned = fake.pins.borrow().get(map.plan.pin().unwrap()).map(|info| info.id);
        assert_eq!(pinned, Some(fake.map_info(map.fd().unwrap()).unwrap().id), "{place}: map {}", map.name());
        assert_eq!(map.pin_path(), map.plan.pin(), "{place}");
    }
}

/// Loads an object and, at request number `at`, loads it a second time completely. The request number
/// `refused` of the first load fails.
///
/// The second result is `None` if the first load made fewer requests.
fn load_interleaved(
    fake: &FakeKernel,
    plan: &LoadPlan,
    at: usize,
    refused: Option<usize>,
) -> (Result<Loaded, LoadError>, Option<Loaded>) {
    let (count, other) = (Cell::new(0), RefCell::new(None));
    let kernel = FaultInjector::new(fake, |_, _| {
        let nth = count.replace(count.get() + 1);
        if nth == at {
            *other.borrow_mut() = Some(load::execute(plan, &fake).unwrap());
        }
        (refused == Some(nth)).then(|| errno(E::IO))
    });
    let loaded = load::execute(plan, &kernel);
    drop(kernel);
    (loaded, other.into_inner())
}

#[test]
fn two_loads_use_the_same_pinned_maps_at_every_interleaving() {
    for name in OBJECTS {
        let plan = plan(name);
        for at in 0.. {
            let fake = FakeKernel::new();
            let (first, second) = load_interleaved(&fake, &plan, at, None);
            let place = format!("{name}, second load at request {at}");
            expect_pinned_maps(&place, &fake, &first.unwrap());
            let Some(second) = second else {
                assert!(at > 5, "{name}: only {at} requests");
                break;
            };
            expect_pinned_maps(&place, &fake, &second);
            drop(second);
            assert_eq!(fake.open_count(), 0, "{place}");
            let planned = plan.maps().iter().filter(|m| m.pin().is_some()).count();
            assert_eq!(fake.pins.borrow().len(), planned, "{place}: private names stay");
        }
    }
}

#[test]
fn a_load_that_fails_removes_no_pin_that_another_load_uses() {
    for name in OBJECTS {
        let plan = plan(name);
        let fake = FakeKernel::new();
        let recorder = FaultInjector::new(&fake, |_, _| None);
        drop(load::execute(&plan, &recorder).unwrap());
        let requests = recorder.requests().len();
        for at in 0..requests {
            for refused in at..requests {
                let fake = FakeKernel::new();
                let (_first, second) = load_interleaved(&fake, &plan, at, Some(refused));
                let place = format!("{name}, second load at request {at}, request {refused} failed");
                expect_pinned_maps(&place, &fake, &second.unwrap());
            }
        }
    }
}

#[test]
fn a_pin_race_that_is_always_lost_is_an_error_after_some_attempts() {
    let (fake, plan) = (FakeKernel::new(), plan("pinned"));
    // The path looks free, but the rename of the pin fails.
    let racing =
        FaultInjector::new(&fake, |request, _| (request == Request::RenamePin).then(|| errno(E::EXIST)));
    let error = load::execute(&plan, &racing).unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { attempts: load::PIN_ATTEMPTS, .. }), "{error}");
    assert_eq!(error.errno(), Some(errno(E::EXIST)));
    assert_eq!(racing.details(Request::RenamePin).len(), 5);
    let text = error.to_string();
    assert!(text.contains("5 of at most 5 attempts") && !text.contains('\n'), "{text}");
    assert_eq!((fake.open_count(), fake.pins.borrow().len()), (0, 0));
    // A prepared load is not repeated, because the caller may have filled its maps.
    let once = FaultInjector::new(&fake, |request, nth| {
        (request == Request::RenamePin && nth == 0).then(|| errno(E::EXIST))
    });
    let error = load::prepare(&plan, &once).unwrap().finish().unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { attempts: 1, .. }), "{error}");
}

#[test]
fn pins_of_an_earlier_attempt_are_pins_of_the_load() {
    let (fake, plan) = (FakeKernel::new(), plan("map_in_map"));
    assert!(plan.maps().iter().filter(|m| m.pin().is_some()).count() > 1);
    // The first pin gets its name. Another process has the name of the second pin for a moment.
    let once = |request, nth| (request == Request::RenamePin && nth == 1).then(|| errno(E::EXIST));
    let loaded = load::execute(&plan, &FaultInjector::new(&fake, once)).unwrap();
    expect_pinned_maps("second attempt", &fake, &loaded);
    let reused: Vec<_> = loaded.maps().iter().filter(|m| m.is_reused()).map(|m| m.name()).collect();
    assert_eq!(reused, [""; 0]);
    // Without a second attempt, the error lists the remaining pins.
    let fake = FakeKernel::new();
    let error = load::prepare(&plan, &FaultInjector::new(&fake, once)).unwrap().finish().unwrap_err();
    let LoadError::PinTaken { remaining, .. } = &error else { panic!("{error}") };
    let pins: Vec<_> = fake.pins.borrow().iter().map(|(path, info)| (path.clone(), info.id)).collect();
    assert_eq!((remaining.pins.len(), &remaining.pins), (1, &pins));
    // A pin that another process replaced is not adopted.
    fake.pins.borrow_mut().values_mut().for_each(|info| info.id += 1000);
    let mut loaded = load::execute_unpinned(&plan, &&fake).unwrap();
    loaded.adopt_pins(remaining, &&fake);
    assert_eq!(loaded.maps().iter().filter(|m| m.is_reused()).count(), 1);
}

#[test]
fn unpinning_removes_pins_of_an_earlier_attempt() {
    let Some(_live) = live("faults::unpinning_removes_pins_of_an_earlier_attempt", &[]) else { return };
    let bpffs = Bpffs::new();
    let dir = bpffs.path().join("directory");
    let bytes = object("pinned");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("pinned");
    for (n, map) in loader.plan().unwrap().maps().iter().enumerate() {
        loader.map_mut(map.name()).pin = Some(Some(dir.join(format!("map_{n}"))));
    }
    let plan = loader.plan().unwrap();
    let once = |request, nth| (request == Request::RenamePin && nth == 1).then(|| errno(E::EXIST));
    let mut loaded = load::execute(&plan, &FaultInjector::new(RunningKernel, once)).unwrap();
    assert!(loaded.maps().iter().all(|m| !m.is_reused()));
    assert!(std::fs::read_dir(&dir).unwrap().count() > 1);
    loaded.unpin_maps();
    assert!(!dir.exists());
}

#[test]
fn pins_are_the_last_step_of_a_load() {
    let fake = FakeKernel::new();
    for name in OBJECTS {
        let plan = plan(name);
        let kernel = FaultInjector::new(&fake, |_, _| None);
        let mut loaded = load::execute_unpinned(&plan, &kernel).unwrap();
        assert!(kernel.details(Request::Pin).is_empty(), "{name}");
        assert!(loaded.maps().iter().all(|m| m.pin_path().is_none()), "{name}");
        loaded.pin_maps(&kernel).unwrap();
        expect_pinned_maps(name, &fake, &loaded);
        let requests: Vec<_> = kernel.requests().into_iter().map(|(request, _)| request).collect();
        let first = requests.iter().position(|request| *request == Request::RenamePin).unwrap();
        assert!(
            requests[first..].iter().all(|request| *request == Request::RenamePin),
            "{name}: {requests:?}"
        );
        // The second call has nothing to do.
        let before = requests.len();
        loaded.pin_maps(&kernel).unwrap();
        assert_eq!(kernel.requests().len(), before);
    }
}

#[test]
fn only_one_of_two_loads_gets_a_pin_name_in_the_running_kernel() {
    let Some(_live) = live("faults::only_one_of_two_loads_gets_a_pin_name_in_the_running_kernel", &[]) else {
        return;
    };
    let bpffs = Bpffs::new();
    let bytes = object("pinned");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("pinned");
    loader.settings_mut().pin_root = bpffs.path().join("directory");
    let plan = loader.plan().unwrap();
    let mut slow = loader.execute_unpinned(&plan, &RunningKernel).unwrap();
    let mut quick = loader.load().unwrap();
    let error = slow.pin_maps(&RunningKernel).unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { .. }), "{error}");
    let path = bpffs.path().join("directory/core_relo_live");
    let id_of =
        |loaded: &Loaded| MapInfo::query(&loaded.map("core_relo_live").unwrap().fd().unwrap()).unwrap().id;
    let pinned_id = || MapInfo::query(&RunningKernel.open_pin(&path).unwrap()).unwrap().id;
    assert_eq!(pinned_id(), id_of(&quick));
    assert_ne!(pinned_id(), id_of(&slow));
    slow.unpin_maps();
    assert_eq!(
        std::fs::read_dir(bpffs.path().join("directory")).unwrap().count(),
        1,
        "no private name is left"
    );
    // A pin that now refers to another map is not removed.
    std::fs::remove_file(&path).unwrap();
    slow.pin_maps(&RunningKernel).unwrap();
    quick.unpin_maps();
    assert_eq!(pinned_id(), id_of(&slow));
    slow.unpin_maps();
    assert!(!path.exists());
}
