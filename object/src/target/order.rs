//! Detection of BTF that the kernel's build sorted by name.

use core_relo::btf::Btf;

/// The number of types from which on BTF is checked for sorted order. A linear search of less BTF costs no
/// more than the check.
pub const MIN_TYPES_TO_CHECK_ORDER: u32 = 8192;

/// Enables binary search by name in BTF of the running kernel, if the kernel's build sorted it.
pub fn trust_kernel_order(btf: &mut Btf<'_>) {
    let count = btf.end_id().0.checked_sub(btf.first_id().0);
    if count.is_some_and(|count| count >= MIN_TYPES_TO_CHECK_ORDER) {
        let is_sorted = btf.trust_order();
        let is_sorted = if is_sorted { "" } else { "not " };
        log::debug!("the running kernel's BTF with {} types is {is_sorted}sorted by name", btf.end_id());
    }
}
