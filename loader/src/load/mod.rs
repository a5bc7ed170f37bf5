//! Executes a [`LoadPlan`]: creates maps, loads programs, pins maps.
//!
//! [`Loaded`] owns everything that a load creates. If a request fails, dropping it undoes the load. Other processes may open pins,
//! so a load pins its maps last.

mod attach;
mod attach_methods;
mod btf;
mod error;
mod globals;
mod kernel;
mod loaded;
mod loading;
mod maps;
mod old_verifier;
mod pin_maps;
mod pins;
mod prepare;
mod programs;
#[cfg(test)]
mod tests;
mod token;
mod verifier;

pub use error::{LoadError, LoadHint, PIN_ATTEMPTS};
pub use kernel::{Kernel, RunningKernel};
pub use loaded::{Loaded, LoadedMap, LoadedProgram};
pub use pins::Pins;
pub use prepare::{Prepared, prepare};
pub(crate) use token::create_token;
pub use verifier::{Poison, RefusedProgram};

use crate::load_plan::LoadPlan;

/// Executes a plan (libbpf: `bpf_object__load`, without the decisions that [`LoadPlan::new`] has made).
///
/// The last step pins maps ([`Loaded::pin_maps`]). If another process takes one of the paths during the load, the object is loaded
/// again and uses the other map, up to [`PIN_ATTEMPTS`] times.
pub fn load(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    let mut attempt = 1u32;
    loop {
        let mut loaded = load_unpinned(plan, kernel)?;
        match loaded.pin_maps(kernel) {
            Ok(()) => return Ok(loaded),
            Err(LoadError::PinTaken { .. }) if attempt < PIN_ATTEMPTS => attempt = attempt.saturating_add(1),
            Err(LoadError::PinTaken { object, map, path, .. }) => {
                return Err(LoadError::PinTaken { object, map, path, attempts: attempt });
            }
            Err(error) => return Err(error),
        }
    }
}

/// Executes a plan without pinning maps. Maps that are pinned already are used nevertheless.
///
/// For loads that end with their process, and for callers with further steps that can fail. Those pin at the end with
/// [`Loaded::pin_maps`].
pub fn load_unpinned(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    prepare(plan, kernel)?.finish_unpinned()
}
