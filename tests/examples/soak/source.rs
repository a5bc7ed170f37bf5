//! The kinds of buffers that the agent reads in turn.

use core_relo_loader::{
    load::{Kernel as _, MapCreate, RunningKernel},
    map_flags::RB_OVERWRITE,
    object::MapType,
};

/// A kind of buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    RingBuffer,
    /// A ring buffer in which new records overwrite old ones (kernels from 6.19).
    OverwritingRing,
    PerfBuffer,
}

impl Source {
    /// Returns the kinds that the running kernel has.
    pub fn supported() -> Vec<Self> {
        let mut sources = vec![Self::RingBuffer, Self::PerfBuffer];
        let request = MapCreate { max_entries: 1 << 16, map_flags: RB_OVERWRITE, ..MapCreate::default() };
        match RunningKernel.map_create(&MapCreate { map_type: MapType::Ringbuf.number(), ..request }) {
            Ok(_map) => sources.push(Self::OverwritingRing),
            Err(errno) => println!("SKIP: overwriting ring buffers: {errno}"),
        }
        sources
    }

    /// Returns the file name of the object with the programs and the map.
    pub const fn object_name(self) -> &'static str {
        match self {
            Self::RingBuffer | Self::OverwritingRing => "ringbuf.bpf.o",
            Self::PerfBuffer => "perf_array.bpf.o",
        }
    }

    /// Returns the name of the program that sends an event.
    pub const fn program(self) -> &'static str {
        match self {
            Self::RingBuffer | Self::OverwritingRing => "reserve",
            Self::PerfBuffer => "output",
        }
    }

    /// Returns the flags of the map.
    pub const fn map_flags(self) -> u32 {
        if matches!(self, Self::OverwritingRing) { RB_OVERWRITE } else { 0 }
    }
}
