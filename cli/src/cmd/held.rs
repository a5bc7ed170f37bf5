//! A loaded object whose pinned maps go with it.

use core_relo_loader::load::Loaded;
use std::ops::Deref;

/// A loaded object; the pins of maps that its load made are removed when it is dropped, however that comes about.
#[derive(Debug)]
pub(crate) struct Held {
    loaded: Loaded,
    keeps_pins: bool,
}

impl Held {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self { loaded, keeps_pins: false }
    }

    /// Leaves the pins behind.
    pub(crate) fn keep_pins(mut self) {
        self.keeps_pins = true;
    }
}

impl Deref for Held {
    type Target = Loaded;

    fn deref(&self) -> &Loaded {
        &self.loaded
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.keeps_pins {
            self.loaded.unpin_maps();
        }
    }
}
