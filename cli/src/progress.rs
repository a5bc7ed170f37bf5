//! The line on stderr that shows the progress of long work.

use crate::console;
use std::{
    io::{self, Write as _},
    time::{Duration, Instant},
};

/// The characters inside of the bar.
const BAR: u64 = 20;

/// Erases the line that the cursor is in.
const ERASE: &str = "\r\x1b[K";

/// The width of a terminal that reports none.
const DEFAULT_COLUMNS: u16 = 80;

/// A line on a terminal: `[=====>    ] 12/400 kernels, 13 s left`. Without a terminal, nothing is printed.
pub(crate) struct Progress {
    is_shown: bool,
    /// The things that are counted: `kernels`.
    noun: &'static str,
    done: u64,
    total: u64,
    start: Instant,
    is_visible: bool,
}

impl Progress {
    /// Creates a line for `total` things. It is shown from `minimum` things on, if stderr is a terminal.
    pub(crate) fn new(noun: &'static str, total: usize, minimum: usize) -> Self {
        let is_shown = total >= minimum && console::is_stderr_terminal();
        let (start, total) = (Instant::now(), total as u64);
        let mut progress = Self { is_shown, noun, done: 0, total, start, is_visible: false };
        progress.draw();
        progress
    }

    /// Counts a thing. `is_new` says that it is not among the total.
    pub(crate) fn count(&mut self, is_new: bool) {
        self.total = self.total.saturating_add(is_new.into());
        self.done = self.done.saturating_add(1);
    }

    /// Writes output while the line is not shown. With a line, `flush` follows, so that the output is
    /// complete before the line.
    pub(crate) fn write_above<W>(
        &mut self,
        out: &mut W,
        write: impl FnOnce(&mut W) -> io::Result<()>,
        flush: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        self.erase();
        write(out)?;
        if self.is_shown {
            flush(out)?;
        }
        self.draw();
        Ok(())
    }

    fn erase(&mut self) {
        if self.is_visible {
            self.print(ERASE);
            self.is_visible = false;
        }
    }

    fn draw(&mut self) {
        if !self.is_shown {
            return;
        }
        let size = rustix::termios::tcgetwinsize(io::stderr());
        // A terminal without a known size has 0 columns.
        let columns = size.ok().map(|size| size.ws_col).filter(|columns| *columns != 0);
        let columns = columns.unwrap_or(DEFAULT_COLUMNS);
        self.print(&format!("{ERASE}{}", self.line(self.start.elapsed(), columns.into())));
        self.is_visible = true;
    }

    /// Prints to the terminal. Work does not end because its progress cannot be shown.
    fn print(&self, text: &str) {
        if io::stderr().write_all(text.as_bytes()).is_err() {
            log::debug!("the progress cannot be shown");
        }
    }

    /// Returns the line, shorter than `columns`. A bar that does not fit is left out.
    fn line(&self, elapsed: Duration, columns: usize) -> String {
        let Self { noun, done, total, .. } = *self;
        let mut text = format!("{done}/{total} {noun}");
        let left = total.saturating_sub(done);
        let ratio = |of: u128| of.checked_mul(left.into()).and_then(|all| all.checked_div(done.into()));
        if let Some(milliseconds) = ratio(elapsed.as_millis()) {
            text.push_str(&format!(", {} left", rounded(milliseconds)));
        }
        let filled = BAR.saturating_mul(done).checked_div(total).unwrap_or(0).min(BAR);
        let (mut bar, rest) = ("=".repeat(filled as usize), " ".repeat(BAR.saturating_sub(filled) as usize));
        if filled != 0 && filled != BAR {
            bar.pop();
            bar.push('>');
        }
        let with_bar = format!("[{bar}{rest}] {text}");
        let mut line = if with_bar.len() < columns { with_bar } else { text };
        line.truncate(columns.saturating_sub(1));
        line
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.erase();
    }
}

/// Returns a duration in its largest unit.
fn rounded(milliseconds: u128) -> String {
    let seconds = milliseconds.div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_part_that_is_done_and_the_time_left() {
        let line = |done, seconds, columns| {
            let (is_shown, is_visible, start) = (false, false, Instant::now());
            let progress = Progress { is_shown, noun: "kernels", done, total: 40, start, is_visible };
            progress.line(Duration::from_secs(seconds), columns)
        };
        assert_eq!(line(0, 0, 80), "[                    ] 0/40 kernels");
        assert_eq!(line(10, 10, 80), "[====>               ] 10/40 kernels, 30 s left");
        assert_eq!(line(40, 10, 80), "[====================] 40/40 kernels, 0 s left");
        assert_eq!(line(10, 1000, 80), "[====>               ] 10/40 kernels, 50 min left");
        assert_eq!(line(1, 1000, 80), "[                    ] 1/40 kernels, 11 h left");
        assert_eq!(line(10, 10, 30), "10/40 kernels, 30 s left");
        assert_eq!(line(10, 10, 8), "10/40 k");
    }
}
