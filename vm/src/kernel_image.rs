//! A kernel image: its format and its architecture.

use crate::{arch::Arch, error::VmError};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// A kernel image that QEMU can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelImage {
    path: PathBuf,
    arch: Arch,
}

/// The number of bytes at the start of an image that tell its format.
const HEADER_BYTES: u64 = 0x10010;

/// The offset of the mark of an s390x image, after the code that loads the rest.
const S390_MARK: usize = 0x10008;

/// The name prefixes of kernel images in `/boot`.
const NAME_PREFIXES: [&str; 3] = ["vmlinuz", "vmlinux", "bzImage"];

impl KernelImage {
    /// Opens a kernel image: a bzImage, an ELF vmlinux of x86-64 or ppc64le, an Image of arm64 or riscv64, or
    /// an s390x image. An arm64 Image may also be compressed with gzip, or be an EFI zboot image.
    pub fn open(path: &Path) -> Result<Self, VmError> {
        let mut header = Vec::new();
        let file = File::open(path).map_err(|error| VmError::file(path, &error))?;
        file.take(HEADER_BYTES).read_to_end(&mut header).map_err(|error| VmError::file(path, &error))?;
        let arch = image_arch(&header)
            .map_err(|reason| VmError::NotBootable { path: path.to_path_buf(), reason: reason.to_owned() })?;
        Ok(Self { path: path.to_path_buf(), arch })
    }

    /// Returns the path of the image.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the architecture of the kernel.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the file with the kernel's configuration beside the image: `config-6.1.0` beside
    /// `vmlinuz-6.1.0`, and `config` beside `vmlinux`.
    pub fn config_path(&self) -> Option<PathBuf> {
        let name = self.path.file_name()?.to_str()?;
        let suffix = NAME_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let config = self.path.with_file_name(format!("config{suffix}"));
        config.is_file().then_some(config)
    }
}

/// Returns the architecture of the image with this header, or a description of what the file is instead.
fn image_arch(header: &[u8]) -> Result<Arch, &'static str> {
    let has = |at: usize, magic: &[u8]| header.get(at..).is_some_and(|rest| rest.starts_with(magic));
    if has(0x202, b"HdrS") {
        return Ok(Arch::X86_64);
    }
    if has(0x38, b"ARM\x64") {
        return Ok(Arch::Aarch64);
    }
    if has(0x38, b"RSC\x05") {
        return Ok(Arch::Riscv64);
    }
    if has(S390_MARK, b"S390EP") {
        return Ok(Arch::S390x);
    }
    // An EFI zboot image names its compression, and the PE header has the machine.
    if has(0, b"MZ") && has(4, b"zimg") {
        let pe = header.get(0x3c..0x3e).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
        return match pe {
            Some(pe) if has(usize::from(pe), b"PE\0\0\x64\xaa") => Ok(Arch::Aarch64),
            _ => Err("an EFI zboot image of another architecture than arm64"),
        };
    }
    if has(0, b"\x1f\x8b") {
        // arm64 kernels are compressed without a boot header, x86-64 kernels have one.
        return Ok(Arch::Aarch64);
    }
    if has(0, b"\x7fELF") {
        return match header.get(0x12..0x14) {
            Some(&[62, 0]) if has(4, b"\x02\x01") => Ok(Arch::X86_64),
            Some(&[21, 0]) if has(4, b"\x02\x01") => Ok(Arch::Ppc64le),
            _ => Err("an ELF file of another architecture than x86-64 and ppc64le"),
        };
    }
    Err("no known format")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(magic: &[(usize, &[u8])]) -> Vec<u8> {
        let mut header = vec![0; 0x10010];
        for (at, bytes) in magic {
            header.splice(*at..*at + bytes.len(), bytes.iter().copied());
        }
        header
    }

    #[test]
    fn images_are_told_apart_by_their_headers() {
        let arch = |magic: &[(usize, &[u8])]| image_arch(&header(magic)).ok();
        assert_eq!(arch(&[(0x202, b"HdrS")]), Some(Arch::X86_64));
        assert_eq!(arch(&[(0, b"MZ"), (0x38, b"ARM\x64")]), Some(Arch::Aarch64));
        assert_eq!(arch(&[(0, b"\x7fELF\x02\x01"), (0x12, &[62, 0])]), Some(Arch::X86_64));
        assert_eq!(arch(&[(0, b"\x7fELF\x02\x01"), (0x12, &[21, 0])]), Some(Arch::Ppc64le));
        // A big-endian PowerPC kernel.
        assert_eq!(arch(&[(0, b"\x7fELF\x02\x02"), (0x12, &[0, 21])]), None);
        assert_eq!(arch(&[(0, b"\x7fELF\x02\x01"), (0x12, &[247, 0])]), None);
        assert_eq!(arch(&[(0x30, b"RISCV\0\0\0RSC\x05")]), Some(Arch::Riscv64));
        assert_eq!(arch(&[(0x10008, b"S390EP")]), Some(Arch::S390x));
        let zboot: &[(usize, &[u8])] =
            &[(0, b"MZ"), (4, b"zimg"), (0x3c, &[0x40]), (0x40, b"PE\0\0\x64\xaa")];
        assert_eq!(arch(zboot), Some(Arch::Aarch64));
        assert_eq!(arch(&[]), None);
        assert_eq!(image_arch(b""), Err("no known format"));
    }

    #[test]
    fn a_file_that_is_no_kernel_is_refused_by_name() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let error = KernelImage::open(path).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml: not a bootable kernel image: no known format"), "{error}");
    }
}
