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
}
