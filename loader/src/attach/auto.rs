//! Attaching a program to the target that its section name states.

use super::{
    error::AttachError,
    iter::{IterOptions, iter},
    kprobe::{KprobeOptions, KsyscallOptions, kprobe, ksyscall},
    kprobe_multi::{KprobeMultiOptions, KprobeSet, kprobe_multi},
    link::Link,
    program::ProgramRef,
    trace::{TraceOptions, freplace_with_label, trace_with_label},
    trace_multi::{TraceMultiOptions, TraceSet, trace_multi},
    tracepoint::{RawTracepointOptions, TracepointOptions, raw_tracepoint, tracepoint},
};
use core_relo_object::object::{AttachType, ProgramType, SecDef, SectionTarget, module_of_prefix};

/// Attaches a program to the target that its section name states (libbpf: `bpf_program__attach`).
///
/// Fails with [`AttachError::NoAutoAttach`] if libbpf does not auto-attach programs of this section.
pub(super) fn auto(program: &ProgramRef<'_>) -> Result<Link, AttachError> {
    match SectionTarget::parse(program.section)? {
        Some(auto) => tracing(program, auto),
        // Section names of networking and cgroup programs do not name the interface, cgroup or map.
        None => Err(not_automatic(program.section, program.name)),
    }
}

pub(crate) fn not_automatic(section: &str, name: &str) -> AttachError {
    AttachError::NoAutoAttach { label: format!("{section} (program `{name}`)").into() }
}

/// Returns whether [`auto`] attaches programs of a section. True for an invalid section name, because `auto`
/// explains the error.
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

fn tracing(program: &ProgramRef<'_>, auto: SectionTarget<'_>) -> Result<Link, AttachError> {
    let fd = program.fd;
    match auto {
        SectionTarget::Nothing => Err(not_automatic(program.section, program.name)),
        SectionTarget::Kprobe { module, function, offset, retprobe } => {
            let module = module.and_then(module_of_prefix);
            let name = module.map(|module| format!("{module}:{function}"));
            let function = name.as_deref().unwrap_or(function);
            kprobe(fd, function, &KprobeOptions { retprobe, offset, ..KprobeOptions::default() })
        }
        SectionTarget::KprobeMulti { pattern, kind } => {
            let options = KprobeMultiOptions { kind, ..KprobeMultiOptions::default() };
            kprobe_multi(fd, KprobeSet::Pattern(pattern), &options)
        }
        SectionTarget::Ksyscall { syscall, retprobe } => {
            ksyscall(fd, syscall, &KsyscallOptions { retprobe, ..KsyscallOptions::default() })
        }
        #[cfg(feature = "uprobe")]
        SectionTarget::Uprobe { binary, place, retprobe } => {
            use super::uprobe::{UprobeOptions, uprobe};
            uprobe(fd, binary, &UprobeOptions { function: Some(place), retprobe, ..UprobeOptions::default() })
        }
        #[cfg(feature = "uprobe")]
        SectionTarget::UprobeMulti { binary, pattern, kind } => {
            use super::uprobe_multi::{UprobeMultiOptions, UprobeSet, uprobe_multi};
            let options = UprobeMultiOptions { kind, ..UprobeMultiOptions::default() };
            uprobe_multi(fd, binary, UprobeSet::Pattern(pattern), &options)
        }
        #[cfg(not(feature = "uprobe"))]
        SectionTarget::Uprobe { .. } | SectionTarget::UprobeMulti { .. } => {
            Err(missing_feature(program.section, "uprobe"))
        }
        SectionTarget::TraceMulti { pattern } => {
            let attach_type = program.attach_type.or_else(|| attach_type_of(program.section));
            let attach_type = attach_type.ok_or_else(|| not_automatic(program.section, program.name))?;
            trace_multi(fd, attach_type, TraceSet::Pattern(pattern), &TraceMultiOptions::default())
        }
        #[cfg(feature = "usdt")]
        SectionTarget::Usdt { binary, provider, name } => usdt_probe(program, binary, provider, name),
        #[cfg(not(feature = "usdt"))]
        SectionTarget::Usdt { .. } => Err(missing_feature(program.section, "usdt")),
        SectionTarget::Tracepoint { category, name } => {
            tracepoint(fd, category, name, TracepointOptions::default())
        }
        SectionTarget::RawTracepoint { name } => raw_tracepoint(fd, name, RawTracepointOptions::default()),
        SectionTarget::AsLoaded => attach_to_load_target(program),
        SectionTarget::Iter => iter(fd, &IterOptions::default()),
    }
}

/// Attaches a program to a USDT probe.
#[cfg(feature = "usdt")]
fn usdt_probe(
    program: &ProgramRef<'_>,
    binary: &str,
    provider: &str,
    name: &str,
) -> Result<Link, AttachError> {
    use super::usdt::{UsdtOptions, usdt};
    let manager = program.expect_usdt(program.section)?;
    usdt(program.fd, manager, binary, provider, name, &UsdtOptions::default())
}

/// Returns the error for a section whose attachment is not part of this build.
#[cfg(not(feature = "usdt"))]
fn missing_feature(section: &str, feature: &str) -> AttachError {
    let problem =
        format!("the agent was built without the feature `{feature}` of the crate core-relo-loader");
    AttachError::target(section, problem)
}

/// Attaches a program to the target that the program was loaded for.
fn attach_to_load_target(program: &ProgramRef<'_>) -> Result<Link, AttachError> {
    let section = program.section.strip_prefix('?').unwrap_or(program.section);
    // A section such as `fentry` names no target if a load setting does. The label then names the program.
    let label = match section.split_once('/') {
        Some(_) => section.to_owned(),
        None => format!("{section} program `{}`", program.name),
    };
    let options = TraceOptions::default();
    match program.program_type {
        ProgramType::Ext => freplace_with_label(program.fd, None, &label),
        ProgramType::Lsm => trace_with_label(program.fd, AttachType::LsmMac, options, &label),
        _ => match program.attach_type.or_else(|| attach_type_of(program.section)) {
            Some(attach_type) => trace_with_label(program.fd, attach_type, options, &label),
            None => Err(not_automatic(program.section, program.name)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            test_support::elf::TestElf,
            test_support::trace::{Counter, Program, getppid, stops, tracefs_or_skip},
        },
        *,
    };

    fn attach(prog: &Program, section: &str, program_type: ProgramType) -> Result<Link, AttachError> {
        auto(&ProgramRef { fd: prog.fd(), name: "p", section, program_type, attach_type: None, usdt: None })
    }

    #[test]
    fn programs_are_attached_by_their_section_names() {
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
    fn sections_without_a_target_are_refused() {
        let Some(counter) = Counter::new() else { return };
        let Some(prog) = Program::counting(ProgramType::Kprobe, 0, &counter) else { return };
        for section in ["kprobe", "uprobe", "usdt", "perf_event", "tp", "no_such_family/x"] {
            let e = attach(&prog, section, ProgramType::Kprobe).unwrap_err();
            assert!(matches!(e, AttachError::NoAutoAttach { .. }), "{section}: {e}");
            assert!(!is_automatic(section, ProgramType::Kprobe));
        }
        let e = attach(&prog, "usdt//bin/sh:p:n", ProgramType::Kprobe).unwrap_err();
        assert!(e.to_string().contains("__bpf_usdt_specs"), "{e}");
        let e = attach(&prog, "tp/sched", ProgramType::Kprobe).unwrap_err();
        assert_eq!(e.to_string(), "tp/sched: expected `tp/category/name`");
    }

    #[test]
    fn sections_with_a_target_are_recognised() {
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
}
