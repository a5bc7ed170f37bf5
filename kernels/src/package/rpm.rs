//! Packages of rpm: a lead, a header with signatures, the header with the metadata, and a compressed cpio
//! archive (rpm's `docs/manual/format_v4.md`; the tags are those of `include/rpm/rpmtag.h`).

use crate::{
    compression::budget::Budget,
    error::InputError,
    limits::{MAX_RPM_DEPENDENCIES, MAX_RPM_FILES},
    package::{
        PackageDefect, PackageMetadata,
        payload::unpack,
        rpm_header::RpmHeader,
        stream::{Part, read_part},
    },
};
use std::{
    collections::HashMap,
    ffi::OsStr,
    io::{BufRead, Read},
    ops::Range,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

const LEAD_BYTES: u64 = 96;

/// The header with signatures is padded to a multiple of this size.
const SIGNATURE_ALIGNMENT: u64 = 8;

const TAG_NAME: u32 = 1000;
const TAG_VERSION: u32 = 1001;
const TAG_RELEASE: u32 = 1002;
const TAG_EPOCH: u32 = 1003;
const TAG_ARCH: u32 = 1022;
const TAG_FILE_SIZES: u32 = 1028;
const TAG_FILE_MODES: u32 = 1030;
const TAG_REQUIRE_NAME: u32 = 1049;
const TAG_FILE_DEVICES: u32 = 1095;
const TAG_FILE_INODES: u32 = 1096;
const TAG_DIR_INDEXES: u32 = 1116;
const TAG_BASE_NAMES: u32 = 1117;
const TAG_DIR_NAMES: u32 = 1118;
const TAG_LONG_FILE_SIZES: u32 = 5008;

/// Reads a package up to its files. Returns the metadata, the files in the header, and the cpio archive.
pub(super) fn open<'r>(
    path: &Path,
    mut stream: Box<dyn BufRead + 'r>,
    budget: &Budget,
) -> Result<(PackageMetadata, RpmFiles, Box<dyn Read + 'r>), InputError> {
    let part = |offset, len, name| Part { offset, len, name, limit: len };
    read_part(path, &mut stream, part(0, LEAD_BYTES, "the lead of an rpm"))?;
    let signature = RpmHeader::read(path, &mut stream, LEAD_BYTES)?;
    let signature_end = LEAD_BYTES.saturating_add(signature.len);
    // The lead has a multiple of 8 bytes as well.
    let header_offset = signature_end.checked_next_multiple_of(SIGNATURE_ALIGNMENT).unwrap_or(signature_end);
    let padding = header_offset.saturating_sub(signature_end);
    read_part(path, &mut stream, part(signature_end, padding, "padding after the signatures"))?;
    let header = RpmHeader::read(path, &mut stream, header_offset)?;
    let metadata = metadata(&header);
    Ok((metadata, RpmFiles::new(header), unpack(path, stream, budget)?))
}

#[expect(clippy::disallowed_methods, reason = "metadata that a package lacks is empty text")]
fn metadata(header: &RpmHeader) -> PackageMetadata {
    let text = |tag| header.string(tag).unwrap_or_default();
    let epoch = header.numbers(TAG_EPOCH).next().filter(|epoch| *epoch != 0);
    let epoch = epoch.map(|epoch| format!("{epoch}:")).unwrap_or_default();
    let requires =
        header.strings(TAG_REQUIRE_NAME).take(MAX_RPM_DEPENDENCIES).filter_map(|range| header.text(&range));
    PackageMetadata {
        name: text(TAG_NAME),
        version: format!("{epoch}{}-{}", text(TAG_VERSION), text(TAG_RELEASE)),
        architecture: text(TAG_ARCH),
        depends: requires.map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
    }
}

/// The files in the header of an rpm. The stripped form of cpio names files by their index in the header.
#[derive(Debug)]
pub(super) struct RpmFiles {
    header: RpmHeader,
    dir_names: Vec<Range<usize>>,
    files: Vec<RpmFile>,
}

/// A file in the header of an rpm.
#[derive(Debug)]
struct RpmFile {
    dir_index: usize,
    base_name: Range<usize>,
    len: u64,
    mode: u64,
    /// Whether the payload has the content under this name: only the last name of a file with hard links.
    has_content: bool,
}

/// The entry of a file in a cpio archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PayloadEntry {
    pub(super) path: PathBuf,
    /// Whether the entry is a regular file with its content.
    pub(super) is_file: bool,
    /// The length of the content in the archive, in bytes.
    pub(super) len: u64,
}

impl RpmFiles {
    fn new(header: RpmHeader) -> Self {
        let dir_names: Vec<_> = header.strings(TAG_DIR_NAMES).take(MAX_RPM_FILES).collect();
        let large_sizes = header.numbers(TAG_LONG_FILE_SIZES).next().is_some();
        let size_tag = if large_sizes { TAG_LONG_FILE_SIZES } else { TAG_FILE_SIZES };
        let names = header.strings(TAG_BASE_NAMES).zip(header.numbers(TAG_DIR_INDEXES));
        let attributes = header.numbers(size_tag).zip(header.numbers(TAG_FILE_MODES));
        let mut files: Vec<_> = names
            .zip(attributes)
            .take(MAX_RPM_FILES)
            .filter_map(|((base_name, dir_index), (len, mode))| {
                let dir_index = usize::try_from(dir_index).ok()?;
                Some(RpmFile { dir_index, base_name, len, mode, has_content: true })
            })
            .collect();
        let inodes = header.numbers(TAG_FILE_DEVICES).zip(header.numbers(TAG_FILE_INODES));
        let mut last_names = HashMap::new();
        for (index, (inode, file)) in inodes.zip(&files).enumerate() {
            if is_regular(file.mode) {
                last_names.insert(inode, index);
            }
        }
        let inodes = header.numbers(TAG_FILE_DEVICES).zip(header.numbers(TAG_FILE_INODES));
        for (index, (inode, file)) in inodes.zip(&mut files).enumerate() {
            file.has_content = !is_regular(file.mode) || last_names.get(&inode) == Some(&index);
        }
        Self { header, dir_names, files }
    }

    /// Returns the entry of the file with an index. `offset` is that of the entry in the archive, for
    /// messages.
    pub(super) fn entry(&self, index: u32, offset: u64) -> Result<PayloadEntry, PackageDefect> {
        let unknown = || PackageDefect::UnknownFile { offset, index, count: self.files.len() };
        let file = usize::try_from(index).ok().and_then(|index| self.files.get(index)).ok_or_else(unknown)?;
        let dir = self.dir_names.get(file.dir_index).ok_or_else(unknown)?;
        let text = |range| self.header.text(range).ok_or_else(unknown);
        let path = [text(dir)?, text(&file.base_name)?].concat();
        let len = if file.has_content { file.len } else { 0 };
        let is_file = file.has_content && is_regular(file.mode);
        Ok(PayloadEntry { path: PathBuf::from(OsStr::from_bytes(&path)), is_file, len })
    }
}

/// Returns whether a mode is that of a regular file.
pub(super) const fn is_regular(mode: u64) -> bool {
    mode & 0xf000 == 0x8000
}
