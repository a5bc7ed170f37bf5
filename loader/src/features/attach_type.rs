//! Probes of attach types and link types. They attach nothing: their targets do not exist.

use super::{
    answer::{
        LINK_CREATE, PROG_LOAD, ProbeError, ProbeResult, Probed, answer, answer_refusal, is_undecided,
        undecided,
    },
    feature::probe_feature,
    map_type::probe_map_of_programs,
    program::{EXIT, NO_FUNCTION, NO_TYPEDEF, ProbeProgram, RETURN_0, mov, probe_message},
    token::Token,
};
use crate::{
    sys::{self, Errno, LinkCreate, LinkExtra, LinkTarget, UprobeBinary},
    token_scope::TokenRequest,
};
use core_relo_object::features::Feature;
use core_relo_object::object::{AttachType, LinkType, MapType, ProgramType};
use std::os::fd::{AsFd as _, OwnedFd};

const PROG_ATTACH: &str = "BPF_PROG_ATTACH";

/// An expected attach type that no kernel has.
const NO_ATTACH_TYPE: u32 = 0x7fff_0000;

/// The errors of a kernel that looks up a target: a closed descriptor, the index of no interface.
const NO_TARGET: [i32; 2] = [libc::EBADF, libc::ENODEV];

/// Probes whether programs are loaded for an attach type, or attached by it.
pub(super) fn probe_type(attach_type: AttachType, token: Token<'_>) -> ProbeResult {
    use AttachType as A;
    let Some(program_type) = attach_type.program_type() else {
        return Err(ProbeError::NoProbe("no program type has this attach type"));
    };
    let program = ProbeProgram::with_attach_type(program_type, attach_type.number());
    match attach_type {
        A::StructOps => probe_feature(Feature::StructOpsLink, token),
        A::XdpDevmap => probe_map_of_programs(MapType::Devmap, token),
        A::XdpCpumap => probe_map_of_programs(MapType::Cpumap, token),
        A::TraceRawTp => probe_message(program.at_type(1), &[NO_TYPEDEF], token),
        A::TraceFentry
        | A::TraceFexit
        | A::ModifyReturn
        | A::TraceIter
        | A::TraceFsession
        | A::LsmMac
        | A::LsmCgroup => probe_message(program.at_type(1), &[NO_FUNCTION], token),
        A::TraceFentryMulti | A::TraceFexitMulti | A::TraceFsessionMulti => {
            answer(PROG_LOAD, program.load(&RETURN_0, token))
        }
        A::TraceKprobeMulti | A::TraceKprobeSession => {
            let extra = LinkExtra::KprobeMulti {
                flags: 0,
                symbols: &[c"core_relo_no_such_function"],
                addresses: &[],
                cookies: &[],
            };
            probe_multi(program, extra, &[libc::ESRCH, libc::ENOENT], token)
        }
        A::TraceUprobeMulti | A::TraceUprobeSession => {
            let extra = LinkExtra::UprobeMulti {
                // The root directory is no binary.
                binary: UprobeBinary::Path(c"/"),
                offsets: &[0],
                ref_ctr_offsets: &[],
                cookies: &[],
                flags: 0,
                pid: 0,
            };
            probe_multi(program, extra, &[libc::EBADF], token)
        }
        A::Xdp => probe_xdp_link(token),
        A::PerfEvent => {
            probe_link(ProbeProgram::with_attach_type(ProgramType::Tracepoint, 0), attach_type, token)
        }
        _ => probe_by_target(program, attach_type, token),
    }
}

/// Returns the request by which [`probe_type`] loads the program or creates the map. Returns `None` for an
/// attach type of no program.
pub(super) fn probe_request(attach_type: AttachType) -> Option<TokenRequest> {
    let program = |program_type: ProgramType, attach_type| TokenRequest::Program {
        program_type: program_type.number(),
        attach_type,
    };
    Some(match attach_type {
        AttachType::XdpDevmap => TokenRequest::Map(MapType::Devmap.number()),
        AttachType::XdpCpumap => TokenRequest::Map(MapType::Cpumap.number()),
        AttachType::PerfEvent => program(ProgramType::Tracepoint, 0),
        _ => program(attach_type.program_type()?, attach_type.number()),
    })
}

/// Probes with a link to several functions of a target that does not exist.
fn probe_multi(
    program: ProbeProgram,
    extra: LinkExtra<'_>,
    expected: &[i32],
    token: Token<'_>,
) -> ProbeResult {
    let attach_type = program.attach_type;
    let fd = load(program, token)?;
    let create = LinkCreate { prog: fd.as_fd(), target: LinkTarget::None, attach_type, flags: 0, extra };
    answer_refusal(LINK_CREATE, sys::link_create(&create), expected)
}

/// Probes with a program of the attach type, first by a link, then without.
fn probe_by_target(program: ProbeProgram, attach_type: AttachType, token: Token<'_>) -> ProbeResult {
    // Some programs of sockets must return 1.
    let fd = match program.load(&[mov(0, 1), EXIT], token).or_else(|_| program.load(&RETURN_0, token)) {
        Ok(fd) => fd,
        Err(errno) if is_undecided(errno) => return Err(undecided(PROG_LOAD, errno)),
        Err(errno) => return Ok(Probed::no(format!("{PROG_LOAD}: {errno}"))),
    };
    let by_link = sys::link_to_closed_target(fd.as_fd(), attach_type.number()).map(drop);
    let by_link = answer_refusal(LINK_CREATE, by_link, &NO_TARGET);
    if by_link.as_ref().is_ok_and(|answer| answer.is_supported) {
        return by_link;
    }
    let attached = sys::attach_to_closed_target(fd.as_fd(), attach_type.number());
    let attached = answer_refusal(PROG_ATTACH, attached, &NO_TARGET);
    if attached.as_ref().is_ok_and(|answer| answer.is_supported) {
        return attached;
    }
    // Some programs are attached in other ways than by bpf(2). A kernel with the attach type compares it at
    // the load.
    match ProbeProgram::with_attach_type(program.program_type, NO_ATTACH_TYPE).load(&RETURN_0, token) {
        Ok(_) => attached,
        Err(errno) if is_undecided(errno) => Err(undecided(PROG_LOAD, errno)),
        Err(_) => Ok(Probed::yes("BPF_PROG_LOAD accepts this attach type, and refuses an unknown one")),
    }
}

fn load(program: ProbeProgram, token: Token<'_>) -> Result<OwnedFd, ProbeError> {
    program.load(&RETURN_0, token).map_err(|errno| undecided(PROG_LOAD, errno))
}

/// Probes with a link to a target that does not exist. A program that cannot be loaded makes the answer no:
/// no link has such programs.
fn probe_link(program: ProbeProgram, attach_type: AttachType, token: Token<'_>) -> ProbeResult {
    match program.load(&RETURN_0, token) {
        Ok(fd) => {
            let result = sys::link_to_closed_target(fd.as_fd(), attach_type.number());
            answer_refusal(LINK_CREATE, result, &NO_TARGET)
        }
        refused => answer(PROG_LOAD, refused),
    }
}

/// Probes with a link to the loopback interface, whose driver has no XDP. The kernel reports a missing
/// interface as it reports an unknown link.
fn probe_xdp_link(token: Token<'_>) -> ProbeResult {
    const LOOPBACK: u32 = 1;
    const DRIVER_MODE: u32 = 1 << 2;
    let attach_type = AttachType::Xdp.number();
    match ProbeProgram::with_attach_type(ProgramType::Xdp, attach_type).load(&RETURN_0, token) {
        Ok(fd) => {
            let create = LinkCreate {
                prog: fd.as_fd(),
                target: LinkTarget::Interface(LOOPBACK),
                attach_type,
                flags: DRIVER_MODE,
                extra: LinkExtra::None,
            };
            match sys::link_create(&create) {
                Err(errno @ Errno(libc::EOPNOTSUPP)) => Ok(Probed::yes(format!(
                    "{LINK_CREATE}: {errno}, for the loopback interface in driver mode"
                ))),
                result => answer(LINK_CREATE, result),
            }
        }
        refused => answer(PROG_LOAD, refused),
    }
}

/// Probes whether the kernel has a link type.
pub(super) fn probe_link_type(link_type: LinkType, token: Token<'_>) -> ProbeResult {
    use AttachType as A;
    let linked = |program_type, attach_type: AttachType| {
        probe_link(ProbeProgram::with_attach_type(program_type, attach_type.number()), attach_type, token)
    };
    match link_type {
        LinkType::RawTracepoint => match ProbeProgram::new(ProgramType::RawTracepoint).load(&RETURN_0, token)
        {
            Ok(fd) => {
                let opened = sys::raw_tracepoint_open(Some(c"core_relo_no_such_tracepoint"), &fd, 0);
                answer_refusal("BPF_RAW_TRACEPOINT_OPEN", opened, &[libc::ENOENT])
            }
            refused => answer(PROG_LOAD, refused),
        },
        LinkType::Tracing => probe_type(A::TraceRawTp, token),
        LinkType::Cgroup => linked(ProgramType::CgroupSkb, A::CgroupInetEgress),
        LinkType::Iter => probe_type(A::TraceIter, token),
        LinkType::Netns => linked(ProgramType::FlowDissector, A::FlowDissector),
        LinkType::Xdp => probe_xdp_link(token),
        LinkType::PerfEvent => probe_type(A::PerfEvent, token),
        LinkType::KprobeMulti => probe_type(A::TraceKprobeMulti, token),
        LinkType::StructOps => probe_feature(Feature::StructOpsLink, token),
        LinkType::Netfilter => probe_type(A::Netfilter, token),
        LinkType::Tcx => linked(ProgramType::SchedCls, A::TcxIngress),
        LinkType::UprobeMulti => probe_type(A::TraceUprobeMulti, token),
        LinkType::Netkit => linked(ProgramType::SchedCls, A::NetkitPrimary),
        LinkType::Sockmap => linked(ProgramType::SkMsg, A::SkMsgVerdict),
        LinkType::TracingMulti => probe_type(A::TraceFentryMulti, token),
        LinkType::Unspec => Ok(Probed::no("it is no link type")),
        _ => Err(ProbeError::NoProbe("the link type is unknown")),
    }
}
