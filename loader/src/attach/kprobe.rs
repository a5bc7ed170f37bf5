//! kprobes and kretprobes on a kernel function, or on the function that implements a system call.

use super::{
    error::{AttachError, Hint},
    link::Link,
    names::c_string,
    perf_event::{PerfAttach, perf_hint},
    pmu::{Pmu, ProbeMode},
    tracefs::{ProbeEvent, ProbeKind},
    tracepoint,
};
use crate::{
    arch::SYSCALL_PREFIX,
    lockdown::refused_probe,
    sys::{self, Errno, PerfEventOpen},
};
use std::{os::fd::BorrowedFd, sync::OnceLock};

/// The options of a kprobe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KprobeOptions {
    /// Whether the program runs when the function returns (a kretprobe).
    pub retprobe: bool,
    /// The offset of the probed instruction from the function's start, in bytes.
    pub offset: u64,
    /// The value that `bpf_get_attach_cookie` returns (kernels from 5.15).
    pub cookie: u64,
    /// The kernel mechanism that attaches the program.
    pub mode: ProbeMode,
}

/// Attaches a program to a kernel function (libbpf: `bpf_program__attach_kprobe_opts`).
pub(super) fn kprobe(
    prog: BorrowedFd<'_>,
    function: &str,
    options: &KprobeOptions,
) -> Result<Link, AttachError> {
    let label = attachment_label(function, options);
    let c_name = c_string(function, &label)?;
    let address = parse_address(function).map(|address| {
        let place = address.checked_add(options.offset);
        place.ok_or_else(|| AttachError::target(label.as_str(), "the offset leads beyond the last address"))
    });
    let address = address.transpose()?;
    let pmu = Pmu::kprobe();
    let (probe, event) = if options.mode.uses_tracefs(pmu.is_some(), &label)? {
        let location = match address {
            Some(address) => format!("{address:#x}"),
            None => format!("{function}+{:#x}", options.offset),
        };
        let probe = ProbeEvent::add(ProbeKind::Kernel, options.retprobe, &location, &label)?;
        let event = tracepoint::open(probe.id(&label)?, None, &label)?;
        (Some(probe), event)
    } else {
        let pmu = pmu.ok_or_else(|| AttachError::target(label.as_str(), ProbeKind::Kernel.no_probes()))?;
        let event = PerfEventOpen {
            kind: pmu.kind,
            config: pmu.config(options.retprobe, &label)?,
            name: Some(&*c_name).filter(|_| address.is_none()),
            offset: address.unwrap_or(options.offset),
            cpu: Some(0),
            ..PerfEventOpen::default()
        };
        (None, sys::perf_event_open(&event).map_err(|errno| open_error(&label, options.offset, errno))?)
    };
    let &KprobeOptions { cookie, mode, .. } = options;
    PerfAttach { prog, event, probe, label: &label, cookie, mode, enable: true, is_tracepoint: false }
        .attach()
}

/// Parses an address in hexadecimal. No name of a function begins with a digit.
fn parse_address(function: &str) -> Option<u64> {
    u64::from_str_radix(function.strip_prefix("0x")?, 16).ok()
}

/// Returns the label of the attachment in errors and in [`Link::label`].
fn attachment_label(function: &str, options: &KprobeOptions) -> String {
    let prefix = if options.retprobe { "kretprobe" } else { "kprobe" };
    match options.offset {
        0 => format!("{prefix}/{function}"),
        offset => format!("{prefix}/{function}+{offset:#x}"),
    }
}

fn open_error(label: &str, offset: u64, errno: Errno) -> AttachError {
    let hint = match errno.0 {
        libc::EINVAL if offset != 0 => Hint(
            "is the offset inside the function, and may the function be probed? See kprobes/blacklist in debugfs",
        ),
        libc::ENOENT => Hint("no such function in this kernel: see /proc/kallsyms"),
        libc::EADDRNOTAVAIL if label.starts_with("kretprobe") => Hint(
            "several functions have this name: name one by its address in /proc/kallsyms, or as `_text+OFFSET`: --attach-to \
             PROG=kretprobe:0xADDRESS",
        ),
        libc::EADDRNOTAVAIL => Hint(
            "several functions have this name: name one by its address in /proc/kallsyms, or as `_text+OFFSET`: --attach-to \
             PROG=kprobe:0xADDRESS",
        ),
        libc::EINVAL if cfg!(target_arch = "riscv64") => Hint(
            "this function cannot be probed: see kprobes/blacklist in debugfs; \
             without CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS, entries of functions cannot be probed: use fentry, or a probe at an offset",
        ),
        libc::EINVAL => Hint("this function cannot be probed: see kprobes/blacklist in debugfs"),
        libc::EILSEQ => Hint("the offset is not the start of an instruction"),
        _ => refused_probe(errno).unwrap_or_else(|| perf_hint(errno)),
    };
    AttachError::kernel_with_hint(label, "open the perf event", errno, hint)
}

/// The options of a probe on a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KsyscallOptions {
    /// Whether the program runs when the system call returns.
    pub retprobe: bool,
    /// The value that `bpf_get_attach_cookie` returns (kernels from 5.15).
    pub cookie: u64,
}

/// Attaches a program to the function that implements a system call (libbpf: `bpf_program__attach_ksyscall`).
pub(super) fn ksyscall(
    prog: BorrowedFd<'_>,
    syscall: &str,
    options: &KsyscallOptions,
) -> Result<Link, AttachError> {
    let options =
        KprobeOptions { retprobe: options.retprobe, cookie: options.cookie, ..KprobeOptions::default() };
    kprobe(prog, &syscall_function(syscall), &options)
}

/// Returns the name of the function that implements a system call: `__x64_sys_NAME` on kernels with system
/// call wrappers (from 4.17), else `__se_sys_NAME`. On PowerPC, wrappers are called `sys_NAME`. Without
/// wrappers, that is also the name of the function of a system call without arguments. libbpf knows neither.
///
/// If the detection fails, the kernel counts as one with wrappers. Attaching the probe then reports the
/// cause.
fn syscall_function(syscall: &str) -> String {
    if has_syscall_wrappers().unwrap_or(true) {
        return wrapper_name(syscall);
    }
    let (with_arguments, plain) = (format!("__se_sys_{syscall}"), format!("sys_{syscall}"));
    let exists = |name: &str| function_exists(name).unwrap_or(false);
    if !exists(&with_arguments) && exists(&plain) { plain } else { with_arguments }
}

/// Returns the name of the function that passes the registers to a system call's implementation.
fn wrapper_name(syscall: &str) -> String {
    match SYSCALL_PREFIX {
        Some(prefix) if !IS_POWERPC => format!("__{prefix}_sys_{syscall}"),
        _ => format!("sys_{syscall}"),
    }
}

/// Returns whether the kernel has system call wrappers: `__x64_sys_bpf`, with this architecture's prefix
/// (libbpf: `probe_kern_syscall_wrapper`).
///
/// On PowerPC (from 6.1), wrappers have no such prefix. There, `__se_sys_bpf` is part of its wrapper, and no
/// function of its own.
///
/// The result is cached. An error is not cached, so the next call probes again.
pub(crate) fn has_syscall_wrappers() -> Result<bool, Errno> {
    static HAS_WRAPPERS: OnceLock<bool> = OnceLock::new();
    if let Some(cached) = HAS_WRAPPERS.get() {
        return Ok(*cached);
    }
    if SYSCALL_PREFIX.is_none() {
        return Ok(false);
    }
    let found = function_exists(&wrapper_name("bpf"))? && !(IS_POWERPC && function_exists("__se_sys_bpf")?);
    Ok(*HAS_WRAPPERS.get_or_init(|| found))
}

const IS_POWERPC: bool = cfg!(any(target_arch = "powerpc", target_arch = "powerpc64"));

/// Returns whether the kernel has a function. Opens a perf event on the function, or creates a tracefs probe,
/// to find out.
fn function_exists(function: &str) -> Result<bool, Errno> {
    let name = c_string(function, function).map_err(|_nul| Errno(libc::EINVAL))?;
    let opened = match Pmu::kprobe() {
        Some(pmu) => {
            let pid = Some(std::process::id());
            let event = PerfEventOpen { kind: pmu.kind, name: Some(&name), pid, ..PerfEventOpen::default() };
            sys::perf_event_open(&event).map(drop)
        }
        // An error without an error number: tracefs is not mounted, or the kernel has no kprobes.
        None => match ProbeEvent::add(ProbeKind::Kernel, false, function, function) {
            Ok(_removed_on_drop) => Ok(()),
            Err(e) => Err(e.errno().unwrap_or(Errno(libc::EOPNOTSUPP))),
        },
    };
    match opened {
        Ok(()) => Ok(true),
        Err(Errno(libc::ENOENT)) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, getppid, stops, tracefs_or_skip},
        *,
    };
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    fn assert_fires(attach: impl Fn(BorrowedFd<'_>) -> Result<Link, AttachError>, cookie: u64) {
        let Some(counter) = Counter::new() else { return };
        let prog = if cookie == 0 {
            Program::counting(ProgramType::Kprobe, 0, &counter)
        } else {
            Program::with_cookie(ProgramType::Kprobe, 0, &counter)
        };
        let Some(prog) = prog else { return };
        let link = match attach(prog.fd()) {
            Err(AttachError::Target { problem, .. }) if problem.contains("CONFIG_KPROBE_EVENTS") => {
                return skip!("{problem}");
            }
            Err(e @ AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }) => {
                return skip!("{e}");
            }
            link => link.unwrap(),
        };
        getppid();
        assert!(counter.count() >= 1);
        assert_eq!(counter.cookie(), cookie);
        link.detach().unwrap();
        assert!(stops(&counter, getppid));
    }

    #[test]
    fn a_system_call_is_probed() {
        if Pmu::kprobe().is_none() && !tracefs_or_skip() {
            return;
        }
        for retprobe in [false, true] {
            assert_fires(|prog| ksyscall(prog, "getppid", &KsyscallOptions { retprobe, cookie: 0 }), 0);
            assert_fires(|prog| ksyscall(prog, "getppid", &KsyscallOptions { retprobe, cookie: 9 }), 9);
        }
    }

    #[test]
    fn every_mode_attaches_and_leaves_nothing_in_tracefs() {
        if !tracefs_or_skip() {
            return;
        }
        let function = syscall_function("getppid");
        for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Link, ProbeMode::Auto] {
            if Pmu::kprobe().is_none() && mode != ProbeMode::Legacy {
                skip!("no kprobe PMU for {mode:?}");
                continue;
            }
            for retprobe in [false, true] {
                let options = KprobeOptions { retprobe, mode, ..KprobeOptions::default() };
                // On kernels before 5.15, which have no perf event links, `assert_fires` skips
                // `ProbeMode::Link`.
                assert_fires(|prog| kprobe(prog, &function, &options), 0);
            }
        }
        let root = super::super::tracefs::root().unwrap();
        if let Ok(probes) = std::fs::read_to_string(root.join("kprobe_events")) {
            assert!(!probes.contains(&format!("p{}_", std::process::id())), "{probes}");
        }
    }

    #[test]
    fn a_place_is_a_name_or_an_address() {
        assert_eq!(parse_address("0xffffffff81000000"), Some(0xffff_ffff_8100_0000));
        assert_eq!([parse_address("vfs_read"), parse_address("0xno"), parse_address("_text")], [None; 3]);
    }

    /// Several functions may have a name, of which an address or an offset from another symbol names one.
    #[test]
    fn a_function_is_probed_by_its_address() {
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
        let address_of = |name: &str| {
            let words = symbols.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            let mut found = words.filter_map(|words| match *words {
                [address, _, symbol] if symbol == name => u64::from_str_radix(address, 16).ok(),
                _ => None,
            });
            found.next().filter(|address| *address != 0)
        };
        let addresses = address_of(&syscall_function("getppid")).zip(address_of("_text"));
        let Some((function, text)) = addresses else { return skip!("the kernel hides addresses") };
        if Pmu::kprobe().is_none() && !tracefs_or_skip() {
            return;
        }
        let options = |offset| KprobeOptions { offset, ..KprobeOptions::default() };
        assert_fires(|prog| kprobe(prog, &format!("{function:#x}"), &options(0)), 0);
        assert_fires(|prog| kprobe(prog, "_text", &options(function - text)), 0);
        let retprobe = KprobeOptions { retprobe: true, ..KprobeOptions::default() };
        assert_fires(|prog| kprobe(prog, &format!("{function:#x}"), &retprobe), 0);
    }

    #[test]
    fn a_function_that_does_not_exist_is_named() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        if Pmu::kprobe().is_none() {
            return skip!("no kprobe PMU");
        }
        let options = KprobeOptions { offset: 4, ..KprobeOptions::default() };
        let e = kprobe(prog.fd(), "no_such_function", &options).unwrap_err();
        assert!(
            e.to_string().starts_with("kprobe/no_such_function+0x4: cannot open the perf event: ENOENT"),
            "{e}"
        );
    }

    #[test]
    fn function_exists_distinguishes_existing_and_missing_functions() {
        match function_exists("no_such_function") {
            Ok(found) => assert!(!found),
            Err(e) => return skip!("no kprobes: {e}"),
        }
        assert_eq!(function_exists("do_exit"), Ok(true));
        assert_eq!(function_exists("a\0b"), Err(Errno(libc::EINVAL)));
        let known = crate::features::running().has(crate::features::Feature::SyscallWrapper);
        assert_eq!(has_syscall_wrappers(), Ok(known));
    }

    #[test]
    fn system_calls_have_the_prefix_of_their_architecture() {
        let name = syscall_function("bpf");
        assert!(name == "__se_sys_bpf" || name == wrapper_name("bpf"), "{name}");
        let prefixed = format!("__{}_sys_bpf", SYSCALL_PREFIX.unwrap());
        assert_eq!(wrapper_name("bpf"), if IS_POWERPC { "sys_bpf".to_owned() } else { prefixed });
    }
}
