//! Termination signals: SIGINT, SIGTERM and the like.
//!
//! A command that changes the system checks for them between two steps, so that each step is completed or
//! undone.

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
    collections::BTreeSet,
    fs, io, mem,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// The signals with which a user or a service manager ends a command.
const TERMINATION_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals that end a process by default, without those of a fault of the process itself (SIGSEGV).
const ALL_SIGNALS: [i32; 10] =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGXCPU];

/// The number of [`TerminationSignals`] values that exist.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether no [`TerminationSignals`] exists, so that signals end the process again.
static NONE_ACTIVE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The last signal that arrived while signals were caught, or 0.
static ARRIVED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The signals with handlers, which stay until the process ends.
static HANDLED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Returns whether signals are caught, so that they do not end the process.
pub(crate) fn are_caught() -> bool {
    ACTIVE.load(Ordering::SeqCst) > 0
}

/// Returns whether a caught signal has arrived.
pub(crate) fn has_arrived() -> bool {
    arrived().is_some()
}

/// Returns the caught signal that arrived last.
pub(crate) fn arrived() -> Option<i32> {
    i32::try_from(ARRIVED.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
}

/// Ends [`TerminationSignals::ignore_until_exit`] of a command after which another one runs: signals end the
/// process again.
pub(crate) fn stop_ignoring() {
    ACTIVE.store(0, Ordering::SeqCst);
    NONE_ACTIVE.store(true, Ordering::SeqCst);
}

/// Ends the process by a signal, so that the parent process sees the signal in the exit status.
pub(crate) fn end_process(signal: i32) -> Result<(), SignalError> {
    emulate_default_handler(signal).map_err(SignalError)
}

/// The error of a system call that installs or emulates a signal handler.
#[derive(Debug, thiserror::Error)]
#[error("signals: cannot be handled: {0}")]
pub(crate) struct SignalError(io::Error);

impl From<SignalError> for BadInput {
    fn from(SignalError(e): SignalError) -> Self {
        Self::new("signals", format_args!("cannot be handled: {e}"))
    }
}

/// Caught termination signals. Catching them needs no thread.
///
/// A caught signal does not end the process. The owner calls [`Self::has_arrived`] where it can stop, and
/// [`Self::release`] when it has nothing left to undo. After the last owner's release, signals end the
/// process again. A signal that the process ignores (under `nohup`) stays ignored.
#[derive(Debug)]
pub(crate) struct TerminationSignals {
    signals: Signals,
    first: Option<i32>,
    _active: ActiveCount,
}

/// A guard that counts itself in [`ACTIVE`].
#[derive(Debug)]
struct ActiveCount;

impl ActiveCount {
    fn new() -> Self {
        if ACTIVE.fetch_add(1, Ordering::SeqCst) == 0 {
            ARRIVED.store(0, Ordering::SeqCst);
        }
        NONE_ACTIVE.store(false, Ordering::SeqCst);
        Self
    }
}

impl Drop for ActiveCount {
    fn drop(&mut self) {
        if ACTIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
            NONE_ACTIVE.store(true, Ordering::SeqCst);
        }
    }
}

impl TerminationSignals {
    /// Catches SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn catch() -> Result<Self, SignalError> {
        Self::catch_signals(&TERMINATION_SIGNALS).map_err(SignalError)
    }

    /// Catches every signal of [`ALL_SIGNALS`], while temporary files or pins exist that nobody else would
    /// remove.
    pub(crate) fn catch_all() -> Result<Self, SignalError> {
        Self::catch_signals(&ALL_SIGNALS).map_err(SignalError)
    }

    fn catch_signals(signals: &[i32]) -> io::Result<Self> {
        let is_ignored = ignored_signals();
        let signals: Vec<_> = signals.iter().filter(|signal| !is_ignored(**signal)).collect();
        let active = ActiveCount::new();
        signals.iter().try_for_each(|signal| handle(**signal))?;
        Ok(Self { signals: Signals::new(signals)?, first: None, _active: active })
    }

    /// Returns whether one of the signals has arrived.
    pub(crate) fn has_arrived(&mut self) -> bool {
        if self.first.is_none() {
            // This includes signals that arrived while `self` was being created.
            self.first = self.signals.pending().next().or_else(arrived);
        }
        self.first.is_some()
    }

    /// Returns whether a signal has arrived that a terminal does not send to the commands in its foreground
    /// by itself: not SIGINT.
    pub(crate) fn has_termination_arrived(&mut self) -> bool {
        self.has_arrived() && self.first != Some(SIGINT)
    }

    /// Waits until one of the signals arrives.
    pub(crate) fn wait(&mut self) {
        while !self.has_arrived() {
            self.first = self.signals.wait().next();
        }
    }

    /// Ignores the signals until the process exits, because the command is complete and a signal must not
    /// hide its status.
    pub(crate) fn ignore_until_exit(self) {
        let Self { _active: active, .. } = self;
        mem::forget(active);
    }

    /// Stops catching. If a signal has arrived and no other owner is left, ends the process by that signal,
    /// so that the parent process sees the signal in the exit status.
    pub(crate) fn release(self) -> Result<(), SignalError> {
        let Self { mut signals, first, _active: active } = self;
        drop(active);
        let first = first.or_else(|| signals.pending().next()).or_else(arrived);
        match first {
            Some(signal) if ACTIVE.load(Ordering::SeqCst) == 0 => end_process(signal),
            _ => Ok(()),
        }
    }
}

/// Installs the handlers of a signal, once in a process. The commands of a batch catch the same signals.
fn handle(signal: i32) -> io::Result<()> {
    let mut handled = HANDLED.lock().unwrap_or_else(PoisonError::into_inner);
    if handled.contains(&signal) {
        return Ok(());
    }
    let number = usize::try_from(signal).map_err(io::Error::other)?;
    flag::register_usize(signal, Arc::clone(&ARRIVED), number)?;
    // After the last release, the signal ends the process as if it were not caught.
    flag::register_conditional_default(signal, Arc::clone(&NONE_ACTIVE))?;
    handled.insert(signal);
    Ok(())
}

/// Returns a predicate for the signals that the process ignored from its start.
fn ignored_signals() -> impl Fn(i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_else(|e| {
        log::info!("/proc/self/status: signals that the process ignores are not known: {e}");
        String::new()
    });
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    move |signal| {
        u32::try_from(signal - 1).ok().and_then(|bit| mask.checked_shr(bit)).is_some_and(|m| m & 1 == 1)
    }
}

/// Catches SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) is an error and does not end the
/// process.
pub(crate) fn catch_file_size_signal() -> Result<(), SignalError> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop).map_err(SignalError)
}
