//! What programs and maps of some kinds need besides their types.

use super::{
    fixed_names::{Enum, Struct},
    mark::{Change, Mark},
};

/// A property of programs or maps that the kernel checks at load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProgramFeature {
    /// XDP programs for packets in several buffers, `BPF_F_XDP_HAS_FRAGS` (5.18).
    XdpFrags,
    /// struct_ops maps that a link attaches, `BPF_F_LINK` (6.4).
    StructOpsLink,
    /// The flag `BPF_F_TOKEN_FD` of maps (6.9). Newer kernels take it with a token.
    MapToken,
    /// Ring buffers that overwrite the oldest records, `BPF_F_RB_OVERWRITE` (6.19).
    RingbufOverwrite,
    /// Uprobe programs that may sleep (6.0).
    SleepableUprobe,
    /// struct_ops programs that may sleep (6.3).
    SleepableStructOps,
}

impl ProgramFeature {
    /// Returns a noun phrase for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XdpFrags => "XDP programs for packets in several buffers",
            Self::StructOpsLink => "struct_ops maps with a link",
            Self::MapToken => "maps with BPF_F_TOKEN_FD",
            Self::RingbufOverwrite => "ring buffers that overwrite the oldest records",
            Self::SleepableUprobe => "uprobe programs that may sleep",
            Self::SleepableStructOps => "struct_ops programs that may sleep",
        }
    }

    pub(super) const fn change(self) -> Change {
        match self {
            Self::XdpFrags => Change::new(5, 18, &[Mark::Member(Struct::bpf_prog_aux, "xdp_has_frags")]),
            Self::StructOpsLink => {
                Change::new(6, 4, &[Mark::Enumerator(Enum::bpf_prog_type, "BPF_PROG_TYPE_NETFILTER")])
            }
            Self::MapToken => Change::new(6, 9, &[Mark::Enumerator(Enum::bpf_cmd, "BPF_TOKEN_CREATE")]),
            Self::RingbufOverwrite => {
                Change::new(6, 19, &[Mark::Member(Struct::bpf_ringbuf, "overwrite_pos")])
            }
            Self::SleepableUprobe => {
                Change::new(6, 0, &[Mark::Enumerator(Enum::bpf_attach_type, "BPF_LSM_CGROUP")])
            }
            Self::SleepableStructOps => {
                Change::new(6, 3, &[Mark::Member(Struct::net_device, "xdp_metadata_ops")])
            }
        }
    }
}
