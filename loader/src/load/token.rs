//! BPF tokens, with which a process in a user namespace may load.

use super::{
    error::{LoadError, LoadHint},
    kernel::{Kernel, RunningKernel},
    loading::Loading,
};
use crate::{features::Prober, sys::Errno};
use alloc::sync::Arc;
use core_relo_object::load_plan::{LoadPlan, TokenSource};
use std::{env, ffi::OsString, os::fd::OwnedFd, path::Path};

/// The bpffs from which libbpf creates a token by default.
const DEFAULT_BPFFS: &str = "/sys/fs/bpf";

/// The environment variable that names another bpffs.
const VARIABLE: &str = "LIBBPF_BPF_TOKEN_PATH";

impl<K: Kernel> Loading<'_, K> {
    pub(super) fn create_token(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        self.loaded.token = create_token(plan.name(), plan.token(), self.kernel)?;
        Ok(())
    }
}

impl Prober {
    /// Creates a prober with the token of a source, as a load creates the token. Without a token if the
    /// source has none.
    pub fn from_token_source(source: &TokenSource) -> Result<Self, LoadError> {
        let token = create_token("", source, &RunningKernel)?;
        Ok(token.map_or_else(Self::new, |token| Self::with_token(Arc::new(token))))
    }
}

/// Creates a BPF token (libbpf: `bpf_object_prepare_token`). Returns `None` if the default bpffs does not
/// delegate, or if the caller turned tokens off.
pub(crate) fn create_token(
    object: &str,
    source: &TokenSource,
    kernel: &impl Kernel,
) -> Result<Option<OwnedFd>, LoadError> {
    let from_environment;
    let source = match source {
        TokenSource::Environment => {
            from_environment = environment_source(env::var_os(VARIABLE));
            &from_environment
        }
        other => other,
    };
    let (path, is_mandatory) = match source {
        TokenSource::Off => return Ok(None),
        TokenSource::Auto | TokenSource::Environment => (Path::new(DEFAULT_BPFFS), false),
        TokenSource::Path(path) => (path.as_path(), true),
    };
    match kernel.create_token(path) {
        Ok(token) => Ok(Some(token)),
        Err(errno) if is_mandatory => Err(LoadError::Kernel {
            object: object.to_owned().into(),
            request: format!("BPF token from {}", path.display()).into(),
            map: None,
            errno,
            hint: LoadHint(hint(errno).to_owned()),
        }),
        Err(errno) => {
            log::debug!("no BPF token from {}: {errno}", path.display());
            Ok(None)
        }
    }
}

/// Returns the source that a value of the environment variable names.
fn environment_source(value: Option<OsString>) -> TokenSource {
    match value {
        None => TokenSource::Auto,
        Some(path) if path.is_empty() => TokenSource::Off,
        Some(path) => TokenSource::Path(path.into()),
    }
}

/// Returns the likely remedy for an error of `bpf_token_create` in the kernel.
fn hint(errno: Errno) -> &'static str {
    match errno.0 {
        libc::ENOENT => {
            "is it mounted, with `delegate_cmds`, `delegate_maps`, `delegate_progs`, `delegate_attachs`?"
        }
        libc::EPERM => {
            "the bpffs must belong to this process's user namespace, in which the process needs CAP_BPF"
        }
        libc::EOPNOTSUPP => {
            "tokens are for processes in a user namespace: outside of a user namespace, capabilities are enough"
        }
        libc::EINVAL | libc::ENOTDIR => "the path must be the root of a bpffs, on a kernel from 6.9",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_a_bpffs_or_turns_tokens_off() {
        assert_eq!(environment_source(None), TokenSource::Auto);
        assert_eq!(environment_source(Some("".into())), TokenSource::Off);
        assert_eq!(environment_source(Some("/bpf".into())), TokenSource::Path("/bpf".into()));
    }
}
