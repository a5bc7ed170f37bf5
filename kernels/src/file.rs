//! Regular files, opened and read within limits, and the streams that the command line names. Devices and
//! other pipes are refused.

use crate::{
    error::{Defect, InputError},
    file_id::FileId,
    stream::{self, Descriptor, StreamError},
};
use core_relo::Data;
use core_relo_loader::target::{self, BtfFile, TargetError};
use rustix::fs::{SeekFrom, seek};
use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::SystemTime,
};

/// The number of bytes at a file's start from which its kind is detected.
const HEAD_BYTES: u64 = 0x1000;

/// The size of the buffer for a file that is read as a stream, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Opens a regular file. Does not wait for pipes.
fn open(path: &Path) -> Result<(File, Metadata), InputError> {
    target::open_file(stream::file_path(path)).map_err(|e| match e {
        TargetError::NotAFile { .. } if path.is_dir() => InputError::new(path, Defect::IsDirectory),
        TargetError::NotAFile { .. } if Descriptor::from_path(path) == Some(Descriptor::STDIN) => {
            InputError::new(path, Defect::InputIsDevice)
        }
        TargetError::NotAFile { .. } => InputError::new(path, Defect::NotAFile),
        TargetError::PseudoFile { .. } => InputError::new(path, Defect::Generated),
        TargetError::Io { errno: Some(errno), .. } => unreadable(path, &io::Error::from_raw_os_error(errno)),
        _ => bad_btf(path, e),
    })
}

/// Returns whether a path leads to something without an end: a device, a pipe, a socket, a file that the
/// kernel generates.
pub(crate) fn is_endless(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return false };
    let is_pseudo = || matches!(target::open_file(path), Err(TargetError::PseudoFile { .. }));
    !meta.is_dir() && (!meta.is_file() || meta.len() == 0 && is_pseudo())
}

/// Reads a whole file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Data<'static>, InputError> {
    OpenFile::open(path, limit)?.read_head()?.read_whole(limit, None)
}

/// Creates the error for a file or archive member that is larger than its limit.
pub(crate) fn too_long(path: &Path, len: u64, limit: u64) -> InputError {
    InputError::new(path, Defect::TooLong { bytes: len, limit })
}

/// A regular file, or the copy of a stream, that is open and has not been read.
#[derive(Debug)]
pub(crate) struct OpenFile<'p> {
    pub(crate) path: &'p Path,
    file: File,
    len: u64,
    stored_bytes: u64,
    pub(crate) id: Option<FileId>,
}

impl<'p> OpenFile<'p> {
    /// Opens a file. Copies a stream of at most `limit` bytes.
    pub(crate) fn open(path: &'p Path, limit: u64) -> Result<Self, InputError> {
        if let Some(file) = copy_stream(path, limit)? {
            let len = file.metadata().map_err(|e| unreadable(path, &e))?.len();
            return Ok(Self { path, file, len, stored_bytes: len, id: None });
        }
        let (file, meta) = open(path)?;
        let len = meta.len();
        let stored_bytes = stored_bytes(&file, &meta).map_err(|e| unreadable(path, &e))?;
        Ok(Self { path, file, len, stored_bytes, id: FileId::new(path, &meta, SystemTime::now()) })
    }

    /// Reads the first bytes.
    pub(crate) fn read_head(self) -> Result<InputFile<'p>, InputError> {
        let Self { path, file, len, stored_bytes, id: _ } = self;
        let mut head = Vec::new();
        (&file).take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| unreadable(path, &e))?;
        Ok(InputFile { path, file, len, stored_bytes, head })
    }
}

/// Returns the bytes that a file takes on the disk: fewer than its length if it has holes.
fn stored_bytes(file: &File, meta: &Metadata) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let len = meta.len();
    // Compression, and blocks that are not allocated yet, also reduce the number of blocks: only the blocks
    // of files with holes count.
    let has_holes = match seek(file, SeekFrom::Hole(0)) {
        Ok(hole) => hole < len,
        // The file system does not report holes, or the file is empty.
        Err(_unknown) => false,
    };
    seek(file, SeekFrom::Start(0))?;
    let allocated = meta.blocks().checked_mul(BLOCK_BYTES);
    Ok(match allocated {
        Some(allocated) if has_holes => len.min(allocated),
        _ => len,
    })
}

/// A regular file whose first bytes have been read.
#[derive(Debug)]
pub struct InputFile<'p> {
    /// The path.
    pub path: &'p Path,
    file: File,
    /// The length in bytes.
    pub len: u64,
    /// The bytes that the file takes on the disk: fewer than `len` if the file has holes.
    pub stored_bytes: u64,
    /// The first bytes, at most 4096.
    pub head: Vec<u8>,
}

impl<'p> InputFile<'p> {
    /// Opens a file. Copies a stream of at most `limit` bytes.
    pub fn open(path: &'p Path, limit: u64) -> Result<Self, InputError> {
        OpenFile::open(path, limit)?.read_head()
    }

    /// Reads a whole file of at most `limit` bytes, or only the first `used` bytes.
    pub fn read_whole(self, limit: u64, used: Option<u64>) -> Result<Data<'static>, InputError> {
        if self.len > limit {
            return Err(too_long(self.path, self.len, limit));
        }
        let (path, used) = (self.path, used.filter(|used| *used < self.len));
        let expected = used.unwrap_or(self.len);
        let content = io::Cursor::new(self.head).chain(self.file);
        let bytes = target::read_all(content.take(used.unwrap_or(u64::MAX)), expected, limit);
        let too_long = || InputError::new(path, Defect::Grew { limit });
        bytes.map_err(|e| unreadable(path, &e))?.ok_or_else(too_long)
    }

    /// Reads the running kernel's BTF, which need not be validated, if the file is `/sys/kernel/btf/vmlinux`.
    /// Returns `None` for any other file, and for more than `limit` bytes.
    pub fn read_sysfs_btf(&self, limit: u64) -> Result<Option<BtfFile>, InputError> {
        if self.len > limit {
            return Ok(None);
        }
        let read = BtfFile::from_sysfs(self.path, &self.file);
        read.map_err(|e| bad_btf(self.path, e))
    }

    /// Reads a part of the file; `None` if the file has no such part.
    pub fn read_part(&self, offset: u64, len: u64) -> Option<Data<'static>> {
        target::read_part(&self.file, offset, len).ok()
    }

    /// Returns the open file, for reads at any offset.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Returns the content as a stream. It ends at the length that the file had when it was opened.
    pub fn into_stream(self) -> impl io::BufRead {
        let content = io::Cursor::new(self.head).chain(self.file);
        io::BufReader::with_capacity(BUFFER_BYTES, content.take(self.len))
    }
}

/// Creates the error for BTF that cannot be read.
pub(crate) fn bad_btf(path: &Path, e: TargetError) -> InputError {
    InputError::new(path, Defect::Btf(Box::new(e)))
}

/// Copies a stream of at most `limit` bytes, as [`stream::copy`] does.
pub(super) fn copy_stream(path: &Path, limit: u64) -> Result<Option<File>, InputError> {
    stream::copy(path, limit).map_err(|e| match e {
        StreamError::Io(e) => unreadable(path, &e),
        StreamError::TooLong { limit } => InputError::new(path, Defect::StreamTooLong { limit }),
        StreamError::UsedTwice => InputError::new(path, Defect::InputUsedTwice),
    })
}

/// Creates the error for a file that cannot be read.
pub fn unreadable(path: &Path, e: &io::Error) -> InputError {
    InputError::new(path, Defect::Unreadable(e.into()))
}
