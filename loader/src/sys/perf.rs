//! Perf events: `perf_event_open(2)` and the ioctls that attach programs.
#![expect(unsafe_code, reason = "perf_event_open has no wrapper; ioctl is a call into C")]

use super::fd::beyond_stdio;
use crate::convert::{to_u64, to_usize};
use core::ffi::{CStr, c_long, c_ulong};
use core_relo::Endian;
use core_relo_object::Errno;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// `PERF_TYPE_HARDWARE`.
pub(crate) const PERF_TYPE_HARDWARE: u32 = 0;
/// `PERF_TYPE_SOFTWARE`.
pub(crate) const PERF_TYPE_SOFTWARE: u32 = 1;
/// `PERF_TYPE_TRACEPOINT`.
pub(crate) const PERF_TYPE_TRACEPOINT: u32 = 2;
/// `PERF_TYPE_HW_CACHE`.
pub(crate) const PERF_TYPE_HW_CACHE: u32 = 3;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: c_long = 8;
/// The number of `exclude_user` among the flags of one bit each.
const EXCLUDE_USER: u32 = 4;
/// The number of `freq`.
const FREQ: u32 = 10;
/// The number of `watermark`.
const WATERMARK: u32 = 14;
/// `PERF_SAMPLE_RAW`.
const SAMPLE_RAW: u64 = 1 << 10;

/// The first part of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER1`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
}

/// `PERF_ATTR_SIZE_VER1`.
const ATTR_BYTES: u32 = 72;
const _: () = assert!(size_of::<Attr>() == to_usize(ATTR_BYTES));

/// The rate at which an event takes samples. An attached program runs at each sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the kernel has these")]
pub enum PerfSample {
    /// No samples by counting, for events that are probes.
    #[default]
    Never,
    /// A sample after this number of counts.
    Period(u64),
    /// About this number of samples per second. The kernel picks the period.
    Frequency(u64),
}

/// The properties of a new event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerfEventOpen<'a> {
    /// `PERF_TYPE_*`, or a unit's number from `/sys/bus/event_source/devices/*/type`.
    pub kind: u32,
    /// The event of that type.
    pub config: u64,
    /// A kprobe's function or a uprobe's file (`config1` of those units).
    pub name: Option<&'a CStr>,
    /// A kprobe's offset (or, without a name, its address), a uprobe's offset (`config2`).
    pub offset: u64,
    /// The rate of samples.
    pub sample: PerfSample,
    /// The thread or process to observe; `None` for all on one CPU.
    pub pid: Option<u32>,
    /// The CPU; `None` for all CPUs, which needs a `pid`.
    pub cpu: Option<u32>,
    /// Whether the event does not count while the processor runs processes' own code.
    pub exclude_user: bool,
    /// The condition for waking a waiting process. Set for events whose samples carry data of programs.
    pub wakeup: Option<PerfWakeup>,
}

/// The condition for waking a process that waits for samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PerfWakeup {
    /// A number of samples.
    Samples(u32),
    /// A number of bytes.
    Bytes(u32),
}

/// Opens an event that counts at once (as in libbpf, `disabled` is 0). A program runs as soon as it is
/// attached.
pub(crate) fn perf_event_open(event: &PerfEventOpen<'_>) -> Result<OwnedFd, Errno> {
    // -1 stands for every process, or every CPU.
    let argument = |number: Option<u32>| match number.map_or(Ok(-1), i32::try_from) {
        Ok(number) => Ok(c_long::from(number)),
        Err(_too_large) => Err(Errno(libc::EINVAL)),
    };
    let (sample_period, flags) = match event.sample {
        PerfSample::Never => (0, 0),
        PerfSample::Period(n) => (n, 0),
        PerfSample::Frequency(n) => (n, flag(FREQ)),
    };
    let (sample_type, wakeup, watermark) = match event.wakeup {
        None => (0, 0, 0),
        Some(PerfWakeup::Samples(n)) => (SAMPLE_RAW, n, 0),
        Some(PerfWakeup::Bytes(n)) => (SAMPLE_RAW, n, flag(WATERMARK)),
    };
    let excluded = if event.exclude_user { flag(EXCLUDE_USER) } else { 0 };
    let name = event.name.map_or(0, |name| name.as_ptr().expose_provenance());
    let attr = Attr {
        kind: event.kind,
        size: ATTR_BYTES,
        config: event.config,
        sample_period,
        sample_type,
        flags: flags | watermark | excluded,
        wakeup_events: wakeup,
        config1: to_u64(name),
        config2: event.offset,
        ..Attr::default()
    };
    let (pid, cpu, group): (_, _, c_long) = (argument(event.pid)?, argument(event.cpu)?, -1);
    // SAFETY: `attr` has the size that its field `size` states. Its only address is 0, or that of a C string
    // that outlives the call.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, core::ptr::from_ref(&attr), pid, cpu, group, CLOEXEC)
    };
    let fd =
        if fd < 0 { Err(Errno::last()) } else { RawFd::try_from(fd).map_err(|_large| Errno(libc::EBADF)) }?;
    // SAFETY: the call created the descriptor, so it has no other owner.
    beyond_stdio(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns a one-bit flag of `perf_event_attr`. C numbers bit fields from the low end, or from the high end
/// on big-endian machines.
const fn flag(number: u32) -> u64 {
    match Endian::native() {
        Endian::Little => 1 << number,
        Endian::Big => (1 << 63) >> number,
    }
}

/// Attaches a program to an event until the event is closed (`PERF_EVENT_IOC_SET_BPF`).
pub(crate) fn perf_set_bpf(event: impl AsFd, prog: impl AsFd) -> Result<(), Errno> {
    ioctl(event, request(true, 8), c_long::from(prog.as_fd().as_raw_fd()))
}

/// Starts a stopped event (`PERF_EVENT_IOC_ENABLE`).
pub(crate) fn perf_enable(event: impl AsFd) -> Result<(), Errno> {
    ioctl(event, request(false, 0), 0)
}

/// Stops an event (`PERF_EVENT_IOC_DISABLE`).
pub(crate) fn perf_disable(event: impl AsFd) -> Result<(), Errno> {
    ioctl(event, request(false, 1), 0)
}

/// Returns whether the kernel has the system call for fast uprobes on x86-64 (libbpf:
/// `probe_uprobe_syscall`).
#[cfg(feature = "usdt")]
pub(crate) fn has_uprobe_syscall() -> bool {
    /// `__NR_uprobe`.
    const UPROBE: c_long = 336;
    if !cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
        return false;
    }
    // SAFETY: the call takes no arguments. Outside of the kernel's own trampoline it has no effect and fails.
    let done = unsafe { libc::syscall(UPROBE) };
    done < 0 && Errno::last() == Errno(libc::ENXIO)
}

/// Returns the number of a `PERF_EVENT_IOC_*` request without an argument, or with an argument of four bytes
/// that the kernel reads.
const fn request(reads: bool, number: c_ulong) -> c_ulong {
    const OTHER_BITS: bool = cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "powerpc64"
    ));
    let direction = match (OTHER_BITS, reads) {
        (false, false) => 0,
        (false, true) => 0x4004_0000,
        (true, false) => 0x2000_0000,
        (true, true) => 0x8004_0000,
    };
    direction | 0x2400 | number
}

fn ioctl(event: impl AsFd, request: c_ulong, argument: c_long) -> Result<(), Errno> {
    let fd = c_long::from(event.as_fd().as_raw_fd());
    // SAFETY: the descriptor is open, and these requests take numbers, not addresses.
    let done = unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) };
    if done < 0 { Err(Errno::last()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no perf_event_open")]
    fn an_event_that_there_is_can_be_opened_and_enabled_and_another_is_refused() {
        let clock = PerfEventOpen {
            kind: PERF_TYPE_SOFTWARE,
            sample: PerfSample::Frequency(100),
            pid: Some(std::process::id()),
            ..PerfEventOpen::default()
        };
        match perf_event_open(&clock) {
            Ok(event) => {
                assert_eq!(perf_enable(&event), Ok(()));
                assert_eq!(perf_disable(&event), Ok(()));
            }
            Err(e) => skip!("perf_event_open: {e}"),
        }
        let nothing = PerfEventOpen { kind: 0xffff, ..clock };
        assert!(perf_event_open(&nothing).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no perf_event_open")]
    fn requests_on_a_descriptor_that_is_no_event_fail() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert_eq!(perf_enable(&file), Err(Errno(libc::ENOTTY)));
        assert_eq!(perf_set_bpf(&file, &file), Err(Errno(libc::ENOTTY)));
    }
}
