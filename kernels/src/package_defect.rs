//! Defects of packages.

use crate::package_kind::PackageKind;
use core_relo::Escaped;
use thiserror::Error;

/// The defect of a package. Offsets are in bytes from the start of the file or member that the error names.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackageDefect {
    /// The file is no package of a known format.
    #[error("is no package: expected a .deb, .rpm, .apk or a package of pacman")]
    UnknownFormat,
    /// The package ends too early.
    #[error("truncated at byte {offset}: expected {expected}")]
    Truncated {
        /// The offset of the missing bytes.
        offset: u64,
        /// The missing part.
        expected: &'static str,
    },
    /// A header has another magic number.
    #[error("byte {offset}: bad magic number, expected {expected}")]
    Magic {
        /// The offset.
        offset: u64,
        /// The expected header.
        expected: &'static str,
    },
    /// A field of a header has an invalid value.
    #[error("byte {offset}: {field}: found `{}`, expected {expected}", Escaped(found))]
    Field {
        /// The offset of the header.
        offset: u64,
        /// The field.
        field: &'static str,
        /// The value.
        found: String,
        /// The valid values.
        expected: &'static str,
    },
    /// A part of the package is larger than its limit.
    #[error("byte {offset}: {part} has {found} {unit}, at most {limit} are read")]
    TooLarge {
        /// The offset of the part.
        offset: u64,
        /// The part.
        part: &'static str,
        /// The size.
        found: u64,
        /// The largest size.
        limit: u64,
        /// The unit of the sizes.
        unit: &'static str,
    },
    /// A part without which a package of this format is invalid.
    #[error("the {kind} package has no {part}")]
    Missing {
        /// The format.
        kind: PackageKind,
        /// The missing part.
        part: &'static str,
    },
    /// The files are in an unknown compression or archive format.
    #[error("is in no known compression and archive format")]
    UnknownPayload,
    /// A path that leads out of the package, or that is no path.
    #[error("byte {offset}: path `{}` leads out of the package", Escaped(path))]
    UnsafePath {
        /// The offset.
        offset: u64,
        /// The path.
        path: String,
    },
    /// A file of an rpm is named by an index that its header does not have.
    #[error("byte {offset}: file {index} of the payload is not in the header, which has {count} files")]
    UnknownFile {
        /// The offset.
        offset: u64,
        /// The index.
        index: u32,
        /// The number of files.
        count: usize,
    },
}

core_relo::debug_as_message!(PackageDefect);
