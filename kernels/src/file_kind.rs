//! The kind of a file, from its name or its first bytes.

use crate::{
    compression::format::Compression,
    limits::{Limits, MAX_SEARCHED_BYTES},
};
use core_relo::Endian;
use std::path::Path;

const ARCHIVE_ENDINGS: [&str; 9] =
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".tar.bz2", ".tar.lz4"];

/// Extensions of files beside the kernels in a directory that are no kernels.
const OTHER_EXTENSIONS: [&str; 24] = [
    "json",
    "jsonl",
    "ndjson",
    "tsv",
    "txt",
    "md",
    "toml",
    "yaml",
    "yml",
    "html",
    "py",
    "sh",
    "c",
    "h",
    "log",
    "sha256",
    "gitignore",
    "cfg",
    "conf",
    "csv",
    "hmac",
    "lst",
    "mod",
    "pf2",
];

/// The beginnings of the names of files in `/boot` that are no kernels.
const OTHER_BOOT_FILES: [&str; 9] =
    ["version-", "System.map", "config-", "initrd", "initramfs", "grub", "symvers-", "memtest", "retpoline-"];

/// The name of a kernel's configuration without its release.
const PLAIN_CONFIGURATION: &[u8] = b"config";

/// Directories in `/boot` without kernels.
const BOOT_LOADER_DIRS: [&str; 2] = ["grub", "grub2"];

/// `EM_BPF`.
const BPF_MACHINE: u16 = 247;

/// Returns whether a file's name is that of a tar archive of kernels.
pub(crate) fn is_archive_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_encoded_bytes());
    let is_tar_name = |name: &[u8]| ARCHIVE_ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes()));
    name.is_some_and(is_tar_name) && !is_pacman_name(path)
}

/// Returns whether a file's name is that of a package of pacman: `linux-6.17.1.arch1-1-x86_64.pkg.tar.zst`.
pub(crate) fn is_pacman_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| Compression::uncompressed_name(name).ends_with(".pkg.tar"))
}

/// Returns whether a file's name excludes that it is a kernel: a hidden file, a file of the boot loader, or a
/// name of other files.
///
/// The path is that below the directory, or in the archive, which the user has named.
pub(crate) fn is_other_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    let is_in_boot_loader_directory = || {
        let mut dirs = path.parent().into_iter().flat_map(Path::components);
        dirs.any(|dir| BOOT_LOADER_DIRS.iter().any(|name| dir.as_os_str() == *name))
    };
    name.starts_with(b".")
        || name == PLAIN_CONFIGURATION
        || extension.is_some_and(|extension| OTHER_EXTENSIONS.contains(&extension))
        || OTHER_BOOT_FILES.iter().any(|start| name.starts_with(start.as_bytes()))
        || is_in_boot_loader_directory()
}

/// Returns whether a file's name is that of a module: `nf_conntrack.ko`, `nf_conntrack.ko.xz`.
pub(crate) fn is_module_name(path: &Path) -> bool {
    is_compressed_module_name(path) || path.extension().is_some_and(|e| e == "ko")
}

/// Returns whether a file's name is that of a compressed module, as distributions ship them:
/// `nf_conntrack.ko.xz`.
pub(crate) fn is_compressed_module_name(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new);
    let extension = path.extension().and_then(|e| e.to_str());
    matches!(extension, Some("gz" | "xz" | "zst"))
        && stem.and_then(Path::extension).is_some_and(|e| e == "ko")
}

/// Returns whether bytes begin like a tar archive.
pub fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..).is_some_and(|magic| magic.starts_with(b"ustar"))
}

/// Returns whether bytes begin like an ELF.
pub fn is_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF")
}

/// Returns whether bytes begin like an ELF that is for another machine than BPF.
pub fn is_elf_of_other_machine(head: &[u8]) -> bool {
    // As in libbpf, an object without a machine may be a BPF object.
    elf_machine(head).is_some_and(|machine| machine != 0 && machine != BPF_MACHINE)
}

/// Returns whether bytes begin like an ELF for BPF.
pub(crate) fn is_bpf_elf(head: &[u8]) -> bool {
    elf_machine(head) == Some(BPF_MACHINE)
}

/// Returns the machine of an ELF (`e_machine`).
fn elf_machine(head: &[u8]) -> Option<u16> {
    let endian = if head.get(5) == Some(&2) { Endian::Big } else { Endian::Little };
    endian.u16(head, 18).filter(|_| is_elf(head))
}

/// Returns whether bytes begin like raw BTF or like an ELF.
pub fn is_raw_or_elf(head: &[u8]) -> bool {
    is_elf(head) || btf_endian(head).is_some()
}

/// Returns the byte order of raw BTF, from its magic number.
pub fn btf_endian(head: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|endian| endian.u16(head, 0) == Some(0xeb9f))
}

/// Returns the largest size at which a file with these first bytes is read.
pub(crate) fn max_bytes(head: &[u8], limits: Limits) -> u64 {
    let has_known_format = is_raw_or_elf(head) || Compression::detect(head).is_some();
    if has_known_format { limits.bytes } else { limits.bytes.min(MAX_SEARCHED_BYTES) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_kernels_are_known_by_their_names() {
        for other in [
            "System.map-6.1.0-18-amd64",
            "config-6.1.0-18-amd64",
            "version-6.1.0-18-amd64",
            "config",
            "initrd.img-6.1.0-18-amd64",
            "initramfs-6.1.img",
            "grub2/fonts/unicode",
            "grub/kernel.img",
            "loader/entries/6.1.conf",
            ".vmlinuz-6.1.hmac",
            "results.jsonl",
        ] {
            assert!(is_other_name(Path::new(other)), "{other}");
        }
        for kernel in ["vmlinuz-6.1.0-18-amd64", "6.1.btf", "configs", "vmlinux", "initial/6.1"] {
            assert!(!is_other_name(Path::new(kernel)), "{kernel}");
        }
    }

    #[test]
    fn objects_of_other_machines_are_known_by_their_header() {
        let mut head = [0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        for (machine, is_other) in [(62, true), (247, false), (0, false)] {
            head[18] = machine;
            assert_eq!(is_elf_of_other_machine(&head), is_other, "{machine}");
        }
        assert!(!is_elf_of_other_machine(&head[..18]));
    }
}
