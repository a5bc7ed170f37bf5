//! Lifetimes: pinned maps and links, maps shared between objects, and kernel types shared between loads.

use super::harness::{Bpffs, Need, hits, live, load, load_with, object, run, with_invalid_insn};
use core_relo_loader::{
    Loader,
    attach::{AttachError, Link},
    inventory::{self, BtfInfo, LinkInfo, MapInfo, ProgramInfo},
    load::{self, Kernel as _, LoadError, Loaded, RunningKernel},
    maps::{Array, Flags, HashMap, MapFd},
    object::{MapType, Object},
};
use std::{
    os::{fd::OwnedFd, unix::process::parent_id},
    sync::Arc,
    time::{Duration, Instant},
};

/// Returns the only element of a pinned array.
fn pinned_value(map: impl AsRef<std::path::Path>) -> u64 {
    let map = MapFd::new(RunningKernel.open_pin(map.as_ref()).unwrap()).unwrap();
    Array::<u64>::new(map).unwrap().get(0).unwrap().unwrap()
}

#[test]
fn a_map_pinned_by_name_is_reused() {
    let Some(_live) = live("lifetime::a_map_pinned_by_name_is_reused", &[]) else { return };
    let bpffs = Bpffs::new();
    let root = bpffs.path().to_path_buf();
    let pin = root.join("core_relo_live");
    let pinned = || load_with("pinned", |loader| loader.settings_mut().pin_root.clone_from(&root));
    let first = pinned();
    assert!(!first.map("core_relo_live").unwrap().is_reused());
    run(&first, "count");
    drop(first);
    assert_eq!(pinned_value(&pin), 1);
    let mut second = pinned();
    assert!(second.map("core_relo_live").unwrap().is_reused());
    run(&second, "count");
    // The program counts in the reused map, while its variables are new.
    assert_eq!((pinned_value(&pin), hits(&second)), (2, 1));
    // `unpin_maps` keeps a pin that the load did not make.
    second.unpin_maps();
    assert!(pin.exists());
    drop(second);
    // A pinned map of another shape is refused.
    std::fs::remove_file(&pin).unwrap();
    let bytes = object("pinned");
    let object = Object::parse(&bytes).unwrap();
    let mut wider = Loader::new(&object).name("wider");
    wider.settings_mut().pin_root.clone_from(&root);
    wider.map_mut("core_relo_live").max_entries = Some(5);
    let mut wider = wider.load().unwrap();
    let bytes = super::harness::object("pinned");
    let object = Object::parse(&bytes).unwrap();
    let mut narrow = Loader::new(&object).name("narrow");
    narrow.settings_mut().pin_root.clone_from(&root);
    let refused = narrow.load().unwrap_err();
    let LoadError::PinMismatch { map, expected, found, .. } = &refused else { panic!("{refused}") };
    assert_eq!((map.as_str(), *expected, *found), ("core_relo_live", 1, 5));
    wider.unpin_maps();
    assert!(!pin.exists());
}

#[test]
fn a_map_is_pinned_at_the_configured_path() {
    let Some(_live) = live("lifetime::a_map_is_pinned_at_the_configured_path", &[]) else { return };
    let bpffs = Bpffs::new();
    let pin = bpffs.path().join("elsewhere");
    let loaded = load_with("pinned", |loader| loader.map_mut("core_relo_live").pin = Some(Some(pin.clone())));
    run(&loaded, "count");
    assert_eq!(pinned_value(&pin), 1);
    drop(loaded);
    let unpinned = load_with("pinned", |loader| loader.map_mut("core_relo_live").pin = Some(None));
    run(&unpinned, "count");
    assert_eq!(pinned_value(&pin), 1);
}

#[test]
fn a_failed_load_leaves_no_pin() {
    let Some(_live) = live("lifetime::a_failed_load_leaves_no_pin", &[]) else { return };
    let bpffs = Bpffs::new();
    let bytes = with_invalid_insn(object("pinned"), "count");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name("pinned");
    let pins = || std::fs::read_dir(bpffs.path()).unwrap().count();
    // The kernel has put its own iterators into the bpffs.
    let before = pins();
    loader.map_mut("core_relo_live").pin = Some(Some(bpffs.path().join("mine")));
    let refused = loader.execute(&loader.plan().unwrap(), &RunningKernel).unwrap_err();
    assert!(matches!(refused, LoadError::Program { .. }), "{refused}");
    assert_eq!(pins(), before);
}

#[test]
fn a_pinned_link_stays_attached_after_its_drop() {
    let Some(_live) = live("lifetime::a_pinned_link_stays_attached_after_its_drop", &[]) else { return };
    let bpffs = Bpffs::new();
    let path = bpffs.path().join("link");
    let loaded = load("raw_tp");
    let mut link = loaded.attach("enter").unwrap();
    match link.pin(&path) {
        Ok(()) => {}
        // Raw tracepoints are kernel links on every kernel.
        Err(error) => panic!("{error}"),
    }
    assert_eq!(link.pin_path(), Some(path.as_path()));
    drop(link);
    let fires = || {
        let before = hits(&loaded);
        let _parent = parent_id();
        hits(&loaded) > before
    };
    assert!(fires(), "the pin does not keep it attached");
    let mut again = Link::open(&path).unwrap();
    assert!(LinkInfo::query(&again.fd().unwrap()).unwrap().prog_id > 0);
    again.unpin().unwrap();
    assert!(fires());
    again.detach().unwrap();
    // The kernel drops the reference of a pin after a grace period.
    let begun = Instant::now();
    while fires() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the program stays attached");
    }
    assert!(matches!(Link::open(&path), Err(AttachError::Pin { .. })));
}

#[test]
fn an_attachment_without_a_kernel_link_cannot_be_pinned() {
    let Some(_live) = live("lifetime::an_attachment_without_a_kernel_link_cannot_be_pinned", &[Need::Veth])
    else {
        return;
    };
    let bpffs = Bpffs::new();
    let (veth, loaded) = (super::harness::Veth::new(), load("xdp"));
    let program = loaded.program_ref("count").unwrap();
    let (mode, over) = (Default::default(), Default::default());
    let attached = veth.near.inside(|| program.attach_xdp_netlink(veth.near_index, mode, over));
    let mut link = attached.unwrap();
    assert!(matches!(link.pin(bpffs.path().join("xdp")), Err(AttachError::NoKernelLink { .. })));
    link.detach().unwrap();
}

#[test]
fn two_objects_share_a_map() {
    let Some(_live) = live("lifetime::two_objects_share_a_map", &[]) else { return };
    let first = load("maps");
    let shared = Arc::new(first.map("hash").unwrap().fd().unwrap().try_clone_to_owned().unwrap());
    let second = load_with("maps", |loader| loader.map_mut("hash").reuse = Some(shared.into()));
    assert!(second.map("hash").unwrap().is_reused() && !second.map("array").unwrap().is_reused());
    run(&first, "touch");
    run(&first, "touch");
    let theirs = HashMap::<u32, u64>::new(second.map_handle("hash").unwrap()).unwrap();
    assert_eq!(theirs.get(&1).unwrap(), Some(2));
    drop(first);
    run(&second, "touch");
    assert_eq!(theirs.get(&1).unwrap(), Some(1));
}

#[test]
fn a_reused_map_that_no_helper_of_the_program_accepts_is_refused_before_the_load() {
    let test = "lifetime::a_reused_map_that_no_helper_of_the_program_accepts_is_refused_before_the_load";
    let Some(_live) = live(test, &[]) else { return };
    let (maps, ring) = (load("maps"), load("ringbuf"));
    let fd = |loaded: &Loaded, map: &str| {
        Arc::new(loaded.map(map).unwrap().fd().unwrap().try_clone_to_owned().unwrap())
    };
    let hash = fd(&maps, "hash");
    let ring_map = ring.maps().iter().find(|map| map.plan.known_type() == Some(MapType::Ringbuf)).unwrap();
    let ring_name = ring_map.name().to_owned();
    let try_load = |name: &str, map: &str, reused: Arc<OwnedFd>| {
        let bytes = object(name);
        let object = Object::parse(&bytes).unwrap();
        let mut loader = Loader::new(&object);
        loader.map_mut(map).reuse = Some(reused.into());
        loader.load()
    };
    let refused = try_load("ringbuf", &ring_name, hash);
    let Err(LoadError::ReusedMap { map, reused, expected, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((map.as_str(), expected.as_str()), (&*ring_name, "BPF_MAP_TYPE_RINGBUF"));
    let expected = "is a BPF_MAP_TYPE_HASH with keys of 4 and values of 8 bytes";
    assert!(reused.as_str().starts_with("`hash` (id ") && reused.as_str().ends_with(expected), "{reused:?}");
    // The same helpers accept maps of another type, as libbpf allows.
    for other in ["lru_hash", "percpu_hash"] {
        let second = try_load("maps", "hash", fd(&maps, other)).unwrap();
        assert!(second.map("hash").unwrap().is_reused(), "{other}");
    }
}

#[test]
fn many_objects_share_the_parsed_kernel_types() {
    let test = "lifetime::many_objects_share_the_parsed_kernel_types";
    let Some(_live) = live(test, &[Need::Btf]) else { return };
    let kernel = core_relo_loader::running_kernel();
    let bytes = ["core", "tp_btf", "iter_task"].map(object);
    let objects = bytes.each_ref().map(|bytes| Object::parse(bytes).unwrap());
    let loaded: Vec<_> = objects
        .iter()
        .map(|object| {
            let mut loader = Loader::for_kernel(object, kernel.clone());
            loader.set_global("only_pid", &std::process::id()).unwrap();
            assert!(Arc::ptr_eq(&loader.kernel_mut().btf, &kernel.btf));
            loader.load().unwrap()
        })
        .collect();
    let links: Vec<_> = loaded.iter().flat_map(|loaded| loaded.attach_all().unwrap()).collect();
    let _parent = parent_id();
    assert!(hits(&loaded[0]) > 0 && hits(&loaded[1]) > 0 && links.len() == 4, "{links:?}");
}

#[test]
fn a_deselected_program_is_not_loaded() {
    let Some(_live) = live("lifetime::a_deselected_program_is_not_loaded", &[]) else { return };
    let loaded = load_with("ringbuf", |loader| loader.program_mut("discard").autoload = Some(false));
    assert_eq!(loaded.programs().len(), 2);
    assert!(loaded.program("discard").is_none());
    let loaded = load_with("ringbuf", |loader| loader.select_programs(["output"]));
    assert_eq!(loaded.programs().iter().map(|p| p.name()).collect::<Vec<_>>(), ["output"]);
}

#[test]
fn a_load_is_prepared_and_finished_in_two_steps() {
    let Some(_live) = live("lifetime::a_load_is_prepared_and_finished_in_two_steps", &[]) else { return };
    let bytes = object("maps");
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).name("maps").plan().unwrap();
    let prepared = load::prepare(&plan, &RunningKernel).unwrap();
    assert!(prepared.loaded().programs().is_empty());
    let hash = prepared.loaded().map_handle("hash").unwrap();
    HashMap::<u32, u64>::new(hash).unwrap().insert(&3, &33, Flags::ANY).unwrap();
    let loaded = prepared.finish().unwrap();
    run(&loaded, "touch");
    assert_eq!(loaded.global::<u64>("from_hash").unwrap(), 33);

    let bytes = with_invalid_insn(super::harness::object("ringbuf"), "discard");
    let object = Object::parse(&bytes).unwrap();
    let plan = Loader::new(&object).name("ringbuf").plan().unwrap();
    let mut prepared = load::prepare(&plan, &RunningKernel).unwrap();
    let refused = prepared.load_program("discard").unwrap_err();
    assert!(matches!(refused, LoadError::Program { .. }), "{refused}");
    assert_eq!(prepared.load_program("reserve").unwrap().name(), "reserve");
    let loaded = prepared.finish_partial().unwrap();
    assert_eq!(loaded.programs().len(), 1);
    run(&loaded, "reserve");
    assert_eq!(hits(&loaded), 1);
}

#[test]
fn kernel_info_matches_the_loaded_object() {
    let Some(_live) = live("lifetime::kernel_info_matches_the_loaded_object", &[Need::Btf]) else { return };
    let loaded = load("core");
    let info = ProgramInfo::query(loaded.program("enter").unwrap()).unwrap();
    assert_eq!(info.name(), "enter");
    let btf = loaded.btf().unwrap();
    let id = BtfInfo::query(&btf).unwrap().id;
    assert_eq!(info.btf_id, id);
    let map = loaded.map(".bss").unwrap().handle().unwrap();
    assert_eq!(
        inventory::program_map_ids(loaded.program("enter").unwrap()).unwrap(),
        [MapInfo::query(&map).unwrap().id]
    );
    assert!(!inventory::btf_bytes(&btf).unwrap().is_empty());
}
