//! Attaching a program to what its section's name says.

use super::{
    error::AttachError,
    iter::{IterOptions, iter},
    kprobe::{KprobeOptions, KsyscallOptions, kprobe, ksyscall},
    kprobe_multi::{KprobeMultiOptions, KprobeSet, kprobe_multi},
    link::Link,
    trace::{TraceOptions, freplace_named, trace_named},
    tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint},
    uprobe::{UprobeOptions, uprobe},
    uprobe_multi::{UprobeMultiOptions, UprobeSet, uprobe_multi},
    usdt::{UsdtManager, UsdtOptions, usdt},
};
use crate::object::{AttachType, ProgramType, SecDef, SectionTarget};
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
    match SectionTarget::parse(program.section)? {
        Some(auto) => tracing(program, auto),
        // Networking, cgroups and the rest: the name does not say to which interface, cgroup or map.
        None => Err(not_automatic(program.section, program.name)),
    }
}

pub(crate) fn not_automatic(section: &str, name: &str) -> AttachError {
    AttachError::NotAutomatic { what: format!("{section} (program `{name}`)").into() }
}

/// Whether [`auto`] has something to attach a program to; if its section's name cannot be read, that is to be told by `auto`.
pub(crate) fn is_automatic(section: &str, program_type: ProgramType) -> bool {
    match SectionTarget::parse(section) {
        Ok(None | Some(SectionTarget::Nothing)) => false,
        Ok(Some(SectionTarget::AsLoaded)) => {
            matches!(program_type, ProgramType::Ext | ProgramType::Lsm) || attach_type_of(section).is_some()
        }
        Ok(Some(_)) | Err(_) => true,
    }
}

fn attach_type_of(section: &str) -> Option<AttachType> {
    SecDef::find(section.strip_prefix('?').unwrap_or(section).as_bytes())?.attach_type
}

fn tracing(program: &Attachable<'_>, auto: SectionTarget<'_>) -> Result<Link, AttachError> {
    let fd = program.fd;
    match auto {
        SectionTarget::Nothing => Err(not_automatic(program.section, program.name)),
        SectionTarget::Kprobe { function, offset, retprobe } => {
            kprobe(fd, function, &KprobeOptions { retprobe, offset, ..KprobeOptions::default() })
        }
        SectionTarget::KprobeMulti { pattern, kind } => {
            let options = KprobeMultiOptions { kind, ..KprobeMultiOptions::default() };
            kprobe_multi(fd, KprobeSet::Pattern(pattern), &options)
        }
        SectionTarget::Ksyscall { syscall, retprobe } => {
            ksyscall(fd, syscall, &KsyscallOptions { retprobe, ..KsyscallOptions::default() })
        }
        SectionTarget::Uprobe { binary, function, offset, retprobe } => {
            let name = function_words(function, offset);
            let options = UprobeOptions { function: Some(&name), retprobe, ..UprobeOptions::default() };
            uprobe(fd, binary, &options)
        }
        SectionTarget::UprobeMulti { binary, pattern, kind } => {
            let options = UprobeMultiOptions { kind, ..UprobeMultiOptions::default() };
            uprobe_multi(fd, binary, UprobeSet::Pattern(pattern), &options)
        }
        SectionTarget::Usdt { binary, provider, name } => {
            let manager = program.usdt.ok_or_else(|| {
                let problem = "its object lacks the maps of libbpf's usdt.bpf.h, __bpf_usdt_specs and __bpf_usdt_ip_to_spec_id";
                AttachError::target(program.section, problem)
            })?;
            usdt(fd, manager, binary, provider, name, &UsdtOptions::default())
        }
        SectionTarget::Tracepoint { category, name } => {
            tracepoint(fd, category, name, &TracepointOptions::default())
        }
        SectionTarget::RawTracepoint { name } => raw_tracepoint(fd, name, &RawTracepointOptions::default()),
        SectionTarget::AsLoaded => as_loaded(program),
        SectionTarget::Iter => iter(fd, &IterOptions::default()),
    }
}

fn as_loaded(program: &Attachable<'_>) -> Result<Link, AttachError> {
    let section = program.section.strip_prefix('?').unwrap_or(program.section);
    // `fentry` alone, where a setting says of what, does not say much. The kernel cuts names: this one is whole.
    let what = match section.split_once('/') {
        Some(_) => section.to_owned(),
        None => format!("{section} program `{}`", program.name),
    };
    let options = TraceOptions::default();
    match program.program_type {
        ProgramType::Ext => freplace_named(program.fd, None, &what),
        ProgramType::Lsm => trace_named(program.fd, AttachType::LsmMac, options, &what),
        _ => match program.attach_type.or_else(|| attach_type_of(program.section)) {
            Some(attach_type) => trace_named(program.fd, attach_type, options, &what),
            None => Err(not_automatic(program.section, program.name)),
        },
    }
}

fn function_words(function: &str, offset: i64) -> String {
    if offset == 0 { function.to_owned() } else { format!("{function}+{offset}") }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            testing_elf::TestElf,
            testing_trace::{Counter, Program, getppid, stops, tracefs_or_skip},
        },
        *,
    };
    use crate::object::split_offset;

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
            assert!(!is_automatic(section, ProgramType::Kprobe));
        }
        let e = attach(&prog, "usdt//bin/sh:p:n", ProgramType::Kprobe).unwrap_err();
        assert!(e.to_string().contains("__bpf_usdt_specs"), "{e}");
        let e = attach(&prog, "tp/sched", ProgramType::Kprobe).unwrap_err();
        assert_eq!(e.to_string(), "tp/sched: expected `tp/category/name`");
    }

    #[test]
    fn what_attaches_by_itself_is_known_before() {
        for (section, kind) in [
            ("?kprobe/f", ProgramType::Kprobe),
            ("fentry/f", ProgramType::Tracing),
            ("lsm/file_open", ProgramType::Lsm),
            ("iter/task", ProgramType::Tracing),
            ("tp/sched", ProgramType::Tracepoint),
        ] {
            assert!(is_automatic(section, kind), "{section}");
        }
        for section in ["xdp", "tc", "syscall", "cgroup/dev", "sk_msg"] {
            assert!(!is_automatic(section, ProgramType::Xdp), "{section}");
        }
    }

    #[test]
    fn a_functions_offset_comes_through() {
        for (function, offset) in [("f", 0), ("f", 16), ("f@@V", -3)] {
            assert_eq!(split_offset(&function_words(function, offset)), (function, offset));
        }
    }
}
