//! Tracing beside what `tracing` has: probes of other kinds and ways, and where the section's name says all.

use super::harness::{Need, Veth, hits, live, load, load_with, object, run};
use core_relo_loader::{
    attach::{self, IterReader, Link, ProbeMode, UprobeMultiOptions, UprobeOptions, UprobeSet},
    load::Loaded,
    object::Object,
    sys::{self, PerfSample},
};
use std::{
    fs::File,
    io::Read as _,
    os::{fd::AsFd as _, unix::process::parent_id},
    path::PathBuf,
};

fn fires(loaded: &Loaded, link: Link, act: impl Fn()) {
    let before = hits(loaded);
    act();
    assert!(hits(loaded) > before, "{}: does not fire", link.what());
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

/// The file that this process's `getppid` is in.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mapped = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let found = mapped.find(|path| path.contains("/libc.so"));
    found.map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from)
}

#[test]
fn results_are_replaced() {
    let needs = [Need::Tracing, Need::Function("register_btf_fmodret_id_set")];
    let Some(_live) = live("traced::results_are_replaced", &needs) else { return };
    let loaded = load("fmod_ret");
    let link = loaded.attach("modify").unwrap();
    // A test run calls bpf_modify_return_test, and gives its result in the upper half, what it did to `*b` in the lower.
    let upper = |loaded: &Loaded| {
        let mut how = sys::TestRun::default();
        sys::prog_test_run(loaded.program("modify").unwrap(), &mut how).unwrap().retval >> 16
    };
    let as_is = upper(&loaded);
    assert!(hits(&loaded) > 0 && as_is != 0);
    loaded.set_global("result", &-7i32).unwrap();
    assert_ne!(upper(&loaded), as_is);
    link.detach().unwrap();
    assert_eq!(upper(&loaded), as_is);
}

#[test]
fn a_program_that_sleeps() {
    let test = "traced::a_program_that_sleeps";
    let Some(_live) = live(test, &[Need::Tracing, Need::Function("__x64_sys_openat")]) else { return };
    let bytes = object("fentry_sleep");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = core_relo_loader::Loader::new(&object).name("fentry_sleep");
    loader.set_global("only_pid", &std::process::id()).unwrap();
    let loaded = match loader.load() {
        // The kernel took it for one that sleeps, and lets none in there.
        Err(why) if why.verifier_log().is_some_and(|log| log.contains("is not sleepable")) => {
            return core_relo_tests::skip::skip(
                test,
                "system calls are no place for programs that sleep here",
            );
        }
        loaded => loaded.unwrap_or_else(|e| panic!("{e}")),
    };
    fires(&loaded, loaded.attach("open_entry").unwrap(), open);
}

#[test]
fn functions_of_modules() {
    let test = "traced::functions_of_modules";
    let Some(_live) = live(test, &[Need::Tracing, Need::Veth]) else { return };
    if !std::path::Path::new("/sys/kernel/btf/veth").exists() {
        return core_relo_tests::skip::skip(
            test,
            "this kernel has veth built in, or tells no types of modules",
        );
    }
    for name in ["veth:veth_open", "veth_open"] {
        let loaded = load_with("fentry", |loader| {
            loader.select_programs(["open_entry"]);
            loader.program("open_entry").attach_to =
                Some(core_relo_loader::load_plan::AttachTarget::Kernel(name.to_owned()));
        });
        let links = loaded.attach_all().unwrap();
        drop(Veth::new());
        assert!(links.len() == 1 && hits(&loaded) == 2, "{name}: {} hits", hits(&loaded));
    }
}

#[test]
fn a_security_hook_that_sleeps() {
    let Some(_live) = live("traced::a_security_hook_that_sleeps", &[Need::Lsm, Need::Kernel(5, 11)]) else {
        return;
    };
    let loaded = load("lsm_sleep");
    fires(&loaded, loaded.attach("file_open").unwrap(), open);
}

#[test]
fn a_security_hook_that_refuses() {
    let Some(_live) = live("traced::a_security_hook_that_refuses", &[Need::Lsm]) else { return };
    let loaded = load("lsm");
    let links = loaded.attach_all().unwrap();
    loaded.set_global("deny", &1u32).unwrap();
    let refused = File::open("/proc/self/status").map(drop);
    loaded.set_global("deny", &0u32).unwrap();
    assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(links.len(), 1);
}

#[test]
fn probes_in_programs_in_every_way() {
    let Some(_live) = live("traced::probes_in_programs_in_every_way", &[Need::Uprobes, Need::Tracefs]) else {
        return;
    };
    let loaded = load("uprobe");
    for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Auto] {
        let options = UprobeOptions { function: Some("getppid"), mode, ..UprobeOptions::default() };
        let link = attach::uprobe(loaded.program("entry").unwrap().as_fd(), c_library(), &options).unwrap();
        fires(&loaded, link, getppid);
    }
}

#[test]
fn cookies_of_probes() {
    let test = "traced::cookies_of_probes";
    let Some(_live) = live(test, &[Need::Uprobes, Need::Enumerator("BPF_FUNC_get_attach_cookie")]) else {
        return;
    };
    let loaded = load("uprobe");
    let options = UprobeOptions { function: Some("getppid"), cookie: 0xc00c1e, ..UprobeOptions::default() };
    let link = attach::uprobe(loaded.program("entry").unwrap().as_fd(), c_library(), &options).unwrap();
    getppid();
    assert_eq!(loaded.global::<u64>("cookie").unwrap(), 0xc00c1e);
    link.detach().unwrap();
}

#[test]
fn returns_from_many_functions() {
    let needs = [Need::Uprobes, Need::Enumerator("BPF_TRACE_UPROBE_MULTI")];
    let Some(_live) = live("traced::returns_from_many_functions", &needs) else { return };
    let loaded = load("uprobe_multi");
    let kind = attach::MultiKind::Return;
    let options = UprobeMultiOptions { pid: Some(std::process::id()), kind, ..UprobeMultiOptions::default() };
    let place = UprobeSet::Symbols(&["getppid", "getpid"]);
    let program = loaded.program("back").unwrap().as_fd();
    let link = attach::uprobe_multi(program, c_library(), place, &options).unwrap();
    getppid();
    let returns = || loaded.global::<u64>("returns").unwrap();
    let seen = returns();
    assert!(seen > 0);
    link.detach().unwrap();
    getppid();
    assert_eq!(returns(), seen);
}

#[test]
fn probes_in_the_kernel_in_every_way() {
    let Some(_live) = live("traced::probes_in_the_kernel_in_every_way", &[Need::Kprobes, Need::Tracefs])
    else {
        return;
    };
    let loaded = load("kprobe");
    for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Auto] {
        let options = attach::KprobeOptions { mode, ..attach::KprobeOptions::default() };
        let program = loaded.program("entry").unwrap().as_fd();
        fires(&loaded, attach::kprobe(program, "do_sys_openat2", &options).unwrap(), open);
    }
}

#[test]
fn all_maps_are_listed() {
    let Some(_live) = live("traced::all_maps_are_listed", &[Need::Btf]) else { return };
    let loaded = load("iter_map");
    let link = loaded.attach("dump").unwrap();
    let mut bytes = Vec::new();
    IterReader::new(&link).unwrap().read_to_end(&mut bytes).unwrap();
    let ids: Vec<u32> = bytes.chunks_exact(4).map(|id| u32::from_ne_bytes(id.try_into().unwrap())).collect();
    let own = sys::map_info(&loaded.map(".bss").unwrap().handle().unwrap()).unwrap().id;
    assert!(ids.contains(&own), "{own} in {ids:?}");
    assert_eq!(u64::try_from(ids.len()).unwrap(), hits(&loaded));
}

#[test]
fn samples_of_the_processor() {
    let test = "traced::samples_of_the_processor";
    let Some(_live) = live(test, &[]) else { return };
    let cycles = attach::PerfCounter::CpuCycles;
    let sample = PerfSample::Frequency(1000);
    let event = match attach::open_perf_counter(cycles, sample, None, Some(0)) {
        Ok(event) => event,
        Err(why) => return core_relo_tests::skip::skip(test, &why.to_string()),
    };
    let loaded = load("perf_event");
    let program = loaded.program("sample").unwrap().as_fd();
    let link = attach::perf_event(program, event, &attach::PerfEventOptions::default()).unwrap();
    let begun = std::time::Instant::now();
    while hits(&loaded) == 0 {
        assert!(begun.elapsed().as_secs() < 10, "the first processor never ticks");
    }
    link.detach().unwrap();
}

#[test]
fn probes_that_authors_put_in() {
    let needs = [Need::Uprobes];
    let Some(_live) = live("traced::probes_that_authors_put_in", &needs) else { return };
    let loaded = load("usdt");
    let manager = loaded.usdt().unwrap().expect("the object has the maps of usdt.bpf.h");
    let program = loaded.program("hit").unwrap().as_fd();
    let has_cookies = Need::Enumerator("BPF_FUNC_get_attach_cookie").is_met().is_ok();
    // Without, places are told from each other by their addresses, which are a process's own.
    let pid = (!has_cookies).then(std::process::id);
    let options = attach::UsdtOptions { cookie: 77, pid };
    let own = std::env::current_exe().unwrap();
    let link = attach::usdt(program, manager, &own, "core_relo", "live", &options).unwrap();
    fires(&loaded, link, || usdt_probe(5));
    if has_cookies {
        assert_eq!(
            (loaded.global::<u64>("cookie").unwrap(), loaded.global::<i32>("arguments").unwrap()),
            (77, 1)
        );
    }
    let missing = attach::usdt(program, manager, &own, "core_relo", "no_such_probe", &options).unwrap_err();
    assert!(missing.to_string().contains("no_such_probe"), "{missing}");
}

/// A probe as `sys/sdt.h` makes it: a nop, and a note that says where it is and where its argument.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn usdt_probe(argument: u64) {
    // SAFETY: a nop does nothing; what else is written goes to a section of notes.
    unsafe {
        core::arch::asm!(
            "990: nop",
            ".pushsection .note.stapsdt, \"\", \"note\"",
            ".balign 4",
            ".4byte 992f-991f, 994f-993f, 3",
            "991: .asciz \"stapsdt\"",
            "992: .balign 4",
            "993: .8byte 990b",
            ".8byte _.stapsdt.base",
            ".8byte 0",
            ".asciz \"core_relo\"",
            ".asciz \"live\"",
            ".asciz \"8@%rdi\"",
            "994: .balign 4",
            ".popsection",
            ".ifndef _.stapsdt.base",
            ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat",
            ".weak _.stapsdt.base",
            ".hidden _.stapsdt.base",
            "_.stapsdt.base: .space 1",
            ".size _.stapsdt.base, 1",
            ".popsection",
            ".endif",
            in("rdi") argument,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn usdt_probe(_argument: u64) {}

#[test]
fn tracing_programs_are_run_from_one_object() {
    let Some(_live) = live("traced::tracing_programs_are_run_from_one_object", &[Need::Tracing]) else {
        return;
    };
    let loaded = load_with("fentry", |_| {});
    let links = loaded.attach_all().unwrap();
    assert_eq!(links.len(), 3);
    open();
    let read = |name| loaded.global::<u64>(name).unwrap();
    assert!(read("hits") > 0 && read("exits") > 0);
    // The last result is a descriptor's number, or another thread's error.
    run(&loaded, "test1_entry");
    assert_eq!(read("test1"), 1);
}

#[test]
fn what_is_not_there_to_be_traced_is_said() {
    let Some(_live) = live("traced::what_is_not_there_to_be_traced_is_said", &[Need::Btf]) else { return };
    let bytes = object("fentry");
    let object = Object::parse(&bytes).unwrap();
    let mut loader = core_relo_loader::Loader::new(&object).name("fentry");
    loader.select_programs(["open_entry"]);
    loader.program("open_entry").attach_to =
        Some(core_relo_loader::load_plan::AttachTarget::Kernel("do_sys_openat2_".to_owned()));
    let refused = loader.load().unwrap_err().to_string();
    assert!(refused.contains("do_sys_openat2_") && refused.contains("open_entry"), "{refused}");
}
