//! The errors of `.BTF.ext`.

use crate::btf::MAGIC;
use thiserror::Error;

/// The reason why bytes are not a valid `.BTF.ext`.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtError {
    /// The data is shorter than its header.
    #[error(".BTF.ext is {len} bytes long, its header needs {need}")]
    TooShort {
        /// The length of the data in bytes.
        len: usize,
        /// The length of the header in bytes.
        need: u32,
    },
    /// The magic number is not 0xEB9F in either byte order.
    #[error("not .BTF.ext: magic is {found:#06x}, expected {MAGIC:#06x} in either byte order")]
    Magic {
        /// The first two bytes as a little-endian number.
        found: u16,
    },
    /// The version is not 1.
    #[error(".BTF.ext version {found} is not supported (expected 1)")]
    Version {
        /// The version in the header.
        found: u8,
    },
    /// The header is shorter than in the first version of the format, or its length is no multiple of 4.
    #[error(".BTF.ext header length {found} is not supported (expected at least 24, a multiple of 4)")]
    HeaderLength {
        /// `hdr_len` in the header.
        found: u32,
    },
    /// A subsection is misaligned or reaches past the end.
    #[error(
        ".BTF.ext {subsection} (offset {offset}, length {len}) is misaligned or reaches past the end: {available} bytes follow the header"
    )]
    Bounds {
        /// `func_info`, `line_info` or `core_relo`.
        subsection: &'static str,
        /// Its offset, in bytes after the header.
        offset: u32,
        /// Its length in bytes.
        len: u32,
        /// Bytes after the header.
        available: usize,
    },
    /// The record size is too small, or no multiple of 4.
    #[error(
        ".BTF.ext {subsection} has records of {found} bytes, expected at least {need} and a multiple of 4"
    )]
    RecordSize {
        /// The subsection.
        subsection: &'static str,
        /// The record size in the data.
        found: u32,
        /// The smallest valid record size.
        need: u32,
    },
    /// A group of records is empty or reaches past its subsection.
    #[error(
        ".BTF.ext {subsection}: group at offset {offset} states {records} records of {size} bytes, {left} bytes are left"
    )]
    Group {
        /// The subsection.
        subsection: &'static str,
        /// The group's offset, in bytes, in the subsection.
        offset: usize,
        /// The number of records in the group's header.
        records: u32,
        /// The record size in bytes.
        size: u32,
        /// The bytes that follow the group's header.
        left: usize,
    },
}

crate::debug_as_message!(ExtError);
