//! The allocation of entries in the map `__bpf_usdt_specs`, which tells a BPF program where the arguments of
//! a probe are.
//!
//! An entry is a specification (`struct __bpf_usdt_spec`), its key the specification's id. Detaching a probe
//! frees its entries.

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

/// The size of a specification's id.
const SPEC_ID_BYTES: usize = 4;
/// The size of an address: a `long` of `usdt.bpf.h`.
const ADDRESS_BYTES: usize = size_of::<usize>();

/// The state that the USDT programs of one object share: the two maps of libbpf's `usdt.bpf.h` (libbpf:
/// `struct usdt_manager`).
///
/// A clone refers to the same state. Attaching needs the manager; attached links keep the state alive without
/// it.
#[derive(Clone, Debug)]
pub struct UsdtManager(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// `__bpf_usdt_specs`: specifications by id.
    specs: MapFd,
    /// `__bpf_usdt_ip_to_spec_id`: specification ids by probe address, for kernels without BPF cookies.
    ip_to_spec_id: MapFd,
    layout: Layout,
    features: UsdtFeatures,
    ids: Mutex<SpecIds>,
}

/// The allocator of specification ids.
#[derive(Debug)]
struct SpecIds {
    /// Ids that were allocated and freed.
    free: Vec<u32>,
    /// The lowest id that was never allocated.
    next: u32,
    /// The capacity of the map. Ids are lower.
    max_entries: u32,
}

impl UsdtManager {
    /// Creates a manager for programs of a [`LoadPlan`](core_relo_object::load_plan::LoadPlan). `plan` has to
    /// be that plan's [`usdt`](core_relo_object::load_plan::LoadPlan::usdt), because programs are loaded with
    /// its choice in `LINUX_HAS_BPF_COOKIE`.
    ///
    /// Fails if the sizes of keys and values are not those of libbpf's `usdt.bpf.h`.
    pub fn with_plan(specs: &MapFd, ip_to_spec_id: &MapFd, plan: UsdtPlan) -> Result<Self, AttachError> {
        let failed = |errno| AttachError::kernel("__bpf_usdt_specs", "query the map", errno);
        let value_size = specs.shape().value_size();
        let layout = Layout::of_value_size(value_size).ok_or_else(|| {
            let problem = format!(
                "wrong size of values: {value_size} bytes, expected 208 or 304 as in libbpf's usdt.bpf.h"
            );
            AttachError::target("__bpf_usdt_specs", problem)
        })?;
        let key_size = specs.shape().key_size();
        if key_size != SPEC_ID_BYTES {
            let problem = format!("wrong size of keys: {key_size} bytes, expected {SPEC_ID_BYTES} (an id)");
            return Err(AttachError::target("__bpf_usdt_specs", problem));
        }
        let (key_size, value_size) = (ip_to_spec_id.shape().key_size(), ip_to_spec_id.shape().value_size());
        if (key_size, value_size) != (ADDRESS_BYTES, SPEC_ID_BYTES) {
            let problem = format!(
                "wrong sizes of keys and values: {key_size} and {value_size} bytes, expected {ADDRESS_BYTES} (an address) and \
                 {SPEC_ID_BYTES} (an id)"
            );
            return Err(AttachError::target("__bpf_usdt_ip_to_spec_id", problem));
        }
        let max_entries = sys::MapInfo::query(specs).map_err(|error| failed(error.errno()))?.max_entries;
        Ok(Self(Arc::new(Shared {
            specs: specs.try_clone().map_err(failed)?,
            ip_to_spec_id: ip_to_spec_id.try_clone().map_err(failed)?,
            layout,
            features: UsdtFeatures {
                cookies: plan.cookies,
                uprobe_multi: plan.uprobe_multi,
                fast_nop5: sys::has_uprobe_syscall(),
            },
            ids: Mutex::new(SpecIds { free: Vec::new(), next: 0, max_entries }),
        })))
    }

    pub(super) fn features(&self) -> UsdtFeatures {
        self.0.features
    }

    /// Returns a lease without specifications.
    pub(super) fn lease(&self) -> SpecLease {
        SpecLease { manager: self.clone(), ids: Vec::new(), addresses: Vec::new() }
    }

    fn ids(&self) -> MutexGuard<'_, SpecIds> {
        // No method panics between two changes of the ids, so they are consistent even if the lock is
        // poisoned.
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The map entries of one attachment. Dropping the lease frees their ids and removes their addresses.
#[derive(Debug)]
pub(super) struct SpecLease {
    manager: UsdtManager,
    ids: Vec<u32>,
    addresses: Vec<u64>,
}

impl SpecLease {
    /// Writes a specification of a probe's arguments and cookie to the map. Returns the id.
    pub(super) fn add(&mut self, args: &[Arg], cookie: u64, label: &str) -> Result<u32, AttachError> {
        let shared = &self.manager.0;
        if shared.layout == Layout::Plain && args.iter().any(Arg::has_index) {
            let reason = "the program's usdt.bpf.h (libbpf before 1.7) does not support index registers";
            log::warn!("{label}: an argument cannot be read: {reason}: programs get EINVAL for it");
        }
        let value = spec::encode(shared.layout, Endian::native(), args, cookie).ok_or_else(|| {
            AttachError::target(label, "internal error: the arguments of the probe do not fit the map")
        })?;
        let id = self.manager.ids().allocate().ok_or_else(|| {
            let problem = "the map of specifications is full: raise BPF_USDT_MAX_SPEC_CNT in the program";
            AttachError::target(label, problem)
        })?;
        self.ids.push(id);
        shared
            .specs
            .shape()
            .update(&Endian::native().u32_bytes(id), &value, 0)
            .map_err(|errno| AttachError::kernel(label, "write to __bpf_usdt_specs", errno))?;
        Ok(id)
    }

    /// Maps a probe's address to the id of its specification. Does nothing if programs find the specification
    /// by BPF cookie.
    pub(super) fn map_address(&mut self, address: u64, id: u32, label: &str) -> Result<(), AttachError> {
        const BPF_NOEXIST: u64 = 1;
        const ADDRESS_IN_USE: Hint = Hint(
            "another program is attached to this probe: kernels before 5.15 support one program at each address",
        );
        if self.manager.0.features.cookies {
            return Ok(());
        }
        let (key, value) = (address_key(address), Endian::native().u32_bytes(id));
        self.manager.0.ip_to_spec_id.shape().update(&key, &value, BPF_NOEXIST).map_err(|errno| {
            let hint = if errno == Errno(libc::EEXIST) { ADDRESS_IN_USE } else { Hint::for_errno(errno) };
            AttachError::kernel_with_hint(label, "write to __bpf_usdt_ip_to_spec_id", errno, hint)
        })?;
        self.addresses.push(address);
        Ok(())
    }

    /// Keeps the map entries until the process ends, for a link that is never detached.
    pub(super) fn leak(mut self) {
        self.ids.clear();
        self.addresses.clear();
    }
}

impl Drop for SpecLease {
    fn drop(&mut self) {
        for address in self.addresses.drain(..) {
            let deleted = self.manager.0.ip_to_spec_id.shape().delete(&address_key(address));
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
        let id = Some(self.next).filter(|id| *id < self.max_entries)?;
        self.next = id.checked_add(1)?;
        Some(id)
    }
}

/// Encodes an address as a key of `__bpf_usdt_ip_to_spec_id`: a `long` in native byte order.
fn address_key(address: u64) -> Vec<u8> {
    let endian = Endian::native();
    let mut key = Vec::new();
    match u32::try_from(address) {
        Ok(short) if cfg!(target_pointer_width = "32") => endian.put_u32(&mut key, short),
        _ => endian.put_u64(&mut key, address),
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_not_allocated_again_before_it_is_freed() {
        let mut ids = SpecIds { free: Vec::new(), next: 0, max_entries: 2 };
        assert_eq!(
            (ids.allocate(), ids.allocate(), ids.allocate(), ids.allocate()),
            (Some(0), Some(1), None, None)
        );
        ids.free.push(1);
        assert_eq!((ids.allocate(), ids.allocate()), (Some(1), None));
    }
}
