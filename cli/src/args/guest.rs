//! The arguments about guests, which `vm` and `check --boot` share.

use crate::guest::limits::MAX_BOOT_SECONDS;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The guest in which a kernel boots
#[derive(Clone, Debug, Args)]
pub(crate) struct GuestArgs {
    /// Build of core-relo for the guest, for kernels of another architecture [default: this executable]
    #[arg(long, value_name = "PATH", requires = "boots", value_hint = ValueHint::FilePath)]
    pub(crate) guest_binary: Option<PathBuf>,
    /// Time limit for each kernel that boots, in seconds [default: 300, and 2 for each program to load]
    #[arg(long, value_name = "SECONDS", requires = "boots", value_parser = clap::value_parser!(u64).range(1..=MAX_BOOT_SECONDS))]
    pub(crate) timeout: Option<u64>,
}
