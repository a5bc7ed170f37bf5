//! The kind of a file, from its name or its first bytes.

use crate::input::{
    compression::format::Compression,
    limits::{Limits, MAX_SEARCHED_BYTES},
};
use core_relo::Endian;
use std::path::Path;

const ARCHIVE_ENDINGS: [&str; 9] =
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".tar.bz2", ".tar.lz4"];

/// Extensions of files beside the kernels in a folder that are no kernels.
const OTHER_EXTENSIONS: [&str; 16] = [
    "json",
    "jsonl",
    "ndjson",
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
];

/// Returns whether a file's name is that of a tar archive.
pub(crate) fn is_archive_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.as_encoded_bytes());
    name.is_some_and(|name| ARCHIVE_ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes())))
}

/// Returns whether a file's name excludes that it is a kernel: a hidden file, or a known extension of other files.
pub(crate) fn is_other_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    is_hidden || extension.is_some_and(|extension| OTHER_EXTENSIONS.contains(&extension))
}

/// Returns whether a file's name is that of a module: `nf_conntrack.ko`, `nf_conntrack.ko.xz`.
pub(crate) fn is_module_name(path: &Path) -> bool {
    is_compressed_module_name(path) || path.extension().is_some_and(|e| e == "ko")
}

/// Returns whether a file's name is that of a compressed module, as distributions ship them: `nf_conntrack.ko.xz`.
pub(crate) fn is_compressed_module_name(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new);
    let extension = path.extension().and_then(|e| e.to_str());
    matches!(extension, Some("gz" | "xz" | "zst"))
        && stem.and_then(Path::extension).is_some_and(|e| e == "ko")
}

/// Returns whether bytes begin like a tar archive.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..).is_some_and(|magic| magic.starts_with(b"ustar"))
}

/// Returns whether bytes begin like an ELF.
pub(crate) fn is_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF")
}

/// Returns whether bytes begin like raw BTF or like an ELF.
pub(crate) fn is_raw_or_elf(head: &[u8]) -> bool {
    is_elf(head) || btf_endian(head).is_some()
}

/// Returns the byte order of raw BTF, from its magic number.
pub(crate) fn btf_endian(head: &[u8]) -> Option<Endian> {
    [Endian::Little, Endian::Big].into_iter().find(|endian| endian.u16(head, 0) == Some(0xeb9f))
}

/// Returns the largest size at which a file with these first bytes is read.
pub(crate) fn max_bytes(head: &[u8], limits: Limits) -> u64 {
    let has_known_format = is_raw_or_elf(head) || Compression::detect(head).is_some();
    if has_known_format { limits.bytes } else { limits.bytes.min(MAX_SEARCHED_BYTES) }
}
