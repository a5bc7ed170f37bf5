//! Probes of the running kernel.
//!
//! [`running`] returns the [`Features`] that loads depend on, each probed on first use and once per process.
//! A [`Prober`] asks the kernel each time. No probe leaves anything loaded or attached.
//!
//! | method | question |
//! |---|---|
//! | [`Prober::program_type`], [`Prober::map_type`] | does the kernel have a type? |
//! | [`Prober::helper`], [`Prober::kfunc`] | may programs of a type call it? |
//! | [`Prober::attach_type`], [`Prober::link_type`] | are programs attached by it? |
//! | [`Prober::feature`] | does the kernel have a [`Feature`]? |
//! | [`Prober::offers`] | does the kernel have a [`KernelFeature`](crate::object::KernelFeature), one of all with a name? |
//! | [`SystemSetting::read`], [`read_delegation`] | how is the system set up? |
//!
//! ```no_run
//! use core_relo_loader::{
//!     features::Prober,
//!     object::{KernelFeature, MapType, ProgramType},
//! };
//!
//! # fn main() -> Result<(), core_relo_loader::features::ProbeError> {
//! const LOOP: u32 = 181;
//! let kernel = Prober::new();
//! let has_rings = kernel.map_type(MapType::Ringbuf)?.is_supported;
//! if has_rings && kernel.helper(ProgramType::Kprobe, LOOP)?.is_supported {
//!     println!("ring buffers, and bpf_loop in kprobes");
//! }
//! for feature in KernelFeature::all() {
//!     println!("{}: {}", feature.name(), kernel.offers(feature)?.evidence);
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
mod setting;
mod token;

pub use answer::{ProbeError, ProbeResult, Probed};
pub use core_relo_object::features::*;
pub(crate) use policy::refused_attach_types;
pub(crate) use probe::load_unsigned;
pub use prober::Prober;
pub use setting::{SettingValue, SystemSetting, read_delegation};

use alloc::sync::Arc;
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

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::insn::Helper;
    use core_relo_object::object::KernelFeature;
    use core_relo_test_support::skip;

    #[test]
    fn a_helper_is_offered_if_programs_of_some_type_may_call_it() {
        let offers = |number| Prober::new().offers(KernelFeature::Helper(Helper(number)));
        match offers(1) {
            Ok(probed) => assert!(probed.is_supported, "{}", probed.evidence),
            Err(error) => return skip!(Root, "no program can be loaded here: {error}"),
        }
        assert!(offers(100_000).is_ok_and(|probed| !probed.is_supported));
    }

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
