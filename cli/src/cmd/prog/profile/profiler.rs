//! The programs of `cli/bpf/profile.bpf.c`, attached to another program.

use crate::{
    args::prog_profile::Metric,
    error::BadInput,
    kernel_objects::error::{object_name, unreadable_info},
};
use core_relo::Endian;
use core_relo_loader::{
    Loader,
    attach::Link,
    inventory::{ObjectKind, ProgramInfo, full_program_name, main_function},
    load::{LoadError, Loaded},
    load_plan::{AttachTarget, KernelHandle, LoadPlanError},
    maps::{self, MapError, PerCpuArray, PerfEventArray},
    object::Object,
};
use std::{fmt, os::fd::OwnedFd, sync::Arc};

/// The object with the programs.
const OBJECT: &[u8] = match Endian::native() {
    Endian::Little => include_bytes!("../../../../bpf/prebuilt/el/profile.bpf.o"),
    Endian::Big => include_bytes!("../../../../bpf/prebuilt/eb/profile.bpf.o"),
};

/// The programs, in the order in which they are detached.
const PROGRAMS: [&str; 2] = ["on_entry", "on_exit"];

/// The totals of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) counter: u64,
    /// The time during which the counter was wanted, in nanoseconds.
    pub(super) enabled: u64,
    /// The time during which it counted.
    pub(super) running: u64,
}

/// The result of a measurement.
pub(super) struct Profile {
    pub(super) run_count: u64,
    /// The runs whose counters could not be read.
    pub(super) unreadable_count: u64,
    /// The total of each metric.
    pub(super) totals: Vec<Total>,
}

/// The attached programs, and the counters that they read.
pub(super) struct Profiler {
    pub(super) program_name: String,
    metric_count: usize,
    links: Vec<Link>,
    loaded: Loaded,
    /// The kernel takes the counters out of the map when this descriptor closes.
    _counters: PerfEventArray,
}

impl Profiler {
    /// Opens the counters, and loads and attaches the programs. After an error, nothing stays in the kernel.
    pub(super) fn attach(id: u32, program: OwnedFd, metrics: &[Metric]) -> Result<Self, BadInput> {
        let info = ProgramInfo::query(&program).map_err(|e| unreadable_info(ObjectKind::Program, id, e))?;
        let program_name = full_program_name(&program, &info);
        let bad = |what: String| BadInput::new(object_name(ObjectKind::Program, id, &program_name), what);
        let function = main_function(&program, &info).ok_or_else(|| {
            bad("it cannot be profiled: it was loaded without BTF".to_owned())
                .help("`core-relo prog stats` measures every program")
        })?;
        let cpus = maps::possible_cpu_numbers()
            .map_err(|e| bad(format!("it cannot be profiled: the processors are not known: {e}")))?;
        let cannot = |e: &dyn fmt::Display| bad(format!("it cannot be profiled: {e}"));
        let counters: Vec<_> =
            metrics.iter().map(|metric| metric.open_counters(cpus)).collect::<Result<_, _>>()?;
        let cpu_count = cpus.last().and_then(|last| last.checked_add(1));
        let event_count = cpu_count.and_then(|count| count.checked_mul(metrics.iter().map(|_| 1).sum()));
        let (Some(cpu_count), Some(event_count)) = (cpu_count, event_count) else {
            return Err(cannot(&format_args!(
                "the numbers of the processors: {cpus:?}, expected small numbers"
            )));
        };
        let loaded = load(program, &function, event_count, cpu_count).map_err(|e| cannot(&e))?;
        let array = loaded.perf_event_array("events").map_err(|e| cannot(&e))?;
        for (first, counters) in (0u32..).map(|metric| metric * cpu_count).zip(&counters) {
            for (cpu, counter) in counters {
                array.set(&(first + cpu), counter).map_err(|e| cannot(&e))?;
            }
        }
        let attach = |name| loaded.attach(name).map_err(|e| cannot(&e));
        let links = PROGRAMS.into_iter().map(attach).collect::<Result<_, _>>()?;
        Ok(Self { program_name, metric_count: metrics.len(), links, loaded, _counters: array })
    }

    /// Detaches the programs, and reads the totals.
    pub(super) fn finish(self) -> Result<Profile, BadInput> {
        let Self { program_name, metric_count, links, loaded, _counters } = self;
        let bad = |what: String| BadInput::new(&*program_name, what);
        for link in links {
            link.detach().map_err(|e| bad(format!("cannot end the measurement: {e}")))?;
        }
        let map_error = |e: MapError| bad(format!("cannot read the totals: {e}"));
        let totals: PerCpuArray<[u64; 3]> = loaded.per_cpu_array("totals").map_err(map_error)?;
        let counts: PerCpuArray<u64> = loaded.per_cpu_array("run_counts").map_err(map_error)?;
        let overflow = || bad("the sum over the processors: too large, expected 64 bits".to_owned());
        let counts = counts.values().map_err(map_error)?;
        let counts: Vec<_> = counts.into_iter().map(sum).collect::<Option<_>>().ok_or_else(overflow)?;
        let [run_count, unreadable_count] = *counts else {
            return Err(bad(format!("the map of runs: {} entries, expected 2", counts.len())));
        };
        let totals = totals.values().map_err(map_error)?.into_iter().take(metric_count);
        let total = |of_cpus: Vec<[u64; 3]>| {
            of_cpus.into_iter().try_fold(Total::default(), |all, [counter, enabled, running]| {
                Some(Total {
                    counter: all.counter.checked_add(counter)?,
                    enabled: all.enabled.checked_add(enabled)?,
                    running: all.running.checked_add(running)?,
                })
            })
        };
        let totals: Vec<_> = totals.map(total).collect::<Option<_>>().ok_or_else(overflow)?;
        Ok(Profile { run_count, unreadable_count, totals })
    }
}

/// Loads the programs for a function of a program.
fn load(program: OwnedFd, function: &str, event_count: u32, cpu_count: u32) -> Result<Loaded, String> {
    let object = Object::parse(OBJECT).map_err(|e| e.to_string())?;
    let mut loader = Loader::new(&object).name("profile");
    loader.map_mut("events").max_entries = Some(event_count);
    let plan_error = |e: LoadPlanError| e.to_string();
    loader.set_global("cpu_count", &cpu_count).map_err(plan_error)?;
    loader.set_global("metric_count", &(event_count / cpu_count)).map_err(plan_error)?;
    let program = KernelHandle::from(Arc::new(program));
    for name in PROGRAMS {
        let function = function.to_owned();
        loader.program_mut(name).attach_to =
            Some(AttachTarget::Program { program: program.clone(), function });
    }
    loader.load().map_err(|e| load_error(&e))
}

/// Returns the text of a refusal in one line: its first line and, for a refused program, the verifier's last
/// words.
fn load_error(e: &LoadError) -> String {
    let text = e.without_object();
    let first = text.lines().next().unwrap_or("");
    let is_statistic = |line: &str| line.starts_with("processed ") || line.is_empty();
    let last = e.verifier_log().and_then(|log| log.lines().rfind(|line| !is_statistic(line)));
    match last.filter(|last| !first.contains(last)) {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    }
}

/// Returns the sum over the processors, or `None` if it is too large.
fn sum(of_cpus: Vec<u64>) -> Option<u64> {
    of_cpus.into_iter().try_fold(0u64, u64::checked_add)
}
