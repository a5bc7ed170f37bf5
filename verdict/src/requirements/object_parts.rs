//! The parts of an object that its programs share.

use super::{extern_need::ExternNeed, parameter_tags::ParameterTags, used_map::UsedMap};
use core_relo_object::link::ProgramLinker;

/// The parts of an object that its programs share.
#[derive(Clone, Copy)]
pub(super) struct ObjectParts<'p, 'd> {
    /// The code of the object's code sections.
    pub(super) sections: &'p [&'p [u8]],
    pub(super) linker: &'p ProgramLinker<'p, 'd>,
    /// The license that the loader passes to the kernel.
    pub(super) license: Option<&'p [u8]>,
    pub(super) externs: &'p [ExternNeed],
    pub(super) maps: &'p [UsedMap],
    pub(super) tags: &'p ParameterTags,
}
