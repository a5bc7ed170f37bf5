//! Programs on perf events: counters, and what probes and tracepoints are opened as.

use super::{
    error::{AttachError, Hint},
    link::{Attachment, Link},
    pmu::ProbeMode,
    tracefs::ProbeEvent,
};
use crate::{
    object::AttachType,
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget, PerfEventOpen, PerfSample},
};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// How a program is put on a perf event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct PerfEventOptions {
    /// What `bpf_get_attach_cookie` gives. Needs a link of the kernel's, which is 5.15 or newer.
    pub cookie: u64,
    /// By `PERF_EVENT_IOC_SET_BPF`, though the kernel may have links.
    pub force_ioctl: bool,
    /// Leaves it to the caller to enable the event.
    pub dont_enable: bool,
}

/// Puts a program on a perf event (libbpf: `bpf_program__attach_perf_event_opts`). The event belongs to the link from now on.
pub fn perf_event(
    prog: BorrowedFd<'_>,
    event: OwnedFd,
    options: &PerfEventOptions,
) -> Result<Link, AttachError> {
    let mode = if options.force_ioctl { ProbeMode::Perf } else { ProbeMode::Auto };
    let enable = !options.dont_enable;
    Put { prog, event, probe: None, what: "perf_event", cookie: options.cookie, mode, enable }.attach()
}

/// What is counted, for [`open_perf_counter`].
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
}

impl PerfCounter {
    const fn kind_and_config(self) -> (u32, u64) {
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
        }
    }
}

/// Opens a counter, of a process or (without `pid`) of a processor, for [`perf_event()`]. Other events than these counters are
/// opened by [`sys::perf_event_open`].
pub fn open_perf_counter(
    counter: PerfCounter,
    sample: PerfSample,
    pid: Option<u32>,
    cpu: Option<u32>,
) -> Result<OwnedFd, AttachError> {
    let (kind, config) = counter.kind_and_config();
    let event = PerfEventOpen { kind, config, sample, pid, cpu, ..PerfEventOpen::default() };
    sys::perf_event_open(&event).map_err(|errno| {
        let hint = match errno.0 {
            libc::ENOENT | libc::EOPNOTSUPP => {
                Hint("this machine has no such counter; virtual machines often have none of hardware")
            }
            libc::EINVAL if pid.is_none() && cpu.is_none() => Hint("name a process or a processor"),
            _ => denied(errno),
        };
        AttachError::hinted(&format!("perf_event/{counter:?}"), "open the perf event", errno, hint)
    })
}

/// What helps if perf events are refused.
pub(super) fn denied(errno: Errno) -> Hint {
    match errno.0 {
        libc::EPERM | libc::EACCES => Hint("needs CAP_PERFMON, or a lower kernel.perf_event_paranoid"),
        _ => Hint::of(errno),
    }
}

/// A program to be put on an event.
#[derive(Debug)]
pub(super) struct Put<'a> {
    pub(super) prog: BorrowedFd<'a>,
    pub(super) event: OwnedFd,
    /// What has to be removed afterwards.
    pub(super) probe: Option<ProbeEvent>,
    pub(super) what: &'a str,
    pub(super) cookie: u64,
    pub(super) mode: ProbeMode,
    pub(super) enable: bool,
}

impl Put<'_> {
    pub(super) fn attach(self) -> Result<Link, AttachError> {
        const NO_LINK: Hint =
            Hint("this needs a link of the kernel's: 5.15 or newer, and no older way asked for");
        let Self { prog, event, probe, what, cookie, mode, enable } = self;
        // A probe of tracefs cannot be removed while a pinned link holds its event: it gets none.
        let by_ioctl = mode.forces_ioctl() || probe.is_some();
        // From here on: if this fails, the event is closed before the probe that it is of is removed.
        let mut on = OnEvent { link: None, event, probe };
        if !by_ioctl {
            on.link = kernel_link(prog, on.event.as_fd(), what, cookie)?;
        }
        if on.link.is_none() && (cookie != 0 || mode.demands_link()) {
            return Err(AttachError::hinted(what, "attach", Errno(libc::EOPNOTSUPP), NO_LINK));
        }
        if on.link.is_none() {
            sys::perf_set_bpf(&on.event, prog).map_err(|errno| {
                let hint = match errno.0 {
                    libc::EEXIST => Hint("another program is on this event"),
                    libc::EPROTO => Hint("the program reads call chains, which the event does not sample"),
                    _ => denied(errno),
                };
                AttachError::hinted(what, "attach", errno, hint)
            })?;
        }
        if enable {
            sys::perf_enable(&on.event)
                .map_err(|errno| AttachError::kernel(what, "enable the perf event", errno))?;
        }
        Ok(Link::new(Attached(Some(on)), what))
    }
}

/// A link, or nothing if this kernel has none for perf events.
fn kernel_link(
    prog: BorrowedFd<'_>,
    event: BorrowedFd<'_>,
    what: &str,
    cookie: u64,
) -> Result<Option<OwnedFd>, AttachError> {
    let create = LinkCreate {
        prog,
        target: LinkTarget::Fd(event),
        attach_type: AttachType::PerfEvent.number(),
        flags: 0,
        extra: LinkExtra::PerfEvent { cookie },
    };
    match sys::link_create(&create) {
        Ok(link) => Ok(Some(link)),
        // A kernel that has these links gets as far as the descriptor, and -1 is none (libbpf: `probe_perf_link`).
        Err(Errno(libc::EINVAL))
            if sys::link_create(&LinkCreate { target: LinkTarget::Interface(u32::MAX), ..create }).err()
                != Some(Errno(libc::EBADF)) =>
        {
            Ok(None)
        }
        Err(errno) => Err(AttachError::hinted(what, "attach", errno, denied(errno))),
    }
}

/// A program on a perf event. With a link, the kernel keeps the event as long as the link.
///
/// Dropped field by field: tracefs does not remove a probe (`EBUSY`) while its event is open.
#[derive(Debug)]
struct OnEvent {
    link: Option<OwnedFd>,
    event: OwnedFd,
    probe: Option<ProbeEvent>,
}

/// The same, until it is detached.
#[derive(Debug)]
struct Attached(Option<OnEvent>);

impl Attachment for Attached {
    fn link_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref()?.link.as_ref().map(OwnedFd::as_fd)
    }

    fn detach(&mut self) -> Result<(), Errno> {
        let Some(OnEvent { link, event, probe }) = self.0.take() else { return Ok(()) };
        // Others may hold the event's descriptor, too.
        let disabled = if link.is_none() { sys::perf_disable(&event) } else { Ok(()) };
        drop((link, event));
        let removed = probe.map_or(Ok(()), |mut probe| probe.remove());
        disabled.and(removed)
    }

    fn leak(mut self: Box<Self>) {
        core::mem::forget(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_trace::{Counter, Program, stops},
        *,
    };
    use crate::object::ProgramType;
    use core::time::Duration;
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
    fn a_clock_runs_its_program_until_it_is_detached() {
        for force_ioctl in [false, true] {
            let Some(counter) = Counter::new() else { return };
            let Some(prog) = Program::counting(ProgramType::PerfEvent, 0, &counter) else { return };
            let sample = PerfSample::Frequency(1000);
            let event = match open_perf_counter(PerfCounter::CpuClock, sample, Some(std::process::id()), None)
            {
                Ok(event) => event,
                Err(e) => return println!("SKIP: {e}"),
            };
            // The counter is of one thread: this one.
            let tid = std::fs::read_link("/proc/thread-self").unwrap();
            let tid: u32 = tid.file_name().unwrap().to_str().unwrap().parse().unwrap();
            drop(event);
            let event = open_perf_counter(PerfCounter::CpuClock, sample, Some(tid), None).unwrap();
            let options = PerfEventOptions { force_ioctl, ..PerfEventOptions::default() };
            let link = perf_event(prog.fd(), event, &options).unwrap();
            assert!(!force_ioctl || link.fd().is_none());
            assert!(spin_until(&counter));
            link.detach().unwrap();
            assert!(stops(&counter, || std::thread::sleep(Duration::from_millis(20))));
        }
    }

    #[test]
    fn a_counter_that_is_missing_says_so() {
        let e = open_perf_counter(PerfCounter::CpuClock, PerfSample::Never, None, None).unwrap_err();
        assert!(e.to_string().contains("perf_event/CpuClock: cannot open the perf event: "), "{e}");
    }

    #[test]
    fn a_cookie_is_refused_without_a_link() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::PerfEvent, 0, &counter) else { return };
        let opened = open_perf_counter(
            PerfCounter::CpuClock,
            PerfSample::Frequency(10),
            Some(std::process::id()),
            None,
        );
        let Ok(event) = opened else { return println!("SKIP: no software events") };
        let options = PerfEventOptions { cookie: 1, force_ioctl: true, dont_enable: false };
        let e = perf_event(prog.fd(), event, &options).unwrap_err();
        assert!(matches!(e, AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }), "{e}");
    }
}
