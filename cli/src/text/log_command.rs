//! The runner of CI jobs, which executes [commands](core_relo_report::ci_log) in the logs of jobs.

use std::{env, sync::LazyLock};

/// The variables by which runners identify themselves. GitHub's compatible runners (Gitea, Forgejo) set the
/// first one, too.
const RUNNERS: [&str; 4] = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "CI"];

/// Returns whether a runner may read the output of this process.
pub(crate) fn is_read_by_runner() -> bool {
    static IS_READ: LazyLock<bool> =
        LazyLock::new(|| RUNNERS.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty())));
    *IS_READ
}
