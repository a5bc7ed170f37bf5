//! Attachments by links. The program stays attached as long as the link.

use super::{AttachPoint, AttachedProgram, InterfaceHook, Site, fit::interface_hook};
use core_relo_loader::{
    Errno,
    attach::{
        self, AttachError, CgroupOptions, CgroupOrder, CgroupRef, IterOptions, IterTarget, Link, PerfCounter,
        PerfCounterOptions, PerfEventOptions, PerfSample, Placement, ProgramRef, SectionTarget, TaskRef,
        UprobeMultiOptions, UprobeOptions, UprobeSet,
    },
    maps,
    object::{AttachType, ProgramType},
};
use rustix::fs::{Mode, OFlags};
use std::{
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

/// The samples per second of a program on a perf event, as few as do not disturb and without the beat of timers.
const SAMPLES: PerfSample = PerfSample::Frequency(99);

/// Attaches a program to an attach point. The link has the name of the attach point, as the user wrote it. All processors together are a
/// link for each, named `cpu:N`.
pub(crate) fn attach(program: &AttachedProgram<'_>, point: &AttachPoint) -> Result<Vec<Link>, AttachError> {
    let AttachedProgram { fd, program_type, attach_type, .. } = *program;
    let bad = |problem: String| AttachError::target(point.to_string(), problem);
    let one = |link: Link| vec![link.with_label(point.to_string())];
    match &point.site {
        Site::Interface { name, hook } => {
            let hook = interface_hook(*hook, program_type, attach_type).map_err(bad)?;
            let name = name.as_str();
            match hook {
                InterfaceHook::Xdp(mode) => attach::xdp(fd, name, mode),
                InterfaceHook::Direction(direction) if program.may_use_traffic_control() => {
                    attach::classifier(fd, name, direction)
                }
                InterfaceHook::Direction(direction) => {
                    attach::tcx(fd, name, direction.attach_type(), &Placement::default())
                }
                InterfaceHook::Classifier(of @ (AttachType::TcxIngress | AttachType::TcxEgress)) => {
                    attach::tcx(fd, name, of, &Placement::default())
                }
                InterfaceHook::Classifier(of) => attach::netkit(fd, name, of, &Placement::default()),
                InterfaceHook::Tc(direction) => attach::traffic_control(fd, name, direction),
            }
            .map(one)
        }
        Site::Cgroup { path, attach_type: given } => {
            let of = point.cgroup_attach_type(program_type, given.or(attach_type)).map_err(bad)?;
            if of == AttachType::TraceIter {
                return attach_cgroup_iterator(program, path).map(one);
            }
            attach::cgroup(fd, path, of, &CgroupOptions::default()).map(one)
        }
        Site::Netns(path) => attach::netns(fd, path, netns_attach_type(program_type)).map(one),
        Site::Map { map, attach_type: given } => {
            let of = point.map_attach_type(program_type, given.or(attach_type)).map_err(bad)?;
            let map = (program.open_map)(map)?;
            if of == AttachType::TraceIter {
                return attach::iter(fd, &IterOptions { target: IterTarget::Map(map.as_fd()) }).map(one);
            }
            attach::sockmap(fd, map.as_fd(), of).map(one)
        }
        Site::Lirc(path) => attach::lirc(fd, path).map(one),
        Site::Netfilter(hook) => attach::netfilter(fd, *hook).map(one),
        Site::Process(pid) => attach_to_process(program, *pid).map(one).map_err(|e| match e.errno() {
            Some(Errno::ESRCH) => bad(format!("no such process: {e}")),
            _ => e,
        }),
        Site::Cpu(Some(cpu)) => {
            check_cpu(*cpu).map_err(bad)?;
            attach_to_cpu(program, *cpu).map(one).map_err(|e| match e.errno() {
                Some(Errno::ENODEV) => bad(format!("the CPU is offline: {e}")),
                _ => e,
            })
        }
        Site::Cpu(None) => attach_to_each_cpu(program),
        Site::Route(route) => route.attach(program).map(one),
        Site::Section(section) => attach::auto(&ProgramRef {
            fd,
            name: program.name,
            section,
            program_type,
            attach_type: None,
            usdt: program.usdt,
        })
        .map(one),
    }
}

/// Returns the attach type of a program of network namespaces.
pub(super) fn netns_attach_type(program_type: ProgramType) -> AttachType {
    match program_type {
        ProgramType::SkLookup => AttachType::SkLookup,
        _ => AttachType::FlowDissector,
    }
}

/// Opens a file without waiting for the writer of a named pipe.
pub(super) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, AttachError> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|e| {
        let e = std::io::Error::from(e);
        AttachError::target(path.display().to_string(), format!("cannot open it: {e}"))
    })
}

/// Attaches an iterator to a cgroup and its descendants.
fn attach_cgroup_iterator(program: &AttachedProgram<'_>, path: &Path) -> Result<Link, AttachError> {
    let dir = open(path, OFlags::DIRECTORY)?;
    let target =
        IterTarget::Cgroup { cgroup: CgroupRef::Fd(dir.as_fd()), order: CgroupOrder::DescendantsPre };
    attach::iter(program.fd, &IterOptions { target })
}

/// Attaches a program to one process: a sampling perf event, the uprobe or USDT probe of its section, or an iterator.
fn attach_to_process(program: &AttachedProgram<'_>, pid: u32) -> Result<Link, AttachError> {
    let fd = program.fd;
    match program.program_type {
        ProgramType::PerfEvent => {
            let event = attach::open_perf_counter(
                PerfCounter::CpuClock,
                &PerfCounterOptions { sample: SAMPLES, pid: Some(pid), ..PerfCounterOptions::default() },
            )?;
            return attach::perf_event(fd, event, &PerfEventOptions::default());
        }
        ProgramType::Tracing => {
            let target = IterTarget::Task(TaskRef::Process(pid));
            return attach::iter(fd, &IterOptions { target });
        }
        _ => {}
    }
    let pid = Some(pid);
    match SectionTarget::parse(program.section)? {
        Some(SectionTarget::Uprobe { binary, place, retprobe }) => {
            let options = UprobeOptions { function: Some(place), retprobe, pid, ..UprobeOptions::default() };
            attach::uprobe(fd, binary, &options)
        }
        Some(SectionTarget::UprobeMulti { binary, pattern, kind }) => {
            let options = UprobeMultiOptions { kind, pid, ..UprobeMultiOptions::default() };
            attach::uprobe_multi(fd, binary, UprobeSet::Pattern(pattern), &options)
        }
        Some(SectionTarget::Usdt { binary, provider, name }) => {
            let manager = program.usdt.ok_or_else(|| {
                AttachError::target(program.section, "the object lacks the maps of libbpf's usdt.bpf.h")
            })?;
            attach::usdt(fd, manager, binary, provider, name, &attach::UsdtOptions { pid, cookie: 0 })
        }
        _ => {
            let problem = "only uprobes and USDT probes run for one process, expected a section such as \
                           `uprobe//bin/bash:readline`";
            Err(AttachError::target(program.section, problem))
        }
    }
}

/// Checks that the machine can have a processor.
fn check_cpu(cpu: u32) -> Result<(), String> {
    let numbers = maps::possible_cpu_numbers().map_err(|e| format!("the processors are not known: {e}"))?;
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if !numbers.contains(&cpu) => {
            Err(format!("no such CPU: expected one from {first} to {last}"))
        }
        _ => Ok(()),
    }
}

/// Attaches a program to a sampling perf event of a processor.
fn attach_to_cpu(program: &AttachedProgram<'_>, cpu: u32) -> Result<Link, AttachError> {
    let options = PerfCounterOptions { sample: SAMPLES, cpu: Some(cpu), ..PerfCounterOptions::default() };
    let event = attach::open_perf_counter(PerfCounter::CpuClock, &options)?;
    attach::perf_event(program.fd, event, &PerfEventOptions::default())
}

/// Attaches a program to a sampling perf event of each processor that is online.
fn attach_to_each_cpu(program: &AttachedProgram<'_>) -> Result<Vec<Link>, AttachError> {
    let cpus = maps::possible_cpu_numbers()
        .map_err(|e| AttachError::target("cpu:all", format!("the processors are not known: {e}")))?;
    let mut links = Vec::new();
    for cpu in cpus {
        match attach_to_cpu(program, *cpu) {
            Ok(link) => links.push(link.with_label(format!("cpu:{cpu}"))),
            // A processor that is offline has no events.
            Err(e) if e.errno() == Some(Errno::ENODEV) => {}
            Err(e) => return Err(e),
        }
    }
    if links.is_empty() {
        return Err(AttachError::target(
            "cpu:all",
            "no processor has perf events, expected one that is online",
        ));
    }
    Ok(links)
}
