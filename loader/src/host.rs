//! The running kernel and its machine, as a [`Host`] that plans are made for.

use crate::{
    features, kconfig_file,
    sys::{self, Errno},
    target::{release, running_types},
};
use alloc::sync::Arc;
use core_relo_object::load_plan::{Host, ReadSystem};
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    os::fd::BorrowedFd,
    path::Path,
    sync::OnceLock,
};

/// Reads the files of the running system, and programs with bpf(2).
#[derive(Debug)]
struct RunningSystem;

impl ReadSystem for RunningSystem {
    /// Reads `/boot/config-*`, or `/proc/config.gz`, once a process.
    fn read_kconfig(&self) -> io::Result<Arc<str>> {
        static RUNNING: OnceLock<Arc<str>> = OnceLock::new();
        if let Some(known) = RUNNING.get() {
            return Ok(Arc::clone(known));
        }
        let release = release().map_err(io::Error::other)?;
        let plain = kconfig_file::read(Path::new(&format!("/boot/config-{release}")));
        let bytes = match plain {
            Ok(bytes) => bytes,
            Err(_) => kconfig_file::read_gzip(Path::new("/proc/config.gz")).map_err(|e| {
                let tried = format!("neither /boot/config-{release} nor /proc/config.gz can be read ({e})");
                io::Error::new(e.kind(), tried)
            })?,
        };
        Ok(Arc::clone(RUNNING.get_or_init(|| assignments(&bytes))))
    }

    fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead>> {
        Ok(Box::new(BufReader::with_capacity(1 << 16, File::open("/proc/kallsyms")?)))
    }

    fn read_program_btf(&self, program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno> {
        program_btf(program)
    }
}

/// Returns the running kernel and its machine.
pub fn running_host() -> Host {
    // The version does not change while the kernel runs, and takes three files to read.
    static VERSION: OnceLock<u32> = OnceLock::new();
    let mut host = with_running_system(Host::offline(running_types()));
    host.features = features::running();
    host.cpus = sys::possible_cpus().unwrap_or(0);
    host.page_size = u32::try_from(sys::page_size()).unwrap_or(4096);
    host.kernel_version = *VERSION.get_or_init(running_version);
    (host.kconfig, host.kallsyms) = (None, None);
    host
}

/// Returns a host that reads from the running system what is not given.
pub(crate) fn with_running_system(mut host: Host) -> Host {
    host.system.get_or_insert_with(|| Arc::new(RunningSystem));
    host
}

/// Reads the BTF of a loaded program; none if it was loaded without.
pub(crate) fn program_btf(program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno> {
    match sys::prog_info(&program)?.btf_id {
        0 => Ok(None),
        id => sys::btf_bytes(&sys::btf_fd_by_id(id)?).map(Some),
    }
}

/// The lines of a configuration that set something: a third of its bytes.
fn assignments(config: &[u8]) -> Arc<str> {
    let text = String::from_utf8_lossy(config);
    let mut set = String::new();
    for line in text.lines().filter(|line| line.starts_with("CONFIG_")) {
        set.push_str(line);
        set.push('\n');
    }
    set.into()
}

/// The running kernel's version (libbpf: `get_kernel_version`): Debian and Ubuntu hide it from `uname -r`.
pub(crate) fn running_version() -> u32 {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let ubuntu = read("/proc/version_signature");
    let debian = read("/proc/sys/kernel/version");
    let release = read("/proc/sys/kernel/osrelease");
    ubuntu_version(&ubuntu)
        .or_else(|| debian_version(&debian))
        .or_else(|| version(&release))
        .unwrap_or_default()
}

/// `Ubuntu 5.4.0-12.15-generic 5.4.8`: the last word.
fn ubuntu_version(signature: &str) -> Option<u32> {
    version(signature.split_whitespace().nth(2)?)
}

/// `#1 SMP Debian 6.1.192-2 (2026-10-01)`.
fn debian_version(text: &str) -> Option<u32> {
    version(text.split_once("Debian ")?.1)
}

/// `6.1.192-2`; also `7.3~rc7` and `7.3-cloud`, whose third number is 0 (libbpf 1.7 fails there).
fn version(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text.get(..end)?.split('.').map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    let minor = numbers.next()?.ok()?;
    let patch = numbers.next().and_then(Result::ok).unwrap_or_default();
    // KERNEL_VERSION() in the kernel's headers stops at 255.
    Some((major.min(0xffff) << 16) | (minor.min(0xff) << 8) | patch.min(0xff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_configuration_what_it_sets_is_kept() {
        let text = b"#\n# Automatically generated\n#\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"\xff\"";
        assert_eq!(&*assignments(text), "CONFIG_A=y\nCONFIG_C=\"\u{fffd}\"\n");
    }

    #[test]
    fn versions_of_distributions() {
        assert_eq!(version("6.18.44-fc"), Some(0x06_12_2c));
        assert_eq!(version("7.3-cloud-amd64"), Some(0x07_03_00));
        assert_eq!(version("5.10.300"), Some(0x05_0a_ff));
        assert_eq!(version("x"), None);
        assert_eq!(debian_version("#1 SMP Debian 6.1.192-2 (2026-10-01)"), Some(0x06_01_c0));
        assert_eq!(debian_version("#1 SMP Debian 7.3~rc7-1~exp1"), Some(0x07_03_00));
        assert_eq!(ubuntu_version("Ubuntu 5.4.0-12.15-generic 5.4.8\n"), Some(0x05_04_08));
        assert_ne!(running_version(), 0);
    }
}
