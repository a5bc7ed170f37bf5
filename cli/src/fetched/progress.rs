//! The progress of downloads on stderr: what is fetched, and on terminals a line with the bytes so far.

use crate::console;
use core_relo::Escaped;
use core_relo_kernels::fetch::Progress;
use std::{
    io::{self, Write as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Erases the line that the cursor is in.
const ERASE: &str = "\r\x1b[K";

/// The time between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of downloads.
pub(crate) struct DownloadProgress {
    is_terminal: bool,
    state: Mutex<State>,
}

struct State {
    done: u64,
    total: u64,
    name: String,
    drawn: Option<Instant>,
}

impl DownloadProgress {
    pub(crate) fn new() -> Self {
        let state = State { done: 0, total: 0, name: String::new(), drawn: None };
        Self { is_terminal: console::is_stderr_terminal(), state: Mutex::new(state) }
    }

    /// Says what will be downloaded, of a number of bytes.
    pub(crate) fn announce(&self, text: &str, bytes: u64) {
        let mut state = self.lock();
        (state.done, state.total) = (0, bytes);
        print(&format!("core-relo: {}\n", Escaped(text)));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, state: &mut State) {
        if !self.is_terminal || state.drawn.is_some_and(|drawn| drawn.elapsed() < INTERVAL) {
            return;
        }
        state.drawn = Some(Instant::now());
        let mib = |bytes: u64| bytes >> 20;
        let (done, total, name) = (mib(state.done), mib(state.total.max(state.done)), &state.name);
        print(&format!("{ERASE}{done}/{total} MiB  {}", Escaped(name)));
    }
}

impl Progress for DownloadProgress {
    fn begin(&self, name: &str, _bytes: u64) {
        let mut state = self.lock();
        name.clone_into(&mut state.name);
        self.draw(&mut state);
    }

    fn advance(&self, bytes: u64) {
        let mut state = self.lock();
        state.done = state.done.saturating_add(bytes);
        self.draw(&mut state);
    }

    fn note(&self, text: &str) {
        let erase = if self.lock().drawn.is_some() { ERASE } else { "" };
        print(&format!("{erase}core-relo: note: {}\n", Escaped(&text.replace('\n', "; "))));
    }
}

impl Drop for DownloadProgress {
    fn drop(&mut self) {
        if self.lock().drawn.is_some() {
            print(ERASE);
        }
    }
}

/// Prints to stderr. A download does not end because its progress cannot be shown.
fn print(text: &str) {
    if io::stderr().write_all(text.as_bytes()).is_err() {
        log::debug!("the progress cannot be shown");
    }
}
