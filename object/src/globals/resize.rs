//! Resizing of arrays with their section.

use super::Global;
use alloc::sync::Arc;
use core_relo::btf::Btf;
use hashbrown::HashMap;

/// Resizes the array at the end of each resized section to fill the section (libbpf:
/// `map_btf_datasec_resize`).
///
/// `new_size` returns the new size of a section; `None` if the section keeps its size.
pub(crate) fn resize_arrays(
    mut globals: Vec<Global>,
    btf: Option<&Btf<'_>>,
    new_size: impl Fn(&str) -> Option<u32>,
) -> Vec<Global> {
    let mut last = HashMap::<Arc<str>, (u32, usize)>::new();
    for global in &globals {
        if let Some((_, offset)) = last.get_mut(&global.section) {
            *offset = global.offset.max(*offset);
        } else if let Some(size) = new_size(&global.section) {
            last.insert(Arc::clone(&global.section), (size, global.offset));
        }
    }
    for global in &mut globals {
        let Some((size, offset)) = last.get(&global.section) else { continue };
        resize_array(global, btf, *size, *offset);
    }
    globals
}

/// Resizes a variable of a section of the new size `section_size`, if the variable is an array at the end of
/// the section.
pub(crate) fn resize_array(
    global: &mut Global,
    btf: Option<&Btf<'_>>,
    section_size: u32,
    last_offset: usize,
) {
    let element = global.stripped(btf).and_then(|t| btf?.size_of(t.array()?.element).ok());
    let element = element.and_then(|size| usize::try_from(size.0).ok());
    let available = usize::try_from(section_size).ok().and_then(|size| size.checked_sub(global.offset));
    if let (Some(element @ 1..), Some(available)) = (element, available)
        && global.offset == last_offset
        && available.is_multiple_of(element)
    {
        global.size = available;
    }
}
