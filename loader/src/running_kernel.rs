//! The running kernel and its machine, as a [`TargetKernel`] for load plans.

use crate::{
    features, kconfig_file,
    kernel_handle::descriptor,
    kernel_version::running_version,
    lockdown, memory_nodes,
    program_btf::program_btf,
    sys::{self, Errno},
    target::{release, running_kernel_btf},
};
use alloc::sync::Arc;
use core_relo_object::{
    load_plan::{KernelHandle, ReadSystem, RefusedAttachType, TargetKernel},
    lockdown::Lockdown,
    memory_nodes::MemoryNodes,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    sync::OnceLock,
};

/// Reads files of the running system, and the BTF of loaded programs.
#[derive(Debug)]
struct RunningSystem;

impl ReadSystem for RunningSystem {
    /// Reads `/boot/config-RELEASE`, `/proc/config.gz` or `/lib/modules/RELEASE/config`, once per process.
    fn read_kconfig(&self) -> io::Result<Arc<str>> {
        static KCONFIG: OnceLock<Arc<str>> = OnceLock::new();
        if let Some(cached) = KCONFIG.get() {
            return Ok(Arc::clone(cached));
        }
        let release = release().map_err(io::Error::other)?;
        let bytes = kconfig_file::read_first(&kconfig_file::paths(&release))?;
        Ok(Arc::clone(KCONFIG.get_or_init(|| assignments(&bytes))))
    }

    fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(BufReader::with_capacity(1 << 16, File::open("/proc/kallsyms")?)))
    }

    fn read_program_btf(&self, program: &KernelHandle) -> Result<Option<Vec<u8>>, Errno> {
        program_btf(descriptor(program)?)
    }

    fn refused_attach_types(&self) -> Vec<RefusedAttachType> {
        features::refused_attach_types().to_vec()
    }

    fn lockdown(&self) -> Option<Lockdown> {
        lockdown::active()
    }

    fn memory_nodes(&self) -> Option<MemoryNodes> {
        memory_nodes::online()
    }
}

/// Returns the running kernel and its machine.
pub fn running_kernel() -> TargetKernel {
    // Reading the version opens up to three files.
    static VERSION: OnceLock<u32> = OnceLock::new();
    let mut kernel = with_running_system(TargetKernel::offline(running_kernel_btf()));
    kernel.features = features::running();
    // 0 stands for an unknown number. A plan that needs the number reports that.
    kernel.cpus = sys::possible_cpus().unwrap_or(0);
    kernel.page_size = sys::page_bytes();
    kernel.kernel_version = *VERSION.get_or_init(running_version);
    (kernel.kconfig, kernel.kallsyms) = (None, None);
    kernel
}

/// Lets a plan read from the running system everything that the caller did not set.
pub(crate) fn with_running_system(mut kernel: TargetKernel) -> TargetKernel {
    kernel.system.get_or_insert_with(|| Arc::new(RunningSystem));
    kernel
}

/// Returns the `CONFIG_…=` lines of a kernel configuration, a third of the bytes. Comments go, to save
/// memory.
fn assignments(config: &[u8]) -> Arc<str> {
    let text = String::from_utf8_lossy(config);
    let mut assignments = String::new();
    for line in text.lines().filter(|line| line.starts_with("CONFIG_")) {
        assignments.push_str(line);
        assignments.push('\n');
    }
    assignments.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_assignments_of_a_configuration_are_kept() {
        let text = b"#\n# Automatically generated\n#\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"\xff\"";
        assert_eq!(&*assignments(text), "CONFIG_A=y\nCONFIG_C=\"\u{fffd}\"\n");
    }
}
