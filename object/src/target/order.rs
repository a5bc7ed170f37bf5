//! BTF whose types the kernel's build sorted by name.

use core_relo::btf::Btf;

/// Own types of the smallest BTF whose order is examined. Searching a smaller one costs no more than examining the order.
pub const ORDERED: u32 = 8192;

/// Lets searches by name bisect the types that the running kernel shows, if the kernel's build sorted them.
pub fn trust_kernel_order(btf: &mut Btf<'_>) {
    if btf.end_id().0.saturating_sub(btf.first_id().0) >= ORDERED {
        let is_sorted = btf.trust_order();
        let is_sorted = if is_sorted { "" } else { "not " };
        log::debug!("{} types that the running kernel shows are {is_sorted}sorted by name", btf.end_id());
    }
}
