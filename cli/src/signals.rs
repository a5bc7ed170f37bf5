//! Signals that ask the command to end. They are handled between two steps, so that a step is finished or undone.

use crate::error::BadInput;
use signal_hook::{
    consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
    },
    flag,
    iterator::Signals,
    low_level::emulate_default_handler,
};
use std::{
    fs, io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// The signals that end a command in the usual course of things.
const USUAL: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Every signal that ends a process and can be put off.
const ALL: [i32; 10] =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGXCPU];

/// The number of [`EndRequests`] in use.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether there are none, so that signals end the process again.
static IS_FREE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The last signal that arrived while signals were caught, or 0.
static ARRIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Returns whether signals are caught, so that they do not end the process.
pub(crate) fn are_caught() -> bool {
    ACTIVE.load(Ordering::SeqCst) > 0
}

/// Returns whether one of the signals that are caught has arrived.
pub(crate) fn has_arrived() -> bool {
    ARRIVED.load(Ordering::SeqCst) != 0
}

/// An error of the system, which does not let the process handle signals.
#[derive(Debug, thiserror::Error)]
#[error("signals: cannot be handled: {0}")]
pub(crate) struct SignalError(io::Error);

impl From<SignalError> for BadInput {
    fn from(SignalError(e): SignalError) -> Self {
        Self::new("signals", format_args!("cannot be handled: {e}"))
    }
}

/// The requests to end (SIGINT, SIGTERM, SIGHUP) that arrive from now on. It needs no thread.
///
/// A signal that has arrived ends nothing by itself: the owner looks with [`Self::arrived`] where it can stop, and calls
/// [`Self::release`] when it has nothing left to undo. With the last owner's release signals end the process again. A signal that
/// the process ignores (under `nohup`) stays ignored.
#[derive(Debug)]
pub(crate) struct EndRequests {
    signals: Signals,
    first: Option<i32>,
    _active: Active,
}

/// One that counts as active.
#[derive(Debug)]
struct Active;

impl Active {
    fn new() -> Self {
        if ACTIVE.fetch_add(1, Ordering::SeqCst) == 0 {
            ARRIVED.store(0, Ordering::SeqCst);
        }
        IS_FREE.store(false, Ordering::SeqCst);
        Self
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if ACTIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
            IS_FREE.store(true, Ordering::SeqCst);
        }
    }
}

impl EndRequests {
    /// Takes over the three signals.
    pub(crate) fn catch() -> Result<Self, SignalError> {
        Self::of(&USUAL).map_err(SignalError)
    }

    /// Takes over every signal that would end the process, for a short time in which a file must not be left behind.
    pub(crate) fn catch_all() -> Result<Self, SignalError> {
        Self::of(&ALL).map_err(SignalError)
    }

    fn of(signals: &[i32]) -> io::Result<Self> {
        let ignored = ignored();
        let signals: Vec<_> = signals.iter().filter(|signal| !ignored(**signal)).collect();
        let active = Active::new();
        for signal in &signals {
            let number = usize::try_from(**signal).map_err(io::Error::other)?;
            flag::register_usize(**signal, Arc::clone(&ARRIVED), number)?;
            // Without this the signal would have no effect after the release.
            flag::register_conditional_default(**signal, Arc::clone(&IS_FREE))?;
        }
        Ok(Self { signals: Signals::new(signals)?, first: None, _active: active })
    }

    /// Returns whether one of the signals has arrived so far.
    pub(crate) fn arrived(&mut self) -> bool {
        if self.first.is_none() {
            self.first = self.signals.pending().next().or_else(last_arrived);
        }
        self.first.is_some()
    }

    /// Waits until one of the signals arrives, if none has yet.
    pub(crate) fn wait(&mut self) {
        while !self.arrived() {
            self.first = self.signals.wait().next();
        }
    }

    /// Ends the process the way the first signal would have, if one has arrived and there is no other owner, who has seen it
    /// too; then a shell sees why the process ended.
    pub(crate) fn release(self) -> Result<(), SignalError> {
        let Self { mut signals, first, _active: active } = self;
        drop(active);
        let first = first.or_else(|| signals.pending().next()).or_else(last_arrived);
        match first {
            Some(signal) if ACTIVE.load(Ordering::SeqCst) == 0 => {
                emulate_default_handler(signal).map_err(SignalError)
            }
            _ => Ok(()),
        }
    }
}

/// Returns the signal that arrived last; also one that arrived before [`EndRequests`] was complete.
fn last_arrived() -> Option<i32> {
    i32::try_from(ARRIVED.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
}

/// Returns which signals the process was started with the order to ignore.
fn ignored() -> impl Fn(i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_else(|e| {
        log::info!("/proc/self/status: no signal is taken for ignored: {e}");
        String::new()
    });
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    move |signal| {
        u32::try_from(signal - 1).ok().and_then(|bit| mask.checked_shr(bit)).is_some_and(|m| m & 1 == 1)
    }
}

/// Makes a write beyond the limit of a file's size (`ulimit -f`) an error, which names the file, where it would end the process.
pub(crate) fn report_file_size_limit() -> Result<(), SignalError> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop).map_err(SignalError)
}
