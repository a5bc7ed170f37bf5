//! Adapts the plans of maps to the machine and the kernel.

use super::plan::MapPlan;
use crate::{
    features::{Feature, Features},
    load_plan::target_kernel::TargetKernel,
    map_flags,
    object::MapType,
};
use core_relo::TypeId;

/// Sets or rounds the number of entries that depends on the machine (libbpf: `map_set_def_max_entries`,
/// `adjust_ringbuf_sz`).
pub(super) fn default_entries(plan: &mut MapPlan, kernel: &TargetKernel) {
    match plan.known_type() {
        Some(MapType::PerfEventArray) if plan.max_entries() == 0 => {
            plan.attributes.max_entries = kernel.cpus;
            plan.entry_per_cpu = true;
        }
        Some(MapType::Ringbuf | MapType::UserRingbuf) => {
            plan.attributes.max_entries = ring_size(plan.max_entries(), kernel.page_size);
        }
        _ => {}
    }
}

/// Removes attributes that this kernel does not support (libbpf: `bpf_object__sanitize_maps`,
/// `bpf_object__create_map`).
pub(super) fn adapt_to_kernel(plan: &mut MapPlan, features: &Features) {
    if plan.role.is_data() {
        if !features.has(Feature::ArrayMmap) {
            plan.attributes.map_flags &= !map_flags::MMAPABLE;
        }
        if !features.has(Feature::GlobalData) {
            plan.autocreate = false;
        }
    }
    clear_types(plan);
    if let Some(inner) = plan.inner.as_deref_mut() {
        clear_types(inner);
    }
    if !features.has(Feature::Names) {
        plan.kernel_name.clear();
        if let Some(inner) = plan.inner.as_deref_mut() {
            inner.kernel_name.clear();
        }
    }
}

/// Clears the key and value types of maps for which the kernel accepts no types.
fn clear_types(plan: &mut MapPlan) {
    use MapType as M;
    match plan.known_type() {
        Some(
            M::PerfEventArray
            | M::CgroupArray
            | M::StackTrace
            | M::ArrayOfMaps
            | M::HashOfMaps
            | M::Devmap
            | M::DevmapHash
            | M::Cpumap
            | M::Xskmap
            | M::Sockmap
            | M::Sockhash
            | M::Queue
            | M::Stack
            | M::Arena,
        ) => {
            (plan.key_type, plan.value_type, plan.uses_btf) = (TypeId::VOID, TypeId::VOID, false);
        }
        Some(M::StructOps) => plan.value_type = TypeId::VOID,
        _ => {}
    }
}

/// Rounds the size of a ring buffer up to a power of two of pages. Leaves a size of 0, which the kernel
/// refuses.
pub(super) fn ring_size(size: u32, page: u32) -> u32 {
    let page = page.max(1);
    let is_valid = size.is_multiple_of(page) && size.checked_div(page).is_some_and(u32::is_power_of_two);
    if size == 0 || is_valid {
        return size;
    }
    // A size whose next power of two exceeds 32 bits stays as it is, and the kernel refuses it.
    let pages = size.checked_div(page).and_then(|pages| pages.checked_add(1)?.checked_next_power_of_two());
    pages.and_then(|pages| pages.checked_mul(page)).unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_buffers_are_powers_of_two_of_pages() {
        assert_eq!(ring_size(0, 4096), 0);
        assert_eq!(ring_size(1, 4096), 4096);
        assert_eq!(ring_size(4096, 4096), 4096);
        assert_eq!(ring_size(4097, 4096), 8192);
        assert_eq!(ring_size(3 * 4096, 4096), 4 * 4096);
        assert_eq!(ring_size(u32::MAX, 4096), u32::MAX);
    }
}
