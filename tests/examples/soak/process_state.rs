//! The memory, descriptors, mappings and threads of this process.

use std::{error::Error, fmt, fs};

/// The growth of memory that is no leak: the allocator's own changes. A leak of one page each second exceeds
/// it in less than ten minutes.
const MEMORY_GROWTH: u64 = 2 << 20;

/// What the process uses at one time.
#[derive(Clone, Copy)]
pub struct ProcessState {
    resident_bytes: u64,
    descriptors: usize,
    mappings: usize,
    /// The mappings of BPF maps and perf events.
    kernel_mappings: usize,
    threads: usize,
}

impl ProcessState {
    pub fn read() -> Result<Self, Box<dyn Error>> {
        let status = fs::read_to_string("/proc/self/status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes: u64 = line
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .ok_or("/proc/self/status: no VmRSS")?
            .parse()?;
        let mappings = fs::read_to_string("/proc/self/maps")?;
        Ok(Self {
            resident_bytes: kilobytes * 1024,
            // One of them reads the directory.
            descriptors: fs::read_dir("/proc/self/fd")?.count() - 1,
            mappings: mappings.lines().count(),
            kernel_mappings: mappings.lines().filter(|line| line.contains("anon_inode:")).count(),
            threads: fs::read_dir("/proc/self/task")?.count(),
        })
    }

    /// Returns what has grown since an earlier state.
    pub fn compare(&self, earlier: &Self) -> Result<(), String> {
        let grew = self.resident_bytes > earlier.resident_bytes + MEMORY_GROWTH
            || self.descriptors > earlier.descriptors
            || self.kernel_mappings > earlier.kernel_mappings
            || self.threads > earlier.threads;
        if grew { Err(format!("the process grew: {self}, expected {earlier}")) } else { Ok(()) }
    }
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resident_bytes, descriptors, mappings, kernel_mappings, threads } = self;
        let kib = resident_bytes / 1024;
        write!(
            f,
            "{kib} KiB resident, {descriptors} descriptors, {mappings} mappings ({kernel_mappings} of kernel objects), {threads} threads"
        )
    }
}
