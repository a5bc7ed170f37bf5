//! JSON output. docs/json.md documents the keys and their order.

pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod error;
#[cfg(feature = "fetch")]
pub(crate) mod kernels;
pub(crate) mod load;
pub(crate) mod plan;
pub(crate) mod reality;
pub(crate) mod record;
pub(crate) mod site;
pub(crate) mod test_run;
pub(crate) mod verdict;
mod verifier_log;
