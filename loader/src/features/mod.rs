//! Probes of the running kernel.
//!
//! [`running`] returns the [`Features`] that loads depend on, each probed on first use and once per process. The functions `probe_…` ask
//! the kernel each time. No probe leaves anything loaded or attached.
//!
//! | function | question |
//! |---|---|
//! | [`probe_program_type`], [`probe_map_type`] | does the kernel have a type? |
//! | [`probe_helper`], [`probe_kfunc`] | may programs of a type call it? |
//! | [`probe_attach_type`], [`probe_link_type`] | are programs attached by it? |
//! | [`probe_feature`] | does the kernel have a [`Feature`]? |
//!
//! A [`Prober`] asks the same questions with a BPF token.
//!
//! ```no_run
//! use core_relo_loader::{
//!     features::{probe_helper, probe_map_type},
//!     object::{MapType, ProgramType},
//! };
//!
//! # fn main() -> Result<(), core_relo_loader::features::ProbeError> {
//! const LOOP: u32 = 181;
//! if probe_map_type(MapType::Ringbuf)?.is_supported && probe_helper(ProgramType::Kprobe, LOOP)?.is_supported {
//!     println!("ring buffers, and bpf_loop in kprobes");
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod attach_type;
mod calls;
mod delegation;
mod feature;
mod instructions;
mod map_type;
mod policy;
mod probe;
mod prober;
mod program;
mod program_type;
mod token;

pub use answer::{ProbeError, ProbeResult, Probed};
pub use core_relo_object::features::*;
pub(crate) use policy::refused_attach_types;
pub(crate) use probe::load_unsigned;
pub use prober::Prober;

use alloc::sync::Arc;
use core_relo_object::object::{AttachType, LinkType, MapType, ProgramType};
use std::{os::fd::OwnedFd, sync::OnceLock};

/// Returns the features of the running kernel. Each feature is probed on first use, once per process.
pub fn running() -> Features {
    static RUNNING: OnceLock<Features> = OnceLock::new();
    RUNNING.get_or_init(|| Prober::new().into_features()).clone()
}

/// Returns the features that the running kernel offers to the holder of a BPF token.
pub fn with_token(token: Arc<OwnedFd>) -> Features {
    Prober::with_token(token).into_features()
}

/// Probes as [`Prober::program_type`], without a token.
pub fn probe_program_type(program_type: ProgramType) -> ProbeResult {
    Prober::shared().program_type(program_type)
}

/// Probes as [`Prober::map_type`], without a token.
pub fn probe_map_type(map_type: MapType) -> ProbeResult {
    Prober::shared().map_type(map_type)
}

/// Probes as [`Prober::helper`], without a token.
pub fn probe_helper(program_type: ProgramType, helper: u32) -> ProbeResult {
    Prober::shared().helper(program_type, helper)
}

/// Probes as [`Prober::kfunc`], without a token.
pub fn probe_kfunc(program_type: ProgramType, name: &[u8]) -> ProbeResult {
    Prober::shared().kfunc(program_type, name)
}

/// Probes as [`Prober::attach_type`], without a token.
pub fn probe_attach_type(attach_type: AttachType) -> ProbeResult {
    Prober::shared().attach_type(attach_type)
}

/// Probes as [`Prober::link_type`], without a token.
pub fn probe_link_type(link_type: LinkType) -> ProbeResult {
    Prober::shared().link_type(link_type)
}

/// Probes as [`Prober::feature`], without a token.
pub fn probe_feature(feature: Feature) -> ProbeResult {
    Prober::shared().feature(feature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;

    #[test]
    fn the_running_kernel_has_the_features_of_5_10() {
        let running = running();
        if !running.has(Feature::Btf) {
            return skip!(Root, "no BTF can be loaded here");
        }
        // These tests run on kernels from 5.10.
        for feature in
            [Feature::Names, Feature::GlobalData, Feature::BtfFunc, Feature::BtfDatasec, Feature::ArrayMmap]
        {
            assert!(running.has(feature), "{feature:?}");
        }
    }
}
