//! What a plan has to know about a kernel and its machine.

use super::kconfig_file;
use crate::{
    features::Features,
    sys,
    target::{KernelTypes, release},
};
use alloc::sync::Arc;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::Path,
    sync::OnceLock,
};

/// A kernel and its machine, as far as a plan asks. What is expensive is read when it is needed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Host {
    /// What the kernel can do.
    pub features: Features,
    /// The kernel's types.
    pub types: Arc<KernelTypes>,
    /// Types to relocate against instead of the kernel's (libbpf: `btf_custom_path`).
    pub relocation_types: Option<Arc<KernelTypes>>,
    /// Processors there may be; 0 if that cannot be told.
    pub cpus: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// `LINUX_KERNEL_VERSION`: `(major << 16) + (minor << 8) + patch`.
    pub kernel_version: u32,
    /// The kernel's configuration; none: read from the running system when needed.
    pub kconfig: Option<Arc<str>>,
    /// Text of `/proc/kallsyms`; none: read from the running system when needed.
    pub kallsyms: Option<Arc<str>>,
}

impl Host {
    /// The running kernel.
    pub fn running() -> Self {
        // The kernel stays the same; three files are not read for each object.
        static VERSION: OnceLock<u32> = OnceLock::new();
        Self {
            features: Features::running(),
            types: KernelTypes::running(),
            relocation_types: None,
            cpus: sys::possible_cpus().unwrap_or(0),
            page_size: u32::try_from(sys::page_size()).unwrap_or(4096),
            kernel_version: *VERSION.get_or_init(running_version),
            kconfig: None,
            kallsyms: None,
        }
    }

    /// A kernel of which only the types are known, taken to be able to do everything: for plans that are not carried out.
    pub fn offline(types: Arc<KernelTypes>) -> Self {
        Self {
            features: Features::newest(),
            types,
            relocation_types: None,
            cpus: 1,
            page_size: 4096,
            kernel_version: 0,
            kconfig: Some("".into()),
            kallsyms: Some("".into()),
        }
    }

    /// Whether a kernel's configuration and symbols are not this machine's and were not given either.
    pub(super) fn knows_types_only(&self) -> bool {
        let is_empty = |text: &Option<Arc<str>>| text.as_deref() == Some("");
        !self.features.is_live() && is_empty(&self.kconfig) && is_empty(&self.kallsyms)
    }

    /// With types to relocate against instead of the kernel's own.
    #[must_use]
    pub fn relocated_against(mut self, types: Arc<KernelTypes>) -> Self {
        self.relocation_types = Some(types);
        self
    }

    /// The configuration of the running kernel: `/boot/config-*`, or `/proc/config.gz`; read once a process.
    pub(super) fn read_kconfig(&self) -> io::Result<Arc<str>> {
        static RUNNING: OnceLock<Arc<str>> = OnceLock::new();
        if let Some(known) = self.kconfig.as_ref().or_else(|| RUNNING.get()) {
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

    /// The kernel's symbols, a line each: read as they come, for there are hundreds of thousands.
    pub(super) fn kallsyms(&self) -> io::Result<Box<dyn BufRead + '_>> {
        match &self.kallsyms {
            Some(given) => Ok(Box::new(given.as_bytes())),
            None => Ok(Box::new(BufReader::with_capacity(1 << 16, File::open("/proc/kallsyms")?))),
        }
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
