//! Tracing programs: loaded from their objects, attached by their sections' names, fired and seen to fire in this process.

use super::harness::{Need, live, object};
use core_relo_loader::{
    Global, Loader,
    attach::{self, Attachable, IterOptions, IterReader, IterTarget, Link, UprobeMultiOptions, UprobeSet},
    load::Loaded,
    load_plan::AttachTarget,
    object::{AttachType, Object},
    sys::{self, PerfSample, TestRun},
};
use std::{
    fs::File,
    io::Read as _,
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::process::parent_id,
    },
    path::PathBuf,
    sync::Arc,
};

/// A loaded object of `bpf-progs/live/`, which counts what this process does.
struct Tracer {
    loaded: Loaded,
    globals: Vec<Global>,
}

impl Tracer {
    fn load(name: &str) -> Self {
        Self::load_with(name, |_| {})
    }

    fn load_with(name: &str, set: impl FnOnce(&mut Loader<'_, '_>)) -> Self {
        let bytes = object(name);
        let object = Object::parse(&bytes).unwrap();
        let mut loader = Loader::new(&object).name(name);
        loader.set_global("only_pid", &std::process::id()).unwrap();
        set(&mut loader);
        let globals = loader.globals();
        Self { loaded: loader.load().unwrap_or_else(|e| panic!("{name}: {e}")), globals }
    }

    fn fd(&self, program: &str) -> BorrowedFd<'_> {
        self.loaded.program(program).unwrap().as_fd()
    }

    fn attach(&self, program: &str) -> Link {
        let loaded = self.loaded.program(program).unwrap();
        let attachable = Attachable {
            fd: loaded.as_fd(),
            name: loaded.name(),
            section: &loaded.plan.section,
            program_type: loaded.plan.program_type,
            attach_type: AttachType::from_number(loaded.plan.attach_type),
            usdt: None,
        };
        attach::auto(&attachable).unwrap_or_else(|e| panic!("{program}: {e}"))
    }

    fn read(&self, global: &str) -> u64 {
        let global = self.globals.iter().find(|one| one.name == global).unwrap();
        let section = |map: &&core_relo_loader::load::LoadedMap| map.name().ends_with(&*global.section);
        let map = self.loaded.maps().iter().find(section).unwrap().handle().unwrap();
        let mut value = vec![0; map.shape().value_size()];
        sys::map_lookup(map.shape(), &[0; 4], &mut value, 0).unwrap();
        let value = &value[global.offset..global.offset + global.size];
        match *value {
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(value.try_into().unwrap()),
        }
    }

    /// Whether the program counts what is done in a global while it is attached, and not afterwards.
    fn fires(&self, program: &str, global: &str, act: impl Fn()) {
        self.fires_on(self.attach(program), global, act);
    }

    fn fires_on(&self, link: Link, global: &str, act: impl Fn()) {
        let before = self.read(global);
        act();
        let fired = self.read(global);
        assert!(fired > before, "{}: {global} is still {fired}", link.what());
        link.detach().unwrap();
        let after = self.read(global);
        act();
        assert_eq!(self.read(global), after);
    }
}

fn getppid() {
    let _parent = parent_id();
}

fn open() {
    let _file = File::open("/proc/self/status").unwrap();
}

/// Runs the kernel's functions for tests.
fn test_functions(tracer: &Tracer, program: &str) {
    sys::prog_test_run(tracer.fd(program), &mut TestRun::default()).unwrap();
}

#[test]
fn tracepoints() {
    let Some(_live) = live("tracing::tracepoints", &[Need::Tracefs]) else { return };
    let tracer = Tracer::load("tracepoint");
    tracer.fires("getppid", "hits", getppid);
    // A program is passed over while another one runs on its processor.
    let switch = || (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    tracer.fires("sched_switch", "switches", switch);
}

#[test]
fn raw_tracepoints() {
    let Some(_live) = live("tracing::raw_tracepoints", &[]) else { return };
    Tracer::load("raw_tp").fires("enter", "hits", getppid);
}

#[test]
fn tracepoints_with_types() {
    let Some(_live) = live("tracing::tracepoints_with_types", &[Need::Btf]) else { return };
    Tracer::load("tp_btf").fires("enter", "hits", getppid);
}

#[test]
fn entries_and_exits_of_functions() {
    let Some(_live) = live("tracing::entries_and_exits_of_functions", &[Need::Tracing]) else { return };
    let tracer = Tracer::load("fentry");
    tracer.fires("open_entry", "hits", open);
    tracer.fires("open_exit", "exits", open);
    tracer.fires("test1_entry", "test1", || test_functions(&tracer, "test1_entry"));
}

#[test]
fn security_hooks() {
    let Some(_live) = live("tracing::security_hooks", &[Need::Lsm]) else { return };
    let tracer = Tracer::load("lsm");
    tracer.fires("file_open", "hits", open);
}

#[test]
fn probes_in_the_kernel() {
    let Some(_live) = live("tracing::probes_in_the_kernel", &[Need::Kprobes]) else { return };
    let tracer = Tracer::load("kprobe");
    tracer.fires("entry", "hits", open);
    tracer.fires("back", "returns", open);
    let tracer = Tracer::load("ksyscall");
    tracer.fires("entry", "hits", getppid);
    tracer.fires("back", "returns", getppid);
}

#[test]
fn many_probes_in_the_kernel() {
    let needs = [Need::Kprobes, Need::Tracefs, Need::Tracing, Need::Kernel(6, 2)];
    let Some(_live) = live("tracing::many_probes_in_the_kernel", &needs) else { return };
    let calls = Tracer::load_with("fentry", |loader| loader.select_programs(["test1_entry"]));
    let tracer = Tracer::load("kprobe_multi");
    tracer.fires("entry", "hits", || test_functions(&calls, "test1_entry"));
    tracer.fires("back", "returns", || test_functions(&calls, "test1_entry"));
}

#[test]
fn sessions_of_probes_in_the_kernel() {
    let needs = [Need::Kprobes, Need::Tracefs, Need::Tracing, Need::Kernel(6, 10)];
    let Some(_live) = live("tracing::sessions_of_probes_in_the_kernel", &needs) else { return };
    let calls = Tracer::load_with("fentry", |loader| loader.select_programs(["test1_entry"]));
    let tracer = Tracer::load("kprobe_session");
    tracer.fires("both", "returns", || test_functions(&calls, "test1_entry"));
    assert!(tracer.read("hits") > 0);
}

/// The file that this process's `getppid` is in.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mapped = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    mapped
        .find(|path| path.contains("/libc.so"))
        .map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from)
}

#[test]
fn probes_in_programs() {
    let Some(_live) = live("tracing::probes_in_programs", &[Need::Uprobes]) else { return };
    let tracer = Tracer::load("uprobe");
    for (program, retprobe, global) in [("entry", false, "hits"), ("back", true, "returns")] {
        let options =
            attach::UprobeOptions { function: Some("getppid"), retprobe, ..attach::UprobeOptions::default() };
        let link = attach::uprobe(tracer.fd(program), c_library(), &options).unwrap();
        tracer.fires_on(link, global, getppid);
    }
}

#[test]
fn many_probes_in_programs() {
    let needs = [Need::Uprobes, Need::Kernel(6, 10)];
    let Some(_live) = live("tracing::many_probes_in_programs", &needs) else { return };
    let tracer = Tracer::load("uprobe_multi");
    let options = UprobeMultiOptions { pid: Some(std::process::id()), ..UprobeMultiOptions::default() };
    let place = UprobeSet::Symbols(&["getppid"]);
    let link = attach::uprobe_multi(tracer.fd("entry"), c_library(), place, &options).unwrap();
    tracer.fires_on(link, "hits", getppid);
}

#[test]
fn samples_of_a_clock() {
    let Some(_live) = live("tracing::samples_of_a_clock", &[]) else { return };
    let tracer = Tracer::load("perf_event");
    let clock = attach::PerfCounter::CpuClock;
    let event = attach::open_perf_counter(clock, PerfSample::Frequency(1000), None, Some(0)).unwrap();
    let link = attach::perf_event(tracer.fd("sample"), event, &attach::PerfEventOptions::default()).unwrap();
    let begun = std::time::Instant::now();
    while tracer.read("hits") == 0 {
        assert!(begun.elapsed().as_secs() < 10, "the first processor never ticks");
    }
    link.detach().unwrap();
}

#[test]
fn iterators() {
    let Some(_live) = live("tracing::iterators", &[Need::Btf]) else { return };
    let tracer = Tracer::load("iter_task");
    let link = tracer.attach("dump");
    let mut tasks = Vec::new();
    IterReader::new(&link).unwrap().read_to_end(&mut tasks).unwrap();
    let numbers: Vec<u32> =
        tasks.chunks_exact(4).map(|number| u32::from_ne_bytes(number.try_into().unwrap())).collect();
    assert!(numbers.contains(&std::process::id()), "{numbers:?}");
    assert_eq!(u64::try_from(tasks.len()).unwrap(), tracer.read("hits") * 8);
    let tracer = Tracer::load("iter_map_elem");
    let map = tracer.loaded.map("counted").unwrap().handle().unwrap();
    for key in 1..=4u32 {
        let value = u64::from(key) * 10;
        sys::map_update(map.shape(), &key.to_ne_bytes(), &value.to_ne_bytes(), 0).unwrap();
    }
    let target = IterTarget::Map(map.as_fd());
    let link = attach::iter(tracer.fd("add"), &IterOptions { target }).unwrap();
    let read = IterReader::new(&link).unwrap().read(&mut [0; 16]).unwrap();
    assert_eq!((read, tracer.read("sum"), tracer.read("hits")), (0, 100, 4));
}

#[test]
fn functions_of_programs_are_replaced() {
    let Some(_live) = live("tracing::functions_of_programs_are_replaced", &[Need::Tracing]) else { return };
    let target = Tracer::load("freplace_target");
    let whole = target.fd("whole").try_clone_to_owned().unwrap();
    let run = || {
        let mut run = TestRun { data_in: &[0; 64], ..TestRun::default() };
        sys::prog_test_run(target.fd("whole"), &mut run).unwrap().retval
    };
    assert_eq!(run(), 1);
    let replacing = Tracer::load_with("freplace", |loader| {
        let function = "replaced".to_owned();
        loader.program("instead").attach_to =
            Some(AttachTarget::Program { program: Arc::new(whole), function });
    });
    let link = replacing.attach("instead");
    assert_eq!((run(), replacing.read("hits")), (42, 1));
    link.detach().unwrap();
    assert_eq!(run(), 1);
}
