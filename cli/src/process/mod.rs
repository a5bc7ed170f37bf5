//! The process: signals, the log and the panic hook.

pub(crate) mod interrupt;
pub(crate) mod signals;
