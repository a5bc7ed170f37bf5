//! The cpio archives in rpm packages: the "new ASCII" format (cpio(5)), and rpm's stripped form of it for
//! packages with large files (`07070X` and the index of the file, `lib/cpio.c` of rpm).

use crate::{
    error::InputError,
    package::{
        PackageDefect, PackageFile,
        file::FileSource,
        rpm::{PayloadEntry, RpmFiles, is_regular},
        stream::{Part, read_part, unreadable},
    },
};
use std::{
    ffi::OsStr,
    io::{self, Read},
    ops::ControlFlow,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The size of a magic number, in bytes.
const MAGIC_BYTES: u64 = 6;

/// The number of hexadecimal digits of a field.
const DIGITS: usize = 8;

/// The size of the fields after the magic number, in bytes: 13 of the full form, 1 of the stripped form.
const FIELD_BYTES: u64 = 104;
const INDEX_BYTES: u64 = 8;

/// The fields that are used, by their index.
const MODE: usize = 1;
const LINK_COUNT: usize = 4;
const FILE_SIZE: usize = 6;
const NAME_SIZE: usize = 11;

/// The longest path with its NUL, in bytes (the kernel's `PATH_MAX`).
const NAME_BYTES: u64 = 4096;

/// Headers and contents are padded to a multiple of this size.
const ALIGNMENT: u64 = 4;

/// The name of the last entry.
const TRAILER: &[u8] = b"TRAILER!!!";

/// A cpio archive that is read in order.
struct Archive<'a, 'r> {
    package: &'a Path,
    stream: Box<dyn Read + 'r>,
    /// The number of bytes that have been read.
    position: u64,
}

/// Passes each regular file of an archive to `visit`.
pub(super) fn visit<'r>(
    source: &FileSource<'_>,
    stream: Box<dyn Read + 'r>,
    files: &RpmFiles,
    visit: &mut dyn FnMut(PackageFile<'_>) -> ControlFlow<()>,
) -> Result<(), InputError> {
    let mut archive = Archive { package: source.package, stream, position: 0 };
    loop {
        let offset = archive.position;
        let Some(entry) = archive.read_header(files)? else { return Ok(()) };
        let content_start = archive.position;
        let mut content = (&mut archive.stream).take(entry.len);
        if entry.is_file && visit(source.file(&entry.path, entry.len, offset, &mut content)?).is_break() {
            return Ok(());
        }
        let unread = io::copy(&mut content, &mut io::sink());
        unread.map_err(|e| unreadable(source.package, &e))?;
        if content.limit() > 0 {
            let defect = PackageDefect::Truncated { offset, expected: "the content of a file" };
            return Err(InputError::new(source.package, defect.into()));
        }
        archive.position = content_start.saturating_add(entry.len);
        archive.skip_padding()?;
    }
}

impl Archive<'_, '_> {
    fn error(&self, defect: PackageDefect) -> InputError {
        InputError::new(self.package, defect.into())
    }

    fn read(&mut self, name: &'static str, len: u64, limit: u64) -> Result<Vec<u8>, InputError> {
        let part = Part { offset: self.position, len, name, limit };
        let bytes = read_part(self.package, &mut self.stream, part)?;
        self.position = self.position.saturating_add(len);
        Ok(bytes)
    }

    fn skip_padding(&mut self) -> Result<(), InputError> {
        let end = self.position.checked_next_multiple_of(ALIGNMENT).unwrap_or(self.position);
        self.read("padding", end.saturating_sub(self.position), ALIGNMENT).map(drop)
    }

    /// Reads the header of the next entry; `None` for the last one.
    fn read_header(&mut self, files: &RpmFiles) -> Result<Option<PayloadEntry>, InputError> {
        let offset = self.position;
        let magic = self.read("the header of a file", MAGIC_BYTES, MAGIC_BYTES)?;
        match &*magic {
            b"07070X" => {
                let field = self.read("the index of a file", INDEX_BYTES, INDEX_BYTES)?;
                let index = parse_field(&field, offset).map_err(|defect| self.error(defect))?;
                self.skip_padding()?;
                files.entry(index, offset).map(Some).map_err(|defect| self.error(defect))
            }
            b"070701" | b"070702" => self.read_full_header(offset),
            _ => Err(self.error(PackageDefect::Magic { offset, expected: "the header of a cpio entry" })),
        }
    }

    fn read_full_header(&mut self, offset: u64) -> Result<Option<PayloadEntry>, InputError> {
        let raw = self.read("the header of a file", FIELD_BYTES, FIELD_BYTES)?;
        let (fields, _rest) = raw.as_chunks::<DIGITS>();
        let field = |index: usize| {
            let field = fields.get(index).map_or(&[][..], |field| field);
            parse_field(field, offset).map(u64::from).map_err(|defect| self.error(defect))
        };
        let (mode, link_count) = (field(MODE)?, field(LINK_COUNT)?);
        let (len, name_bytes) = (field(FILE_SIZE)?, field(NAME_SIZE)?);
        let name = self.read("the path of a file", name_bytes, NAME_BYTES)?;
        self.skip_padding()?;
        let name = name.strip_suffix(b"\0").unwrap_or(&name);
        if name == TRAILER {
            return Ok(None);
        }
        // The content of a file with hard links follows its last name.
        let is_other_name = link_count > 1 && len == 0;
        let path = PathBuf::from(OsStr::from_bytes(name));
        Ok(Some(PayloadEntry { path, is_file: is_regular(mode) && !is_other_name, len }))
    }
}

/// Parses a field of 8 hexadecimal digits. `offset` is that of the header.
fn parse_field(field: &[u8], offset: u64) -> Result<u32, PackageDefect> {
    let text = String::from_utf8_lossy(field);
    let is_hexadecimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(&text, 16).ok().filter(|_| is_hexadecimal);
    number.ok_or_else(|| PackageDefect::Field {
        offset,
        field: "field of the cpio header",
        found: text.into_owned(),
        expected: "8 hexadecimal digits",
    })
}
