//! The parts of a package before its files: signatures, and metadata with the hash of the files.
//!
//! A package is three gzip streams: signatures, metadata (the control section), files. The index has the hash
//! of the metadata (`C:`), and `datahash` in `.PKGINFO` is the SHA-256 of the stream with the files
//! (apk-v2(5); Alpine Wiki, `Apk spec`).

use super::gzip_member::GzipMember;
use crate::fetch::{
    address::Address,
    error::{FetchError, MirrorDefect},
    sha256::{hex, is_sha256},
    transport::{OpenedFile, Transport},
};
use crate::package_kind::PKGINFO;
use flate2::{Compression, write::GzEncoder};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::io::{self, Read as _, Write as _};

/// The largest head of a package that is read, and the largest part of one when it is unpacked, in bytes.
/// Kernels have less than 16 KiB: scripts, and a list of what they provide.
const HEAD_BYTES: u64 = 1 << 20;

/// The number of bytes that are read before the first attempt to parse them. It doubles with each attempt.
const FIRST_BYTES: u64 = 32 << 10;

/// Returns a head that takes the place of the package's own one, which the hash of the files does not
/// cover: a mirror could add files to it.
pub(crate) fn plain_head(package: &str) -> io::Result<Vec<u8>> {
    let mut info = format!("pkgname = {package}\n").into_bytes();
    let mut header = tar::Header::new_ustar();
    header.set_path(PKGINFO)?;
    header.set_size(u64::try_from(info.len()).map_err(io::Error::other)?);
    header.set_mode(0o644);
    header.set_cksum();
    info.resize(info.len().next_multiple_of(header.as_bytes().len()), 0);
    // The head and the files are one archive, so the zeros at its end are missing.
    let mut head = GzEncoder::new(Vec::new(), Compression::none());
    head.write_all(header.as_bytes())?;
    head.write_all(&info)?;
    head.finish()
}

/// The hash of a package's metadata, from the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetadataHash {
    /// `Q1`.
    Sha1(Vec<u8>),
    /// `Q2`.
    Sha256(Vec<u8>),
}

/// The head of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageHead {
    /// The SHA-256 of the stream with the files, in hexadecimal digits.
    pub(crate) files_sha256: String,
    /// The offset of this stream.
    pub(crate) files_offset: u64,
    /// The compressed metadata.
    metadata: Vec<u8>,
}

impl PackageHead {
    /// Reads the head of a package on a mirror.
    pub(crate) fn read(transport: &Transport, address: &Address) -> Result<Self, FetchError> {
        let packed = |error: io::Error| FetchError::mirror(address, MirrorDefect::Packed(error.into()));
        let OpenedFile { mut content, .. } = transport.open(address, 0)?;
        let (mut bytes, mut wanted) = (Vec::new(), FIRST_BYTES);
        loop {
            let missing = wanted.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            let count = content.by_ref().take(missing).read_to_end(&mut bytes).map_err(|error| {
                FetchError::mirror(address, MirrorDefect::Connection { message: error.to_string() })
            })?;
            match Self::parse(&bytes) {
                Err(error)
                    if error.kind() == io::ErrorKind::UnexpectedEof && count > 0 && wanted < HEAD_BYTES =>
                {
                    wanted = wanted.saturating_mul(2);
                }
                head => return head.map_err(packed),
            }
        }
    }

    /// Parses the first bytes of a package.
    pub(crate) fn parse(bytes: &[u8]) -> io::Result<Self> {
        let first = GzipMember::first(bytes, HEAD_BYTES)?;
        let start = if first.is_signature() { first.len } else { 0 };
        let rest = bytes.get(start..).ok_or(io::ErrorKind::InvalidData)?;
        let metadata = GzipMember::first(rest, HEAD_BYTES)?;
        let text = String::from_utf8_lossy(&metadata.content);
        let hash = text.lines().find_map(|line| line.strip_prefix("datahash = ")).map(str::trim);
        let hash = hash.filter(|hash| is_sha256(hash));
        let hash = hash.ok_or_else(|| io::Error::other("the metadata has no hash of the files"))?;
        let end = start.checked_add(metadata.len).and_then(|end| u64::try_from(end).ok());
        Ok(Self {
            files_sha256: hash.to_ascii_lowercase(),
            files_offset: end.ok_or(io::ErrorKind::InvalidData)?,
            metadata: rest.get(..metadata.len).ok_or(io::ErrorKind::InvalidData)?.to_owned(),
        })
    }

    /// Compares the metadata with the hash in the index.
    pub(crate) fn check(&self, expected: &MetadataHash) -> Result<(), MirrorDefect> {
        let (found, expected) = match expected {
            MetadataHash::Sha1(expected) => (Sha1::digest(&self.metadata).to_vec(), expected),
            MetadataHash::Sha256(expected) => (Sha256::digest(&self.metadata).to_vec(), expected),
        };
        match found == *expected {
            true => Ok(()),
            false => Err(MirrorDefect::Metadata { found: hex(&found), expected: hex(expected) }),
        }
    }
}
