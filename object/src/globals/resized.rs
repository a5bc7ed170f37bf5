//! Arrays that grow with their section.

use super::Global;
use alloc::sync::Arc;
use core_relo::btf::Btf;
use std::collections::HashMap;

/// The variables in sections some of which have another size: an array at a section's end takes what room there is (libbpf:
/// `map_btf_datasec_resize`).
pub(crate) fn resized(
    mut all: Vec<Global>,
    btf: Option<&Btf<'_>>,
    size_of: impl Fn(&str) -> Option<u32>,
) -> Vec<Global> {
    let mut last = HashMap::<Arc<str>, (u32, usize)>::new();
    for global in &all {
        if let Some((_, offset)) = last.get_mut(&global.section) {
            *offset = global.offset.max(*offset);
        } else if let Some(size) = size_of(&global.section) {
            last.insert(Arc::clone(&global.section), (size, global.offset));
        }
    }
    for global in &mut all {
        let Some((size, offset)) = last.get(&global.section) else { continue };
        let element = global.stripped(btf).and_then(|t| btf?.size_of(t.array()?.element).ok());
        let element = element.and_then(|size| usize::try_from(size.0).ok());
        let room = usize::try_from(*size).unwrap_or(usize::MAX).checked_sub(global.offset);
        if let (Some(element @ 1..), Some(room)) = (element, room)
            && global.offset == *offset
            && room.is_multiple_of(element)
        {
            global.size = room;
        }
    }
    all
}
