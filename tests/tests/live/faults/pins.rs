//! Paths where maps cannot be pinned. Each error names the path and contains help, and the load leaves
//! nothing.

use crate::live::harness::{Bpffs, live, object};
use core_relo_loader::{Loader, inventory, load::LoadError, object::Object};
use rustix::mount::{MountFlags, mount_remount};
use std::{env, fs, path::Path, process};

fn load(name: &str, pins: &Path, entries: u32) -> Result<core_relo_loader::load::Loaded, LoadError> {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    let mut loader = Loader::new(&object).name(name);
    loader.settings_mut().pin_root = pins.to_path_buf();
    loader.map_mut("core_relo_live").max_entries = Some(entries);
    loader.load()
}

/// Checks that a load fails with one line that names the map and the pin and contains the `expected` texts.
fn expect_error(pins: &Path, entries: u32, expected: &[&str]) {
    let error = load("pinned", pins, entries).expect_err("refused");
    let text = error.to_string();
    let path = pins.join("core_relo_live").display().to_string();
    for expected in expected.iter().chain(&["pinned: map `core_relo_live`: ", &path]) {
        assert!(text.contains(expected), "{text} should say: {expected}");
    }
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn a_pinned_map_of_another_shape_is_refused_and_kept() {
    let Some(_live) = live("faults::a_pinned_map_of_another_shape_is_refused_and_kept", &[]) else { return };
    let bpffs = Bpffs::new();
    let first = load("pinned", bpffs.path(), 1).unwrap();
    expect_error(
        bpffs.path(),
        2,
        &["wrong max_entries of the map pinned at", ": 1, expected 2: remove the pin"],
    );
    let again = load("pinned", bpffs.path(), 1).unwrap();
    let is_reused =
        |loaded: &core_relo_loader::load::Loaded| loaded.map("core_relo_live").unwrap().is_reused();
    assert_eq!((is_reused(&first), is_reused(&again)), (false, true));
}

#[test]
fn a_pinned_program_is_not_taken_for_a_map() {
    let Some(_live) = live("faults::a_pinned_program_is_not_taken_for_a_map", &[]) else { return };
    let bpffs = Bpffs::new();
    let other = Bpffs::new();
    let loaded = load("pinned", other.path(), 1).unwrap();
    inventory::pin(loaded.program("count").unwrap(), &bpffs.path().join("core_relo_live")).unwrap();
    expect_error(bpffs.path(), 1, &["is no map", "remove the pin"]);
}

#[test]
fn a_pin_outside_a_bpffs_or_in_a_missing_directory_is_refused() {
    let Some(_live) = live("faults::a_pin_outside_a_bpffs_or_in_a_missing_directory_is_refused", &[]) else {
        return;
    };
    let dir = env::temp_dir().join(format!("core-relo-no-bpffs-{}", process::id()));
    fs::create_dir(&dir).unwrap();
    expect_error(&dir, 1, &["below a mounted bpffs", "mount -t bpf"]);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    fs::remove_dir(&dir).unwrap();
    expect_error(&dir, 1, &["below a mounted bpffs", "mount -t bpf"]);
    assert!(!dir.exists(), "the directory was created for the pin and not removed");
    expect_error(&dir.join("deeper"), 1, &["ENOENT", "do its directories exist", "mount -t bpf"]);
}

#[test]
fn the_last_directory_of_a_pin_is_created_and_removed_with_the_pin() {
    let Some(_live) = live("faults::the_last_directory_of_a_pin_is_created_and_removed_with_the_pin", &[])
    else {
        return;
    };
    let bpffs = Bpffs::new();
    let dir = bpffs.path().join("app");
    let mut loaded = load("pinned", &dir, 1).unwrap();
    assert!(dir.join("core_relo_live").exists());
    loaded.unpin_maps();
    assert!(!dir.exists());
}

#[test]
fn a_pin_in_a_read_only_bpffs_is_refused() {
    let Some(_live) = live("faults::a_pin_in_a_read_only_bpffs_is_refused", &[]) else { return };
    let bpffs = Bpffs::new();
    mount_remount(bpffs.path(), MountFlags::RDONLY, "").unwrap();
    expect_error(bpffs.path(), 1, &["EROFS", "mounted read-only"]);
}
