//! Attachments by links. The program stays attached as long as the link.

use super::{AttachPointError, AttachSite, InterfaceHook, PointProgram, open::open_target};
use crate::{
    attach::{
        self, AttachError, CgroupOptions, CgroupOrder, CgroupRef, IterOptions, IterTarget, Link, PerfCounter,
        PerfCounterOptions, PerfEventOptions, PerfSample, Placement, ProgramRef, SectionTarget, TaskRef,
        TcOptions, UprobeMultiOptions, UprobeOptions, UprobeSet,
    },
    sys::{self, Errno},
};
use core_relo_object::object::{AttachType, ProgramType};
use std::{os::fd::AsFd as _, path::Path};

/// The samples per second of a program on a perf event, as few as do not disturb and without the beat of
/// timers.
const SAMPLES: PerfSample = PerfSample::Frequency(99);

impl PointProgram<'_> {
    /// Attaches the program by a link. The link has the text of the attach point as its label. All processors
    /// together are a link for each, labelled `cpu:N`.
    pub fn attach_by_link(&self) -> Result<Vec<Link>, AttachError> {
        let Self { program, point, .. } = self;
        let program_type = program.program_type;
        // The label of the link names the attach point, and the caller the program.
        let unnamed = program.unnamed();
        let bad = |problem: String| AttachError::target(point.to_string(), problem);
        let unfit = |error: AttachPointError| bad(error.to_string());
        let one = |link: Link| vec![link.with_label(point.to_string())];
        match point.site() {
            AttachSite::Interface { name, .. } => {
                let hook = point.interface_hook(program_type, program.attach_type).map_err(unfit)?;
                let hook = hook.ok_or_else(|| bad("the interface has no hook".into()))?;
                let name = name.as_str();
                match hook {
                    InterfaceHook::Xdp(mode) => unnamed.attach_xdp(name, mode),
                    InterfaceHook::Direction(direction) if self.may_use_traffic_control => {
                        unnamed.attach_classifier(name, direction)
                    }
                    InterfaceHook::Direction(direction) => {
                        let program = unnamed.with_attach_type(direction.attach_type());
                        program.attach_tcx(name, &Placement::default())
                    }
                    InterfaceHook::Classifier(of @ (AttachType::TcxIngress | AttachType::TcxEgress)) => {
                        unnamed.with_attach_type(of).attach_tcx(name, &Placement::default())
                    }
                    InterfaceHook::Classifier(of) => {
                        unnamed.with_attach_type(of).attach_netkit(name, &Placement::default())
                    }
                    InterfaceHook::Tc(direction) => unnamed.attach_tc(name, direction, TcOptions::default()),
                }
                .map(one)
            }
            AttachSite::Cgroup { path, attach_type } => {
                let of = self.cgroup_attach_type(*attach_type).map_err(unfit)?;
                if of == AttachType::TraceIter {
                    return attach_cgroup_iterator(&unnamed, path).map(one);
                }
                unnamed.with_attach_type(of).attach_cgroup(path, &CgroupOptions::default()).map(one)
            }
            AttachSite::Netns(path) => {
                unnamed.with_attach_type(self.netns_attach_type()).attach_netns(path).map(one)
            }
            AttachSite::Map { map, attach_type } => {
                let of = self.map_attach_type(*attach_type).map_err(unfit)?;
                let map = (self.open_map)(map)?;
                if of == AttachType::TraceIter {
                    return unnamed
                        .attach_iter(&IterOptions { target: IterTarget::Map(map.as_fd()) })
                        .map(one);
                }
                unnamed.with_attach_type(of).attach_sockmap(map.as_fd()).map(one)
            }
            AttachSite::Lirc(path) => unnamed.attach_lirc(path).map(one),
            AttachSite::Netfilter(hook) => unnamed.attach_netfilter(*hook).map(one),
            AttachSite::Process(pid) => {
                attach_to_process(&unnamed, *pid).map(one).map_err(|e| match e.errno() {
                    Some(Errno::ESRCH) => bad(format!("no such process: {e}")),
                    _ => e,
                })
            }
            AttachSite::Cpu(Some(cpu)) => {
                check_cpu(*cpu).map_err(bad)?;
                attach_to_cpu(&unnamed, *cpu).map(one).map_err(|e| match e.errno() {
                    Some(Errno::ENODEV) => bad(format!("the CPU is offline: {e}")),
                    _ => e,
                })
            }
            AttachSite::Cpu(None) => attach_to_each_cpu(&unnamed),
            AttachSite::Route(route) => route.attach(program.fd, program_type).map(one),
            AttachSite::Section(section) => {
                ProgramRef { section, attach_type: None, ..unnamed }.attach().map(one)
            }
        }
    }
}

/// Attaches an iterator to a cgroup and its descendants.
fn attach_cgroup_iterator(program: &ProgramRef<'_>, path: &Path) -> Result<Link, AttachError> {
    let dir = open_target(path, libc::O_DIRECTORY)?;
    let target =
        IterTarget::Cgroup { cgroup: CgroupRef::Fd(dir.as_fd()), order: CgroupOrder::DescendantsPre };
    program.attach_iter(&IterOptions { target })
}

/// Attaches a program to one process: a sampling perf event, the uprobe or USDT probe of its section, or an
/// iterator.
fn attach_to_process(program: &ProgramRef<'_>, pid: u32) -> Result<Link, AttachError> {
    match program.program_type {
        ProgramType::PerfEvent => {
            let event = attach::open_perf_counter(
                PerfCounter::CpuClock,
                &PerfCounterOptions { sample: SAMPLES, pid: Some(pid), ..PerfCounterOptions::default() },
            )?;
            return program.attach_perf_event(event, &PerfEventOptions::default());
        }
        ProgramType::Tracing => {
            let target = IterTarget::Task(TaskRef::Process(pid));
            return program.attach_iter(&IterOptions { target });
        }
        _ => {}
    }
    let pid = Some(pid);
    match SectionTarget::parse(program.section)? {
        Some(SectionTarget::Uprobe { binary, place, retprobe }) => {
            let options = UprobeOptions { function: Some(place), retprobe, pid, ..UprobeOptions::default() };
            program.attach_uprobe(binary, &options)
        }
        Some(SectionTarget::UprobeMulti { binary, pattern, kind }) => {
            let options = UprobeMultiOptions { kind, pid, ..UprobeMultiOptions::default() };
            program.attach_uprobe_multi(binary, UprobeSet::Pattern(pattern), &options)
        }
        #[cfg(feature = "usdt")]
        Some(SectionTarget::Usdt { binary, provider, name }) => {
            program.attach_usdt(binary, provider, name, &attach::UsdtOptions { pid, cookie: 0 })
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
    let numbers = sys::possible_cpu_numbers().map_err(|e| format!("the processors are not known: {e}"))?;
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if !numbers.contains(&cpu) => {
            Err(format!("no such CPU: expected one from {first} to {last}"))
        }
        _ => Ok(()),
    }
}

/// Attaches a program to a sampling perf event of a processor.
fn attach_to_cpu(program: &ProgramRef<'_>, cpu: u32) -> Result<Link, AttachError> {
    let options = PerfCounterOptions { sample: SAMPLES, cpu: Some(cpu), ..PerfCounterOptions::default() };
    let event = attach::open_perf_counter(PerfCounter::CpuClock, &options)?;
    program.attach_perf_event(event, &PerfEventOptions::default())
}

/// Attaches a program to a sampling perf event of each processor that is online.
fn attach_to_each_cpu(program: &ProgramRef<'_>) -> Result<Vec<Link>, AttachError> {
    let cpus = sys::possible_cpu_numbers()
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
