//! Verifier budgets: the statistics of programs on kernels, compared with a file in version control.

pub(crate) mod comparison;
mod file;
mod gate;
pub(crate) mod stats;

pub(crate) use gate::BudgetGate;
