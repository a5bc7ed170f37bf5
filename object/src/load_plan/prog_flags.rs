//! Flags of programs (`prog_flags` of `BPF_PROG_LOAD`).

/// `BPF_F_SLEEPABLE`: the program may sleep.
pub const SLEEPABLE: u32 = 1 << 4;

/// `BPF_F_XDP_HAS_FRAGS`: an XDP program for packets in several buffers.
pub const XDP_HAS_FRAGS: u32 = 1 << 5;
