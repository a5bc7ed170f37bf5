//! The options for fetched kernels.

use clap::Args;

/// Fetched kernels as targets
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FetchedKernelArgs {
    /// Kernels of distributions, such as debian:12 or debian:12/6.1-cloud, fetched if need be (`kernels fetch
    /// --help` has the words); the path of a core-relo.toml stands for its list [kernels]; may be given
    /// several times
    #[arg(long, value_name = "SPEC")]
    pub(crate) kernels: Vec<String>,
    /// Use kernels that were fetched before, and no network
    #[arg(long, requires = "kernels", conflicts_with = "locked")]
    pub(crate) offline: bool,
    /// Fail if a specification of --kernels is not in core-relo.lock
    #[arg(long, requires = "kernels")]
    pub(crate) locked: bool,
    /// Mirror of a distribution for --kernels: `debian=http://HOST/PATH`, also https: and file:
    #[arg(long, value_name = "NAME=ADDRESS", requires = "kernels")]
    pub(crate) mirror: Vec<String>,
}
