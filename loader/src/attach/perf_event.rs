//! Programs on perf events: counters, and the events of probes and tracepoints.

use super::{
    error::{AttachError, Hint},
    link::{Attachment, Link},
    pmu::ProbeMode,
    tracefs::ProbeEvent,
};
use crate::sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget, PerfEventOpen, PerfSample};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// The options of a program on a perf event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct PerfEventOptions {
    /// The value that `bpf_get_attach_cookie` returns. A cookie needs a kernel link (kernels from 5.15).
    pub cookie: u64,
    /// Attaches by `PERF_EVENT_IOC_SET_BPF`, even if the kernel has links.
    pub force_ioctl: bool,
    /// Leaves the event disabled, for the caller to enable.
    pub dont_enable: bool,
}

/// Attaches a program to a perf event (libbpf: `bpf_program__attach_perf_event_opts`). The link takes
/// ownership of the event.
pub(super) fn perf_event(
    prog: BorrowedFd<'_>,
    event: OwnedFd,
    options: &PerfEventOptions,
) -> Result<Link, AttachError> {
    let mode = if options.force_ioctl { ProbeMode::Perf } else { ProbeMode::Auto };
    let enable = !options.dont_enable;
    let (label, cookie) = ("perf_event", options.cookie);
    PerfAttach { prog, event, probe: None, label, cookie, mode, enable, is_tracepoint: false }.attach()
}

/// `PERF_COUNT_HW_CACHE_RESULT_MISS`, in the third byte of a cache event.
const CACHE_MISS: u64 = 1 << 16;

/// A counter for [`open_perf_counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PerfCounter {
    /// `PERF_COUNT_HW_CPU_CYCLES`.
    CpuCycles,
    /// `PERF_COUNT_HW_INSTRUCTIONS`.
    Instructions,
    /// `PERF_COUNT_HW_CACHE_REFERENCES`.
    CacheReferences,
    /// `PERF_COUNT_HW_CACHE_MISSES`.
    CacheMisses,
    /// `PERF_COUNT_HW_BRANCH_INSTRUCTIONS`.
    BranchInstructions,
    /// `PERF_COUNT_HW_BRANCH_MISSES`.
    BranchMisses,
    /// `PERF_COUNT_SW_CPU_CLOCK`: time, on every machine.
    CpuClock,
    /// `PERF_COUNT_SW_TASK_CLOCK`.
    TaskClock,
    /// `PERF_COUNT_SW_PAGE_FAULTS`.
    PageFaults,
    /// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
    ContextSwitches,
    /// `PERF_COUNT_SW_CPU_MIGRATIONS`.
    CpuMigrations,
    /// Reads of the first data cache (`PERF_COUNT_HW_CACHE_L1D`).
    L1dReads,
    /// Reads that miss the last cache (`PERF_COUNT_HW_CACHE_LL`).
    LastCacheReadMisses,
    /// Reads that miss the data TLB (`PERF_COUNT_HW_CACHE_DTLB`).
    DtlbReadMisses,
    /// Reads that miss the instruction TLB (`PERF_COUNT_HW_CACHE_ITLB`).
    ItlbReadMisses,
}

impl PerfCounter {
    const fn type_and_config(self) -> (u32, u64) {
        match self {
            Self::CpuCycles => (sys::PERF_TYPE_HARDWARE, 0),
            Self::Instructions => (sys::PERF_TYPE_HARDWARE, 1),
            Self::CacheReferences => (sys::PERF_TYPE_HARDWARE, 2),
            Self::CacheMisses => (sys::PERF_TYPE_HARDWARE, 3),
            Self::BranchInstructions => (sys::PERF_TYPE_HARDWARE, 4),
            Self::BranchMisses => (sys::PERF_TYPE_HARDWARE, 5),
            Self::CpuClock => (sys::PERF_TYPE_SOFTWARE, 0),
            Self::TaskClock => (sys::PERF_TYPE_SOFTWARE, 1),
            Self::PageFaults => (sys::PERF_TYPE_SOFTWARE, 2),
            Self::ContextSwitches => (sys::PERF_TYPE_SOFTWARE, 3),
            Self::CpuMigrations => (sys::PERF_TYPE_SOFTWARE, 4),
            // The lowest byte is the cache, the second one the operation, which is 0 for reads.
            Self::L1dReads => (sys::PERF_TYPE_HW_CACHE, 0),
            Self::LastCacheReadMisses => (sys::PERF_TYPE_HW_CACHE, CACHE_MISS | 2),
            Self::DtlbReadMisses => (sys::PERF_TYPE_HW_CACHE, CACHE_MISS | 3),
            Self::ItlbReadMisses => (sys::PERF_TYPE_HW_CACHE, CACHE_MISS | 4),
        }
    }
}

/// The options of [`open_perf_counter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct PerfCounterOptions {
    /// The rate at which the attached program runs. [`PerfSample::Never`] only counts.
    pub sample: PerfSample,
    /// The thread or process that is counted; `None` for all on one processor.
    pub pid: Option<u32>,
    /// The processor; `None` for all processors, which needs a `pid`.
    pub cpu: Option<u32>,
    /// Whether the counter pauses while the processor runs processes' own code.
    pub exclude_user: bool,
}

/// Opens a counter for [`ProgramRef::attach_perf_event`](super::ProgramRef::attach_perf_event), or to read
/// it.
pub fn open_perf_counter(counter: PerfCounter, options: &PerfCounterOptions) -> Result<OwnedFd, AttachError> {
    let (kind, config) = counter.type_and_config();
    let PerfCounterOptions { sample, pid, cpu, exclude_user } = *options;
    let event = PerfEventOpen { kind, config, sample, pid, cpu, exclude_user, ..PerfEventOpen::default() };
    sys::perf_event_open(&event).map_err(|errno| {
        let hint = match errno.0 {
            libc::ENOENT | libc::EOPNOTSUPP => {
                Hint("this machine has no such counter; virtual machines often lack hardware counters")
            }
            libc::EINVAL if pid.is_none() && cpu.is_none() => Hint("name a process or a processor"),
            _ => perf_hint(errno),
        };
        AttachError::kernel_with_hint(&format!("perf_event/{counter:?}"), "open the perf event", errno, hint)
    })
}

/// Returns the remedy for a refused perf event.
pub(super) fn perf_hint(errno: Errno) -> Hint {
    match errno.0 {
        libc::EPERM | libc::EACCES => Hint("needs CAP_PERFMON, or a lower kernel.perf_event_paranoid"),
        _ => Hint::for_errno(errno),
    }
}

/// The arguments of an attachment to a perf event.
#[derive(Debug)]
pub(super) struct PerfAttach<'a> {
    pub(super) prog: BorrowedFd<'a>,
    pub(super) event: OwnedFd,
    /// The tracefs probe of the event, which is removed after the event is closed.
    pub(super) probe: Option<ProbeEvent>,
    pub(super) label: &'a str,
    pub(super) cookie: u64,
    pub(super) mode: ProbeMode,
    pub(super) enable: bool,
    /// Whether the event is that of a tracepoint, whose record is the program's context.
    pub(super) is_tracepoint: bool,
}

impl PerfAttach<'_> {
    pub(super) fn attach(self) -> Result<Link, AttachError> {
        const NO_LINK: Hint =
            Hint("a cookie needs a kernel link: a kernel from 5.15, and no older mechanism requested");
        let Self { prog, event, probe, label, cookie, mode, enable, is_tracepoint } = self;
        let attach_error = |errno| attach_error(label, errno, is_tracepoint);
        // tracefs cannot remove a probe while a pinned link holds the probe's event, so such an event gets no
        // link.
        let by_ioctl = mode.uses_ioctl() || probe.is_some();
        // From here on, an error drops this value, which closes the event before it removes the event's
        // probe.
        let mut program = EventProgram { link: None, event, probe };
        if !by_ioctl {
            program.link = kernel_link(prog, program.event.as_fd(), cookie).map_err(attach_error)?;
        }
        if program.link.is_none() && (cookie != 0 || mode.requires_link()) {
            return Err(AttachError::kernel_with_hint(label, "attach", Errno(libc::EOPNOTSUPP), NO_LINK));
        }
        if program.link.is_none() {
            sys::perf_set_bpf(&program.event, prog).map_err(attach_error)?;
        }
        if enable {
            sys::perf_enable(&program.event)
                .map_err(|errno| AttachError::kernel(label, "enable the perf event", errno))?;
        }
        Ok(Link::new(PerfEventAttachment(Some(program)), label))
    }
}

/// Creates a kernel link. `None` if the kernel has no links of perf events.
fn kernel_link(prog: BorrowedFd<'_>, event: BorrowedFd<'_>, cookie: u64) -> Result<Option<OwnedFd>, Errno> {
    let create = LinkCreate {
        prog,
        target: LinkTarget::Fd(event),
        attach_type: AttachType::PerfEvent.number(),
        flags: 0,
        extra: LinkExtra::PerfEvent { cookie },
    };
    match sys::link_create(&create) {
        Ok(link) => Ok(Some(link)),
        // A kernel with such links checks the event's descriptor, and answers `EBADF` to -1 (libbpf:
        // `probe_perf_link`).
        Err(Errno(libc::EINVAL))
            if sys::link_create(&LinkCreate { target: LinkTarget::Interface(u32::MAX), ..create }).err()
                != Some(Errno(libc::EBADF)) =>
        {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

/// Returns the error of a program that the kernel does not put on an open event (kernel:
/// `perf_event_set_bpf_prog`).
fn attach_error(label: &str, errno: Errno, is_tracepoint: bool) -> AttachError {
    let hint = match errno.0 {
        libc::EEXIST => Hint("another program is attached to this event"),
        libc::EPROTO => Hint("the program reads call chains, which the event does not sample"),
        libc::EACCES if is_tracepoint => Hint(
            "the program reads its context beyond the record of the tracepoint: `format` in the tracepoint's directory of tracefs lists the fields",
        ),
        _ => perf_hint(errno),
    };
    AttachError::kernel_with_hint(label, "attach", errno, hint)
}

/// A program on a perf event. A kernel link keeps the event open.
///
/// The order of the fields is the order in which they are dropped: tracefs refuses to remove a probe with an
/// open event (`EBUSY`).
#[derive(Debug)]
struct EventProgram {
    link: Option<OwnedFd>,
    event: OwnedFd,
    probe: Option<ProbeEvent>,
}

/// A program on a perf event; `None` after it is detached.
#[derive(Debug)]
struct PerfEventAttachment(Option<EventProgram>);

impl Attachment for PerfEventAttachment {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref()?.link.as_ref().map(OwnedFd::as_fd)
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let Some(EventProgram { link, event, probe }) = self.0.take() else { return Ok(()) };
        // Other processes may hold the event's descriptor, too.
        let disabled = if link.is_none() { sys::perf_disable(&event) } else { Ok(()) };
        drop((link, event));
        let removed = probe.map_or(Ok(()), |mut probe| probe.remove());
        disabled.and(removed)
    }

    fn leak(mut self: Box<Self>) {
        core::mem::forget(self.0.take());
    }

    fn abandon(mut self: Box<Self>) {
        if let Some(EventProgram { link, event, probe }) = self.0.take() {
            core::mem::forget(probe);
            drop((link, event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, stops},
        *,
    };
    use core::time::Duration;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::time::Instant;

    fn spin_until(counter: &Counter) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            if counter.count() > 0 {
                return true;
            }
        }
        false
    }

    #[test]
    fn a_clock_runs_its_program_until_detached() {
        for force_ioctl in [false, true] {
            let Some(counter) = Counter::new() else { return };
            let Some(prog) = Program::counting(ProgramType::PerfEvent, 0, &counter) else { return };
            let sample = PerfSample::Frequency(1000);
            let event = match open_perf_counter(
                PerfCounter::CpuClock,
                &PerfCounterOptions {
                    sample,
                    pid: Some(std::process::id()),
                    ..PerfCounterOptions::default()
                },
            ) {
                Ok(event) => event,
                Err(e) => return skip!("{e}"),
            };
            // The counter counts one thread, so it needs the id of this thread.
            let tid = std::fs::read_link("/proc/thread-self").unwrap();
            let tid: u32 = tid.file_name().unwrap().to_str().unwrap().parse().unwrap();
            drop(event);
            let event = open_perf_counter(
                PerfCounter::CpuClock,
                &PerfCounterOptions { sample, pid: Some(tid), ..PerfCounterOptions::default() },
            )
            .unwrap();
            let options = PerfEventOptions { force_ioctl, ..PerfEventOptions::default() };
            let link = perf_event(prog.fd(), event, &options).unwrap();
            assert!(!force_ioctl || link.fd().is_none());
            assert!(spin_until(&counter));
            link.detach().unwrap();
            assert!(stops(&counter, || std::thread::sleep(Duration::from_millis(20))));
        }
    }

    /// The kernel compares the context only with the records of tracepoints.
    #[test]
    fn a_refused_probe_is_not_blamed_on_the_record_of_a_tracepoint() {
        let text = |is_tracepoint| attach_error("x", Errno(libc::EACCES), is_tracepoint).to_string();
        assert!(text(true).contains("beyond the record of the tracepoint"));
        assert!(text(false).contains("needs CAP_PERFMON"));
    }

    #[test]
    fn a_missing_counter_is_named() {
        let e = open_perf_counter(PerfCounter::CpuClock, &PerfCounterOptions::default()).unwrap_err();
        assert!(e.to_string().contains("perf_event/CpuClock: cannot open the perf event: "), "{e}");
    }

    #[test]
    fn a_cookie_is_refused_without_a_link() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::PerfEvent, 0, &counter) else { return };
        let opened = open_perf_counter(
            PerfCounter::CpuClock,
            &PerfCounterOptions {
                sample: PerfSample::Frequency(10),
                pid: Some(std::process::id()),
                ..PerfCounterOptions::default()
            },
        );
        let Ok(event) = opened else { return skip!("no software events") };
        let options = PerfEventOptions { cookie: 1, force_ioctl: true, dont_enable: false };
        let e = perf_event(prog.fd(), event, &options).unwrap_err();
        assert!(matches!(e, AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }), "{e}");
    }
}
