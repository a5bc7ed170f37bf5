//! Tracing programs, attached by the names of their sections and triggered by this process.

use super::harness::{Need, live, object};
use core_relo_loader::{
    Global, Loader,
    attach::{
        self, IterOptions, IterReader, IterTarget, Link, PerfSample, ProgramRef, UprobeMultiOptions,
        UprobeSet,
    },
    inventory,
    load::{Loaded, TestRun},
    load_plan::AttachTarget,
    object::Object,
};
use std::{
    fs::File,
    io::Read as _,
    os::{fd::AsFd as _, unix::process::parent_id},
    path::PathBuf,
    sync::Arc,
};

/// A loaded object of `bpf-progs/live/` that counts events of this process.
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

    fn program(&self, name: &str) -> ProgramRef<'_> {
        self.loaded.program_ref(name).unwrap()
    }

    fn attach(&self, program: &str) -> Link {
        self.loaded.attach(program).unwrap_or_else(|e| panic!("{program}: {e}"))
    }

    fn read(&self, global: &str) -> u64 {
        let global = self.globals.iter().find(|listed| listed.name == global).unwrap();
        let section = |map: &&core_relo_loader::load::LoadedMap| map.name().ends_with(&*global.section);
        let map = self.loaded.maps().iter().find(section).unwrap().handle().unwrap();
        let mut value = vec![0; map.shape().value_size()];
        map.shape().lookup(&[0; 4], &mut value, 0).unwrap();
        let value = &value[global.offset..global.offset + global.size];
        match *value {
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(value.try_into().unwrap()),
        }
    }

    /// Attaches a program and checks that it counts `act` in a global.
    fn expect_fires(&self, program: &str, global: &str, act: impl Fn()) {
        self.expect_link_fires(self.attach(program), global, act);
    }

    /// Checks that a program counts `act` in a global while it is attached, and not afterwards.
    fn expect_link_fires(&self, link: Link, global: &str, act: impl Fn()) {
        let before = self.read(global);
        act();
        let fired = self.read(global);
        assert!(fired > before, "{}: {global} is still {fired}", link.label());
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

/// Runs the kernel's functions `bpf_fentry_test*`.
fn run_test_functions(tracer: &Tracer, program: &str) {
    inventory::test_run(tracer.program(program), &mut TestRun::default()).unwrap();
}

#[test]
fn tracepoint_programs_fire() {
    let Some(_live) = live("tracing::tracepoint_programs_fire", &[Need::Tracefs]) else { return };
    let tracer = Tracer::load("tracepoint");
    tracer.expect_fires("getppid", "hits", getppid);
    // The kernel skips a program while another program runs on the same CPU.
    let switch = || (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    tracer.expect_fires("sched_switch", "switches", switch);
}

#[test]
fn a_raw_tracepoint_program_fires() {
    let Some(_live) = live("tracing::a_raw_tracepoint_program_fires", &[]) else { return };
    Tracer::load("raw_tp").expect_fires("enter", "hits", getppid);
}

#[test]
fn a_tp_btf_program_fires() {
    let Some(_live) = live("tracing::a_tp_btf_program_fires", &[Need::Btf]) else { return };
    Tracer::load("tp_btf").expect_fires("enter", "hits", getppid);
}

#[test]
fn fentry_and_fexit_programs_fire() {
    let Some(_live) = live("tracing::fentry_and_fexit_programs_fire", &[Need::Tracing]) else { return };
    let tracer = Tracer::load("fentry");
    tracer.expect_fires("open_entry", "hits", open);
    tracer.expect_fires("open_exit", "exits", open);
    tracer.expect_fires("test1_entry", "test1", || run_test_functions(&tracer, "test1_entry"));
}

#[test]
fn an_lsm_program_fires() {
    let Some(_live) = live("tracing::an_lsm_program_fires", &[Need::Lsm]) else { return };
    let tracer = Tracer::load("lsm");
    tracer.expect_fires("file_open", "hits", open);
}

#[test]
fn kprobe_and_ksyscall_programs_fire() {
    let Some(_live) = live("tracing::kprobe_and_ksyscall_programs_fire", &[Need::Kprobes]) else { return };
    let tracer = Tracer::load("kprobe");
    tracer.expect_fires("entry", "hits", open);
    tracer.expect_fires("back", "returns", open);
    let tracer = Tracer::load("ksyscall");
    tracer.expect_fires("entry", "hits", getppid);
    tracer.expect_fires("back", "returns", getppid);
}

#[test]
fn kprobe_multi_programs_fire() {
    let needs = [Need::KprobeMulti, Need::Tracefs, Need::Tracing, Need::Kernel(6, 2)];
    let Some(_live) = live("tracing::kprobe_multi_programs_fire", &needs) else { return };
    let calls = Tracer::load_with("fentry", |loader| loader.select_programs(["test1_entry"]));
    let tracer = Tracer::load("kprobe_multi");
    tracer.expect_fires("entry", "hits", || run_test_functions(&calls, "test1_entry"));
    tracer.expect_fires("back", "returns", || run_test_functions(&calls, "test1_entry"));
}

#[test]
fn a_kprobe_session_program_fires() {
    let needs = [Need::KprobeMulti, Need::Tracefs, Need::Tracing, Need::Kernel(6, 10)];
    let Some(_live) = live("tracing::a_kprobe_session_program_fires", &needs) else { return };
    let calls = Tracer::load_with("fentry", |loader| loader.select_programs(["test1_entry"]));
    let tracer = Tracer::load("kprobe_session");
    tracer.expect_fires("both", "returns", || run_test_functions(&calls, "test1_entry"));
    assert!(tracer.read("hits") > 0);
}

/// Returns the file that contains `getppid`: libc, or a static executable.
fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mapped = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    mapped
        .find(|path| path.contains("/libc.so"))
        .map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from)
}

#[test]
fn uprobe_and_uretprobe_programs_fire() {
    let Some(_live) = live("tracing::uprobe_and_uretprobe_programs_fire", &[Need::Uprobes]) else { return };
    let tracer = Tracer::load("uprobe");
    for (program, retprobe, global) in [("entry", false, "hits"), ("back", true, "returns")] {
        let options =
            attach::UprobeOptions { function: Some("getppid"), retprobe, ..attach::UprobeOptions::default() };
        let link = tracer.program(program).attach_uprobe(c_library(), &options).unwrap();
        tracer.expect_link_fires(link, global, getppid);
    }
}

#[test]
fn a_uprobe_multi_program_fires() {
    let needs = [Need::Uprobes, Need::Kernel(6, 10)];
    let Some(_live) = live("tracing::a_uprobe_multi_program_fires", &needs) else { return };
    let tracer = Tracer::load("uprobe_multi");
    let options = UprobeMultiOptions { pid: Some(std::process::id()), ..UprobeMultiOptions::default() };
    let functions = UprobeSet::Symbols(&["getppid"]);
    let link = tracer.program("entry").attach_uprobe_multi(c_library(), functions, &options).unwrap();
    tracer.expect_link_fires(link, "hits", getppid);
}

#[test]
fn a_perf_event_program_samples_the_cpu_clock() {
    let Some(_live) = live("tracing::a_perf_event_program_samples_the_cpu_clock", &[]) else { return };
    let tracer = Tracer::load("perf_event");
    let clock = attach::PerfCounter::CpuClock;
    let options = attach::PerfCounterOptions {
        sample: PerfSample::Frequency(1000),
        cpu: Some(0),
        ..Default::default()
    };
    let event = attach::open_perf_counter(clock, &options).unwrap();
    let link =
        tracer.program("sample").attach_perf_event(event, &attach::PerfEventOptions::default()).unwrap();
    let begun = std::time::Instant::now();
    while tracer.read("hits") == 0 {
        assert!(begun.elapsed().as_secs() < 10, "no sample on the first CPU");
    }
    link.detach().unwrap();
}

#[test]
fn iterators_visit_tasks() {
    let Some(_live) = live("tracing::iterators_visit_tasks", &[Need::Btf]) else { return };
    let tracer = Tracer::load("iter_task");
    let link = tracer.attach("dump");
    let mut tasks = Vec::new();
    IterReader::new(&link).unwrap().read_to_end(&mut tasks).unwrap();
    let pids: Vec<u32> =
        tasks.chunks_exact(4).map(|pid| u32::from_ne_bytes(pid.try_into().unwrap())).collect();
    assert!(pids.contains(&std::process::id()), "{pids:?}");
    assert_eq!(u64::try_from(tasks.len()).unwrap(), tracer.read("hits") * 8);
}

#[test]
fn iterators_visit_map_elements() {
    let needs = [Need::Btf, Need::MapIterators];
    let Some(_live) = live("tracing::iterators_visit_map_elements", &needs) else { return };
    let tracer = Tracer::load("iter_map_elem");
    let map = tracer.loaded.map("counted").unwrap().handle().unwrap();
    for key in 1..=4u32 {
        let value = u64::from(key) * 10;
        map.shape().update(&key.to_ne_bytes(), &value.to_ne_bytes(), 0).unwrap();
    }
    let target = IterTarget::Map(map.as_fd());
    let link = tracer.program("add").attach_iter(&IterOptions { target }).unwrap();
    let read = IterReader::new(&link).unwrap().read(&mut [0; 16]).unwrap();
    assert_eq!((read, tracer.read("sum"), tracer.read("hits")), (0, 100, 4));
}

#[test]
fn freplace_replaces_a_function() {
    let Some(_live) = live("tracing::freplace_replaces_a_function", &[Need::Tracing]) else { return };
    let target = Tracer::load("freplace_target");
    let whole = target.program("whole").fd.try_clone_to_owned().unwrap();
    let run = || {
        let mut run = TestRun { data_in: &[0; 64], ..TestRun::default() };
        inventory::test_run(target.program("whole"), &mut run).unwrap().retval
    };
    assert_eq!(run(), 1);
    let replacing = Tracer::load_with("freplace", |loader| {
        let function = "replaced".to_owned();
        loader.program_mut("instead").attach_to =
            Some(AttachTarget::Program { program: Arc::new(whole).into(), function });
    });
    let link = replacing.attach("instead");
    assert_eq!((run(), replacing.read("hits")), (42, 1));
    link.detach().unwrap();
    assert_eq!(run(), 1);
}
