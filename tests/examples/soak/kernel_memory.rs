//! The memory that the kernel uses for this process and in all.

use std::{
    error::Error,
    fmt, fs, io,
    path::{Path, PathBuf},
    process,
};

/// The growth of memory that is no leak: the kernel charges cgroups in batches for each CPU.
const CGROUP_GROWTH: u64 = 2 << 20;
/// The growth of memory that other parts of an otherwise idle kernel may need.
const SYSTEM_GROWTH: u64 = 16 << 20;

/// A memory cgroup with only this process in it. Dropping it moves the process to the parent and removes it.
pub struct MemoryCgroup {
    dir: PathBuf,
    parent: PathBuf,
    /// The file with the use of memory, and the line of it that counts, unless the file is only a number.
    file: (&'static str, Option<&'static str>),
}

impl MemoryCgroup {
    /// Creates the cgroup and moves this process to it. Returns `None` if that is not possible here.
    pub fn enter() -> Option<Self> {
        let name = format!("core_relo_soak_{}", process::id());
        let (v1, v2) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let (parent, file) = if v1.join("memory.kmem.usage_in_bytes").exists() {
            (v1, ("memory.kmem.usage_in_bytes", None))
        } else {
            fs::write(v2.join("cgroup.subtree_control"), "+memory").ok()?;
            (v2, ("memory.stat", Some("kernel ")))
        };
        let cgroup = Self { dir: parent.join(name), parent: parent.to_owned(), file };
        fs::create_dir(&cgroup.dir).ok()?;
        cgroup.move_process(&cgroup.dir).ok()?;
        cgroup.kernel_bytes().is_ok().then_some(cgroup)
    }

    fn move_process(&self, to: &Path) -> io::Result<()> {
        fs::write(to.join("cgroup.procs"), process::id().to_string())
    }

    fn kernel_bytes(&self) -> Result<u64, Box<dyn Error>> {
        let (name, line) = self.file;
        let path = self.dir.join(name);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let number = match line {
            None => Some(&*text),
            Some(start) => text.lines().find_map(|line| line.strip_prefix(start)),
        };
        let number = number.ok_or_else(|| format!("{}: no line `{}`", path.display(), line.unwrap_or("")))?;
        Ok(number.trim().parse()?)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        let removed = self.move_process(&self.parent).and_then(|()| fs::remove_dir(&self.dir));
        if let Err(e) = removed {
            eprintln!("{}: {e}", self.dir.display());
        }
    }
}

/// The kernel's memory at one time.
#[derive(Clone, Copy)]
pub struct KernelMemory {
    /// The memory charged to the cgroup of this process: BPF objects, page tables, stacks.
    cgroup_bytes: Option<u64>,
    /// The unreclaimable slabs, per-CPU memory and vmalloc of the whole system: also programs' instructions
    /// and BTF.
    system_bytes: u64,
}

impl KernelMemory {
    pub fn read(cgroup: Option<&MemoryCgroup>) -> Result<Self, Box<dyn Error>> {
        let text = fs::read_to_string("/proc/meminfo")?;
        let mut system_bytes = 0;
        for name in ["SUnreclaim:", "Percpu:", "VmallocUsed:"] {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes = value.and_then(|value| value.trim().strip_suffix(" kB"));
            let kilobytes: u64 = kilobytes.ok_or_else(|| format!("/proc/meminfo: no `{name}`"))?.parse()?;
            system_bytes += kilobytes * 1024;
        }
        Ok(Self { cgroup_bytes: cgroup.map(MemoryCgroup::kernel_bytes).transpose()?, system_bytes })
    }

    /// Returns what has grown since an earlier state. The memory of the whole system counts only if nothing
    /// else runs.
    pub fn compare(&self, earlier: &Self, is_alone: bool) -> Result<(), String> {
        let cgroup_grew = self
            .cgroup_bytes
            .zip(earlier.cgroup_bytes)
            .is_some_and(|(now, before)| now > before + CGROUP_GROWTH);
        let system_grew = is_alone && self.system_bytes > earlier.system_bytes + SYSTEM_GROWTH;
        if cgroup_grew || system_grew {
            return Err(format!("the kernel's memory grew: {self}, expected {earlier}"));
        }
        Ok(())
    }
}

impl fmt::Display for KernelMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bytes) = self.cgroup_bytes {
            write!(f, "{} KiB in the kernel for this cgroup, ", bytes / 1024)?;
        }
        write!(f, "{} KiB for the whole system", self.system_bytes / 1024)
    }
}
