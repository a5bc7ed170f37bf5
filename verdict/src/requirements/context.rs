//! The context of a program, and the accesses to it that depend on the kernel.

use crate::{
    kernel::{AccessKind, ContextPart},
    reads::ContextAccess,
};
use core_relo_object::object::{AttachType, ProgramType, SecDef};

/// The context of a program, as far as the kernel decides on an access by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextKind {
    /// The arguments of the function, tracepoint, hook or struct_ops member that the program is attached to,
    /// a word each (kernel: `btf_ctx_access`).
    Arguments,
    /// The struct of a program type, which `struct bpf_ctx_convert` of the kernel's BTF names.
    Struct(ProgramType),
    /// The record of a trace event (kernel: `tp_prog_is_valid_access`).
    TraceEvent,
    /// The arguments of a raw tracepoint without types (kernel: `raw_tp_prog_is_valid_access`).
    RawTracepoint,
    /// The bytes that a caller of a `syscall` program passes (kernel: `syscall_prog_is_valid_access`).
    SystemCall,
}

/// The largest record of a trace event (kernel: `PERF_MAX_TRACE_SIZE`, 2048 before updates of 5.10).
pub const TRACE_EVENT_BYTES: u32 = 8192;

/// The pointer at the start of a trace event's record, which programs do not read.
pub const TRACE_EVENT_START: u32 = 8;

/// The words of a raw tracepoint's arguments (kernel: `MAX_BPF_FUNC_ARGS`), in bytes.
pub const RAW_TRACEPOINT_BYTES: u32 = 12 * 8;

/// The largest context of a `syscall` program. The kernel refuses an access to the last byte alone, too.
pub const SYSTEM_CALL_BYTES: u32 = 1 << 16;

/// The bytes of a register in the context of programs of perf events.
pub const REGISTER_BYTES: u32 = 8;

impl ContextKind {
    /// Returns the context of programs of a section. Returns `None` if the kernel does not decide by the
    /// place alone, or if nothing tells how: extensions of other programs.
    pub(super) fn new(def: &SecDef) -> Option<Self> {
        use AttachType as A;
        use ProgramType as P;
        match (def.program_type, def.attach_type) {
            (
                P::Tracing,
                Some(
                    A::TraceRawTp
                    | A::TraceFentry
                    | A::TraceFexit
                    | A::TraceFsession
                    | A::ModifyReturn
                    | A::TraceIter,
                ),
            )
            | (P::Lsm, Some(A::LsmMac | A::LsmCgroup))
            | (P::StructOps, _) => Some(Self::Arguments),
            (P::Tracepoint, _) => Some(Self::TraceEvent),
            (P::RawTracepoint | P::RawTracepointWritable, _) => Some(Self::RawTracepoint),
            (P::Syscall, _) => Some(Self::SystemCall),
            (program_type, _) => oldest_bytes(program_type).map(|_| Self::Struct(program_type)),
        }
    }

    /// Returns whether some kernel since 5.10 may refuse an access of programs of a section. No kernel
    /// permits an atomic access to a context (kernel: `check_atomic`). The first argument of an extension may
    /// be other memory.
    pub(super) fn may_refuse(context: Option<Self>, def: &SecDef, access: ContextAccess) -> bool {
        match context {
            Some(context) => !context.always_permits(def, access),
            None => access.kind == AccessKind::Atomic && def.program_type != ProgramType::Ext,
        }
    }

    /// Returns whether every kernel since 5.10 permits an access of programs of a section.
    fn always_permits(self, def: &SecDef, access: ContextAccess) -> bool {
        !access.is_moved
            && access.kind != AccessKind::Atomic
            // The kernel permits parts of the last members only.
            && (self != Self::Struct(ProgramType::PerfEvent) || access.bytes == REGISTER_BYTES)
            && self.always_has(access)
            && context_part(def, access).is_none_or(ContextPart::is_always_permitted)
    }

    /// Returns whether every kernel since 5.10 has the place of an access.
    fn always_has(self, access: ContextAccess) -> bool {
        let (start, end) = match self {
            Self::Arguments => return false,
            Self::Struct(program_type) => (0, oldest_bytes(program_type).unwrap_or(0)),
            // Kernels permit offsets below zero.
            Self::TraceEvent if access.offset < 0 => return true,
            Self::TraceEvent => (TRACE_EVENT_START, TRACE_EVENT_BYTES),
            Self::RawTracepoint => (0, RAW_TRACEPOINT_BYTES),
            Self::SystemCall => (0, SYSTEM_CALL_BYTES),
        };
        let offset = u32::try_from(access.offset).ok();
        let access_end = offset.and_then(|offset| offset.checked_add(access.bytes));
        is_aligned(access) && offset >= Some(start) && access_end.is_some_and(|access_end| access_end <= end)
    }
}

/// Returns an access as one that kernels permit or not. Returns `None` for an access before the context.
pub(crate) fn context_part(def: &SecDef, access: ContextAccess) -> Option<ContextPart> {
    let ContextAccess { offset, bytes, kind, .. } = access;
    let (program_type, attach_type) = (def.program_type, def.attach_type);
    Some(ContextPart { program_type, attach_type, offset: u32::try_from(offset).ok()?, bytes, kind })
}

/// Returns whether the offset of an access is a multiple of its width.
pub(crate) fn is_aligned(access: ContextAccess) -> bool {
    i32::try_from(access.bytes).is_ok_and(|bytes| access.offset.checked_rem(bytes) == Some(0))
}

/// Returns the size of the context struct of a program type in Linux 5.10, or in the first kernel with the
/// type; the smallest of all architectures. Later kernels add members.
const fn oldest_bytes(program_type: ProgramType) -> Option<u32> {
    use ProgramType as P;
    Some(match program_type {
        P::SocketFilter
        | P::SchedCls
        | P::SchedAct
        | P::CgroupSkb
        | P::LwtIn
        | P::LwtOut
        | P::LwtXmit
        | P::LwtSeg6local
        | P::SkSkb
        | P::FlowDissector => 184,
        P::Xdp => 24,
        P::CgroupSock | P::SkMsg => 80,
        P::CgroupSockAddr => 72,
        P::SockOps => 216,
        P::CgroupDevice => 12,
        P::CgroupSysctl => 8,
        P::CgroupSockopt | P::SkReuseport => 40,
        P::SkLookup => 64,
        P::Netfilter => 16,
        P::Kprobe | P::PerfEvent => 168,
        _ => return None,
    })
}
