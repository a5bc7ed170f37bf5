//! The capabilities that loading a program needs.

use super::{BPF, NET_ADMIN, PERFMON, SYS_ADMIN, thread_capabilities};
use core_relo_object::object::ProgramType;

/// A capability of the process (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `CAP_BPF`; before Linux 5.8 `CAP_SYS_ADMIN`.
    Bpf,
    /// `CAP_PERFMON`, for tracing; before Linux 5.8 `CAP_SYS_ADMIN`.
    Perfmon,
    /// `CAP_NET_ADMIN`, for networking.
    NetAdmin,
}

#[cfg(feature = "serde")]
impl serde::Serialize for Capability {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Capability {
    /// Returns the name: `CAP_BPF`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::NetAdmin => "CAP_NET_ADMIN",
        }
    }

    /// Returns the capabilities that loading a program of a type needs (kernel: `is_perfmon_prog_type`,
    /// `is_net_admin_prog_type`).
    pub fn needed_for(program_type: ProgramType) -> Vec<Self> {
        use ProgramType as P;
        let mut needed = vec![Self::Bpf];
        if matches!(
            program_type,
            P::Kprobe
                | P::Tracepoint
                | P::PerfEvent
                | P::RawTracepoint
                | P::RawTracepointWritable
                | P::Tracing
                | P::Lsm
                | P::StructOps
                | P::Ext
        ) {
            needed.push(Self::Perfmon);
        }
        if matches!(
            program_type,
            P::SchedCls
                | P::SchedAct
                | P::Xdp
                | P::LwtIn
                | P::LwtOut
                | P::LwtXmit
                | P::LwtSeg6local
                | P::SkSkb
                | P::SkMsg
                | P::FlowDissector
                | P::CgroupDevice
                | P::CgroupSock
                | P::CgroupSockAddr
                | P::CgroupSockopt
                | P::CgroupSysctl
                | P::SockOps
                | P::Netfilter
                | P::Ext
        ) {
            needed.push(Self::NetAdmin);
        }
        needed
    }

    /// Returns whether this thread has the capability, or for BPF and PERFMON the older SYS_ADMIN. Returns
    /// `None` if `/proc` does not tell.
    pub fn is_held(self) -> Option<bool> {
        let sufficient = match self {
            Self::Bpf => BPF | SYS_ADMIN,
            Self::Perfmon => PERFMON | SYS_ADMIN,
            Self::NetAdmin => NET_ADMIN,
        };
        Some(thread_capabilities()? & sufficient != 0)
    }
}
