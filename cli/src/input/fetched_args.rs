//! The options for fetched kernels.

use clap::{ArgGroup, Args};

/// Fetched kernels as targets
#[derive(Clone, Debug, Default, Args)]
#[command(group = ArgGroup::new("fetch_options")
    .args(["offline", "locked", "from_debuginfo", "mirror", "allow_expired", "allow_unsigned"])
    .multiple(true)
    .requires("kernels"))]
pub(crate) struct FetchedKernelArgs {
    /// Kernels of distributions, such as debian:12 or debian:12/6.1-cloud, fetched if need be (`kernels fetch
    /// --help` has the words); the path of a core-relo.toml stands for its list [kernels]; may be given
    /// several times
    #[arg(long, value_name = "SPEC")]
    pub(crate) kernels: Vec<String>,
    #[command(flatten)]
    pub(crate) mode: FetchModeArgs,
    /// Make the BTF of kernels without BTF from the debug information in another package
    #[arg(long)]
    pub(crate) from_debuginfo: bool,
    #[command(flatten)]
    pub(crate) mirrors: MirrorArgs,
}

/// The sources of kernels that may be used
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FetchModeArgs {
    /// Use kernels that were fetched before, and no network
    #[arg(long, conflicts_with = "locked")]
    pub(crate) offline: bool,
    /// Use the kernels in core-relo.lock, and fail if a specification is not in it
    #[arg(long)]
    pub(crate) locked: bool,
}

/// The mirrors, and what is required of them
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MirrorArgs {
    /// Mirror of a distribution: `debian=http://HOST/PATH`, also https: and file:, or the directory of an
    /// earlier fetch; may be given several times
    #[arg(long, value_name = "NAME=ADDRESS")]
    pub(crate) mirror: Vec<String>,
    /// Use an index whose time of validity is over, or that is older than the one used before
    #[arg(long)]
    pub(crate) allow_expired: bool,
    /// Verify no signatures
    #[arg(long)]
    pub(crate) allow_unsigned: bool,
}

/// The sources of kernels that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchMode {
    /// The lock file, then the mirrors.
    Online,
    /// The lock file, and nothing for a specification that it does not have.
    Locked,
    /// The store.
    Offline,
}

impl FetchModeArgs {
    /// Returns the sources of kernels that may be used.
    pub(crate) const fn mode(self) -> FetchMode {
        match (self.offline, self.locked) {
            (true, _) => FetchMode::Offline,
            (false, true) => FetchMode::Locked,
            (false, false) => FetchMode::Online,
        }
    }
}
