//! Signals that ask the command to end. They are handled between two steps, so that a step is finished or undone.

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

/// How many [`EndRequests`] there are.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether there are none, so that signals end the process again.
static IS_FREE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

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
        ACTIVE.fetch_add(1, Ordering::SeqCst);
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
    pub(crate) fn catch() -> io::Result<Self> {
        Self::of(&USUAL)
    }

    /// Takes over every signal that would end the process, for a short time in which a file must not be left behind.
    pub(crate) fn catch_all() -> io::Result<Self> {
        Self::of(&ALL)
    }

    fn of(signals: &[i32]) -> io::Result<Self> {
        let ignored = ignored();
        let signals: Vec<_> = signals.iter().filter(|signal| !ignored(**signal)).collect();
        let active = Active::new();
        for signal in &signals {
            // Without this the signal would have no effect after the release.
            flag::register_conditional_default(**signal, Arc::clone(&IS_FREE))?;
        }
        Ok(Self { signals: Signals::new(signals)?, first: None, _active: active })
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

    /// Ends the process the way the first signal would have, if one has arrived and there is no other owner, who has seen it
    /// too; then a shell sees why the process ended.
    pub(crate) fn release(self) -> io::Result<()> {
        let Self { mut signals, first, _active: active } = self;
        drop(active);
        let first = first.or_else(|| signals.pending().next());
        match first {
            Some(signal) if ACTIVE.load(Ordering::SeqCst) == 0 => emulate_default_handler(signal),
            _ => Ok(()),
        }
    }
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
pub(crate) fn report_file_size_limit() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
