//! Processes without privileges or with resource limits. Each test runs in a child process: a process cannot
//! regain privileges, and the loader probes kernel features once per process.

use crate::live::harness::{kernel_version, live, object};
use core_relo_loader::{Loader, load::LoadError, object::Object};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{collections::BTreeSet, env, fs, os::fd::AsRawFd as _, process::Command};

/// The environment variable that marks a child process.
const CHILD: &str = "CORE_RELO_CHILD";

/// Runs a test again in a child process, which calls `act`.
fn run_in_child(test: &str, act: fn()) {
    if env::var_os(CHILD).is_some() {
        return act();
    }
    let Some(_live) = live(&format!("faults::limits::{test}"), &[]) else { return };
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &format!("live::faults::limits::{test}"), "--nocapture", "--test-threads=1"]);
    let out = command.env(CHILD, "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&out.stdout);
    // This process reports the test result, so that of the child is not printed.
    stdout.lines().filter(|line| !line.starts_with("test result")).for_each(|line| println!("{line}"));
    assert!(out.status.success(), "{stdout}{}", String::from_utf8_lossy(&out.stderr));
    assert!(stdout.contains("1 passed"), "{stdout}");
}

#[test]
fn an_unprivileged_user_cannot_load() {
    run_in_child("an_unprivileged_user_cannot_load", load_as_nobody);
}

#[test]
fn a_load_fails_cleanly_at_every_file_limit() {
    run_in_child("a_load_fails_cleanly_at_every_file_limit", load_with_few_files);
}

#[test]
fn a_file_limit_during_attach_detaches_the_first_program() {
    run_in_child("a_file_limit_during_attach_detaches_the_first_program", attach_with_few_files);
}

#[test]
fn the_memlock_limit_is_raised_if_the_kernel_needs_it() {
    run_in_child("the_memlock_limit_is_raised_if_the_kernel_needs_it", load_with_low_memlock);
}

#[test]
fn a_memlock_limit_that_cannot_be_raised_is_reported() {
    run_in_child("a_memlock_limit_that_cannot_be_raised_is_reported", load_with_fixed_memlock);
}

fn load(name: &str) -> Result<(), LoadError> {
    let bytes = object(name);
    let object = Object::parse(&bytes).unwrap();
    Loader::new(&object).name(name).load().map(drop)
}

/// Returns the number of open descriptors.
fn open_count() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn load_as_nobody() {
    let bytes = object("socket_filter");
    let object = Object::parse(&bytes).unwrap();
    let before = open_count();
    rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
    let error = Loader::new(&object).name("socket_filter").load().expect_err("loaded without privileges");
    let text = error.to_string();
    println!("{text}");
    assert_eq!(
        error.errno().map(|e| e.to_string()).as_deref(),
        Some("EPERM: Operation not permitted"),
        "{text}"
    );
    assert!(text.starts_with("socket_filter: ") && text.contains("CAP_BPF"), "{text}");
    assert_eq!(text.contains("ulimit"), kernel_version() < (5, 11), "{text}");
    assert_eq!(open_count(), before);
}

/// Allows 0, 1, 2, … more files until the load succeeds.
fn load_with_few_files() {
    // Parse the kernel's types before the limits apply. The first load also probes the features.
    let _types = core_relo_loader::target::running_kernel_btf();
    for name in ["globals", "map_in_map", "tail_call", "subprograms"] {
        if let Err(e) = load(name) {
            println!("not loaded here: {e}");
            continue;
        }
        let before = open_count();
        let mut stages = BTreeSet::new();
        let mut room = 0;
        loop {
            let bytes = object(name);
            let object = Object::parse(&bytes).unwrap();
            let loaded = with_file_limit(room, || Loader::new(&object).name(name).load().map(drop));
            assert_eq!(open_count(), before, "{name} with {room} more files");
            let Err(error) = loaded else { break };
            let text = error.to_string();
            assert!(text.contains("RLIMIT_NOFILE") && !text.contains('\n'), "{text}");
            stages.insert(text);
            room += 1;
            assert!(room < 64, "{stages:#?}");
        }
        println!("{name} needs {room} files; {stages:#?}");
        assert!(stages.len() >= 2, "{stages:#?}");
    }
}

/// Attaches two programs with a descriptor for one link.
fn attach_with_few_files() {
    let bytes = object("tp_btf");
    let object = Object::parse(&bytes).unwrap();
    let loaded = match Loader::new(&object).name("tp_btf").load() {
        Ok(loaded) => loaded,
        Err(e) => return println!("not loaded here: {e}"),
    };
    assert_eq!(loaded.programs().len(), 2);
    let before = open_count();
    let error =
        with_file_limit(1, || loaded.attach_all()).expect_err("one descriptor is too few").to_string();
    println!("{error}");
    assert!(error.contains("RLIMIT_NOFILE") && !error.contains('\n'), "{error}");
    assert_eq!(open_count(), before);
    assert_eq!(loaded.attach_all().unwrap().len(), 2);
    assert_eq!(open_count(), before);
}

/// Calls `run` while the process may open `files` more files.
fn with_file_limit<T>(files: u64, run: impl FnOnce() -> T) -> T {
    let original = getrlimit(Resource::Nofile);
    // The limit applies to descriptor numbers, and a new descriptor gets the lowest free number.
    let next = rustix::io::dup(std::io::stdin()).unwrap().as_raw_fd();
    let current = Some(u64::from(next.cast_unsigned()) + files);
    setrlimit(Resource::Nofile, Rlimit { current, maximum: original.maximum }).unwrap();
    let result = run();
    setrlimit(Resource::Nofile, original).unwrap();
    result
}

/// Kernels before 5.11 charge memory to RLIMIT_MEMLOCK. On them the load raises the limit before the feature
/// probes.
fn load_with_low_memlock() {
    let original = getrlimit(Resource::Memlock);
    setrlimit(Resource::Memlock, Rlimit { current: Some(4096), maximum: original.maximum }).unwrap();
    load("globals").unwrap();
    let raised = getrlimit(Resource::Memlock).current != Some(4096);
    assert_eq!(raised, kernel_version() < (5, 11));
}

/// The limit cannot be raised. On kernels before 5.11 the load fails with one line of help and leaves
/// nothing.
fn load_with_fixed_memlock() {
    setrlimit(Resource::Memlock, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let mut capabilities = rustix::thread::capabilities(None).unwrap();
    capabilities.effective -= rustix::thread::CapabilitySet::SYS_RESOURCE;
    rustix::thread::set_capabilities(None, capabilities).unwrap();
    let before = open_count();
    match load("globals") {
        Ok(()) => assert!(kernel_version() >= (5, 11)),
        Err(error) => {
            let text = error.to_string();
            println!("{text}");
            assert!(kernel_version() < (5, 11), "{text}");
            assert!(text.contains("ulimit -l") && !text.contains('\n'), "{text}");
        }
    }
    assert_eq!(open_count(), before);
}
