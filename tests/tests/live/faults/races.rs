//! Two loads of one object with maps pinned by name, at every interleaving: each load that succeeds uses the map at the path.

use super::{
    errno,
    kernel::{Ask, Fake, Refusing},
    offline,
};
use crate::live::harness::{Bpffs, live, object};
use core_relo_loader::{
    Loader,
    features::Features,
    load::{self, Kernel, LoadError, Loaded, RunningKernel},
    load_plan::LoadPlan,
    object::Object,
    sys,
};
use rustix::io::Errno as E;
use std::cell::{Cell, RefCell};

/// One map that is pinned, and several.
const OBJECTS: [&str; 2] = ["pinned", "map_in_map"];

fn plan(name: &str) -> LoadPlan {
    offline(&object(name), name, Features::newest()).unwrap()
}

/// Every pinned map of a loaded object is the map at its path.
fn uses_what_is_pinned(place: &str, fake: &Fake, loaded: &Loaded) {
    for map in loaded.maps().iter().filter(|m| m.plan.pin.is_some()) {
        let pinned = fake.pins.borrow().get(map.plan.pin.as_ref().unwrap()).map(|info| info.id);
        assert_eq!(pinned, Some(fake.map_info(map.fd().unwrap()).unwrap().id), "{place}: map {}", map.name());
        assert_eq!(map.pin_path(), map.plan.pin.as_deref(), "{place}");
    }
}

/// Loads an object, and at its n-th request another one, whole. Returns both, or none for the second if there was no n-th request.
fn interleaved(
    fake: &Fake,
    plan: &LoadPlan,
    at: usize,
    refused: Option<usize>,
) -> (Result<Loaded, LoadError>, Option<Loaded>) {
    let (count, other) = (Cell::new(0), RefCell::new(None));
    let kernel = Refusing::new(fake, |_, _| {
        let nth = count.replace(count.get() + 1);
        if nth == at {
            *other.borrow_mut() = Some(load::load(plan, &fake).unwrap());
        }
        (refused == Some(nth)).then(|| errno(E::IO))
    });
    let loaded = load::load(plan, &kernel);
    drop(kernel);
    (loaded, other.into_inner())
}

#[test]
fn two_loads_use_the_same_pinned_maps_at_every_interleaving() {
    for name in OBJECTS {
        let plan = plan(name);
        for at in 0.. {
            let fake = Fake::new();
            let (first, second) = interleaved(&fake, &plan, at, None);
            let place = format!("{name}, the other at request {at}");
            uses_what_is_pinned(&place, &fake, &first.unwrap());
            let Some(second) = second else {
                assert!(at > 5, "{name}: only {at} requests");
                break;
            };
            uses_what_is_pinned(&place, &fake, &second);
            drop(second);
            assert_eq!(fake.open(), 0, "{place}");
            let planned = plan.maps.iter().filter(|m| m.pin.is_some()).count();
            assert_eq!(fake.pins.borrow().len(), planned, "{place}: private names stay");
        }
    }
}

#[test]
fn a_load_that_fails_removes_no_pin_that_another_load_uses() {
    for name in OBJECTS {
        let plan = plan(name);
        let fake = Fake::new();
        let whole = Refusing::new(&fake, |_, _| None);
        drop(load::load(&plan, &whole).unwrap());
        let requests = whole.asked().len();
        for at in 0..requests {
            for refused in at..requests {
                let fake = Fake::new();
                let (_whatever, second) = interleaved(&fake, &plan, at, Some(refused));
                let place = format!("{name}, the other at request {at}, request {refused} refused");
                uses_what_is_pinned(&place, &fake, &second.unwrap());
            }
        }
    }
}

#[test]
fn a_pin_that_others_always_make_first_is_an_error_after_some_attempts() {
    let (fake, plan) = (Fake::new(), plan("pinned"));
    // The path looks free, and is not when the pin gets its name.
    let racing = Refusing::new(&fake, |ask, _| (ask == Ask::RenamePin).then(|| errno(E::EXIST)));
    let error = load::load(&plan, &racing).unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { attempts: load::PIN_ATTEMPTS, .. }), "{error}");
    assert_eq!(error.errno(), Some(errno(E::EXIST)));
    assert_eq!(racing.details(Ask::RenamePin).len(), 5);
    let text = error.to_string();
    assert!(text.contains("5 of at most 5 attempts") && !text.contains('\n'), "{text}");
    assert_eq!((fake.open(), fake.pins.borrow().len()), (0, 0));
    // What was prepared cannot be loaded again by itself: the caller may have filled its maps.
    let once = Refusing::new(&fake, |ask, nth| (ask == Ask::RenamePin && nth == 0).then(|| errno(E::EXIST)));
    let error = load::prepare(&plan, &once).unwrap().finish().unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { attempts: 1, .. }), "{error}");
}

#[test]
fn a_pin_is_made_when_nothing_can_fail_any_more() {
    let fake = Fake::new();
    for name in OBJECTS {
        let plan = plan(name);
        let kernel = Refusing::new(&fake, |_, _| None);
        let mut loaded = load::load_unpinned(&plan, &kernel).unwrap();
        assert!(kernel.details(Ask::Pin).is_empty(), "{name}");
        assert!(loaded.maps().iter().all(|m| m.pin_path().is_none()), "{name}");
        loaded.pin_maps(&kernel).unwrap();
        uses_what_is_pinned(name, &fake, &loaded);
        let asked: Vec<_> = kernel.asked().into_iter().map(|(ask, _)| ask).collect();
        let first = asked.iter().position(|ask| *ask == Ask::RenamePin).unwrap();
        assert!(asked[first..].iter().all(|ask| *ask == Ask::RenamePin), "{name}: {asked:?}");
        // A second time there is nothing to do.
        let before = asked.len();
        loaded.pin_maps(&kernel).unwrap();
        assert_eq!(kernel.asked().len(), before);
    }
}

#[test]
fn the_running_kernel_gives_a_name_to_one_load_only() {
    let Some(_live) = live("faults::the_running_kernel_gives_a_name_to_one_load_only", &[]) else { return };
    let bpffs = Bpffs::new();
    let bytes = object("pinned");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("pinned");
    loader.settings().pin_root = bpffs.path().join("folder");
    let plan = loader.plan().unwrap();
    let mut slow = loader.load_unpinned(&plan, &RunningKernel).unwrap();
    let mut quick = loader.load().unwrap();
    let error = slow.pin_maps(&RunningKernel).unwrap_err();
    assert!(matches!(error, LoadError::PinTaken { .. }), "{error}");
    let path = bpffs.path().join("folder/core_relo_live");
    let id_of =
        |loaded: &Loaded| sys::map_info(&loaded.map("core_relo_live").unwrap().fd().unwrap()).unwrap().id;
    let pinned_id = || sys::map_info(&sys::obj_get(&path, 0).unwrap()).unwrap().id;
    assert_eq!(pinned_id(), id_of(&quick));
    assert_ne!(pinned_id(), id_of(&slow));
    slow.unpin_maps();
    assert_eq!(std::fs::read_dir(bpffs.path().join("folder")).unwrap().count(), 1, "no private name stays");
    // A pin that is another map's by now is not removed.
    std::fs::remove_file(&path).unwrap();
    slow.pin_maps(&RunningKernel).unwrap();
    quick.unpin_maps();
    assert_eq!(pinned_id(), id_of(&slow));
    slow.unpin_maps();
    assert!(!path.exists());
}
