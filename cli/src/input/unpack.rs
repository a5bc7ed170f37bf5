//! Any file that holds a kernel's types, to its BTF: raw, ELF, or either within compressed and boot images.

use super::{
    archive,
    budget::{Budget, Exceeded},
    elf::{self, Looked},
    file::{self, Limits, Opened},
    streams::Streams,
    vmlinuz::{self, Compression},
};
use crate::error::BadInput;
use core_relo::{Data, Endian};
use core_relo_loader::target::{ExtractError, TargetError, TargetFile, find_btf_in_image};
use std::{io, path::Path};

/// Bytes of the longest header that a raw BTF has.
const HEADER_BYTES: u64 = 32;

const EXPECTED: &str = "expected raw BTF, an ELF with .BTF (vmlinux, .ko, BPF object) or a vmlinuz";

/// What was read of a file.
pub(crate) enum Read {
    /// All of it, as far as it counts, and what it may be unpacked to.
    Whole(Data<'static>, Budget),
    /// Of an ELF the sections that count.
    Types(TargetFile),
}

/// Reads a file and finds the BTF in it.
pub(crate) fn open(path: &Path, limits: Limits) -> Result<TargetFile, BadInput> {
    match read(Opened::new(path)?, limits)? {
        Read::Whole(bytes, budget) => open_bytes(path, bytes, &budget),
        Read::Types(found) => Ok(found),
    }
}

/// Reads what counts of a file.
pub(crate) fn read(opened: Opened<'_>, limits: Limits) -> Result<Read, BadInput> {
    let path = opened.path;
    if opened.head.is_empty() {
        return Err(empty(path));
    }
    let mut limit = longest(&opened.head, limits);
    if is_elf(&opened.head) {
        match elf::types_of(path, &opened, limits.bytes) {
            Looked::Types(found) => return Ok(Read::Types(found)),
            Looked::NoTypes => return Err(no_types(path)),
            Looked::Unusual if !limits.given => limit = limit.min(file::SEARCHED_BYTES),
            Looked::Unusual => {}
        }
    }
    let used = raw_len(&opened.head);
    if let Some(used) = used.filter(|used| *used > opened.len && opened.len > HEADER_BYTES) {
        let what = format!("truncated: its header says {used} bytes, {} are there", opened.len);
        return Err(BadInput::at(path, what));
    }
    let budget = Budget::of_kernel(limits, opened.stored);
    Ok(Read::Whole(opened.whole(limit, used)?, budget))
}

/// How many bytes of a file [`read`] would read, if not all; none if it would not read them in one piece.
pub(crate) fn used(opened: &Opened<'_>, limits: Limits) -> Option<Option<u64>> {
    let fits = !is_elf(&opened.head) && opened.len <= longest(&opened.head, limits);
    fits.then(|| raw_len(&opened.head))
}

/// Finds the BTF in bytes that were read already.
pub(crate) fn open_bytes(path: &Path, bytes: Data<'static>, budget: &Budget) -> Result<TargetFile, BadInput> {
    if bytes.is_empty() {
        return Err(empty(path));
    }
    find(path, bytes, budget)
}

/// How large something that begins with these bytes may be.
pub(crate) fn longest(head: &[u8], limits: Limits) -> u64 {
    let known = is_raw_or_elf(head) || Compression::of(head).is_some();
    if known { limits.bytes } else { limits.bytes.min(file::SEARCHED_BYTES) }
}

/// How far a raw BTF reaches, as its header says; what comes after does not count.
fn raw_len(head: &[u8]) -> Option<u64> {
    let e = [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(head, 0) == Some(0xeb9f))?;
    let word = |at| e.u32(head, at).map(u64::from);
    let end = |at: usize| Some(word(at)?.saturating_add(word(at.checked_add(4)?)?));
    let header = word(4)?;
    let layout = if header < 32 { 0 } else { end(24)? };
    // Not less than a header, so that a bad one can be read, and said to be bad.
    Some(header.saturating_add(end(8)?.max(end(16)?).max(layout)).max(HEADER_BYTES))
}

fn empty(path: &Path) -> BadInput {
    BadInput::at(path, "is empty").help(EXPECTED)
}

fn is_elf(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF")
}

/// Whether a file's first bytes are those of raw BTF or of an ELF.
pub(crate) fn is_raw_or_elf(head: &[u8]) -> bool {
    is_elf(head) || head.starts_with(b"\x9f\xeb") || head.starts_with(b"\xeb\x9f")
}

/// Finds the BTF in bytes: raw, in an ELF, or in what they unpack to.
///
/// Of two layers, a stream and what it is unpacked to, the outer is let go before the inner is looked at.
fn find(path: &Path, mut bytes: Data<'static>, budget: &Budget) -> Result<TargetFile, BadInput> {
    let mut budget = budget.clone();
    loop {
        if is_raw_or_elf(&bytes) {
            return slim(path, bytes);
        }
        budget = budget.within_stream().map_err(|e| exceeded(path, e))?;
        let (how, streams) = if let Some(payload) = payload(path, &bytes)? {
            let what = "the boot image's header names a payload that is in no known compression";
            let how = Compression::of(payload).ok_or_else(|| BadInput::at(path, what))?;
            (how, Streams::first(how, payload, budget.clone()))
        } else if let Some(how) = Compression::of(&bytes) {
            (how, Streams::all(how, &*bytes, budget.clone()))
        } else if archive::is_tar(&bytes) {
            let bad = BadInput::at(path, "is a tar archive");
            return Err(bad.help("give it a name that ends in .tar, .tar.gz, .tar.xz or .tar.zst"));
        } else {
            return search(path, &bytes, &budget);
        };
        let unpacked = streams.collect().map_err(|e| bad_stream(path, how, &e))?;
        bytes = Data::from(unpacked);
    }
}

/// The compressed kernel in a boot image, as the image's header says; `None` if it has no such header.
fn payload<'b>(path: &Path, bytes: &'b [u8]) -> Result<Option<&'b [u8]>, BadInput> {
    let Some(at) = vmlinuz::payload(bytes) else { return Ok(None) };
    let short =
        || format!("truncated: its header says the kernel ends at byte {}, it has {}", at.end, bytes.len());
    bytes.get(at.clone()).map(Some).ok_or_else(|| BadInput::at(path, short()))
}

/// Looks for BTF in an image that does not say where it is: arm64, riscv64 (BTF as it is), s390x (in a compressed kernel).
fn search(path: &Path, image: &[u8], budget: &Budget) -> Result<TargetFile, BadInput> {
    log::info!("{}: searched for BTF", path.display());
    if let Some(btf) = find_btf_in_image(image) {
        return slim(path, Data::from(btf.to_vec()));
    }
    for (how, stream) in vmlinuz::streams(image) {
        // What begins like a stream by chance fails; what takes all of the budget ends the search.
        let found = Streams::first(how, stream, budget.clone()).collect();
        let found = found
            .map_err(|e| bad_stream(path, how, &e))
            .and_then(|inner| find(path, Data::from(inner), budget));
        match found {
            Ok(found) => return Ok(found),
            Err(bad) => log::debug!("{}: a {how} stream in it: {}", path.display(), bad.what),
        }
        budget.check().map_err(|e| exceeded(path, e))?;
    }
    Err(BadInput::at(path, "no BTF in it").help(EXPECTED))
}

/// What to say of an input that may be unpacked no further.
pub(crate) fn exceeded(path: &Path, e: Exceeded) -> BadInput {
    BadInput::at(path, e).help(e.help())
}

fn bad_stream(path: &Path, how: Compression, e: &io::Error) -> BadInput {
    let bad = BadInput::at(path, format_args!("{how} stream: {e}"));
    match Exceeded::of(e) {
        Some(e) => bad.help(e.help()),
        None => bad,
    }
}

fn no_types(path: &Path) -> BadInput {
    let bad = BadInput::at(path, ExtractError::NoBtf);
    bad.help("was the kernel built with CONFIG_DEBUG_INFO_BTF, the object with -g?")
}

/// The BTF, and not the whole vmlinux that it was in.
fn slim(path: &Path, bytes: Data<'static>) -> Result<TargetFile, BadInput> {
    let mut found = TargetFile::from_bytes(path, bytes.clone()).map_err(|e| match e {
        TargetError::Extract { cause: ExtractError::NoBtf, .. } => no_types(path),
        _ => BadInput::at(path, file::reason(&e.to_string(), path)),
    })?;
    if found.btf.len() < bytes.len() {
        found.btf = Data::from(found.btf.to_vec());
        found.base = found.base.map(|base| Data::from(base.to_vec()));
    }
    Ok(found)
}
