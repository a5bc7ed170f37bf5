//! Any file that holds a kernel's types, to its BTF: raw, ELF, or either within compressed and boot images.

use super::{
    file,
    vmlinuz::{self, Compression},
};
use crate::error::BadInput;
use core_relo::Data;
use core_relo_loader::target::{ExtractError, TargetError, TargetFile, find_btf_in_image};
use std::path::Path;

/// Streams within streams: a compressed image of a compressed kernel.
const DEPTH: u32 = 4;

/// Streams tried in one image, for their magic can occur by chance.
const STREAMS: usize = 32;

const EXPECTED: &str = "expected raw BTF, an ELF with .BTF (vmlinux, .ko, BPF object) or a vmlinuz";

/// Reads a file and finds the BTF in it.
pub(crate) fn open(path: &Path) -> Result<TargetFile, BadInput> {
    let head = file::head(path)?;
    if head.is_empty() && std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0) {
        return Err(BadInput::at(path, "is empty").help(EXPECTED));
    }
    let known = is_raw_or_elf(&head) || Compression::of(&head).is_some();
    let bytes = file::read(path, if known { file::TARGET_BYTES } else { file::SEARCHED_BYTES })?;
    if bytes.is_empty() {
        return Err(BadInput::at(path, "is empty").help(EXPECTED));
    }
    find(path, bytes, DEPTH)
}

/// Whether a file's first bytes are those of raw BTF or of an ELF.
pub(crate) fn is_raw_or_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF") || head.starts_with(b"\x9f\xeb") || head.starts_with(b"\xeb\x9f")
}

fn find(path: &Path, bytes: Data<'static>, depth: u32) -> Result<TargetFile, BadInput> {
    if is_raw_or_elf(&bytes) {
        return slim(path, bytes);
    }
    let Some(deeper) = depth.checked_sub(1) else {
        return Err(BadInput::at(path, format_args!("compressed more than {DEPTH} times over")));
    };
    if let Some(at) = vmlinuz::payload(&bytes) {
        let short = || {
            format!("truncated: its header says the kernel ends at byte {}, it has {}", at.end, bytes.len())
        };
        let payload = bytes.get(at.clone()).ok_or_else(|| BadInput::at(path, short()))?;
        let what = "the boot image's header names a payload that is in no known compression";
        let how = Compression::of(payload).ok_or_else(|| BadInput::at(path, what))?;
        return find(path, unpacked(path, how, payload)?, deeper);
    }
    if let Some(how) = Compression::of(&bytes) {
        return find(path, unpacked(path, how, &bytes)?, deeper);
    }
    log::info!("{}: searched for BTF", path.display());
    search(path, &bytes, deeper).ok_or_else(|| BadInput::at(path, "no BTF in it").help(EXPECTED))
}

/// Looks for BTF in an image that does not say where it is: arm64, riscv64 (BTF as it is), s390x (in a compressed kernel).
fn search(path: &Path, image: &[u8], depth: u32) -> Option<TargetFile> {
    if let Some(btf) = find_btf_in_image(image) {
        return TargetFile::from_bytes(path, btf.to_vec()).ok();
    }
    vmlinuz::streams(image).take(STREAMS).find_map(|(how, stream)| {
        let inner = vmlinuz::unpack(how, stream).ok()?;
        find(path, Data::from(inner), depth).ok()
    })
}

fn unpacked(path: &Path, how: Compression, stream: &[u8]) -> Result<Data<'static>, BadInput> {
    let unpacked = vmlinuz::unpack(how, stream);
    unpacked.map(Data::from).map_err(|e| BadInput::at(path, format_args!("{how} stream: {e}")))
}

/// The BTF, and not the whole vmlinux that it was in.
fn slim(path: &Path, bytes: Data<'static>) -> Result<TargetFile, BadInput> {
    let mut found = TargetFile::from_bytes(path, bytes.clone()).map_err(|e| {
        let bad = BadInput::at(path, file::reason(&e.to_string(), path));
        match e {
            TargetError::Extract { cause: ExtractError::NoBtf, .. } => {
                bad.help("was the kernel built with CONFIG_DEBUG_INFO_BTF, the object with -g?")
            }
            _ => bad,
        }
    })?;
    if found.btf.len() < bytes.len() {
        found.btf = Data::from(found.btf.to_vec());
        found.base = found.base.map(|base| Data::from(base.to_vec()));
    }
    Ok(found)
}
