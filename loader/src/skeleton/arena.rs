//! Arenas and user ring buffers of a skeleton.

use crate::{
    load::Loaded,
    maps::{Arena, MapError},
    ring::{RingError, UserRingBuffer},
    sys::Errno,
};
use alloc::sync::Arc;

/// The arena of a loaded object.
#[derive(Clone, Debug)]
pub struct ArenaMap {
    loaded: Arc<Loaded>,
    name: &'static str,
}

impl ArenaMap {
    /// Creates the handle of an arena.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name }
    }

    /// Returns the arena in this process's memory. Fails if the arena was not created.
    pub fn memory(&self) -> Result<&Arena, MapError> {
        let arena = self.loaded.map(self.name).and_then(|map| map.arena());
        arena.ok_or_else(|| {
            MapError::kernel(self.name, "find the arena in the loaded object", Errno(libc::ENOENT))
        })
    }
}

/// A ring buffer that user space writes and a program reads.
#[derive(Clone, Debug)]
pub struct UserRingBufferMap {
    loaded: Arc<Loaded>,
    name: &'static str,
}

impl UserRingBufferMap {
    /// Creates the handle of a map.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name }
    }

    /// Opens the ring buffer for writing. A map has one writer at a time.
    pub fn writer(&self) -> Result<UserRingBuffer, RingError> {
        self.loaded.user_ring_buffer(self.name)
    }
}
