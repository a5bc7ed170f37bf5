//! Verifier budgets: the statistics of programs on kernels, compared with a file in version control.

pub(crate) mod comparison;
pub(crate) mod file;
pub(crate) mod stats;
