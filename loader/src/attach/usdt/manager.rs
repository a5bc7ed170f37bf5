//! The places in a program's map of specifications: handed out, and given back when a probe is detached.

use super::{
    super::error::{AttachError, Hint},
    args::Arg,
    spec::{self, Layout},
    target::Abilities,
};
use crate::{
    load_plan::UsdtPlan,
    sys::{self, Errno, MapFd},
};
use alloc::sync::Arc;
use core_relo::Endian;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What USDT programs of one object share: the two maps that libbpf's `usdt.bpf.h` declares (libbpf: `struct usdt_manager`).
///
/// Cloning it gives the same one. It is needed as long as programs are to be attached; links keep it by themselves.
#[derive(Clone, Debug)]
pub struct UsdtManager(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    specs: MapFd,
    /// `__bpf_usdt_ip_to_spec_id`, for kernels without cookies.
    by_address: MapFd,
    layout: Layout,
    can: Abilities,
    ids: Mutex<Ids>,
}

#[derive(Debug)]
struct Ids {
    free: Vec<u32>,
    /// The first that was never used.
    next: u32,
    count: u32,
}

impl UsdtManager {
    /// With the object's maps `__bpf_usdt_specs` and `__bpf_usdt_ip_to_spec_id`, for programs that are told what the running
    /// kernel can do, asked without a BPF token.
    pub fn new(specs: &MapFd, ip_to_spec_id: &MapFd) -> Result<Self, AttachError> {
        Self::planned(specs, ip_to_spec_id, UsdtPlan::on(&crate::features::running()))
    }

    /// The same for programs that are told this of the kernel (`LINUX_HAS_BPF_COOKIE`).
    pub fn planned(specs: &MapFd, ip_to_spec_id: &MapFd, plan: UsdtPlan) -> Result<Self, AttachError> {
        let failed = |errno| AttachError::kernel("__bpf_usdt_specs", "look at the map", errno);
        let value_size = specs.shape().value_size();
        let layout = Layout::of_value_size(value_size).ok_or_else(|| {
            let problem =
                format!("its values have {value_size} bytes; 208 or 304 are known of libbpf's usdt.bpf.h");
            AttachError::target("__bpf_usdt_specs", problem)
        })?;
        let shape = ip_to_spec_id.shape();
        if (shape.key_size(), shape.value_size(), specs.shape().key_size()) != (size_of::<usize>(), 4, 4) {
            let problem = "its keys are not addresses, or its values not numbers of specifications";
            return Err(AttachError::target("__bpf_usdt_ip_to_spec_id", problem));
        }
        let count = sys::map_info(specs).map_err(failed)?.max_entries;
        Ok(Self(Arc::new(Shared {
            specs: specs.try_clone().map_err(failed)?,
            by_address: ip_to_spec_id.try_clone().map_err(failed)?,
            layout,
            can: Abilities {
                cookies: plan.cookies,
                uprobe_multi: plan.uprobe_multi,
                fast_nop5: sys::has_uprobe_syscall(),
            },
            ids: Mutex::new(Ids { free: Vec::new(), next: 0, count }),
        })))
    }

    pub(super) fn can(&self) -> Abilities {
        self.0.can
    }

    /// A lease without specifications yet.
    pub(super) fn lease(&self) -> Lease {
        Lease { manager: self.clone(), ids: Vec::new(), addresses: Vec::new() }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        // Nothing can panic half way through a change.
        self.0.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The specifications of one attachment; dropping it gives them back.
#[derive(Debug)]
pub(super) struct Lease {
    manager: UsdtManager,
    ids: Vec<u32>,
    addresses: Vec<u64>,
}

impl Lease {
    /// Writes a specification, and gives its number.
    pub(super) fn add(&mut self, args: &[Arg], cookie: u64, what: &str) -> Result<u32, AttachError> {
        let shared = &self.manager.0;
        let value = spec::encode(shared.layout, Endian::native(), args, cookie).ok_or_else(|| {
            let problem = "an argument is in indexed memory, which the program's usdt.bpf.h (libbpf before 1.7) cannot read";
            AttachError::target(what, problem)
        })?;
        let id = self.manager.ids().take().ok_or_else(|| {
            let problem = "no room for another specification: raise BPF_USDT_MAX_SPEC_CNT in the program";
            AttachError::target(what, problem)
        })?;
        self.ids.push(id);
        sys::map_update(shared.specs.shape(), &Endian::native().u32_bytes(id), &value, 0)
            .map_err(|errno| AttachError::kernel(what, "write to __bpf_usdt_specs", errno))?;
        Ok(id)
    }

    /// Lets the program find a specification by a probe's address, if it has to.
    pub(super) fn map_address(&mut self, address: u64, id: u32, what: &str) -> Result<(), AttachError> {
        const NOEXIST: u64 = 1;
        const TAKEN: Hint =
            Hint("another program has this probe, and this kernel (before 5.15) cannot tell them apart");
        if self.manager.0.can.cookies {
            return Ok(());
        }
        let (key, value) = (address_key(address), Endian::native().u32_bytes(id));
        sys::map_update(self.manager.0.by_address.shape(), &key, &value, NOEXIST).map_err(|errno| {
            let hint = if errno == Errno(libc::EEXIST) { TAKEN } else { Hint::of(errno) };
            AttachError::hinted(what, "write to __bpf_usdt_ip_to_spec_id", errno, hint)
        })?;
        self.addresses.push(address);
        Ok(())
    }

    /// Keeps them used though nobody holds them.
    pub(super) fn leak(mut self) {
        self.ids.clear();
        self.addresses.clear();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        for address in self.addresses.drain(..) {
            let gone = sys::map_delete(self.manager.0.by_address.shape(), &address_key(address));
            if let Err(errno) = gone {
                log::warn!("USDT: address {address:#x} stays in __bpf_usdt_ip_to_spec_id: {errno}");
            }
        }
        let ids = core::mem::take(&mut self.ids);
        self.manager.ids().free.extend(ids);
    }
}

impl Ids {
    fn take(&mut self) -> Option<u32> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        let id = self.next;
        self.next = id.checked_add(1)?;
        if id < self.count {
            Some(id)
        } else {
            self.next = id;
            None
        }
    }
}

/// A `long`.
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
    fn numbers_are_given_out_once_until_they_come_back() {
        let mut ids = Ids { free: Vec::new(), next: 0, count: 2 };
        assert_eq!((ids.take(), ids.take(), ids.take(), ids.take()), (Some(0), Some(1), None, None));
        ids.free.push(1);
        assert_eq!((ids.take(), ids.take()), (Some(1), None));
    }
}
