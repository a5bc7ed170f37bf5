//! The program, attach, map and link types of the kernel (`include/uapi/linux/bpf.h`).

macro_rules! kernel_enum {
    ($(#[$doc:meta])* $name:ident $prefix:literal { $($variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {$(
            #[doc = concat!("`", $text, "`, ", $number, ".")]
            $variant,
        )*}

        impl $name {
            /// All known types, sorted by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the kernel's number of the type.
            pub const fn number(self) -> u32 {
                match self {$(Self::$variant => $number,)*}
            }

            /// Returns the type with a number; `None` if the number is unknown.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the kernel's name of the type.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$variant => $text,)*}
            }

            /// Returns the kernel's name in lower case, without the prefix that all types have.
            pub fn short_name(self) -> String {
                self.name().strip_prefix($prefix).unwrap_or(self.name()).to_lowercase()
            }

            /// Returns all types but `UNSPEC`, which stands for none.
            pub fn offered() -> impl Iterator<Item = Self> + Clone {
                Self::ALL.iter().copied().filter(|ty| !ty.name().ends_with("_UNSPEC"))
            }

            /// Returns the type with a name of the kernel's, in any case, with or without the prefix that all
            /// types have.
            pub fn from_name(name: &str) -> Option<Self> {
                let upper = name.to_ascii_uppercase();
                let short = upper.strip_prefix($prefix).unwrap_or(&upper);
                Self::offered().find(|ty| ty.name().strip_prefix($prefix) == Some(short))
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

kernel_enum! {
    /// A program type (`enum bpf_prog_type`).
    ProgramType "BPF_PROG_TYPE_" {
        Unspec = 0 "BPF_PROG_TYPE_UNSPEC",
        SocketFilter = 1 "BPF_PROG_TYPE_SOCKET_FILTER",
        Kprobe = 2 "BPF_PROG_TYPE_KPROBE",
        SchedCls = 3 "BPF_PROG_TYPE_SCHED_CLS",
        SchedAct = 4 "BPF_PROG_TYPE_SCHED_ACT",
        Tracepoint = 5 "BPF_PROG_TYPE_TRACEPOINT",
        Xdp = 6 "BPF_PROG_TYPE_XDP",
        PerfEvent = 7 "BPF_PROG_TYPE_PERF_EVENT",
        CgroupSkb = 8 "BPF_PROG_TYPE_CGROUP_SKB",
        CgroupSock = 9 "BPF_PROG_TYPE_CGROUP_SOCK",
        LwtIn = 10 "BPF_PROG_TYPE_LWT_IN",
        LwtOut = 11 "BPF_PROG_TYPE_LWT_OUT",
        LwtXmit = 12 "BPF_PROG_TYPE_LWT_XMIT",
        SockOps = 13 "BPF_PROG_TYPE_SOCK_OPS",
        SkSkb = 14 "BPF_PROG_TYPE_SK_SKB",
        CgroupDevice = 15 "BPF_PROG_TYPE_CGROUP_DEVICE",
        SkMsg = 16 "BPF_PROG_TYPE_SK_MSG",
        RawTracepoint = 17 "BPF_PROG_TYPE_RAW_TRACEPOINT",
        CgroupSockAddr = 18 "BPF_PROG_TYPE_CGROUP_SOCK_ADDR",
        LwtSeg6local = 19 "BPF_PROG_TYPE_LWT_SEG6LOCAL",
        LircMode2 = 20 "BPF_PROG_TYPE_LIRC_MODE2",
        SkReuseport = 21 "BPF_PROG_TYPE_SK_REUSEPORT",
        FlowDissector = 22 "BPF_PROG_TYPE_FLOW_DISSECTOR",
        CgroupSysctl = 23 "BPF_PROG_TYPE_CGROUP_SYSCTL",
        RawTracepointWritable = 24 "BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE",
        CgroupSockopt = 25 "BPF_PROG_TYPE_CGROUP_SOCKOPT",
        Tracing = 26 "BPF_PROG_TYPE_TRACING",
        StructOps = 27 "BPF_PROG_TYPE_STRUCT_OPS",
        Ext = 28 "BPF_PROG_TYPE_EXT",
        Lsm = 29 "BPF_PROG_TYPE_LSM",
        SkLookup = 30 "BPF_PROG_TYPE_SK_LOOKUP",
        Syscall = 31 "BPF_PROG_TYPE_SYSCALL",
        Netfilter = 32 "BPF_PROG_TYPE_NETFILTER",
    }
}

kernel_enum! {
    /// An attach type (`enum bpf_attach_type`).
    AttachType "BPF_" {
        CgroupInetIngress = 0 "BPF_CGROUP_INET_INGRESS",
        CgroupInetEgress = 1 "BPF_CGROUP_INET_EGRESS",
        CgroupInetSockCreate = 2 "BPF_CGROUP_INET_SOCK_CREATE",
        CgroupSockOps = 3 "BPF_CGROUP_SOCK_OPS",
        SkSkbStreamParser = 4 "BPF_SK_SKB_STREAM_PARSER",
        SkSkbStreamVerdict = 5 "BPF_SK_SKB_STREAM_VERDICT",
        CgroupDevice = 6 "BPF_CGROUP_DEVICE",
        SkMsgVerdict = 7 "BPF_SK_MSG_VERDICT",
        CgroupInet4Bind = 8 "BPF_CGROUP_INET4_BIND",
        CgroupInet6Bind = 9 "BPF_CGROUP_INET6_BIND",
        CgroupInet4Connect = 10 "BPF_CGROUP_INET4_CONNECT",
        CgroupInet6Connect = 11 "BPF_CGROUP_INET6_CONNECT",
        CgroupInet4PostBind = 12 "BPF_CGROUP_INET4_POST_BIND",
        CgroupInet6PostBind = 13 "BPF_CGROUP_INET6_POST_BIND",
        CgroupUdp4Sendmsg = 14 "BPF_CGROUP_UDP4_SENDMSG",
        CgroupUdp6Sendmsg = 15 "BPF_CGROUP_UDP6_SENDMSG",
        LircMode2 = 16 "BPF_LIRC_MODE2",
        FlowDissector = 17 "BPF_FLOW_DISSECTOR",
        CgroupSysctl = 18 "BPF_CGROUP_SYSCTL",
        CgroupUdp4Recvmsg = 19 "BPF_CGROUP_UDP4_RECVMSG",
        CgroupUdp6Recvmsg = 20 "BPF_CGROUP_UDP6_RECVMSG",
        CgroupGetsockopt = 21 "BPF_CGROUP_GETSOCKOPT",
        CgroupSetsockopt = 22 "BPF_CGROUP_SETSOCKOPT",
        TraceRawTp = 23 "BPF_TRACE_RAW_TP",
        TraceFentry = 24 "BPF_TRACE_FENTRY",
        TraceFexit = 25 "BPF_TRACE_FEXIT",
        ModifyReturn = 26 "BPF_MODIFY_RETURN",
        LsmMac = 27 "BPF_LSM_MAC",
        TraceIter = 28 "BPF_TRACE_ITER",
        CgroupInet4Getpeername = 29 "BPF_CGROUP_INET4_GETPEERNAME",
        CgroupInet6Getpeername = 30 "BPF_CGROUP_INET6_GETPEERNAME",
        CgroupInet4Getsockname = 31 "BPF_CGROUP_INET4_GETSOCKNAME",
        CgroupInet6Getsockname = 32 "BPF_CGROUP_INET6_GETSOCKNAME",
        XdpDevmap = 33 "BPF_XDP_DEVMAP",
        CgroupInetSockRelease = 34 "BPF_CGROUP_INET_SOCK_RELEASE",
        XdpCpumap = 35 "BPF_XDP_CPUMAP",
        SkLookup = 36 "BPF_SK_LOOKUP",
        Xdp = 37 "BPF_XDP",
        SkSkbVerdict = 38 "BPF_SK_SKB_VERDICT",
        SkReuseportSelect = 39 "BPF_SK_REUSEPORT_SELECT",
        SkReuseportSelectOrMigrate = 40 "BPF_SK_REUSEPORT_SELECT_OR_MIGRATE",
        PerfEvent = 41 "BPF_PERF_EVENT",
        TraceKprobeMulti = 42 "BPF_TRACE_KPROBE_MULTI",
        LsmCgroup = 43 "BPF_LSM_CGROUP",
        StructOps = 44 "BPF_STRUCT_OPS",
        Netfilter = 45 "BPF_NETFILTER",
        TcxIngress = 46 "BPF_TCX_INGRESS",
        TcxEgress = 47 "BPF_TCX_EGRESS",
        TraceUprobeMulti = 48 "BPF_TRACE_UPROBE_MULTI",
        CgroupUnixConnect = 49 "BPF_CGROUP_UNIX_CONNECT",
        CgroupUnixSendmsg = 50 "BPF_CGROUP_UNIX_SENDMSG",
        CgroupUnixRecvmsg = 51 "BPF_CGROUP_UNIX_RECVMSG",
        CgroupUnixGetpeername = 52 "BPF_CGROUP_UNIX_GETPEERNAME",
        CgroupUnixGetsockname = 53 "BPF_CGROUP_UNIX_GETSOCKNAME",
        NetkitPrimary = 54 "BPF_NETKIT_PRIMARY",
        NetkitPeer = 55 "BPF_NETKIT_PEER",
        TraceKprobeSession = 56 "BPF_TRACE_KPROBE_SESSION",
        TraceUprobeSession = 57 "BPF_TRACE_UPROBE_SESSION",
        TraceFsession = 58 "BPF_TRACE_FSESSION",
        TraceFentryMulti = 59 "BPF_TRACE_FENTRY_MULTI",
        TraceFexitMulti = 60 "BPF_TRACE_FEXIT_MULTI",
        TraceFsessionMulti = 61 "BPF_TRACE_FSESSION_MULTI",
    }
}

kernel_enum! {
    /// A map type (`enum bpf_map_type`).
    MapType "BPF_MAP_TYPE_" {
        Unspec = 0 "BPF_MAP_TYPE_UNSPEC",
        Hash = 1 "BPF_MAP_TYPE_HASH",
        Array = 2 "BPF_MAP_TYPE_ARRAY",
        ProgArray = 3 "BPF_MAP_TYPE_PROG_ARRAY",
        PerfEventArray = 4 "BPF_MAP_TYPE_PERF_EVENT_ARRAY",
        PercpuHash = 5 "BPF_MAP_TYPE_PERCPU_HASH",
        PercpuArray = 6 "BPF_MAP_TYPE_PERCPU_ARRAY",
        StackTrace = 7 "BPF_MAP_TYPE_STACK_TRACE",
        CgroupArray = 8 "BPF_MAP_TYPE_CGROUP_ARRAY",
        LruHash = 9 "BPF_MAP_TYPE_LRU_HASH",
        LruPercpuHash = 10 "BPF_MAP_TYPE_LRU_PERCPU_HASH",
        LpmTrie = 11 "BPF_MAP_TYPE_LPM_TRIE",
        ArrayOfMaps = 12 "BPF_MAP_TYPE_ARRAY_OF_MAPS",
        HashOfMaps = 13 "BPF_MAP_TYPE_HASH_OF_MAPS",
        Devmap = 14 "BPF_MAP_TYPE_DEVMAP",
        Sockmap = 15 "BPF_MAP_TYPE_SOCKMAP",
        Cpumap = 16 "BPF_MAP_TYPE_CPUMAP",
        Xskmap = 17 "BPF_MAP_TYPE_XSKMAP",
        Sockhash = 18 "BPF_MAP_TYPE_SOCKHASH",
        CgroupStorage = 19 "BPF_MAP_TYPE_CGROUP_STORAGE",
        ReuseportSockarray = 20 "BPF_MAP_TYPE_REUSEPORT_SOCKARRAY",
        PercpuCgroupStorage = 21 "BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE",
        Queue = 22 "BPF_MAP_TYPE_QUEUE",
        Stack = 23 "BPF_MAP_TYPE_STACK",
        SkStorage = 24 "BPF_MAP_TYPE_SK_STORAGE",
        DevmapHash = 25 "BPF_MAP_TYPE_DEVMAP_HASH",
        StructOps = 26 "BPF_MAP_TYPE_STRUCT_OPS",
        Ringbuf = 27 "BPF_MAP_TYPE_RINGBUF",
        InodeStorage = 28 "BPF_MAP_TYPE_INODE_STORAGE",
        TaskStorage = 29 "BPF_MAP_TYPE_TASK_STORAGE",
        BloomFilter = 30 "BPF_MAP_TYPE_BLOOM_FILTER",
        UserRingbuf = 31 "BPF_MAP_TYPE_USER_RINGBUF",
        CgrpStorage = 32 "BPF_MAP_TYPE_CGRP_STORAGE",
        Arena = 33 "BPF_MAP_TYPE_ARENA",
        InsnArray = 34 "BPF_MAP_TYPE_INSN_ARRAY",
        Rhash = 35 "BPF_MAP_TYPE_RHASH",
    }
}

kernel_enum! {
    /// A link type (`enum bpf_link_type`).
    LinkType "BPF_LINK_TYPE_" {
        Unspec = 0 "BPF_LINK_TYPE_UNSPEC",
        RawTracepoint = 1 "BPF_LINK_TYPE_RAW_TRACEPOINT",
        Tracing = 2 "BPF_LINK_TYPE_TRACING",
        Cgroup = 3 "BPF_LINK_TYPE_CGROUP",
        Iter = 4 "BPF_LINK_TYPE_ITER",
        Netns = 5 "BPF_LINK_TYPE_NETNS",
        Xdp = 6 "BPF_LINK_TYPE_XDP",
        PerfEvent = 7 "BPF_LINK_TYPE_PERF_EVENT",
        KprobeMulti = 8 "BPF_LINK_TYPE_KPROBE_MULTI",
        StructOps = 9 "BPF_LINK_TYPE_STRUCT_OPS",
        Netfilter = 10 "BPF_LINK_TYPE_NETFILTER",
        Tcx = 11 "BPF_LINK_TYPE_TCX",
        UprobeMulti = 12 "BPF_LINK_TYPE_UPROBE_MULTI",
        Netkit = 13 "BPF_LINK_TYPE_NETKIT",
        Sockmap = 14 "BPF_LINK_TYPE_SOCKMAP",
        TracingMulti = 15 "BPF_LINK_TYPE_TRACING_MULTI",
    }
}

impl AttachType {
    /// Returns whether programs of this type trace functions that are chosen when the program is attached:
    /// `fentry.multi` and its like.
    pub const fn traces_many_functions(self) -> bool {
        matches!(self, Self::TraceFentryMulti | Self::TraceFexitMulti | Self::TraceFsessionMulti)
    }
}

/// The point at which a multi-kprobe or multi-uprobe program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum MultiKind {
    /// On function entry.
    #[default]
    Entry,
    /// On function return.
    Return,
    /// On entry and return, as a session (kprobes since 6.10, uprobes since 6.13).
    Session,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_convert_both_ways() {
        for (i, t) in (0u32..).zip(ProgramType::ALL) {
            assert_eq!((t.number(), ProgramType::from_number(i)), (i, Some(*t)));
        }
        for (i, t) in (0u32..).zip(AttachType::ALL) {
            assert_eq!((t.number(), AttachType::from_number(i)), (i, Some(*t)));
        }
        for (i, t) in (0u32..).zip(MapType::ALL) {
            assert_eq!((t.number(), MapType::from_number(i)), (i, Some(*t)));
        }
        for (i, t) in (0u32..).zip(LinkType::ALL) {
            assert_eq!((t.number(), LinkType::from_number(i)), (i, Some(*t)));
        }
        assert_eq!(ProgramType::from_number(33), None);
        assert_eq!(AttachType::TraceFsessionMulti.number(), 61);
        assert_eq!(MapType::Ringbuf.to_string(), "BPF_MAP_TYPE_RINGBUF");
    }

    #[test]
    fn types_have_short_names_by_which_they_are_found() {
        assert_eq!(AttachType::CgroupInetEgress.short_name(), "cgroup_inet_egress");
        for name in ["BPF_MAP_TYPE_LRU_HASH", "bpf_map_type_lru_hash", "lru_hash", "LRU_HASH"] {
            assert_eq!(MapType::from_name(name), Some(MapType::LruHash), "{name}");
        }
        assert!(LinkType::offered().all(|ty| LinkType::from_name(&ty.short_name()) == Some(ty)));
        assert!(AttachType::offered().all(|ty| AttachType::from_name(&ty.short_name()) == Some(ty)));
        for name in ["", "unspec", "BPF_PROG_TYPE_", "BPF_MAP_TYPE_HASH"] {
            assert_eq!(ProgramType::from_name(name), None, "{name}");
        }
    }
}
