//! Standard input and pipes. Their content is copied to memory, so that it can be read like a file.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, MemfdFlags, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// The longest wait for the writer of a pipe between two checks for a signal.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Whether standard input has been copied. Nothing is left of it then.
static IS_STDIN_READ: AtomicBool = AtomicBool::new(false);

/// Returns whether a wait for the writer of a pipe must end, once the program has set it.
static IS_INTERRUPTED: OnceLock<fn() -> bool> = OnceLock::new();

/// Ends waits for the writers of pipes with an error as soon as `is_interrupted` returns `true`, such as
/// after a signal that the program catches. Only the first function that a process sets has an effect.
pub fn interrupt_waits(is_interrupted: fn() -> bool) {
    let _: &fn() -> bool = IS_INTERRUPTED.get_or_init(|| is_interrupted);
}

/// Bytes that are copied at once.
const BUFFER_BYTES: usize = 64 << 10;

/// The error for a stream that cannot be copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("has more than {limit} bytes")]
    TooLong { limit: u64 },
    #[error("standard input is used twice")]
    UsedTwice,
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for StreamError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// An open file of this process, named on the command line: `-`, `/dev/stdin`, or `/dev/fd/63` of a process
/// substitution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(u32);

impl Descriptor {
    /// Standard input.
    pub const STDIN: Self = Self(0);

    /// Returns the descriptor that a path names; `None` for other paths.
    ///
    /// A named pipe in a directory is no descriptor: opening it could wait for a writer forever.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.to_str()?;
        if name == "-" || name == "/dev/stdin" {
            return Some(Self::STDIN);
        }
        let number = name.strip_prefix("/dev/fd/").or_else(|| name.strip_prefix("/proc/self/fd/"))?;
        number.parse().ok().map(Self)
    }

    /// Returns the path through which the kernel opens the file again.
    fn path(self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0))
    }

    /// Opens the pipe or socket for reading. Only standard input may be a socket, because a socket cannot be
    /// opened by a path.
    fn open(self) -> io::Result<OwnedFd> {
        if self == Self::STDIN {
            return io::stdin().as_fd().try_clone_to_owned();
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.path(), flags, Mode::empty())?)
    }
}

/// Returns the path to open for a path of the command line: that of standard input for `-`.
pub(crate) fn file_path(path: &Path) -> &Path {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// Copies a stream of at most `limit` bytes. Returns `None` if the path leads to a file, a device, or
/// something that is not open.
pub(crate) fn copy(path: &Path, limit: u64) -> Result<Option<File>, StreamError> {
    let Some(descriptor) = Descriptor::from_path(path) else { return Ok(None) };
    let Ok(stat) = rustix::fs::stat(descriptor.path()) else { return Ok(None) };
    let is_stream = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => true,
        FileType::Socket => descriptor == Descriptor::STDIN,
        // Standard input continues where its last reader stopped. A path opens the file anew, at its start.
        FileType::RegularFile => path.as_os_str() == "-",
        _ => false,
    };
    if !is_stream {
        return Ok(None);
    }
    if descriptor == Descriptor::STDIN && IS_STDIN_READ.swap(true, Ordering::Relaxed) {
        return Err(StreamError::UsedTwice);
    }
    copy_all(&descriptor.open()?, limit).map(Some)
}

/// Copies everything from a stream to a file in memory.
fn copy_all(stream: &OwnedFd, limit: u64) -> Result<File, StreamError> {
    let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
    let (mut buffer, mut rest) = (vec![0; BUFFER_BYTES], limit);
    loop {
        wait_for_input(stream)?;
        let bytes = match rustix::io::read(stream, &mut *buffer) {
            Ok(0) => break,
            Ok(n) => buffer.get(..n).unwrap_or(&buffer),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(e) => return Err(e.into()),
        };
        let len = u64::try_from(bytes.len()).map_err(io::Error::other)?;
        rest = rest.checked_sub(len).ok_or(StreamError::TooLong { limit })?;
        file.write_all(bytes)?;
    }
    file.rewind()?;
    Ok(file)
}

/// Waits until the stream has bytes, or its writer is gone. Fails if [`interrupt_waits`] says so.
fn wait_for_input(stream: &OwnedFd) -> io::Result<()> {
    loop {
        if IS_INTERRUPTED.get().is_some_and(|is_interrupted| is_interrupted()) {
            return Err(io::Error::other("a signal ended the wait for its writer"));
        }
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&PAUSE)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_ready) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::{io::Read as _, thread};

    #[test]
    fn only_names_of_open_files_are_descriptors() {
        let descriptor = |path: &str| Descriptor::from_path(Path::new(path)).map(|Descriptor(number)| number);
        for (path, number) in [("-", 0), ("/dev/stdin", 0), ("/dev/fd/63", 63), ("/proc/self/fd/7", 7)] {
            assert_eq!(descriptor(path), Some(number), "{path}");
        }
        for path in ["./-", "/dev/fd/", "/dev/fd/-1", "/dev/fd/x", "/dev/fd/99999999999", "/proc/1/fd/0", "a"]
        {
            assert_eq!(descriptor(path), None, "{path}");
        }
    }

    #[test]
    fn a_stream_is_copied_up_to_its_limit() {
        for (limit, is_copied) in [(300_000, true), (299_999, false)] {
            let (reader, mut writer) = io::pipe().unwrap();
            let sent = thread::spawn(move || writer.write_all(&[7; 300_000]).is_ok());
            let copied = copy_all(&OwnedFd::from(reader), limit);
            assert_eq!(copied.is_ok(), is_copied);
            match copied {
                Ok(mut file) => {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes).unwrap();
                    assert!(bytes == [7; 300_000] && sent.join().unwrap());
                }
                Err(e) => assert_eq!(e.to_string(), "has more than 299999 bytes"),
            }
        }
    }
}
