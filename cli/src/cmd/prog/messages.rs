//! Printing of messages that arrive as bytes: whole lines, until a limit, a signal, or the end of the
//! output's reader.

use crate::{
    args::trace_output::MessageLimitArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandError, CommandResult},
    output::is_stdout_closed,
    process::signals::TerminationSignals,
};
use std::{
    io, thread,
    time::{Duration, Instant},
};

/// The time between two attempts to read messages. `poll` on trace_pipe waits until the buffer is half full.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest line. A longer one is printed in parts.
const LINE_BYTES: usize = 64 << 10;

const READ_BYTES: usize = 16 << 10;

/// A source of messages.
pub(super) trait MessageSource {
    /// Reads bytes; 0 if there are none now.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, BadInput>;

    /// Returns whether a line is a message, or a part of one.
    fn is_message(&self, _line: &[u8]) -> bool {
        true
    }

    /// Prints a line, without its line break.
    fn print(&self, console: &mut Console<'_>, line: &[u8]) -> io::Result<()>;

    /// Returns whether to wait when there are no messages.
    fn waits(&self) -> bool;
}

/// Prints the messages of a source.
pub(super) fn print_messages(
    console: &mut Console<'_>,
    source: &mut impl MessageSource,
    limits: MessageLimitArgs,
) -> CommandResult {
    let mut termination = TerminationSignals::catch()?;
    match print_until(console, source, limits, &mut || termination.has_arrived()) {
        // The reader of the output wants no more.
        Err(CommandError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn print_until(
    console: &mut Console<'_>,
    source: &mut impl MessageSource,
    limits: MessageLimitArgs,
    is_stopped: &mut dyn FnMut() -> bool,
) -> CommandResult {
    // A time that the clock does not reach is no limit.
    let deadline = limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut left = limits.count.map(u64::from);
    let (mut lines, mut bytes) = (Vec::new(), vec![0; READ_BYTES]);
    loop {
        // The messages that arrived before a signal or the deadline are printed.
        let is_last = is_stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let read = source.read(&mut bytes)?;
        lines.extend_from_slice(bytes.get(..read).unwrap_or(&bytes));
        let is_end = read == 0 && (is_last || !source.waits());
        while let Some(line) = take_line(&mut lines, is_end) {
            if left == Some(0) {
                break;
            }
            if !source.is_message(&line) {
                continue;
            }
            source.print(console, &line)?;
            left = left.map(|left| left.saturating_sub(1));
        }
        if left == Some(0) || is_end || (is_last && deadline.is_none()) {
            console.out.flush()?;
            break;
        }
        if read == 0 {
            console.out.flush()?;
            if is_stdout_closed() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        } else if is_last {
            // A source that is written all the time has no end.
            console.out.flush()?;
            break;
        }
    }
    match left {
        Some(left) if left > 0 => {
            console.raise_exit(ExitStatus::Incompatible);
            Ok(console.note(&format!("{left} lines of --count did not arrive"))?)
        }
        _ => Ok(()),
    }
}

/// Removes and returns the first line. A part of a line is returned if no more bytes come, or if it is too
/// long.
fn take_line(bytes: &mut Vec<u8>, is_end: bool) -> Option<Vec<u8>> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (len, line_break) = match end {
        Some(end) => (end, 1),
        None if is_end && !bytes.is_empty() => (bytes.len(), 0),
        None if bytes.len() >= LINE_BYTES => (LINE_BYTES, 0),
        None => return None,
    };
    let mut line: Vec<u8> = bytes.drain(..len + line_break).collect();
    line.truncate(len);
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_whole_until_the_end() {
        let mut bytes = b"one\n\ntwo".to_vec();
        assert_eq!(take_line(&mut bytes, false).as_deref(), Some(&b"one"[..]));
        assert_eq!(take_line(&mut bytes, false).as_deref(), Some(&b""[..]));
        assert_eq!(take_line(&mut bytes, false), None);
        assert_eq!(take_line(&mut bytes, true).as_deref(), Some(&b"two"[..]));
        assert_eq!(take_line(&mut bytes, true), None);
        let mut long = vec![b'x'; LINE_BYTES + 1];
        assert_eq!(take_line(&mut long, false).map(|line| line.len()), Some(LINE_BYTES));
        assert_eq!(long.len(), 1);
    }
}
