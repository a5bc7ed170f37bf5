//! Fetched kernels: those that a project supports, and those that options name.
//!
//! | file | contents |
//! |---|---|
//! | `project` | specifications and mirrors of options and `core-relo.toml` |
//! | `kernel_set` | the kernels of specifications, fetched if need be |
//! | `module_store` | the modules that guests load |
//! | `progress` | the line on stderr during downloads |

#[cfg(feature = "fetch")]
pub(crate) mod kernel_set;
pub(crate) mod module_store;
#[cfg(feature = "fetch")]
pub(crate) mod progress;
#[cfg(feature = "fetch")]
pub(crate) mod project;

use crate::{args::vm::VmArgs, error::BadInput, input::kernel_args::KernelArgs, policy::ConfigArgs};
use core_relo_kernels::{KernelPaths, KernelSelection, Limits};

/// Returns the kernels that the options of a command name. Fetches kernels that are not in the store.
#[cfg(feature = "fetch")]
pub(crate) fn kernel_paths(args: &KernelArgs, config: &ConfigArgs) -> Result<KernelPaths, BadInput> {
    let mut paths = args.paths();
    if !args.fetched.kernels.is_empty() {
        paths.fetched = kernel_set::fetch_targets(&args.fetched, config)?;
    }
    Ok(paths)
}

/// Returns the kernels that the options of a command name.
#[cfg(not(feature = "fetch"))]
#[expect(clippy::unnecessary_wraps, reason = "kernels can be fetched with the feature `fetch`")]
pub(crate) fn kernel_paths(args: &KernelArgs, _config: &ConfigArgs) -> Result<KernelPaths, BadInput> {
    Ok(args.paths())
}

/// Returns the kernels that `vm` boots. Fetches kernels that are not in the store.
pub(crate) fn boot_selection(args: &VmArgs) -> Result<KernelSelection, BadInput> {
    #[cfg(feature = "fetch")]
    let fetched = match args.fetched.kernels.is_empty() {
        true => Vec::new(),
        false => kernel_set::fetch_targets(&args.fetched, &args.config)?,
    };
    #[cfg(not(feature = "fetch"))]
    let fetched = Vec::new();
    Ok(KernelSelection::for_boot(&args.kernel, fetched, Limits::default()))
}
