//! Standard output and standard error.

use crate::process::signals;
use core_relo_loader::standard_streams;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::AsFd,
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Write},
};

/// The longest wait for the reader between two checks for a signal.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const NO_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The number of bytes that a pipe or terminal accepts without blocking when it is writable.
const CHUNK_BYTES: usize = 256;

/// The error for a write that a signal ended.
#[derive(Debug, thiserror::Error)]
#[error("the write was ended by a signal")]
pub(crate) struct WriteEnded;

/// Standard output or standard error, without a buffer.
///
/// While a command catches signals ([`signals::are_caught`]), a write waits for the reader only until a
/// signal arrives. After that, a write that would wait fails with [`WriteEnded`], so that the command can
/// undo its work and end.
#[derive(Debug)]
pub(crate) struct Stream<S>(pub(crate) S);

impl<S: AsFd> Stream<S> {
    /// Waits until the stream takes bytes.
    fn wait_for_room(&self) -> io::Result<()> {
        loop {
            // A signal that arrives after this line ends `poll`, or is seen after the pause.
            let has_arrived = signals::has_arrived();
            let pause = if has_arrived { NO_PAUSE } else { PAUSE };
            match poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], Some(&pause)) {
                Ok(0) if has_arrived => return Err(io::Error::other(WriteEnded)),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_ready) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl<S: AsFd> Write for Stream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !signals::are_caught() {
            return Ok(rustix::io::write(&self.0, bytes)?);
        }
        self.wait_for_room()?;
        Ok(rustix::io::write(&self.0, bytes.get(..CHUNK_BYTES).unwrap_or(bytes))?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes writes to stdout fail if it was closed when the process started. Rust's runtime has opened
/// `/dev/null` in its place, where output would be lost without an error. The descriptor stays in use, so
/// that no other file gets its number.
pub(crate) fn keep_stdout_closed() -> io::Result<()> {
    if standard_streams::is_stdout_closed_at_start() {
        // Writes to a file that is open for reading fail with the error of a closed descriptor.
        rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    }
    Ok(())
}

/// Returns whether a signal ended a write.
pub(crate) fn is_ended_by_signal(e: &io::Error) -> bool {
    e.get_ref().is_some_and(|e| e.is::<WriteEnded>())
}

/// Returns whether nobody reads stdout any more: the other end of a pipe is closed.
pub(crate) fn is_stdout_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    poll(&mut fds, Some(&NO_PAUSE)).is_ok()
        && fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::NVAL))
}
