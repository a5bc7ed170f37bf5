//! The options for the configuration file of a project.

use super::search::find_config;
use crate::error::BadInput;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The configuration file of a project.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Read the loader and the settings of the project from FILE, for `check` also its accepted gaps
    /// [default: `core-relo.toml` in the current directory, or in a parent within the repository]. `load` and
    /// `run` read none, because they may run as root in a directory of somebody else
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Read no `core-relo.toml`
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
}

impl ConfigArgs {
    /// Returns the configuration file that the arguments name, or the one of the project.
    pub(crate) fn path(&self) -> Result<Option<PathBuf>, BadInput> {
        match &self.config {
            _ if self.no_config => Ok(None),
            Some(path) => Ok(Some(path.clone())),
            None => find_config(),
        }
    }
}
