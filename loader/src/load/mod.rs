//! Executes a [`LoadPlan`]: creates maps, loads programs, pins maps.
//!
//! [`Loaded`] owns everything that a load creates. If a request fails, dropping it undoes the load. Other processes may open pins,
//! so a load pins its maps last.

mod attach;
#[cfg(feature = "netlink")]
mod attach_interface;
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
mod typed_maps;
mod verifier;

pub use error::{LoadError, LoadHint, PIN_ATTEMPTS, RemainingPins};
pub use kernel::{BtfLoad, Kernel, MapCreate, MapInfo, ProgLoad, RunningKernel};
pub use loaded::{Loaded, LoadedMap, LoadedProgram};
pub use pins::Pins;
pub use prepare::{Prepared, prepare};
pub(crate) use token::create_token;
pub use verifier::{Poison, RefusedProgram};

use core_relo_object::load_plan::LoadPlan;

/// Executes a plan (libbpf: `bpf_object__load`, without the decisions that [`LoadPlan::new`] has made).
///
/// The last step pins maps ([`Loaded::pin_maps`]). If another process takes one of the paths during the load, the object is loaded
/// again and uses the other map, up to [`PIN_ATTEMPTS`] times.
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
#[expect(clippy::arithmetic_side_effects, reason = "at most `PIN_ATTEMPTS` attempts")]
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
                attempts += 1;
            }
            done => return done,
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
