//! The download of a file whose size and hash the index has.

use super::{OpenedFile, Pace, Progress, Transport};
use crate::{
    fetch::{
        address::Address,
        error::{FetchError, MirrorDefect},
        hash::FileHasher,
    },
    limits::MAX_PAUSE_SECONDS,
};
use std::{
    io::{self, Read},
    mem, thread,
    time::{Duration, Instant},
};

/// The number of retries without a new byte in between.
const RETRIES: u32 = 4;

/// The time before the first retry. It doubles with each one.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The number of bytes that are read at once where nobody needs them.
const SKIP_BYTES: u64 = 64 << 10;

/// The size and the hash of a file, from the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'e> {
    pub(crate) bytes: u64,
    /// The SHA-256 or SHA-512, in hexadecimal digits.
    pub(crate) hash: &'e str,
}

/// The retries of a download.
#[derive(Debug, Default)]
pub(super) struct Retries {
    count: u32,
    /// The pause that the server asks for.
    pause: Option<Duration>,
}

impl Retries {
    /// Returns whether an error may be gone at the next try, and counts the try.
    pub(super) fn may_retry(&mut self, error: &FetchError) -> bool {
        self.pause = None;
        let is_temporary = match error {
            FetchError::Mirror { defect, .. } => match defect {
                MirrorDefect::Connection { .. } | MirrorDefect::Short { .. } => true,
                MirrorDefect::Busy { seconds, .. } => {
                    self.pause = Some(Duration::from_secs(*seconds));
                    *seconds <= MAX_PAUSE_SECONDS
                }
                MirrorDefect::Status { code } => matches!(code, 408 | 429 | 500..=599),
                _ => false,
            },
            _ => false,
        };
        self.count = self.count.saturating_add(1);
        is_temporary && self.count <= RETRIES
    }

    /// Waits before the next try.
    pub(super) fn wait(&self) {
        let doublings = self.count.saturating_sub(1).min(RETRIES);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings);
        thread::sleep(self.pause.map_or(wait, |pause| pause.max(wait)));
    }
}

/// A file as a stream that goes on after a failed connection, with the bytes that are missing. It never
/// returns more bytes than expected.
pub(crate) struct Download<'d> {
    transport: &'d Transport,
    progress: &'d dyn Progress,
    address: &'d Address,
    expected: Expected<'d>,
    content: Option<Box<dyn Read + Send>>,
    hash: FileHasher,
    bytes: u64,
    /// The offset of the first byte that the hash covers.
    hash_from: u64,
    retries: Retries,
    pace: Pace,
    /// The error of the mirror that the reader hears of as an error of the system.
    error: Option<FetchError>,
}

impl<'d> Download<'d> {
    /// Opens the file.
    pub(crate) fn open(
        transport: &'d Transport,
        progress: &'d dyn Progress,
        address: &'d Address,
        expected: Expected<'d>,
    ) -> Result<Self, FetchError> {
        let mut download = Self {
            transport,
            progress,
            address,
            expected,
            content: None,
            hash: FileHasher::for_expected(expected.hash),
            bytes: 0,
            hash_from: 0,
            retries: Retries::default(),
            pace: Pace::default(),
            error: None,
        };
        download.connect()?;
        progress.begin(address.last_part(), expected.bytes);
        Ok(download)
    }

    /// Skips the bytes at the start of the file that the hash does not cover. No reader sees them.
    pub(crate) fn skip_unhashed(&mut self, bytes: u64) -> Result<(), FetchError> {
        self.hash_from = bytes;
        let skipped = io::copy(&mut self.by_ref().take(bytes), &mut io::sink());
        skipped.map(drop).map_err(|error| self.take_error(&error))
    }

    /// Reads the rest of the file, and compares size and hash. Whatever was read before counts only now.
    pub(crate) fn finish(mut self) -> Result<(), FetchError> {
        if let Err(error) = io::copy(&mut self, &mut io::sink()) {
            return Err(self.take_error(&error));
        }
        self.check_end()?;
        let hasher = mem::replace(&mut self.hash, FileHasher::for_expected(self.expected.hash));
        let found = hasher.finish();
        if found == self.expected.hash {
            return Ok(());
        }
        let expected = self.expected.hash.to_owned();
        Err(FetchError::mirror(self.address, MirrorDefect::Hash { found, expected }))
    }

    /// Reads the whole file.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, FetchError> {
        let mut bytes = Vec::new();
        if let Err(error) = self.read_to_end(&mut bytes) {
            return Err(self.take_error(&error));
        }
        self.finish()?;
        Ok(bytes)
    }

    /// Returns the error of the mirror that a reader of this stream saw, if there was one.
    pub(crate) fn take_mirror_error(&mut self) -> Option<FetchError> {
        self.error.take()
    }

    fn take_error(&mut self, error: &io::Error) -> FetchError {
        let connection = || MirrorDefect::Connection { message: error.to_string() };
        self.error.take().unwrap_or_else(|| FetchError::mirror(self.address, connection()))
    }

    /// Checks that the file has no more bytes than expected.
    fn check_end(&mut self) -> Result<(), FetchError> {
        let mut byte = [0];
        let further = self.content.as_mut().map(|content| content.read(&mut byte));
        match further {
            Some(Ok(1)) => {
                let expected = self.expected.bytes;
                Err(FetchError::mirror(self.address, MirrorDefect::Long { expected }))
            }
            // All bytes are there.
            _ => Ok(()),
        }
    }

    /// Connects again, until the server answers or too many tries have failed.
    fn connect(&mut self) -> Result<(), FetchError> {
        loop {
            match self.open_at_offset() {
                Ok(content) => {
                    self.content = Some(content);
                    return Ok(());
                }
                Err(error) if self.retries.may_retry(&error) => self.retries.wait(),
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the file where the last connection ended.
    fn open_at_offset(&self) -> Result<Box<dyn Read + Send>, FetchError> {
        let OpenedFile { mut content, offset } = self.transport.open(self.address, self.bytes)?;
        let mut skipped = self.bytes.saturating_sub(offset);
        // The server has no ranges.
        while skipped > 0 {
            let mut part = content.by_ref().take(skipped.min(SKIP_BYTES));
            let count = io::copy(&mut part, &mut io::sink());
            let connection = |message: String| MirrorDefect::Connection { message };
            let count = count.map_err(|e| FetchError::mirror(self.address, connection(e.to_string())))?;
            if count == 0 {
                return Err(self.short(self.bytes.saturating_sub(skipped)));
            }
            skipped = skipped.saturating_sub(count);
        }
        Ok(content)
    }

    fn short(&self, bytes: u64) -> FetchError {
        FetchError::mirror(self.address, MirrorDefect::Short { bytes, expected: self.expected.bytes })
    }

    /// Reads some bytes of the present connection.
    fn read_connection(&mut self, buf: &mut [u8]) -> Result<usize, FetchError> {
        let Some(content) = &mut self.content else { return Ok(0) };
        content.read(buf).map_err(|error| {
            FetchError::mirror(self.address, MirrorDefect::Connection { message: error.to_string() })
        })
    }

    /// Reads some bytes, after new connections if need be. Returns 0 at the end of the file.
    fn read_some(&mut self, buf: &mut [u8]) -> Result<usize, FetchError> {
        let missing = self.expected.bytes.saturating_sub(self.bytes);
        let wanted = buf.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
        let Some(buf) = buf.get_mut(..wanted).filter(|buf| !buf.is_empty()) else { return Ok(0) };
        let start = Instant::now();
        loop {
            let error = match self.read_connection(buf) {
                Ok(0) => self.short(self.bytes),
                Ok(count) => {
                    let skipped = self.hash_from.saturating_sub(self.bytes);
                    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(count);
                    self.hash.update(buf.get(skipped..count).unwrap_or(buf));
                    let count_bytes = u64::try_from(count).unwrap_or(u64::MAX);
                    self.bytes = self.bytes.saturating_add(count_bytes);
                    self.retries = Retries::default();
                    self.progress.advance(count_bytes);
                    let advanced = self.pace.advance(start.elapsed(), count_bytes);
                    return advanced.map(|()| count).map_err(|slow| FetchError::mirror(self.address, slow));
                }
                Err(error) => error,
            };
            self.content = None;
            if !self.retries.may_retry(&error) {
                return Err(error);
            }
            self.retries.wait();
            self.connect()?;
        }
    }
}

impl Read for Download<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_some(buf).map_err(|error| {
            let for_reader = io::Error::other(error.to_string());
            self.error = Some(error);
            for_reader
        })
    }
}
