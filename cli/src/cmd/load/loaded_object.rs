//! A loaded object with its links and pins, which are undone together.

use crate::{
    error::{BadInput, escape_path},
    events::{EventReaders, EventSource},
    process::interrupt::InterruptibleKernel,
};
use core_relo_loader::{
    attach::{AttachError, Link},
    load::{LoadError, Loaded, Pins},
};
use std::{
    convert::Infallible,
    mem,
    path::{Path, PathBuf},
};

/// A loaded object, its links and its pins. Dropping it removes all of them, except for the pins of maps that the object itself
/// names: other processes may use those. A warning names each pin that stays.
#[derive(Debug)]
pub(crate) struct LoadedObject {
    pub(crate) links: Vec<Link>,
    pub(crate) loaded: Loaded,
    /// The readers of the maps whose records are printed.
    pub(crate) events: Option<EventReaders>,
    pins: Option<Pins>,
    /// The pins that this load made at the paths that the object names.
    named_pins: Vec<PathBuf>,
}

/// The reason why an object is not loaded, attached and pinned.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadFailure {
    /// The object is not loaded, or its maps are not pinned.
    #[error("{0}")]
    Load(LoadError),
    /// Attaching or pinning failed.
    #[error("{cause}")]
    Attach { stage: &'static str, cause: AttachError },
    /// The buffer of a map whose records will be printed cannot be opened.
    #[error("{0}")]
    Events(BadInput),
    /// A signal arrived between two steps.
    #[error("ended by a signal")]
    Interrupted,
}

impl From<LoadError> for LoadFailure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Plans have no steps that fail in this way.
impl From<Infallible> for LoadFailure {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl LoadedObject {
    pub(crate) const fn new(loaded: Loaded) -> Self {
        Self { links: Vec::new(), loaded, events: None, pins: None, named_pins: Vec::new() }
    }

    /// Opens the buffers of maps whose records are printed.
    pub(crate) fn open_events(&mut self, sources: &[EventSource]) -> Result<(), LoadFailure> {
        if !sources.is_empty() {
            self.events = Some(EventReaders::open(&self.loaded, sources).map_err(LoadFailure::Events)?);
        }
        Ok(())
    }

    /// Attaches the programs whose sections name the target.
    pub(crate) fn attach(&mut self, kernel: &InterruptibleKernel<'_>) -> Result<(), LoadFailure> {
        let mut attached = self.loaded.attach_each();
        while !kernel.check_interrupted() {
            match attached.next() {
                None => return Ok(()),
                Some(Ok(link)) => self.links.push(link),
                Some(Err(cause)) => return Err(LoadFailure::Attach { stage: "attach", cause }),
            }
        }
        Err(LoadFailure::Interrupted)
    }

    /// Pins everything below a directory, then the maps at the paths that the object names.
    pub(crate) fn pin(&mut self, kernel: &InterruptibleKernel<'_>, dir: &Path) -> Result<(), LoadFailure> {
        let pins = self.loaded.pin_all(kernel, dir, &mut self.links);
        self.pins = Some(pins.map_err(|cause| LoadFailure::Attach { stage: "pin", cause })?);
        self.loaded.pin_maps(kernel)?;
        let new_maps = self.loaded.maps().iter().filter(|map| !map.is_reused());
        self.named_pins = new_maps.filter_map(|map| map.pin_path().map(Path::to_path_buf)).collect();
        Ok(())
    }

    /// Detaches the programs, and returns the errors.
    pub(crate) fn detach(mut self) -> Vec<AttachError> {
        mem::take(&mut self.links).into_iter().filter_map(|link| link.detach().err()).collect()
    }

    /// Closes the descriptors of pinned programs and maps.
    pub(crate) fn close(&mut self) {
        drop(mem::take(&mut self.loaded));
    }

    /// Leaves everything in the kernel. The pins keep it; the kernel itself keeps a struct_ops map without a link.
    pub(crate) fn leak(mut self) {
        self.pins = None;
        self.named_pins.clear();
        mem::take(&mut self.links).into_iter().for_each(Link::leak);
    }
}

impl Drop for LoadedObject {
    fn drop(&mut self) {
        if let Some(pins) = self.pins.take() {
            pins.remove(&mut self.links);
        }
        for path in &self.named_pins {
            log::warn!("the pin {} stays: other processes may use it", escape_path(path));
        }
    }
}
