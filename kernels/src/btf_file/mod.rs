//! The BTF in a file of any form: raw BTF, an ELF, or either of them in a compressed file, a boot image or a
//! package.

mod debug_link;
pub(crate) mod package_kernel;

use crate::{
    boot_image,
    compression::{
        budget::{Budget, Exceeded},
        format::Compression,
        streams::Streams,
    },
    elf_sections::{BtfSections, read_btf},
    error::{Defect, InputError},
    file::{self, InputFile},
    file_kind::{btf_endian, is_archive_name, is_elf, is_raw_or_elf, is_tar, max_bytes},
    image_facts::ImageFacts,
    limits::{Limits, MAX_SEARCHED_BYTES},
};
use core_relo::Data;
use core_relo_loader::target::{self, BtfFile, ExtractError, TargetError, find_btf_in_image};
use core_relo_verdict::kernel::WantedFacts;
use package_kernel::is_package;
use std::{io, path::Path};

/// The size of the longest known header of raw BTF, in bytes.
const HEADER_BYTES: u64 = 32;

/// The BTF in a file, and the other facts about the kernel that the file contains.
pub(crate) type BtfAndFacts = (BtfFile, ImageFacts);

/// Reads the BTF in a file.
pub fn read(path: &Path, limits: Limits) -> Result<BtfFile, InputError> {
    let (file, _no_facts) = read_input(InputFile::open(path, limits.bytes)?, limits, WantedFacts::default())?;
    Ok(file)
}

/// Reads a file as a whole, and unpacks it if it is compressed. The limit is on the bytes of the file.
pub fn read_unpacked(path: &Path, limit: u64) -> Result<Data<'static>, InputError> {
    let input = InputFile::open(path, limit)?;
    let budget = Budget::for_kernel(Limits::default(), input.stored_bytes);
    let compression = Compression::detect(&input.head);
    let bytes = input.read_whole(limit, None)?;
    match compression {
        None => Ok(bytes),
        Some(compression) => Streams::concatenated(compression, &*bytes, budget)
            .read_all()
            .map_err(|e| bad_stream(path, compression, &e)),
    }
}

/// Reads the BTF in an open file, and other facts about the kernel.
pub(crate) fn read_input(
    input: InputFile<'_>,
    limits: Limits,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    let path = input.path;
    if input.head.is_empty() {
        return Err(empty(path));
    }
    if is_package(path, &input.head) {
        return package_kernel::read(input, &[], limits, wanted);
    }
    let mut limit = max_bytes(&input.head, limits);
    if let Some(file) = input.read_sysfs_btf(limit)? {
        return Ok((file, ImageFacts::default()));
    }
    let budget = Budget::for_kernel(limits, input.stored_bytes);
    if is_elf(&input.head) {
        match read_btf(path, &input, limits.bytes) {
            BtfSections::Found(file) => {
                return Ok((file, ImageFacts::from_elf_file(&input, &budget, wanted)));
            }
            BtfSections::NoBtf => return debug_link::read(&input, limits, wanted),
            BtfSections::Unusual if !limits.is_user_set => limit = limit.min(MAX_SEARCHED_BYTES),
            BtfSections::Unusual => {}
        }
    }
    let used = raw_btf_len(&input.head);
    if let Some(used) = used.filter(|used| *used > input.len && input.len > HEADER_BYTES) {
        return Err(InputError::new(path, Defect::TruncatedBtf { bytes: input.len, expected: used }));
    }
    read_bytes(path, input.read_whole(limit, used)?, &budget, wanted)
}

/// Finds the BTF, and other facts about the kernel, in the content of a file.
pub(crate) fn read_bytes(
    path: &Path,
    bytes: Data<'static>,
    budget: &Budget,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    if bytes.is_empty() {
        return Err(empty(path));
    }
    unpack(path, bytes, budget, wanted)
}

/// Unpacks a compressed file as a whole. Other content stays as it is.
#[cfg(feature = "fetch")]
pub(crate) fn unpack_whole(
    path: &Path,
    bytes: Data<'static>,
    budget: &Budget,
) -> Result<Data<'static>, InputError> {
    let Some(compression) = Compression::detect(&bytes) else { return Ok(bytes) };
    let streams = Streams::concatenated(compression, &*bytes, budget.clone());
    streams.read_all().map_err(|e| bad_stream(path, compression, &e))
}

/// Returns the length of raw BTF from its header, or `None` for other files. Bytes after the BTF are ignored.
fn raw_btf_len(head: &[u8]) -> Option<u64> {
    let endian = btf_endian(head)?;
    let word = |offset| endian.u32(head, offset).map(u64::from);
    let header_len = word(4)?;
    let types_end = word(8)? + word(12)?;
    let strings_end = word(16)? + word(20)?;
    let layout_end = if header_len < 32 { 0 } else { word(24)? + word(28)? };
    // At least a header, so that the parser can report a bad one.
    Some((header_len + types_end.max(strings_end).max(layout_end)).max(HEADER_BYTES))
}

fn empty(path: &Path) -> InputError {
    InputError::new(path, Defect::Empty)
}

/// Finds the BTF in bytes: raw, in an ELF, or in the data that they unpack to.
///
/// Each layer of compression is freed before the next one is read.
fn unpack(
    path: &Path,
    mut bytes: Data<'static>,
    budget: &Budget,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    let (mut budget, mut outer_facts) = (budget.clone(), ImageFacts::default());
    loop {
        if is_raw_or_elf(&bytes) {
            // Raw BTF contains no other facts.
            let facts = match is_elf(&bytes) {
                true => ImageFacts::from_image(&bytes, &budget, wanted),
                false => ImageFacts::default(),
            };
            return Ok((extract(path, bytes)?, facts.or_else(outer_facts)));
        }
        outer_facts = ImageFacts::from_boot_header(&bytes, wanted).or_else(outer_facts);
        budget = budget.within_stream().map_err(|e| InputError::new(path, e.into()))?;
        let (compression, streams) = if let Some(payload) = boot_payload(path, &bytes)? {
            let unknown = || InputError::new(path, Defect::UnknownPayload);
            let compression = Compression::detect(payload).ok_or_else(unknown)?;
            (compression, Streams::first(compression, payload, budget.clone()))
        } else if let Some(compression) = Compression::detect(&bytes) {
            (compression, Streams::concatenated(compression, &*bytes, budget.clone()))
        } else if is_tar(&bytes) {
            let has_archive_name = is_archive_name(path);
            return Err(InputError::new(path, Defect::IsArchive { has_archive_name }));
        } else {
            let (file, facts) = search(path, &bytes, &budget, wanted)?;
            return Ok((file, facts.or_else(outer_facts)));
        };
        bytes = streams.read_all().map_err(|e| bad_stream(path, compression, &e))?;
    }
}

/// Returns the compressed kernel that the header of a boot image names; `None` if there is no such header.
fn boot_payload<'b>(path: &Path, image: &'b [u8]) -> Result<Option<&'b [u8]>, InputError> {
    let Some(range) = boot_image::payload(image) else { return Ok(None) };
    let (end, len) = (range.end, image.len());
    let truncated = || InputError::new(path, Defect::TruncatedImage { bytes: len, expected: end });
    image.get(range).map(Some).ok_or_else(truncated)
}

/// Searches for BTF in an image without a header: arm64 and riscv64 contain BTF, s390x a compressed kernel.
fn search(
    path: &Path,
    image: &[u8],
    budget: &Budget,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    log::info!("{}: searched for BTF", path.display());
    if let Some(btf) = find_btf_in_image(image) {
        let file = extract(path, target::copy_bytes(btf).map_err(|e| file::unreadable(path, &e))?)?;
        return Ok((file, ImageFacts::from_image(image, budget, wanted)));
    }
    for (compression, stream) in boot_image::find_streams(image) {
        // Bytes that look like a stream by chance fail. A stream that takes the whole budget ends the search.
        let unpacked = Streams::first(compression, stream, budget.clone()).read_all();
        let found = unpacked
            .map_err(|e| bad_stream(path, compression, &e))
            .and_then(|inner| unpack(path, inner, budget, wanted));
        match found {
            Ok(found) => return Ok(found),
            Err(bad) => log::debug!("{}: a {compression} stream in it: {}", path.display(), bad.what()),
        }
        budget.check().map_err(|e| InputError::new(path, e.into()))?;
    }
    Err(InputError::new(path, Defect::NoBtfFound))
}

fn bad_stream(path: &Path, compression: Compression, e: &io::Error) -> InputError {
    let defect = Defect::Stream { format: compression, cause: e.into(), exceeded: Exceeded::from_io(e) };
    InputError::new(path, defect)
}

fn no_btf(path: &Path) -> InputError {
    InputError::new(path, Defect::NoBtf)
}

/// Extracts the BTF, and frees the rest of the vmlinux that contains it.
fn extract(path: &Path, bytes: Data<'static>) -> Result<BtfFile, InputError> {
    let mut file = BtfFile::from_bytes(path, bytes.clone()).map_err(|e| match e {
        TargetError::Extract { cause: ExtractError::NoBtf, .. } => no_btf(path),
        _ => file::bad_btf(path, e),
    })?;
    if file.btf.len() < bytes.len() {
        let copy = |bytes: Data<'static>| target::copy_bytes(&bytes).map_err(|e| file::unreadable(path, &e));
        file.btf = copy(file.btf)?;
        file.base = file.base.map(copy).transpose()?;
    }
    Ok(file)
}
