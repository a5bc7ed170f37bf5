//! Tracepoints by their tracefs category and name, and raw tracepoints by name.

use super::{
    error::{AttachError, Hint},
    link::Link,
    names::c_string,
    perf_event::{PerfAttach, perf_hint},
    pmu::ProbeMode,
    tracefs,
};
use crate::sys::{self, PERF_TYPE_TRACEPOINT, PerfEventOpen};
use std::os::fd::{BorrowedFd, OwnedFd};

/// The options of a tracepoint program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TracepointOptions {
    /// The value that `bpf_get_attach_cookie` returns (kernels from 5.15).
    pub cookie: u64,
}

/// Attaches a program to a tracepoint, such as `sched`, `sched_switch` (libbpf:
/// `bpf_program__attach_tracepoint_opts`).
pub(super) fn tracepoint(
    prog: BorrowedFd<'_>,
    category: &str,
    name: &str,
    options: TracepointOptions,
) -> Result<Link, AttachError> {
    let label = format!("tp/{category}/{name}");
    let event = open(tracefs::event_id(&label, category, name)?, None, &label)?;
    let (cookie, mode) = (options.cookie, ProbeMode::Auto);
    PerfAttach { prog, event, probe: None, label: &label, cookie, mode, enable: true, is_tracepoint: true }
        .attach()
}

/// Opens the perf event of a tracepoint id. A program on the event runs on every processor, whichever one the
/// event is opened for.
pub(super) fn open(id: u64, pid: Option<u32>, label: &str) -> Result<OwnedFd, AttachError> {
    let event = PerfEventOpen {
        kind: PERF_TYPE_TRACEPOINT,
        config: id,
        pid,
        cpu: pid.is_none().then_some(0),
        ..PerfEventOpen::default()
    };
    sys::perf_event_open(&event)
        .map_err(|errno| AttachError::kernel_with_hint(label, "open the perf event", errno, perf_hint(errno)))
}

/// The options of a raw tracepoint program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct RawTracepointOptions {
    /// The value that `bpf_get_attach_cookie` returns (kernels from 6.10).
    pub cookie: u64,
}

/// Attaches a program to a raw tracepoint, such as `sched_switch` (libbpf:
/// `bpf_program__attach_raw_tracepoint_opts`).
pub(super) fn raw_tracepoint(
    prog: BorrowedFd<'_>,
    name: &str,
    options: RawTracepointOptions,
) -> Result<Link, AttachError> {
    let label = format!("raw_tp/{name}");
    let c_name = c_string(name, &label)?;
    match sys::raw_tracepoint_open(Some(&c_name), prog, options.cookie) {
        Ok(fd) => Ok(Link::from_fd(fd, label)),
        Err(errno) => {
            let hint = match errno.0 {
                libc::ENOENT => Hint("no such raw tracepoint in this kernel"),
                // The kernel refuses attributes that it does not know.
                libc::E2BIG if options.cookie != 0 => {
                    Hint("cookies of raw tracepoints need a kernel from 6.10")
                }
                _ => Hint::for_errno(errno),
            };
            Err(AttachError::kernel_with_hint(&label, "attach", errno, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::trace::{Counter, Program, getppid, insn, stops, tracefs_or_skip},
        *,
    };
    use crate::sys::Errno;
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;

    #[test]
    fn a_tracepoint_runs_its_program_with_the_cookie() {
        let Some(counter) = Counter::new() else { return };
        if !tracefs_or_skip() {
            return;
        }
        let Some(prog) = Program::with_cookie(ProgramType::Tracepoint, 0, &counter) else { return };
        let link = tracepoint(prog.fd(), "syscalls", "sys_enter_getppid", TracepointOptions { cookie: 77 });
        let link = match link {
            Err(e @ AttachError::Kernel { errno: Errno(libc::ENOENT), .. }) => return skip!("{e}"),
            link => link.unwrap(),
        };
        getppid();
        assert!(counter.count() >= 1);
        assert_eq!(counter.cookie(), 77);
        drop(link);
        assert!(stops(&counter, getppid));
    }

    /// The error is that of missing privileges, and the process has all of them.
    #[test]
    fn a_program_that_reads_beyond_the_record_is_not_called_unprivileged() {
        if !tracefs_or_skip() {
            return;
        }
        // r0 = *(u64 *)(r1 + 4096)
        let code = [insn(0x79, 0, 1, 4096, 0), insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)];
        let Some(prog) = Program::load(ProgramType::Tracepoint, 0, &code) else { return };
        let options = TracepointOptions::default();
        let error = tracepoint(prog.fd(), "syscalls", "sys_enter_getppid", options).unwrap_err().to_string();
        if error.contains("ENOENT") {
            return skip!("{error}");
        }
        assert!(error.contains("EACCES") && error.contains("beyond the record of the tracepoint"), "{error}");
    }

    #[test]
    fn a_raw_tracepoint_runs_its_program() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::RawTracepoint, 0, &counter) else { return };
        let link = raw_tracepoint(prog.fd(), "sys_enter", RawTracepointOptions::default()).unwrap();
        getppid();
        assert!(counter.count() >= 1);
        assert_eq!(sys::link_target_name(&link.fd().unwrap()).unwrap(), "sys_enter");
        link.detach().unwrap();
        // Other threads of this process make system calls, too.
        assert!(stops(&counter, getppid));
    }

    #[test]
    fn tracepoints_that_do_not_exist_are_named() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::RawTracepoint, 0, &counter) else { return };
        let e = raw_tracepoint(prog.fd(), "no_such_tp", RawTracepointOptions::default()).unwrap_err();
        let text = "raw_tp/no_such_tp: cannot attach: ENOENT: No such file or directory (no such raw tracepoint in this kernel)";
        assert_eq!(e.to_string(), text);
        assert!(raw_tracepoint(prog.fd(), "a\0b", RawTracepointOptions::default()).is_err());
        if tracefs_or_skip() {
            let e = tracepoint(prog.fd(), "sched", "no_such", TracepointOptions::default()).unwrap_err();
            assert!(e.to_string().contains("no such tracepoint"), "{e}");
        }
    }
}
