//! The file of a project, `core-relo.toml`: refusals that the project accepts, and its settings of `check`
//! and `explain`.
//!
//! | file | contents |
//! |---|---|
//! | `config`, `toml_value` | the file `core-relo.toml` |
//! | `args` | the options for this file |
//! | `search` | the search for this file |

mod args;
mod config;
mod limits;
mod search;
#[cfg(test)]
mod tests;
mod toml_value;

pub(crate) use args::ConfigArgs;
#[cfg(feature = "fetch")]
pub(crate) use config::KernelList;
pub(crate) use config::{Config, ProjectLoad};
