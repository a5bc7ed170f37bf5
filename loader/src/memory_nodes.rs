//! The memory nodes of this machine.

use core_relo_object::memory_nodes::MemoryNodes;
use std::fs;

/// Returns the nodes that are online. Returns `None` if sysfs does not show them.
pub(crate) fn online() -> Option<MemoryNodes> {
    MemoryNodes::parse(&fs::read_to_string(MemoryNodes::FILE).ok()?)
}
