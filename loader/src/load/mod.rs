//! Carrying out a [`LoadPlan`]: the only thing that acts.
//!
//! Everything made on the way is owned by a [`Loaded`]; when a request fails, it is dropped and its pins are removed, so that
//! nothing is left behind.

mod attach;
mod error;
mod globals;
mod kernel;
mod loaded;
mod maps;
mod programs;
#[cfg(test)]
mod tests;
mod verifier;

pub use error::{LoadError, LoadHint};
pub use kernel::{Kernel, Running};
pub use loaded::{Loaded, LoadedMap, LoadedProgram};
pub use verifier::{Meaning, Refused};

use crate::{
    attach::Hint,
    load_plan::{LoadPlan, TokenSource},
    sys::{BtfLoad, Errno},
};
use std::{os::fd::OwnedFd, path::Path, sync::OnceLock};

/// Where libbpf looks for a bpffs that delegates.
const DEFAULT_BPFFS: &str = "/sys/fs/bpf";

/// Carries out a plan.
///
/// libbpf: `bpf_object__load`, without what [`LoadPlan::new`] decided already.
pub fn load(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    let loaded = Loaded {
        name: plan.name.clone(),
        btf: None,
        maps: Vec::new(),
        programs: Vec::new(),
        modules: Vec::new(),
        token: None,
        globals: plan.globals.clone(),
        usdt: OnceLock::new(),
    };
    let mut loading = Loading { kernel, loaded };
    match loading.all(plan) {
        Ok(()) => Ok(loading.loaded),
        Err(error) => {
            loading.loaded.unpin(kernel);
            Err(error)
        }
    }
}

/// A BPF token, if it is wanted and to be had (libbpf: `bpf_object_prepare_token`).
pub(crate) fn token(
    object: &str,
    source: &TokenSource,
    kernel: &impl Kernel,
) -> Result<Option<OwnedFd>, LoadError> {
    let (path, is_wanted) = match source {
        TokenSource::Off => return Ok(None),
        TokenSource::Auto => (Path::new(DEFAULT_BPFFS), false),
        TokenSource::Path(path) => (path.as_path(), true),
    };
    match kernel.token(path) {
        Ok(token) => Ok(Some(token)),
        Err(errno) if is_wanted => Err(LoadError::Kernel {
            object: object.to_owned(),
            what: format!("BPF token from {}", path.display()),
            errno,
            hint: LoadHint(token_hint(errno).to_owned()),
        }),
        Err(errno) => {
            log::debug!("no BPF token from {}: {errno}", path.display());
            Ok(None)
        }
    }
}

/// `bpf_token_create` in the kernel.
fn token_hint(errno: Errno) -> &'static str {
    match errno.0 {
        libc::ENOENT => {
            "is it there, and mounted with `delegate_cmds`, `delegate_maps`, `delegate_progs`, `delegate_attachs`?"
        }
        libc::EPERM => "the bpffs has to be of this process's user namespace, in which it needs CAP_BPF",
        libc::EOPNOTSUPP => {
            "tokens are for processes in a user namespace: outside of one, capabilities are enough"
        }
        libc::EINVAL | libc::ENOTDIR => "it has to be the root of a bpffs, on a kernel from 6.9",
        _ => "",
    }
}

/// A load half way.
struct Loading<'k, K> {
    kernel: &'k K,
    loaded: Loaded,
}

impl<K: Kernel> Loading<'_, K> {
    fn all(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        self.token(plan)?;
        if let Some(errno) = plan.not_asked {
            return Err(self.error("the kernel lets this process load nothing".into(), errno));
        }
        if plan.raise_memlock_limit {
            // A limit that cannot be raised may still be high enough.
            if let Err(errno) = self.kernel.raise_memlock_limit() {
                log::info!("the limit on locked memory stays: {errno}");
            }
        }
        for (name, id) in &plan.modules {
            let what = || format!("BTF of module `{name}`");
            let btf = self.kernel.btf_by_id(*id).map_err(|errno| self.error(what(), errno))?;
            self.loaded.modules.push(btf);
        }
        self.btf(plan)?;
        plan.maps.iter().try_for_each(|map| self.map(map))?;
        self.maps_in_maps()?;
        plan.programs.iter().try_for_each(|program| self.program(plan, program))?;
        self.programs_in_maps()
    }

    fn token(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        self.loaded.token = token(&plan.name, &plan.token, self.kernel)?;
        Ok(())
    }

    /// libbpf: `bpf_object__sanitize_and_load_btf`.
    fn btf(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        let Some(btf) = &plan.btf else {
            return if plan.btf_is_mandatory {
                Err(self.error("BTF, which struct_ops needs".into(), Errno(libc::EOPNOTSUPP)))
            } else {
                Ok(())
            };
        };
        let load = BtfLoad { btf, token: self.loaded.token() };
        match self.kernel.btf_load(&load, &mut []) {
            Ok(fd) => self.loaded.btf = Some(fd),
            Err(errno) => {
                let mut log = vec![0; 64 * 1024];
                // Once more, to hear why.
                let again = self.kernel.btf_load(&load, &mut log);
                if let Ok(fd) = again {
                    self.loaded.btf = Some(fd);
                    return Ok(());
                }
                let said =
                    String::from_utf8_lossy(log.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
                let last = said.lines().rfind(|l| !l.trim().is_empty()).unwrap_or_default();
                if plan.btf_is_mandatory {
                    return Err(self.error(format!("BTF, which struct_ops needs ({last})"), errno));
                }
                log::info!("{}: goes without its BTF: {errno} ({last})", plan.name);
            }
        }
        Ok(())
    }

    #[cold]
    fn error(&self, what: String, errno: Errno) -> LoadError {
        LoadError::Kernel { object: self.loaded.name.clone(), what, errno, hint: Hint::of(errno).into() }
    }
}
