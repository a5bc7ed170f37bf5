//! Variants of tracing: sleepable programs, functions of modules, probe modes, cookies, USDT.

use super::harness::{
    Need, Veth, hits, in_vm, kernel_version, live, load, load_with, object, run, usdt_probe,
};
use core_relo_loader::{
    attach::{self, IterReader, Link, PerfSample, ProbeMode, UprobeMultiOptions, UprobeOptions, UprobeSet},
    inventory::{self, MapInfo},
    load::{Loaded, TestRun},
    object::Object,
};
use std::{fs::File, io::Read as _, os::unix::process::parent_id, path::PathBuf};

/// The function of the system call openat.
const OPENAT: &str = if cfg!(target_arch = "x86_64") {
    "__x64_sys_openat"
} else if cfg!(target_arch = "aarch64") {
    "__arm64_sys_openat"
} else if cfg!(target_arch = "s390x") {
    "__s390x_sys_openat"
} else if cfg!(target_arch = "riscv64") {
    "__riscv_sys_openat"
} else {
    "sys_openat"
};

/// Checks that a program counts `act` while it is attached, and not afterwards.
fn expect_fires(loaded: &Loaded, link: Link, act: impl Fn()) {
    let before = hits(loaded);
    act();
    assert!(hits(loaded) > before, "{}: does not fire", link.label());
    link.detach().unwrap();
    let after = hits(loaded);
    act();
    assert_eq!(hits(loaded), after);
}

fn getppid() {
    let _parent = parent_id();
}

fn open() {
    let _file = File::open("/proc/self/status").unwrap();
}

/// Returns the file that contains `getppid`: libc, or a static executable.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mapped = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let found = mapped.find(|path| path.contains("/libc.so"));
    found.map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from)
}

#[test]
fn fmod_ret_replaces_the_return_value() {
    let needs = [Need::Tracing, Need::Function("register_btf_fmodret_id_set")];
    let Some(_live) = live("tracing_variants::fmod_ret_replaces_the_return_value", &needs) else { return };
    let loaded = load("fmod_ret");
    let link = loaded.attach("modify").unwrap();
    // A test run calls bpf_modify_return_test and counts its side effects in the upper half of the result.
    // The function does not run if the program returns a value other than 0.
    let side_effects = |loaded: &Loaded| {
        let mut run = TestRun::default();
        inventory::test_run(loaded.program("modify").unwrap(), &mut run).unwrap().retval >> 16
    };
    let original = side_effects(&loaded);
    assert!(hits(&loaded) > 0 && original != 0);
    loaded.set_global("result", &-7i32).unwrap();
    assert_ne!(side_effects(&loaded), original);
    link.detach().unwrap();
    assert_eq!(side_effects(&loaded), original);
}

#[test]
fn a_sleepable_fentry_program_fires() {
    let test = "tracing_variants::a_sleepable_fentry_program_fires";
    let Some(_live) = live(test, &[Need::Tracing, Need::Function(OPENAT)]) else { return };
    let bytes = object("fentry_sleep");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = core_relo_loader::Loader::new(&object).name("fentry_sleep");
    loader.set_global("only_pid", &std::process::id()).unwrap();
    loader.program_mut("open_entry").attach_to =
        Some(core_relo_loader::load_plan::AttachTarget::Kernel(OPENAT.to_owned()));
    let loaded = match loader.load() {
        // The kernel recognized a sleepable program, but this function does not allow one.
        Err(error) if error.verifier_log().is_some_and(|log| log.contains("is not sleepable")) => {
            return core_relo_test_support::skip(
                test,
                "this kernel allows no sleepable programs at system calls",
            );
        }
        loaded => loaded.unwrap_or_else(|e| panic!("{e}")),
    };
    expect_fires(&loaded, loaded.attach("open_entry").unwrap(), open);
}

#[test]
fn fentry_attaches_to_functions_of_modules() {
    let test = "tracing_variants::fentry_attaches_to_functions_of_modules";
    let Some(_live) = live(test, &[Need::Tracing, Need::Veth]) else { return };
    if !std::path::Path::new("/sys/kernel/btf/veth").exists() {
        return core_relo_test_support::skip(test, "this kernel has veth built in, or no BTF of modules");
    }
    for name in ["veth:veth_open", "veth_open"] {
        let loaded = load_with("fentry", |loader| {
            loader.select_programs(["open_entry"]);
            loader.program_mut("open_entry").attach_to =
                Some(core_relo_loader::load_plan::AttachTarget::Kernel(name.to_owned()));
        });
        let links = loaded.attach_all().unwrap();
        drop(Veth::new());
        assert!(links.len() == 1 && hits(&loaded) == 2, "{name}: {} hits", hits(&loaded));
    }
}

#[test]
fn a_sleepable_lsm_program_fires() {
    let Some(_live) =
        live("tracing_variants::a_sleepable_lsm_program_fires", &[Need::Lsm, Need::Kernel(5, 11)])
    else {
        return;
    };
    let loaded = load("lsm_sleep");
    expect_fires(&loaded, loaded.attach("file_open").unwrap(), open);
}

#[test]
fn an_lsm_program_denies_an_open() {
    let Some(_live) = live("tracing_variants::an_lsm_program_denies_an_open", &[Need::Lsm]) else { return };
    let loaded = load("lsm");
    let links = loaded.attach_all().unwrap();
    loaded.set_global("deny", &1u32).unwrap();
    let refused = File::open("/proc/self/status").map(drop);
    loaded.set_global("deny", &0u32).unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(links.len(), 1);
}

#[test]
fn uprobes_attach_in_every_mode() {
    let Some(_live) = live("tracing_variants::uprobes_attach_in_every_mode", &[Need::Uprobes, Need::Tracefs])
    else {
        return;
    };
    let loaded = load("uprobe");
    for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Auto] {
        let options = UprobeOptions { function: Some("getppid"), mode, ..UprobeOptions::default() };
        let link = loaded.program_ref("entry").unwrap().attach_uprobe(c_library(), &options).unwrap();
        expect_fires(&loaded, link, getppid);
    }
}

#[test]
fn a_uprobe_has_a_cookie() {
    let test = "tracing_variants::a_uprobe_has_a_cookie";
    let Some(_live) = live(test, &[Need::Uprobes, Need::Enumerator("BPF_FUNC_get_attach_cookie")]) else {
        return;
    };
    let loaded = load("uprobe");
    let options = UprobeOptions { function: Some("getppid"), cookie: 0xc00c1e, ..UprobeOptions::default() };
    let link = loaded.program_ref("entry").unwrap().attach_uprobe(c_library(), &options).unwrap();
    getppid();
    assert_eq!(loaded.global::<u64>("cookie").unwrap(), 0xc00c1e);
    link.detach().unwrap();
}

#[test]
fn a_uretprobe_multi_program_fires() {
    let needs = [Need::Uprobes, Need::Enumerator("BPF_TRACE_UPROBE_MULTI")];
    let Some(_live) = live("tracing_variants::a_uretprobe_multi_program_fires", &needs) else { return };
    let loaded = load("uprobe_multi");
    let kind = attach::MultiKind::Return;
    let options = UprobeMultiOptions { pid: Some(std::process::id()), kind, ..UprobeMultiOptions::default() };
    let functions = UprobeSet::Symbols(&["getppid", "getpid"]);
    let program = loaded.program_ref("back").unwrap();
    let link = program.attach_uprobe_multi(c_library(), functions, &options).unwrap();
    getppid();
    let returns = || loaded.global::<u64>("returns").unwrap();
    let counted = returns();
    assert!(counted > 0);
    link.detach().unwrap();
    getppid();
    assert_eq!(returns(), counted);
}

#[test]
fn kprobes_attach_in_every_mode() {
    let Some(_live) = live("tracing_variants::kprobes_attach_in_every_mode", &[Need::Kprobes, Need::Tracefs])
    else {
        return;
    };
    let loaded = load("kprobe");
    for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Auto] {
        let options = attach::KprobeOptions { mode, ..attach::KprobeOptions::default() };
        let program = loaded.program_ref("entry").unwrap();
        expect_fires(&loaded, program.attach_kprobe("do_sys_openat2", &options).unwrap(), open);
    }
}

#[test]
fn a_map_iterator_lists_all_maps() {
    let Some(_live) = live("tracing_variants::a_map_iterator_lists_all_maps", &[Need::Btf]) else { return };
    let loaded = load("iter_map");
    let link = loaded.attach("dump").unwrap();
    let mut bytes = Vec::new();
    IterReader::new(&link).unwrap().read_to_end(&mut bytes).unwrap();
    let ids: Vec<u32> = bytes.chunks_exact(4).map(|id| u32::from_ne_bytes(id.try_into().unwrap())).collect();
    let own = MapInfo::query(&loaded.map(".bss").unwrap().handle().unwrap()).unwrap().id;
    assert!(ids.contains(&own), "{own} in {ids:?}");
    assert_eq!(u64::try_from(ids.len()).unwrap(), hits(&loaded));
}

#[test]
fn a_perf_event_program_samples_cpu_cycles() {
    let test = "tracing_variants::a_perf_event_program_samples_cpu_cycles";
    let Some(_live) = live(test, &[]) else { return };
    let cycles = attach::PerfCounter::CpuCycles;
    let sample = PerfSample::Frequency(1000);
    let options = attach::PerfCounterOptions { sample, cpu: Some(0), ..Default::default() };
    let event = match attach::open_perf_counter(cycles, &options) {
        Ok(event) => event,
        Err(error) => return core_relo_test_support::skip(test, &error.to_string()),
    };
    let loaded = load("perf_event");
    let program = loaded.program_ref("sample").unwrap();
    let link = program.attach_perf_event(event, &attach::PerfEventOptions::default()).unwrap();
    let begun = std::time::Instant::now();
    while hits(&loaded) == 0 {
        let is_over = begun.elapsed().as_secs() >= 10;
        if is_over && in_vm() && cfg!(target_arch = "powerpc64") {
            return core_relo_test_support::skip(
                test,
                "the counter of QEMU's PowerPC machine counts, but takes no samples",
            );
        }
        assert!(!is_over, "no sample on the first CPU");
    }
    link.detach().unwrap();
}

#[test]
fn a_usdt_program_fires() {
    let (test, needs) = ("tracing_variants::a_usdt_program_fires", [Need::Uprobes]);
    let Some(_live) = live(test, &needs) else { return };
    let has_cookies = kernel_version() >= (5, 15);
    if !has_cookies && !cfg!(target_arch = "x86_64") {
        let reason =
            "without cookies, the program reads the address of the probe from the registers of x86-64";
        return core_relo_test_support::skip(test, reason);
    }
    let loaded = load("usdt");
    let program = loaded.program_ref("hit").unwrap();
    // Without cookies, the program finds the probe by its address, which is valid in one process only.
    let pid = (!has_cookies).then(std::process::id);
    let options = attach::UsdtOptions { cookie: 77, pid };
    let own = std::env::current_exe().unwrap();
    let link = program.attach_usdt(&own, "core_relo", "live", &options).unwrap();
    expect_fires(&loaded, link, || usdt_probe(5));
    let argument = loaded.global::<u64>("argument").unwrap();
    assert_eq!((argument, loaded.global::<i32>("arguments").unwrap()), (5, 1));
    assert_eq!(loaded.global::<u64>("cookie").unwrap(), 77);
    let missing = program.attach_usdt(&own, "core_relo", "no_such_probe", &options).unwrap_err();
    assert!(missing.to_string().contains("no_such_probe"), "{missing}");
}

#[test]
fn fentry_programs_of_one_object_attach_together() {
    let Some(_live) =
        live("tracing_variants::fentry_programs_of_one_object_attach_together", &[Need::Tracing])
    else {
        return;
    };
    let loaded = load_with("fentry", |_| {});
    let links = loaded.attach_all().unwrap();
    assert_eq!(links.len(), 3);
    open();
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert!(read("hits") > 0 && read("exits") > 0);
    run(&loaded, "test1_entry");
    assert_eq!(read("test1"), 1);
}

#[test]
fn a_missing_attach_target_is_named() {
    let Some(_live) = live("tracing_variants::a_missing_attach_target_is_named", &[Need::Btf]) else {
        return;
    };
    let bytes = object("fentry");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = core_relo_loader::Loader::new(&object).name("fentry");
    loader.select_programs(["open_entry"]);
    loader.program_mut("open_entry").attach_to =
        Some(core_relo_loader::load_plan::AttachTarget::Kernel("do_sys_openat2_".to_owned()));
    let refused = loader.load().unwrap_err().to_string();
    assert!(refused.contains("do_sys_openat2_") && refused.contains("open_entry"), "{refused}");
}
