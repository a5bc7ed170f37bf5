//! Carrying out a [`LoadPlan`]: the only thing that acts.
//!
//! Everything made on the way is owned by a [`Loaded`]. When a request fails, it is dropped, so that nothing is left behind:
//! pins of maps, which other processes may open, are made at the very end.

mod attach;
#[cfg(feature = "netlink")]
mod attach_interface;
mod attach_methods;
mod error;
mod globals;
mod kernel;
mod loaded;
mod maps;
mod newer;
mod pin_maps;
mod pins;
mod programs;
#[cfg(test)]
mod tests;
mod typed_maps;
mod verifier;

pub use error::{LoadError, LoadHint, RemainingPins};
pub use kernel::{BtfLoad, Kernel, MapCreate, MapInfo, ProgLoad, Running};
pub use loaded::{Loaded, LoadedMap, LoadedProgram};
pub use pins::Pins;
pub use verifier::{Meaning, Refused};

use crate::{
    attach::Hint,
    load_plan::{LoadPlan, LoadPlanError, TokenSource},
    sys::Errno,
};
use std::{os::fd::OwnedFd, path::Path};

/// Where libbpf looks for a bpffs that delegates.
const DEFAULT_BPFFS: &str = "/sys/fs/bpf";

/// The number of times that [`load()`] loads an object whose pins other processes keep making first.
pub const PIN_ATTEMPTS: u32 = 5;

/// Carries out a plan.
///
/// libbpf: `bpf_object__load`, without what [`LoadPlan::new`] decided already. Pins of maps are the last step
/// ([`Loaded::pin_maps`]). If another process makes one of them during the load, the object is loaded again and uses the
/// other map, up to [`PIN_ATTEMPTS`] times.
pub fn load(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    retry_taken_pins(|remaining| {
        let mut loaded = load_unpinned(plan, kernel)?;
        loaded.adopt_pins(remaining, kernel);
        loaded.pin_maps(kernel)?;
        Ok(loaded)
    })
}

/// Attempts a load again while it ends with [`LoadError::PinTaken`], up to [`PIN_ATTEMPTS`] times.
///
/// Each attempt gets the pins that remain of the attempts before it, for [`Loaded::adopt_pins`].
pub fn retry_taken_pins<T>(
    mut attempt: impl FnMut(&RemainingPins) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    let (mut attempts, mut remaining) = (1, RemainingPins::default());
    loop {
        match attempt(&remaining) {
            Err(LoadError::PinTaken { object, map, path, remaining: later, .. }) => {
                remaining.extend(later);
                if attempts == PIN_ATTEMPTS {
                    return Err(LoadError::PinTaken { object, map, path, attempts, remaining });
                }
                attempts = attempts.saturating_add(1);
            }
            done => return done,
        }
    }
}

/// Carries out a plan but for its pins. Maps that are pinned already are used all the same.
///
/// For loads that end with their process, and for callers who have more to do that can fail. They pin at the end, by
/// [`Loaded::pin_maps`].
pub fn load_unpinned(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    let mut prepared = prepare(plan, kernel)?;
    prepared.programs()?;
    prepared.complete(Missing::IsAnError)
}

/// Carries out the first half of a plan: BTF and maps (libbpf: `bpf_object__prepare`).
///
/// Maps can be looked at and filled before any program is there.
///
/// ```no_run
/// use core_relo_loader::{Loader, load::{self, Running}, object::Object};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bytes = std::fs::read("exec.bpf.o")?;
/// let object = Object::parse(&bytes)?;
/// let plan = Loader::new(&object).plan()?;
/// let mut prepared = load::prepare(&plan, &Running)?;
/// println!("{} maps", prepared.loaded().maps().len());
/// if let Err(why) = prepared.program("not_on_every_kernel") {
///     println!("goes without: {why}");
/// }
/// prepared.program("needed")?;
/// let loaded = prepared.finish_without_the_rest()?;
/// # Ok(())
/// # }
/// ```
pub fn prepare<'p, K: Kernel>(plan: &'p LoadPlan, kernel: &'p K) -> Result<Prepared<'p, K>, LoadError> {
    let mut prepared = Prepared { plan, loading: Loading::new(plan, kernel) };
    prepared.loading.maps_of(plan).map_err(|error| prepared.loading.noted(error))?;
    Ok(prepared)
}

/// An object whose maps are there and whose programs are not yet. Dropped, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "dropping it undoes what was loaded"]
pub struct Prepared<'p, K: Kernel> {
    plan: &'p LoadPlan,
    loading: Loading<'p, K>,
}

impl<K: Kernel> Prepared<'_, K> {
    /// What is there so far.
    pub fn loaded(&self) -> &Loaded {
        &self.loading.loaded
    }

    /// Loads a program of the plan, unless it was loaded before. If it is refused, all else stays as it is.
    pub fn program(&mut self, name: &str) -> Result<&LoadedProgram, LoadError> {
        if self.loaded().program(name).is_none() {
            let planned = self.plan.programs.iter().find(|p| p.name == name);
            let planned = planned.ok_or_else(|| LoadError::Plan {
                object: self.plan.name.clone().into(),
                cause: LoadPlanError::NoSuch {
                    kind: "program to be loaded",
                    name: name.into(),
                    known: self.plan.programs.iter().map(|p| p.name.as_str().into()).collect(),
                },
            })?;
            self.loading.program(self.plan, planned).map_err(|error| self.loading.noted(error))?;
        }
        let missing = || self.loading.error(format!("program `{name}`"), Errno(libc::ENOENT));
        self.loaded().program(name).ok_or_else(missing)
    }

    /// Loads the programs that were not yet, puts programs into the maps that hold them, and makes the pins of maps.
    ///
    /// If another process made one of the pins meanwhile, nothing is loaded ([`LoadError::PinTaken`]). Then the object is
    /// prepared again, with the other map.
    pub fn finish(mut self) -> Result<Loaded, LoadError> {
        self.programs()?;
        self.pinned(Missing::IsAnError)
    }

    /// Puts the programs that were loaded into the maps that hold them, and makes the pins of maps; the other programs are left
    /// out, and their places stay empty.
    pub fn finish_without_the_rest(self) -> Result<Loaded, LoadError> {
        self.pinned(Missing::IsLeftOut)
    }

    fn programs(&mut self) -> Result<(), LoadError> {
        for program in &self.plan.programs {
            // Names need not be unique.
            if !self.loaded().programs().iter().any(|p| p.plan.function == program.function) {
                self.loading.program(self.plan, program).map_err(|error| self.loading.noted(error))?;
            }
        }
        Ok(())
    }

    fn pinned(self, missing: Missing) -> Result<Loaded, LoadError> {
        let kernel = self.loading.kernel;
        let mut loaded = self.complete(missing)?;
        loaded.pin_maps(kernel)?;
        Ok(loaded)
    }

    fn complete(mut self, missing: Missing) -> Result<Loaded, LoadError> {
        self.loading.programs_in_maps(missing).map_err(|error| self.loading.noted(error))?;
        Ok(self.loading.loaded)
    }
}

/// What becomes of a place in a map whose program was not loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// As in libbpf.
    IsAnError,
    IsLeftOut,
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
    match kernel.create_token(path) {
        Ok(token) => Ok(Some(token)),
        Err(errno) if is_wanted => Err(LoadError::Kernel {
            object: object.to_owned().into(),
            what: format!("BPF token from {}", path.display()).into(),
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

/// A load half way. It has made no pin yet, so that dropping it leaves nothing.
#[derive(Debug)]
struct Loading<'k, K: Kernel> {
    kernel: &'k K,
    loaded: Loaded,
    /// Why the kernel did not take the object's BTF, which may explain what it refuses later.
    btf_refusal: Option<String>,
}

impl<'k, K: Kernel> Loading<'k, K> {
    fn new(plan: &LoadPlan, kernel: &'k K) -> Self {
        let loaded = Loaded {
            name: plan.name.clone(),
            globals: plan.globals.clone(),
            types: plan.types.clone(),
            #[cfg(feature = "usdt")]
            usdt_plan: plan.usdt,
            ..Loaded::default()
        };
        Self { kernel, loaded, btf_refusal: None }
    }

    /// All that comes before the programs.
    fn maps_of(&mut self, plan: &LoadPlan) -> Result<(), LoadError> {
        self.token(plan)?;
        if let Some(errno) = plan.probe_error {
            let mut error = self.error("the kernel lets this process load nothing".into(), errno);
            if let (LoadError::Kernel { hint, .. }, true) = (&mut error, plan.raise_memlock_limit) {
                hint.0.push_str("; this kernel also charges all that is loaded to the limit on locked memory: `ulimit -l unlimited`");
            }
            return Err(error);
        }
        if plan.raise_memlock_limit {
            // A limit that cannot be raised may still be high enough.
            if let Err(errno) = self.kernel.raise_memlock_limit() {
                log::info!("the limit on locked memory stays: {errno}");
            }
        }
        for module in &plan.modules {
            let what = || format!("BTF of module `{}`", module.name);
            let btf = self.kernel.btf_by_id(module.btf_id).map_err(|errno| self.error(what(), errno))?;
            self.loaded.modules.push(btf);
        }
        self.btf(plan)?;
        plan.maps.iter().try_for_each(|map| self.map(map))?;
        self.maps_in_maps()
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
                // That says nothing about the BTF.
                if matches!(errno.0, libc::EMFILE | libc::ENFILE | libc::ENOMEM) {
                    return Err(self.error("BTF".into(), errno));
                }
                log::info!("{}: goes without its BTF: {errno} ({last})", plan.name);
                let last = if last.is_empty() { "the kernel does not say why" } else { last };
                self.btf_refusal = Some(format!("the kernel did not take the object's BTF: {errno}: {last}"));
            }
        }
        Ok(())
    }

    /// With what may have been the first cause.
    #[cold]
    fn noted(&self, mut error: LoadError) -> LoadError {
        let hint = match &mut error {
            LoadError::Kernel { hint, .. } => Some(&mut hint.0),
            LoadError::Program { refused, .. } => Some(&mut refused.hint),
            _ => None,
        };
        if let (Some(hint), Some(why)) = (hint, &self.btf_refusal) {
            let between = if hint.is_empty() { "" } else { "; " };
            *hint = format!("{hint}{between}{why}");
        }
        error
    }

    #[cold]
    fn error(&self, what: String, errno: Errno) -> LoadError {
        LoadError::Kernel {
            object: self.loaded.name.clone().into(),
            what: what.into(),
            errno,
            hint: Hint::for_errno(errno).into(),
        }
    }
}
