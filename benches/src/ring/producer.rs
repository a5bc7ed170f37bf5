//! The object that sends records: `bpf-progs/live/ringbuf_bench.bpf.c`.

use core_relo_loader::{
    Loader,
    inventory::{self, MapInfo},
    load::{Loaded, TestRun},
    object::Object,
};
use std::{
    fs,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

/// The path of the object below the directory of objects.
pub const OBJECT: &str =
    if cfg!(target_endian = "big") { "eb/live/ringbuf_bench.bpf.o" } else { "el/live/ringbuf_bench.bpf.o" };

/// The records that one run of a sending program sends.
const BATCH: u64 = 256;
/// Submits records without a wakeup.
const NO_WAKEUP: u64 = 1;
/// The bytes of the kernel's header of each record.
const HEADER: u64 = 8;

/// A map that takes records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    Ring,
    Perf,
}

/// The loaded object.
pub struct Producer(Loaded);

impl Producer {
    pub fn load(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let object = Object::parse(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Loader::new(&object).name("bench").load().map(Self).map_err(|e| e.to_string())
    }

    /// Returns a descriptor of a map.
    pub fn map(&self, buffer: Buffer) -> Result<OwnedFd, String> {
        let name = match buffer {
            Buffer::Ring => "events",
            Buffer::Perf => "samples",
        };
        let map = self.0.map_handle(name).map_err(|e| e.to_string())?;
        map.as_fd().try_clone_to_owned().map_err(|e| e.to_string())
    }

    /// Runs a program a number of times.
    pub fn run(&self, program: &str, repeat: u32) -> Result<(), String> {
        let program = self.0.program(program).ok_or_else(|| format!("no program `{program}`"))?;
        let mut run = TestRun { data_in: &[0; 64], repeat, ..TestRun::default() };
        inventory::test_run(program, &mut run).map(drop).map_err(|e| format!("prog_test_run: {e}"))
    }

    /// Sends as many records of a size as the ring takes, without a wakeup. Returns their number.
    pub fn fill(&self, size: u64) -> Result<u64, String> {
        let info = MapInfo::query(&self.map(Buffer::Ring)?).map_err(|e| e.to_string())?;
        let ring_bytes = u64::from(info.max_entries);
        let runs = ring_bytes / ((size + HEADER) * BATCH) - 1;
        let before = self.sent()?;
        self.0.set_global("flags", &NO_WAKEUP).map_err(|e| e.to_string())?;
        self.run(&format!("send{size}"), u32::try_from(runs).map_err(|e| e.to_string())?)?;
        self.0.set_global("flags", &0u64).map_err(|e| e.to_string())?;
        Ok(self.sent()? - before)
    }

    /// Returns the number of records sent so far.
    pub fn sent(&self) -> Result<u64, String> {
        self.0.global("hits").map_err(|e| e.to_string())
    }

    /// Returns the number of records refused so far.
    pub fn dropped(&self) -> Result<u64, String> {
        self.0.global("dropped").map_err(|e| e.to_string())
    }
}
