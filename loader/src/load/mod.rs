//! Executes a [`LoadPlan`]: creates maps, loads programs, pins maps.
//!
//! [`Loaded`] owns everything that a load creates, so dropping it after a failed request undoes the load.
//! Other processes may open pins. Therefore a load creates its pins last.

mod attach;
mod btf;
mod error;
mod globals;
mod kernel;
mod leftover_pins;
mod loaded;
#[cfg(feature = "loader-program")]
mod loader_program;
mod loading;
mod map_owner;
mod maps;
mod old_verifier;
mod pin_maps;
mod pins;
mod prepare;
mod program_ref;
mod programs;
mod replaceable;
mod reuse;
mod signature;
#[cfg(test)]
mod tests;
mod token;
mod typed_maps;
#[cfg_attr(not(feature = "usdt"), path = "usdt_disabled.rs")]
mod usdt;
mod verifier;
mod verifier_stats;

pub use crate::sys::{Keyring, ProgSignature, StreamId, TestRun, TestRunResult, UnknownKeyring};
pub use error::{LoadError, LoadHint, PIN_ATTEMPTS, RemainingPins};
pub use kernel::{BtfLoad, Kernel, MapCreate, MapInfo, ProgLoad, RunningKernel};
pub use loaded::{Loaded, LoadedMap, LoadedProgram};
#[cfg(feature = "loader-program")]
pub use loader_program::{execute_loader_program, execute_signed_loader_program};
pub use pins::Pins;
pub use prepare::{Prepared, prepare};
pub use replaceable::ReplaceablePrograms;
pub use reuse::check_reused_maps;
pub use signature::SignatureRefusal;
pub(crate) use token::create_token;
pub use verifier::{Poison, RefusedProgram, ReportStep, VerifierReport};
pub use verifier_stats::VerifierStats;

use core_relo_object::load_plan::LoadPlan;

/// Executes a plan (libbpf: `bpf_object__load`, without the decisions that [`LoadPlan::new`] has made).
///
/// The last step pins maps ([`Loaded::pin_maps`]). If another process takes one of the paths during the load,
/// the object is loaded again and uses the other map, up to [`PIN_ATTEMPTS`] times.
pub fn execute(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    execute_replaceable(plan, kernel, &ReplaceablePrograms::default())
}

/// Executes a plan as [`execute`]. After a refusal, continues with the programs that are replaceable.
pub(crate) fn execute_replaceable(
    plan: &LoadPlan,
    kernel: &impl Kernel,
    replaceable: &ReplaceablePrograms,
) -> Result<Loaded, LoadError> {
    retry_taken_pins(|remaining| {
        let mut loaded = prepare(plan, kernel)?.finish_unpinned(replaceable)?;
        loaded.adopt_pins(remaining, kernel);
        loaded.pin_maps(kernel)?;
        Ok(loaded)
    })
}

/// Repeats a load that fails with [`LoadError::PinTaken`], up to [`PIN_ATTEMPTS`] attempts in all.
///
/// `attempt` passes the pins that remain of earlier attempts to [`Loaded::adopt_pins`].
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

/// Executes a plan without creating pins. A map whose pin exists is still opened from the pin.
///
/// A load that ends with its process needs no pins. A caller with further steps that can fail, such as
/// attaching, creates the pins at the end with [`Loaded::pin_maps`].
pub fn execute_unpinned(plan: &LoadPlan, kernel: &impl Kernel) -> Result<Loaded, LoadError> {
    prepare(plan, kernel)?.finish_unpinned(&ReplaceablePrograms::default())
}
