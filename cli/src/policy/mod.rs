//! The policy of a project: refusals that it accepts, and its settings of `check` and `explain`.
//!
//! | file | contents |
//! |---|---|
//! | `entry` | an entry of the allow list, and `--allow KEY=PATTERN,…` |
//! | `allow_list` | the entries, and the reasons that they accept |
//! | `acceptance` | the accepted reasons of an object's verdict, and the verdict that is left |
//! | `config`, `toml_value` | the file `core-relo.toml` |
//! | `args` | the options for this file |
//! | `search` | the search for this file |
//!
//! The policy changes no verdict. It decides on the exit status, and marks accepted reasons in every format.

mod acceptance;
mod allow_list;
mod args;
mod config;
mod entry;
mod limits;
mod search;
#[cfg(test)]
mod tests;
mod toml_value;

pub(crate) use acceptance::{Acceptance, ProgramAcceptance};
pub(crate) use allow_list::{AllowList, KernelNames};
pub(crate) use args::ConfigArgs;
pub(crate) use config::{Config, ProjectLoad};
pub(crate) use entry::AllowEntry;
