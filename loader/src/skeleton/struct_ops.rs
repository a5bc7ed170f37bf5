//! struct_ops maps of a skeleton.

use crate::{
    attach::{AttachError, Link},
    load::Loaded,
};
use alloc::sync::Arc;

/// A struct_ops map: a table of programs that a kernel subsystem calls.
#[derive(Clone, Debug)]
pub struct StructOps {
    loaded: Arc<Loaded>,
    name: &'static str,
}

impl StructOps {
    /// Creates the handle of a map.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name }
    }

    /// Returns the map's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Registers the table with the kernel.
    pub fn attach(&self) -> Result<Link, AttachError> {
        self.loaded.attach_struct_ops(self.name)
    }

    /// Replaces the table of a link by this table (libbpf: `bpf_link__update_map`).
    ///
    /// Both maps are in a section `.struct_ops.link`, and the kernel's subsystem has to support it.
    pub fn update(&self, link: &mut Link) -> Result<(), AttachError> {
        self.loaded.update_struct_ops(link, self.name)
    }
}
