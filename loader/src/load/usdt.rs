//! The state that the USDT programs of an object share.

use super::loaded::Loaded;
use crate::{
    attach::{AttachError, UsdtManager, UsdtOwner},
    features,
    sys::MapFd,
};
use core_relo_object::load_plan::{USDT_MAPS, UsdtPlan};

impl UsdtManager {
    /// Creates a manager of the object's maps `__bpf_usdt_specs` and `__bpf_usdt_ip_to_spec_id`.
    ///
    /// The features of the running kernel decide whether programs find a specification by BPF cookie or by
    /// address. For programs that were loaded with a BPF token or for other features, use
    /// [`with_plan`](Self::with_plan).
    ///
    /// Fails if the sizes of keys and values are not those of libbpf's `usdt.bpf.h`.
    pub fn new(specs: &MapFd, ip_to_spec_id: &MapFd) -> Result<Self, AttachError> {
        Self::with_plan(specs, ip_to_spec_id, UsdtPlan::for_features(&features::running()))
    }
}

impl UsdtOwner for Loaded {
    /// The state is made on first use, so programs of other kinds do not depend on these maps.
    fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError> {
        if let Some(cached) = self.usdt.get() {
            return Ok(cached.as_ref());
        }
        let handles = USDT_MAPS.map(|name| self.map(name).and_then(|m| m.handle().ok()));
        let manager = match &handles {
            [Some(specs), Some(by_address)] => {
                let plan = self.usdt_plan.unwrap_or_else(|| UsdtPlan::for_features(&features::running()));
                Some(UsdtManager::with_plan(specs, by_address, plan)?)
            }
            _ => None,
        };
        Ok(self.usdt.get_or_init(|| manager).as_ref())
    }
}
