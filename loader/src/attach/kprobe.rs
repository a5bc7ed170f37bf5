//! Probes in the kernel: one function, or the function behind a system call.

use super::{
    error::{AttachError, Hint},
    link::Link,
    perf_event::{Put, denied},
    pmu::{Pmu, ProbeMode},
    text::c_string,
    tracefs::{ProbeEvent, ProbeKind},
    tracepoint,
};
use crate::{
    arch::SYSCALL_PREFIX,
    sys::{self, Errno, PerfEventOpen},
};
use std::{os::fd::BorrowedFd, sync::OnceLock};

/// How a kprobe is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KprobeOptions {
    /// Runs when the function returns.
    pub retprobe: bool,
    /// Bytes behind the function's start.
    pub offset: u64,
    /// What `bpf_get_attach_cookie` gives (kernels from 5.15).
    pub cookie: u64,
    /// By which of the kernel's ways.
    pub mode: ProbeMode,
}

/// Attaches to a function of the kernel (libbpf: `bpf_program__attach_kprobe_opts`).
pub fn kprobe(prog: BorrowedFd<'_>, function: &str, options: &KprobeOptions) -> Result<Link, AttachError> {
    let what = words(function, options);
    let c_name = c_string(function, &what)?;
    let pmu = Pmu::kprobe();
    let (probe, event) = if options.mode.is_legacy(pmu.is_some(), &what)? {
        let place = format!("{function}+{:#x}", options.offset);
        let probe = ProbeEvent::add(ProbeKind::Kernel, options.retprobe, &place, &what)?;
        let event = tracepoint::open(probe.id(&what)?, None, &what)?;
        (Some(probe), event)
    } else {
        let pmu = pmu.ok_or_else(|| AttachError::target(what.as_str(), ProbeKind::Kernel.missing()))?;
        let event = PerfEventOpen {
            kind: pmu.kind,
            config: pmu.config(options.retprobe, &what)?,
            name: Some(&c_name),
            offset: options.offset,
            cpu: Some(0),
            ..PerfEventOpen::default()
        };
        (None, sys::perf_event_open(&event).map_err(|errno| not_opened(&what, errno))?)
    };
    let &KprobeOptions { cookie, mode, .. } = options;
    Put { prog, event, probe, what: &what, cookie, mode, enable: true }.attach()
}

fn words(function: &str, options: &KprobeOptions) -> String {
    let family = if options.retprobe { "kretprobe" } else { "kprobe" };
    match options.offset {
        0 => format!("{family}/{function}"),
        offset => format!("{family}/{function}+{offset:#x}"),
    }
}

fn not_opened(what: &str, errno: Errno) -> AttachError {
    let hint = match errno.0 {
        libc::ENOENT => Hint("no such function in this kernel: see /proc/kallsyms"),
        libc::EADDRNOTAVAIL => Hint("several functions have this name"),
        libc::EINVAL => Hint("this function cannot be probed: see kprobes/blacklist in debugfs"),
        libc::EILSEQ => Hint("an instruction does not begin at this offset"),
        _ => denied(errno),
    };
    AttachError::hinted(what, "open the perf event", errno, hint)
}

/// How the function behind a system call is attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct KsyscallOptions {
    /// Runs when the system call returns.
    pub retprobe: bool,
    /// What `bpf_get_attach_cookie` gives (kernels from 5.15).
    pub cookie: u64,
}

/// Attaches to the function behind a system call, such as `unlinkat` (libbpf: `bpf_program__attach_ksyscall`).
pub fn ksyscall(prog: BorrowedFd<'_>, syscall: &str, options: &KsyscallOptions) -> Result<Link, AttachError> {
    let options =
        KprobeOptions { retprobe: options.retprobe, cookie: options.cookie, ..KprobeOptions::default() };
    kprobe(prog, &syscall_function(syscall), &options)
}

/// The name of the function behind a system call on this kernel. What cannot be found out is taken to be as in all kernels from
/// 4.17; the probe then says why.
fn syscall_function(syscall: &str) -> String {
    match SYSCALL_PREFIX {
        Some(prefix) if has_syscall_wrappers().unwrap_or(true) => format!("__{prefix}_sys_{syscall}"),
        _ => format!("__se_sys_{syscall}"),
    }
}

/// Whether a kprobe can be put on `__x64_sys_bpf` or its like (libbpf: `probe_kern_syscall_wrapper`): asked until it is answered.
pub(crate) fn has_syscall_wrappers() -> Result<bool, Errno> {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(*known);
    }
    let Some(prefix) = SYSCALL_PREFIX else { return Ok(false) };
    let found = is_there(&format!("__{prefix}_sys_bpf"))?;
    Ok(*KNOWN.get_or_init(|| found))
}

/// Whether the kernel has a function, by opening a probe on it, or by making one in tracefs.
fn is_there(function: &str) -> Result<bool, Errno> {
    let name = c_string(function, function).map_err(|_nul| Errno(libc::EINVAL))?;
    let made = match Pmu::kprobe() {
        Some(pmu) => {
            let pid = Some(std::process::id());
            let event = PerfEventOpen { kind: pmu.kind, name: Some(&name), pid, ..PerfEventOpen::default() };
            sys::perf_event_open(&event).map(drop)
        }
        // Without an errno: tracefs is there, but no kprobes.
        None => match ProbeEvent::add(ProbeKind::Kernel, false, function, function) {
            Ok(_removed_at_once) => Ok(()),
            Err(e) => Err(e.errno().unwrap_or(Errno(libc::EOPNOTSUPP))),
        },
    };
    match made {
        Ok(()) => Ok(true),
        Err(Errno(libc::ENOENT)) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_trace::{Counter, Program, getppid, stops, tracefs_or_skip},
        *,
    };
    use crate::object::ProgramType;

    fn fires(attach: impl Fn(BorrowedFd<'_>) -> Result<Link, AttachError>, cookie: u64) {
        let Some(counter) = Counter::new() else { return };
        let prog = if cookie == 0 {
            Program::counting(ProgramType::Kprobe, 0, &counter)
        } else {
            Program::with_cookie(ProgramType::Kprobe, 0, &counter)
        };
        let Some(prog) = prog else { return };
        let link = match attach(prog.fd()) {
            Err(AttachError::Target { problem, .. }) if problem.contains("CONFIG_KPROBE_EVENTS") => {
                return println!("SKIP: {problem}");
            }
            Err(e @ AttachError::Kernel { errno: Errno(libc::EOPNOTSUPP), .. }) => {
                return println!("SKIP: {e}");
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
    fn the_function_behind_a_system_call_is_probed() {
        if Pmu::kprobe().is_none() && !tracefs_or_skip() {
            return;
        }
        for retprobe in [false, true] {
            fires(|prog| ksyscall(prog, "getppid", &KsyscallOptions { retprobe, cookie: 0 }), 0);
            fires(|prog| ksyscall(prog, "getppid", &KsyscallOptions { retprobe, cookie: 9 }), 9);
        }
    }

    #[test]
    fn every_way_of_the_kernels_leads_there_and_leaves_nothing_in_tracefs() {
        if !tracefs_or_skip() {
            return;
        }
        let function = syscall_function("getppid");
        for mode in [ProbeMode::Legacy, ProbeMode::Perf, ProbeMode::Link, ProbeMode::Auto] {
            if Pmu::kprobe().is_none() && mode != ProbeMode::Legacy {
                println!("SKIP: no kprobe unit for {mode:?}");
                continue;
            }
            for retprobe in [false, true] {
                let options = KprobeOptions { retprobe, mode, ..KprobeOptions::default() };
                // A kernel before 5.15 has no links, which is skipped.
                fires(|prog| kprobe(prog, &function, &options), 0);
            }
        }
        let root = super::super::tracefs::root().unwrap();
        let probes = std::fs::read_to_string(root.join("kprobe_events")).unwrap_or_default();
        assert!(!probes.contains(&format!("p{}_", std::process::id())), "{probes}");
    }

    #[test]
    fn a_function_that_does_not_exist_is_named() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        if Pmu::kprobe().is_none() {
            return println!("SKIP: no kprobe unit");
        }
        let options = KprobeOptions { offset: 4, ..KprobeOptions::default() };
        let e = kprobe(prog.fd(), "no_such_function", &options).unwrap_err();
        assert!(
            e.to_string().starts_with("kprobe/no_such_function+0x4: cannot open the perf event: ENOENT"),
            "{e}"
        );
    }

    #[test]
    fn a_function_is_there_or_not_or_it_cannot_be_told() {
        match is_there("no_such_function") {
            Ok(found) => assert!(!found),
            Err(e) => return println!("SKIP: no kprobes: {e}"),
        }
        assert_eq!(is_there("do_exit"), Ok(true));
        assert_eq!(is_there("a\0b"), Err(Errno(libc::EINVAL)));
        let known = crate::features::running().has(crate::features::Feature::SyscallWrapper);
        assert_eq!(has_syscall_wrappers(), Ok(known));
    }

    #[test]
    fn system_calls_have_the_prefix_of_their_architecture_or_none() {
        let name = syscall_function("bpf");
        assert!(name == "__se_sys_bpf" || name == format!("__{}_sys_bpf", SYSCALL_PREFIX.unwrap()), "{name}");
    }
}
