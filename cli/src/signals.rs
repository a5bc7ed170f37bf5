//! Signals that ask the command to end. They are handled between two steps, so that a step is finished or undone.

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};
use std::io;

/// The requests to end (SIGINT, SIGTERM, SIGHUP) that arrive from now on. It needs no thread.
///
/// A signal that has arrived ends nothing by itself: the owner looks with [`Self::arrived`] where it can stop, and calls
/// [`Self::release`] when it has nothing left to undo.
#[derive(Debug)]
pub(crate) struct EndRequests {
    signals: Signals,
    first: Option<i32>,
}

impl EndRequests {
    /// Takes over the three signals.
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Self { signals: Signals::new([SIGINT, SIGTERM, SIGHUP])?, first: None })
    }

    /// Returns whether one of the signals has arrived so far.
    pub(crate) fn arrived(&mut self) -> bool {
        if self.first.is_none() {
            self.first = self.signals.pending().next();
        }
        self.first.is_some()
    }

    /// Waits until one of the signals arrives, if none has yet.
    pub(crate) fn wait(&mut self) {
        while !self.arrived() {
            self.first = self.signals.wait().next();
        }
    }

    /// Ends the process the way the first signal would have, if one has arrived; then a shell sees why it ended.
    pub(crate) fn release(mut self) -> io::Result<()> {
        self.arrived();
        self.first.map_or(Ok(()), emulate_default_handler)
    }
}
