//! Attaching a program to what its section's name says.

use super::{
    error::AttachError,
    iter::{IterOptions, iter},
    kprobe::{KprobeOptions, KsyscallOptions, kprobe, ksyscall},
    kprobe_multi::{KprobeMultiOptions, KprobeSet, kprobe_multi},
    link::Link,
    section::Auto,
    trace::{TraceOptions, freplace, lsm, trace},
    tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint},
    uprobe::{UprobeOptions, uprobe},
    uprobe_multi::{UprobeMultiOptions, UprobeSet, uprobe_multi},
    usdt::{UsdtManager, UsdtOptions, usdt},
};
use crate::object::{AttachType, ProgramType, SecDef};
use std::os::fd::BorrowedFd;

/// A loaded program, with what it was loaded as.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct Attachable<'a> {
    /// The program.
    pub fd: BorrowedFd<'a>,
    /// Its name.
    pub name: &'a str,
    /// Its section's name, with or without a leading `?`.
    pub section: &'a str,
    /// Its type.
    pub program_type: ProgramType,
    /// The attach type it was loaded with; none takes that of the section's name.
    pub attach_type: Option<AttachType>,
    /// What its object's USDT programs share, if it has any.
    pub usdt: Option<&'a UsdtManager>,
}

/// Attaches a program to what its section's name says (libbpf: `bpf_program__attach`).
///
/// Programs that libbpf does not attach by itself give [`AttachError::NotAutomatic`].
pub fn auto(program: &Attachable<'_>) -> Result<Link, AttachError> {
    match Auto::of(program.section)? {
        Some(auto) => tracing(program, auto),
        // Here the families of networking and cgroups follow.
        None => Err(not_automatic(program)),
    }
}

fn not_automatic(program: &Attachable<'_>) -> AttachError {
    AttachError::NotAutomatic { what: format!("{} (program `{}`)", program.section, program.name).into() }
}

fn tracing(program: &Attachable<'_>, auto: Auto<'_>) -> Result<Link, AttachError> {
    let fd = program.fd;
    match auto {
        Auto::Nothing => Err(not_automatic(program)),
        Auto::Kprobe { function, offset, retprobe } => {
            kprobe(fd, function, &KprobeOptions { retprobe, offset, ..KprobeOptions::default() })
        }
        Auto::KprobeMulti { pattern, kind } => {
            let options = KprobeMultiOptions { kind, ..KprobeMultiOptions::default() };
            kprobe_multi(fd, KprobeSet::Pattern(pattern), &options)
        }
        Auto::Ksyscall { syscall, retprobe } => {
            ksyscall(fd, syscall, &KsyscallOptions { retprobe, ..KsyscallOptions::default() })
        }
        Auto::Uprobe { binary, function, offset, retprobe } => {
            let name = function_words(function, offset);
            let options = UprobeOptions { function: Some(&name), retprobe, ..UprobeOptions::default() };
            uprobe(fd, binary, &options)
        }
        Auto::UprobeMulti { binary, pattern, kind } => {
            let options = UprobeMultiOptions { kind, ..UprobeMultiOptions::default() };
            uprobe_multi(fd, binary, UprobeSet::Pattern(pattern), &options)
        }
        Auto::Usdt { binary, provider, name } => {
            let manager = program.usdt.ok_or_else(|| {
                let problem = "its object lacks the maps of libbpf's usdt.bpf.h, __bpf_usdt_specs and __bpf_usdt_ip_to_spec_id";
                AttachError::target(program.section, problem)
            })?;
            usdt(fd, manager, binary, provider, name, &UsdtOptions::default())
        }
        Auto::Tracepoint { category, name } => tracepoint(fd, category, name, &TracepointOptions::default()),
        Auto::RawTracepoint { name } => raw_tracepoint(fd, name, &RawTracepointOptions::default()),
        Auto::AsLoaded => as_loaded(program),
        Auto::Iter => iter(fd, &IterOptions::default()),
    }
}

fn as_loaded(program: &Attachable<'_>) -> Result<Link, AttachError> {
    match program.program_type {
        ProgramType::Ext => freplace(program.fd, None),
        ProgramType::Lsm => lsm(program.fd),
        _ => {
            let section = program.section.strip_prefix('?').unwrap_or(program.section);
            let by_name = || SecDef::find(section.as_bytes()).and_then(|def| def.attach_type);
            match program.attach_type.or_else(by_name) {
                Some(attach_type) => trace(program.fd, attach_type, &TraceOptions::default()),
                None => Err(not_automatic(program)),
            }
        }
    }
}

fn function_words(function: &str, offset: i64) -> String {
    if offset == 0 { function.to_owned() } else { format!("{function}+{offset}") }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            section::split_offset,
            testing_elf::TestElf,
            testing_trace::{Counter, Program, getppid, stops, tracefs_or_skip},
        },
        *,
    };

    fn attach(prog: &Program, section: &str, program_type: ProgramType) -> Result<Link, AttachError> {
        auto(&Attachable { fd: prog.fd(), name: "p", section, program_type, attach_type: None, usdt: None })
    }

    #[test]
    fn programs_are_attached_by_their_sections_names() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::RawTracepoint, 0, &counter) else { return };
        let link = attach(&prog, "?raw_tp/sys_enter", ProgramType::RawTracepoint).unwrap();
        getppid();
        assert!(counter.count() > 0);
        drop(link);
        assert!(stops(&counter, getppid));
        let Some(prog) = Program::counting(ProgramType::Tracepoint, 0, &counter) else { return };
        if tracefs_or_skip() {
            let before = counter.count();
            let link = attach(&prog, "tp/raw_syscalls/sys_enter", ProgramType::Tracepoint).unwrap();
            getppid();
            assert!(counter.count() > before);
            drop(link);
        }
        let Some(elf) = TestElf::write() else { return };
        let Some(prog) = Program::counting_all(ProgramType::Kprobe, 0, &counter) else { return };
        let section = format!("uprobe/{}:entry+0x19", elf.path().display());
        let before = counter.count();
        let link = attach(&prog, &section, ProgramType::Kprobe).unwrap();
        elf.run();
        assert_eq!(counter.count(), before + 1);
        drop(link);
    }

    #[test]
    fn what_does_not_attach_by_itself_says_so() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        for section in ["kprobe", "uprobe", "usdt", "perf_event", "tp", "no_such_family/x"] {
            let e = attach(&prog, section, ProgramType::Kprobe).unwrap_err();
            assert!(matches!(e, AttachError::NotAutomatic { .. }), "{section}: {e}");
        }
        let e = attach(&prog, "usdt//bin/sh:p:n", ProgramType::Kprobe).unwrap_err();
        assert!(e.to_string().contains("__bpf_usdt_specs"), "{e}");
        let e = attach(&prog, "tp/sched", ProgramType::Kprobe).unwrap_err();
        assert_eq!(e.to_string(), "tp/sched: expected `tp/category/name`");
    }

    #[test]
    fn a_functions_offset_comes_through() {
        for (function, offset) in [("f", 0), ("f", 16), ("f@@V", -3)] {
            assert_eq!(split_offset(&function_words(function, offset)), (function, offset));
        }
    }
}
