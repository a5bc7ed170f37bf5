//! Packages of Debian and Ubuntu (deb(5)): an ar archive with `debian-binary`, `control.tar` and `data.tar`.

use crate::{
    compression::budget::Budget,
    error::InputError,
    package::{
        PackageDefect, PackageKind, PackageMetadata,
        ar::{self, ArHeader},
        payload::unpack,
        stream::{Part, read_part},
        tar_package::find_text,
    },
    tar_members::member_name,
};
use std::{
    io::{BufRead, Cursor, Read},
    path::{Path, PathBuf},
};

/// The largest `control.tar` in bytes. That of a kernel has a list of checksums, about 100 bytes a module.
const CONTROL_BYTES: u64 = 16 << 20;

/// The largest `debian-binary` in bytes.
const VERSION_BYTES: u64 = 256;

/// The largest member that is skipped, in bytes.
const SKIPPED_BYTES: u64 = 1 << 20;

/// A package up to its files.
pub(super) struct DebParts<'r> {
    pub(super) metadata: PackageMetadata,
    /// The name of `data.tar`.
    pub(super) name: PathBuf,
    /// The content of `data.tar`.
    pub(super) stream: Box<dyn Read + 'r>,
    /// The offset of the end of `data.tar` in the package.
    pub(super) end: u64,
}

/// Reads a package up to its files.
pub(super) fn open<'r>(
    path: &Path,
    mut stream: Box<dyn BufRead + 'r>,
    budget: &Budget,
) -> Result<DebParts<'r>, InputError> {
    let magic_bytes = u64::try_from(ar::MAGIC.len()).unwrap_or(u64::MAX);
    let part = |offset, len, name, limit| Part { offset, len, name, limit };
    read_part(path, &mut stream, part(0, magic_bytes, "an ar archive", magic_bytes))?;
    let mut offset = magic_bytes;
    let mut metadata = None;
    let missing = |part| {
        let defect = PackageDefect::Missing { kind: PackageKind::Deb, part };
        InputError::new(path, defect.into())
    };
    while let Some(ArHeader { name, len }) = ar::read_header(path, &mut stream, offset)? {
        let content = offset.saturating_add(ar::HEADER_BYTES);
        let member = member_name(path, Path::new(&name));
        if name.starts_with("data.tar") {
            let metadata = metadata.ok_or_else(|| missing("member control.tar before data.tar"))?;
            let stream = unpack(&member, Box::new(stream.take(len)), budget)?;
            return Ok(DebParts { metadata, name: member, stream, end: content.saturating_add(len) });
        }
        if name == "debian-binary" {
            let part = part(content, len, "the member debian-binary", VERSION_BYTES);
            check_version(&member, &read_part(path, &mut stream, part)?, content)?;
        } else if name.starts_with("control.tar") {
            let part = part(content, len, "the member control.tar", CONTROL_BYTES);
            let control = read_part(path, &mut stream, part)?;
            metadata = Some(read_control(&member, control, budget)?);
        } else {
            let part = part(content, len, "a member before data.tar", SKIPPED_BYTES);
            read_part(path, &mut stream, part)?;
        }
        let padding = len % 2;
        read_part(path, &mut stream, part(content.saturating_add(len), padding, "a byte of padding", 1))?;
        offset = content.saturating_add(len).saturating_add(padding);
    }
    Err(missing("member data.tar"))
}

/// Refuses formats other than 2.x.
fn check_version(member: &Path, version: &[u8], offset: u64) -> Result<(), InputError> {
    if version.starts_with(b"2.") {
        return Ok(());
    }
    let found = String::from_utf8_lossy(version).trim_end().to_owned();
    let defect = PackageDefect::Field { offset, field: "version of the format", found, expected: "2.0" };
    Err(InputError::new(member, defect.into()))
}

fn read_control(member: &Path, control: Vec<u8>, budget: &Budget) -> Result<PackageMetadata, InputError> {
    let stream = unpack(member, Box::new(Cursor::new(control)), budget)?;
    let text = find_text(member, stream, "control", budget)?;
    let missing = PackageDefect::Missing { kind: PackageKind::Deb, part: "file `control`" };
    let text = text.ok_or_else(|| InputError::new(member, missing.into()))?;
    Ok(PackageMetadata::from_control(&text))
}
