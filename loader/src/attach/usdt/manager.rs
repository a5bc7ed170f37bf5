//! The allocation of entries in the program's map of probe specifications. Detaching a probe frees its entries.

use super::{
    super::error::{AttachError, Hint},
    args::Arg,
    probe::UsdtFeatures,
    spec::{self, Layout},
};
use crate::sys::{self, Errno, MapFd};
use alloc::sync::Arc;
use core_relo::Endian;
use core_relo_object::load_plan::UsdtPlan;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state that the USDT programs of one object share: the two maps of libbpf's `usdt.bpf.h` (libbpf: `struct usdt_manager`).
///
/// A clone refers to the same state. Attaching needs the manager; attached links keep the state alive without it.
#[derive(Clone, Debug)]
pub struct UsdtManager(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    specs: MapFd,
    /// `__bpf_usdt_ip_to_spec_id`, for kernels without cookies.
    ip_to_spec_id: MapFd,
    layout: Layout,
    features: UsdtFeatures,
    ids: Mutex<SpecIds>,
}

#[derive(Debug)]
struct SpecIds {
    free: Vec<u32>,
    /// The first id that was never used.
    next: u32,
    /// The number of entries in the map.
    count: u32,
}

impl UsdtManager {
    /// Makes a manager of the object's maps `__bpf_usdt_specs` and `__bpf_usdt_ip_to_spec_id`.
    ///
    /// Use this if the programs were loaded for the features of the running kernel, probed without a BPF token.
    pub fn new(specs: &MapFd, ip_to_spec_id: &MapFd) -> Result<Self, AttachError> {
        Self::with_plan(specs, ip_to_spec_id, UsdtPlan::for_features(&crate::features::running()))
    }

    /// Makes a manager for programs that were loaded with a plan: the plan sets their `LINUX_HAS_BPF_COOKIE`.
    pub fn with_plan(specs: &MapFd, ip_to_spec_id: &MapFd, plan: UsdtPlan) -> Result<Self, AttachError> {
        let failed = |errno| AttachError::kernel("__bpf_usdt_specs", "query the map", errno);
        let value_size = specs.shape().value_size();
        let layout = Layout::of_value_size(value_size).ok_or_else(|| {
            let problem = format!(
                "wrong size of values: {value_size} bytes, expected 208 or 304 as in libbpf's usdt.bpf.h"
            );
            AttachError::target("__bpf_usdt_specs", problem)
        })?;
        let shape = ip_to_spec_id.shape();
        if (shape.key_size(), shape.value_size(), specs.shape().key_size()) != (size_of::<usize>(), 4, 4) {
            let problem =
                "expected addresses as keys and specification ids as values, as in libbpf's usdt.bpf.h";
            return Err(AttachError::target("__bpf_usdt_ip_to_spec_id", problem));
        }
        let count = sys::map_info(specs).map_err(failed)?.max_entries;
        Ok(Self(Arc::new(Shared {
            specs: specs.try_clone().map_err(failed)?,
            ip_to_spec_id: ip_to_spec_id.try_clone().map_err(failed)?,
            layout,
            features: UsdtFeatures {
                cookies: plan.cookies,
                uprobe_multi: plan.uprobe_multi,
                fast_nop5: sys::has_uprobe_syscall(),
            },
            ids: Mutex::new(SpecIds { free: Vec::new(), next: 0, count }),
        })))
    }

    pub(super) fn features(&self) -> UsdtFeatures {
        self.0.features
    }

    /// Returns an empty lease.
    pub(super) fn lease(&self) -> SpecLease {
        SpecLease { manager: self.clone(), ids: Vec::new(), addresses: Vec::new() }
    }

    fn ids(&self) -> MutexGuard<'_, SpecIds> {
        // No change of the ids can panic halfway, so a poisoned lock holds consistent data.
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The specifications of one attachment. Dropping the lease frees them.
#[derive(Debug)]
pub(super) struct SpecLease {
    manager: UsdtManager,
    ids: Vec<u32>,
    addresses: Vec<u64>,
}

impl SpecLease {
    /// Writes a specification to the map. Returns its id.
    pub(super) fn add(&mut self, args: &[Arg], cookie: u64, label: &str) -> Result<u32, AttachError> {
        let shared = &self.manager.0;
        let value = spec::encode(shared.layout, Endian::native(), args, cookie).ok_or_else(|| {
            let problem = "an argument uses an index register, which the program's usdt.bpf.h (libbpf before 1.7) does not support";
            AttachError::target(label, problem)
        })?;
        let id = self.manager.ids().allocate().ok_or_else(|| {
            let problem = "the map of specifications is full: raise BPF_USDT_MAX_SPEC_CNT in the program";
            AttachError::target(label, problem)
        })?;
        self.ids.push(id);
        sys::map_update(shared.specs.shape(), &Endian::native().u32_bytes(id), &value, 0)
            .map_err(|errno| AttachError::kernel(label, "write to __bpf_usdt_specs", errno))?;
        Ok(id)
    }

    /// Maps a probe's address to its specification, if the kernel has no cookies.
    pub(super) fn map_address(&mut self, address: u64, id: u32, label: &str) -> Result<(), AttachError> {
        const NOEXIST: u64 = 1;
        const TAKEN: Hint = Hint(
            "another program is attached to this probe, and this kernel (before 5.15) cannot tell them apart",
        );
        if self.manager.0.features.cookies {
            return Ok(());
        }
        let (key, value) = (address_key(address), Endian::native().u32_bytes(id));
        sys::map_update(self.manager.0.ip_to_spec_id.shape(), &key, &value, NOEXIST).map_err(|errno| {
            let hint = if errno == Errno(libc::EEXIST) { TAKEN } else { Hint::for_errno(errno) };
            AttachError::kernel_with_hint(label, "write to __bpf_usdt_ip_to_spec_id", errno, hint)
        })?;
        self.addresses.push(address);
        Ok(())
    }

    /// Keeps the specifications in use for ever.
    pub(super) fn leak(mut self) {
        self.ids.clear();
        self.addresses.clear();
    }
}

impl Drop for SpecLease {
    fn drop(&mut self) {
        for address in self.addresses.drain(..) {
            let deleted = sys::map_delete(self.manager.0.ip_to_spec_id.shape(), &address_key(address));
            if let Err(errno) = deleted {
                log::warn!("USDT: address {address:#x} stays in __bpf_usdt_ip_to_spec_id: {errno}");
            }
        }
        let ids = core::mem::take(&mut self.ids);
        self.manager.ids().free.extend(ids);
    }
}

impl SpecIds {
    fn allocate(&mut self) -> Option<u32> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        let id = Some(self.next).filter(|id| *id < self.count)?;
        self.next = id.checked_add(1)?;
        Some(id)
    }
}

/// Encodes an address as a key of `__bpf_usdt_ip_to_spec_id`: a `long`.
fn address_key(address: u64) -> Vec<u8> {
    let e = Endian::native();
    let mut key = Vec::new();
    match u32::try_from(address) {
        Ok(short) if cfg!(target_pointer_width = "32") => e.put_u32(&mut key, short),
        _ => e.put_u64(&mut key, address),
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_allocated_once_until_it_is_freed() {
        let mut ids = SpecIds { free: Vec::new(), next: 0, count: 2 };
        assert_eq!(
            (ids.allocate(), ids.allocate(), ids.allocate(), ids.allocate()),
            (Some(0), Some(1), None, None)
        );
        ids.free.push(1);
        assert_eq!((ids.allocate(), ids.allocate()), (Some(1), None));
    }
}
