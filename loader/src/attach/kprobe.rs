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
use crate::sys::{self, Errno, PerfEventOpen};
use std::{fs, os::fd::BorrowedFd, sync::OnceLock};

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

/// The name of the function behind a system call on this kernel.
fn syscall_function(syscall: &str) -> String {
    static WRAPPED: OnceLock<bool> = OnceLock::new();
    let wrapped = |prefix: &str| *WRAPPED.get_or_init(|| is_there(&format!("__{prefix}_sys_bpf")));
    match SYSCALL_PREFIX {
        Some(prefix) if wrapped(prefix) => format!("__{prefix}_sys_{syscall}"),
        _ => format!("__se_sys_{syscall}"),
    }
}

/// What the wrappers around system calls are named with (libbpf: `arch_specific_syscall_pfx`).
const SYSCALL_PREFIX: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("x64")
} else if cfg!(target_arch = "x86") {
    Some("ia32")
} else if cfg!(target_arch = "s390x") {
    Some("s390x")
} else if cfg!(target_arch = "arm") {
    Some("arm")
} else if cfg!(target_arch = "aarch64") {
    Some("arm64")
} else if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
    Some("mips")
} else if cfg!(target_arch = "riscv64") {
    Some("riscv")
} else if cfg!(target_arch = "powerpc") {
    Some("powerpc")
} else if cfg!(target_arch = "powerpc64") {
    Some("powerpc64")
} else {
    None
};

/// Whether the kernel has a function, by opening a probe on it; without a unit for kprobes, by its list of symbols.
fn is_there(function: &str) -> bool {
    let Ok(name) = c_string(function, function) else { return false };
    if let Some(pmu) = Pmu::kprobe() {
        let pid = Some(std::process::id());
        let event = PerfEventOpen { kind: pmu.kind, name: Some(&name), pid, ..PerfEventOpen::default() };
        return sys::perf_event_open(&event).is_ok();
    }
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    symbols.lines().any(|line| line.split_ascii_whitespace().nth(2) == Some(function))
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
        let probes = fs::read_to_string(root.join("kprobe_events")).unwrap_or_default();
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
    fn system_calls_have_the_prefix_of_their_architecture_or_none() {
        let name = syscall_function("bpf");
        assert!(name == "__se_sys_bpf" || name == format!("__{}_sys_bpf", SYSCALL_PREFIX.unwrap()), "{name}");
    }
}
