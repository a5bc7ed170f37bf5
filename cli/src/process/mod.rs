//! The process: signals, threads, the log and the panic hook.

pub(crate) mod interrupt;
pub(crate) mod signals;
pub(crate) mod threads;
