//! Probes of helpers and kfuncs: programs of a single call (libbpf: `libbpf_probe_bpf_helper`).

use super::{
    answer::{PROG_LOAD, ProbeError, ProbeResult, Probed, is_undecided, undecided},
    delegation::delegated_program,
    program::{EXIT, ProbeProgram, RETURN_0, call},
    program_type::probe_type,
    token::Token,
};
use crate::target::running_kernel_btf;
use core_relo::{
    btf::Kind,
    insn::{Insn, opcode, pseudo},
};
use core_relo_object::object::{AttachType, ProgramType};

/// What the verifier says of a helper that the kernel does not have, whatever the program's type (kernel:
/// `check_helper_call`).
pub(super) const INVALID_HELPER: &str = "invalid func ";

/// What the verifier says of a helper that programs of a type may not call. The last messages are for helpers
/// that sleep, in a program that may not (the last since 7.0).
const REFUSED_HELPER: [&str; 6] = [
    INVALID_HELPER,
    "unknown func ",
    "program of this type cannot use helper ",
    "helper call is not allowed in probe",
    "helper call might sleep in a non-sleepable prog",
    "in non-sleepable prog",
];

/// What the verifier says of a kfunc that programs of a type may not call, if it knows no kfuncs, or if the
/// JIT compiler is off.
const REFUSED_KFUNC: [&str; 5] = [
    "is not allowed",
    "reserved fields",
    "is not supported",
    "does not support calling kernel function",
    "JIT is required for calling kernel function",
];

/// A point that programs of type TRACING or LSM are loaded for.
#[derive(Clone, Copy, Debug)]
struct TracePoint {
    program_type: ProgramType,
    attach_type: AttachType,
    name: &'static [u8],
    kind: Kind,
}

const fn point(
    program_type: ProgramType,
    attach_type: AttachType,
    name: &'static [u8],
    kind: Kind,
) -> TracePoint {
    TracePoint { program_type, attach_type, name, kind }
}

/// The points at which programs call the helper of a probe. A helper is available to a type if it is at one
/// of them.
const TRACE_POINTS: [TracePoint; 11] = [
    point(ProgramType::Tracing, AttachType::TraceRawTp, b"btf_trace_sched_switch", Kind::Typedef),
    point(ProgramType::Tracing, AttachType::TraceIter, b"bpf_iter_task", Kind::Func),
    point(ProgramType::Tracing, AttachType::TraceIter, b"bpf_iter_tcp", Kind::Func),
    point(ProgramType::Tracing, AttachType::TraceIter, b"bpf_iter_bpf_map_elem", Kind::Func),
    point(ProgramType::Tracing, AttachType::TraceFentry, b"vfs_truncate", Kind::Func),
    point(ProgramType::Tracing, AttachType::TraceFexit, b"vfs_truncate", Kind::Func),
    point(ProgramType::Tracing, AttachType::ModifyReturn, b"bpf_modify_return_test", Kind::Func),
    point(ProgramType::Lsm, AttachType::LsmMac, b"bpf_lsm_file_open", Kind::Func),
    point(ProgramType::Lsm, AttachType::LsmMac, b"bpf_lsm_bprm_committed_creds", Kind::Func),
    point(ProgramType::Lsm, AttachType::LsmCgroup, b"bpf_lsm_socket_bind", Kind::Func),
    point(ProgramType::Lsm, AttachType::LsmCgroup, b"bpf_lsm_socket_post_create", Kind::Func),
];

/// Attach types, besides those of [`ProbeProgram::new`], on which the helpers of a program type depend.
const OTHER_ATTACH_TYPES: [(ProgramType, AttachType); 5] = [
    (ProgramType::CgroupSkb, AttachType::CgroupInetEgress),
    (ProgramType::CgroupSock, AttachType::CgroupInet4PostBind),
    (ProgramType::CgroupSockAddr, AttachType::CgroupInet4Bind),
    (ProgramType::CgroupSockAddr, AttachType::CgroupUdp4Sendmsg),
    (ProgramType::CgroupSockopt, AttachType::CgroupSetsockopt),
];

/// The programs of other attach types, of targets, and those that may sleep.
#[derive(Debug)]
pub(super) struct Variants {
    /// Those that this kernel loads.
    programs: Vec<ProbeProgram>,
    /// The types of those that this process may not load, with the error.
    undecided: Vec<(ProgramType, ProbeError)>,
}

impl Variants {
    /// Finds the variants. The running kernel's BTF has the targets.
    pub(super) fn find(token: Token<'_>) -> Self {
        let btf = running_kernel_btf();
        let at_target = |point: &TracePoint| {
            let target = btf.find_in_vmlinux(point.name, point.kind).ok()??;
            let program = ProbeProgram::with_attach_type(point.program_type, point.attach_type.number());
            let program = program.at_type(target.id().0);
            Some([program, program.sleepable()])
        };
        let others = OTHER_ATTACH_TYPES.iter();
        let others = others.map(|(ty, attach)| ProbeProgram::with_attach_type(*ty, attach.number()));
        // Of the programs at probes, those at uprobes may sleep.
        let uprobe = ProbeProgram::new(ProgramType::Kprobe).sleepable();
        let at_targets = TRACE_POINTS.iter().filter_map(at_target).flatten();
        let mut variants = Self { programs: Vec::new(), undecided: Vec::new() };
        for program in others.chain([uprobe]).chain(at_targets) {
            match program.load(&RETURN_0, token) {
                Ok(_) => variants.programs.push(program),
                Err(errno) if is_undecided(errno) => {
                    variants.undecided.push((program.program_type, undecided(PROG_LOAD, errno)));
                }
                // A program that this kernel does not load shows nothing about calls.
                Err(_) => {}
            }
        }
        variants
    }
}

/// The programs of a type that make the calls of a probe.
#[derive(Clone, Copy)]
pub(super) struct Caller<'p> {
    pub(super) program_type: ProgramType,
    pub(super) variants: &'p Variants,
    pub(super) token: Token<'p>,
}

/// Probes whether programs may call a helper.
pub(super) fn helper(caller: Caller<'_>, helper: u32) -> ProbeResult {
    let Ok(imm) = i32::try_from(helper) else { return Ok(Probed::no("it is no helper")) };
    probe_call(caller, call(imm), &REFUSED_HELPER)
}

/// Probes whether programs may call a kernel function of vmlinux.
pub(super) fn kfunc(caller: Caller<'_>, name: &[u8]) -> ProbeResult {
    let btf = running_kernel_btf();
    let Ok(function) = btf.find_in_vmlinux(name, Kind::Func) else {
        return Err(ProbeError::NoProbe("the kernel's BTF cannot be read"));
    };
    let Some(function) = function else {
        return Err(ProbeError::NoProbe("vmlinux has no such function"));
    };
    let Ok(imm) = i32::try_from(function.id().0) else { return Ok(Probed::no("it is no function")) };
    probe_call(
        caller,
        Insn { code: opcode::CALL, dst: 0, src: pseudo::KFUNC_CALL, off: 0, imm },
        &REFUSED_KFUNC,
    )
}

fn probe_call(caller: Caller<'_>, call: Insn, refusals: &[&str]) -> ProbeResult {
    let Caller { program_type, variants, token } = caller;
    if matches!(program_type, ProgramType::Ext | ProgramType::StructOps) {
        return Err(ProbeError::NeedsTarget(program_type));
    }
    let needs_target = matches!(program_type, ProgramType::Tracing | ProgramType::Lsm);
    let plain = (!needs_target).then(|| delegated_program(program_type, token));
    let others = variants.programs.iter().filter(|program| program.program_type == program_type).copied();
    let (mut refused, mut error) = (None, None);
    for program in plain.into_iter().chain(others) {
        match probe_call_in(program, call, refusals, token) {
            Ok(answer) if answer.is_supported => return Ok(answer),
            Ok(answer) => refused = Some(answer),
            Err(other) => error = Some(other),
        }
    }
    let not_loaded = || variants.undecided.iter().find(|(ty, _)| *ty == program_type);
    match error.or_else(|| not_loaded().map(|(_, error)| error.clone())) {
        Some(error) => Err(error),
        None => refused.ok_or(ProbeError::NeedsTarget(program_type)),
    }
}

fn probe_call_in(program: ProbeProgram, call: Insn, refusals: &[&str], token: Token<'_>) -> ProbeResult {
    match program.load_with_log(&[call, EXIT], token) {
        Ok(_) => Ok(Probed::yes("BPF_PROG_LOAD succeeds")),
        Err(refusal) if is_undecided(refusal.errno) => Err(undecided(PROG_LOAD, refusal.errno)),
        Err(refusal) if refusals.iter().any(|text| refusal.log.contains(text)) => {
            Ok(Probed::no(refusal.message()))
        }
        // A load that fails before the verifier runs shows nothing about the call.
        Err(refusal) if refusal.log.is_empty() => match probe_type(program.program_type, token) {
            Ok(answer) if answer.is_supported => {
                Err(ProbeError::Failed { request: PROG_LOAD, errno: refusal.errno })
            }
            answer => answer,
        },
        // The verifier knows the call, and refuses its arguments.
        Err(refusal) => Ok(Probed::yes(refusal.message())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_kernels_that_refuse_every_kfunc_are_refusals() {
        for message in [
            "calling kernel function is not supported without CONFIG_DEBUG_INFO_BTF",
            "JIT is required for calling kernel function",
            "JIT does not support calling kernel function",
        ] {
            assert!(REFUSED_KFUNC.iter().any(|refusal| message.contains(refusal)), "{message}");
        }
        assert!(!REFUSED_KFUNC.iter().any(|refusal| "R1 !read_ok".contains(refusal)));
    }
}
