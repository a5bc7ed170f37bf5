//! Processes that may not do everything. Each is a child, since what a process may do cannot be given back, and since what the
//! kernel can do is asked once for each process.

use crate::live::harness::{kernel_version, live, object};
use core_relo_loader::{Loader, load::LoadError, object::Object};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{collections::BTreeSet, env, fs, os::fd::AsRawFd as _, process::Command};

/// Says to a child that it is one.
const CHILD: &str = "CORE_RELO_CHILD";

/// Runs a test's own function again, in a process of its own, where it does `act`.
fn in_a_child(test: &str, act: fn()) {
    if env::var_os(CHILD).is_some() {
        return act();
    }
    let Some(_live) = live(&format!("faults::limits::{test}"), &[]) else { return };
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &format!("live::faults::limits::{test}"), "--nocapture", "--test-threads=1"]);
    let out = command.env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    // Counted as a test here, not once more in the child.
    said.lines().filter(|line| !line.starts_with("test result")).for_each(|line| println!("{line}"));
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn nobody_may_not_load() {
    in_a_child("nobody_may_not_load", nobody);
}

#[test]
fn files_may_run_out_at_any_place() {
    in_a_child("files_may_run_out_at_any_place", files);
}

#[test]
fn what_is_attached_is_detached_if_files_run_out() {
    in_a_child("what_is_attached_is_detached_if_files_run_out", attach);
}

#[test]
fn locked_memory_is_raised_where_it_has_to_be() {
    in_a_child("locked_memory_is_raised_where_it_has_to_be", memory);
}

#[test]
fn locked_memory_that_cannot_be_raised_is_named() {
    in_a_child("locked_memory_that_cannot_be_raised_is_named", little_memory);
}

fn load(name: &str) -> Result<(), LoadError> {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    Loader::new(&object).name(name).load().map(drop)
}

fn open() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn nobody() {
    let bytes = object("socket_filter");
    let object = Object::parse(&bytes).unwrap();
    let before = open();
    rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
    let error = Loader::new(&object).name("socket_filter").load().expect_err("nobody may load nothing");
    let text = error.to_string();
    println!("{text}");
    assert_eq!(
        error.errno().map(|e| e.to_string()).as_deref(),
        Some("EPERM: Operation not permitted"),
        "{text}"
    );
    assert!(text.starts_with("socket_filter: ") && text.contains("CAP_BPF"), "{text}");
    assert_eq!(text.contains("ulimit"), kernel_version() < (5, 11), "{text}");
    assert_eq!(open(), before);
}

/// With room for no more file, then one, and so on until the load comes to its end.
fn files() {
    // What the kernel can do, and what its types are, is known from here on.
    let _types = core_relo_loader::target::running_types();
    for name in ["globals", "map_in_map", "tail_call", "subprograms"] {
        if let Err(e) = load(name) {
            println!("not loaded here: {e}");
            continue;
        }
        let before = open();
        let mut stages = BTreeSet::new();
        let mut room = 0;
        loop {
            let bytes = object(name);
            let object = Object::parse(&bytes).unwrap();
            let loaded = with_room(room, || Loader::new(&object).name(name).load().map(drop));
            assert_eq!(open(), before, "{name} with room for {room}");
            let Err(error) = loaded else { break };
            let text = error.to_string();
            assert!(text.contains("RLIMIT_NOFILE") && !text.contains('\n'), "{text}");
            stages.insert(text);
            room += 1;
            assert!(room < 64, "{stages:#?}");
        }
        println!("{name}: {room} files were too few; {stages:#?}");
        assert!(stages.len() >= 2, "{stages:#?}");
    }
}

/// Two programs that attach, and room for one link.
fn attach() {
    let bytes = object("tp_btf");
    let object = Object::parse(&bytes).unwrap();
    let loaded = match Loader::new(&object).name("tp_btf").load() {
        Ok(loaded) => loaded,
        Err(e) => return println!("not loaded here: {e}"),
    };
    assert_eq!(loaded.programs().len(), 2);
    let before = open();
    let error = with_room(1, || loaded.attach_all()).expect_err("no room").to_string();
    println!("{error}");
    assert!(error.contains("RLIMIT_NOFILE") && !error.contains('\n'), "{error}");
    assert_eq!(open(), before);
    assert_eq!(loaded.attach_all().unwrap().len(), 2);
    assert_eq!(open(), before);
}

/// Does something with room for so many more files.
fn with_room<T>(files: u64, run: impl FnOnce() -> T) -> T {
    let whole = getrlimit(Resource::Nofile);
    // The limit is one of numbers, and the next descriptor is the lowest that is free.
    let next = rustix::io::dup(std::io::stdin()).unwrap().as_raw_fd();
    let current = Some(u64::from(next.cast_unsigned()) + files);
    setrlimit(Resource::Nofile, Rlimit { current, maximum: whole.maximum }).unwrap();
    let done = run();
    setrlimit(Resource::Nofile, whole).unwrap();
    done
}

/// A kernel that counts by the limit lets a load raise it, before it is asked what it can do; the others do not look at it.
fn memory() {
    let whole = getrlimit(Resource::Memlock);
    setrlimit(Resource::Memlock, Rlimit { current: Some(4096), maximum: whole.maximum }).unwrap();
    load("globals").unwrap();
    let raised = getrlimit(Resource::Memlock).current != Some(4096);
    assert_eq!(raised, kernel_version() < (5, 11));
}

/// The limit cannot be raised: a kernel that counts by it says so in a line, and nothing is left.
fn little_memory() {
    setrlimit(Resource::Memlock, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let mut capabilities = rustix::thread::capabilities(None).unwrap();
    capabilities.effective -= rustix::thread::CapabilitySet::SYS_RESOURCE;
    rustix::thread::set_capabilities(None, capabilities).unwrap();
    let before = open();
    match load("globals") {
        Ok(()) => assert!(kernel_version() >= (5, 11)),
        Err(error) => {
            let text = error.to_string();
            println!("{text}");
            assert!(kernel_version() < (5, 11), "{text}");
            assert!(text.contains("ulimit -l") && !text.contains('\n'), "{text}");
        }
    }
    assert_eq!(open(), before);
}
