//! A loaded object with all that the command made for it.

use crate::interrupt::Interruptible;
use core_relo_loader::{
    attach::{AttachError, Link},
    load::{LoadError, Loaded, Pins},
};
use std::path::Path;

/// A loaded object, its links and its pins. Dropping it undoes all of it, but for pins of maps that the object itself asks for,
/// which other processes may use.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) links: Vec<Link>,
    pub(crate) loaded: Loaded,
    pins: Option<Pins>,
}

/// Why an object is not kept.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The object is not loaded, or its maps are not pinned.
    Load(LoadError),
    /// Attaching or pinning failed.
    Attach { stage: &'static str, cause: AttachError },
    /// A signal arrived between two steps.
    Interrupted,
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl Kept {
    pub(crate) const fn new(loaded: Loaded) -> Self {
        Self { links: Vec::new(), loaded, pins: None }
    }

    /// Attaches the programs whose sections say to what.
    pub(crate) fn attach(&mut self, kernel: &Interruptible<'_>) -> Result<(), Failure> {
        let mut attached = self.loaded.attach_each();
        while !kernel.look() {
            match attached.next() {
                None => return Ok(()),
                Some(Ok(link)) => self.links.push(link),
                Some(Err(cause)) => return Err(Failure::Attach { stage: "attach", cause }),
            }
        }
        Err(Failure::Interrupted)
    }

    /// Pins everything below a folder, then the maps where the object wants them.
    pub(crate) fn pin(&mut self, kernel: &Interruptible<'_>, folder: &Path) -> Result<(), Failure> {
        let pins = self.loaded.pin_all(kernel, folder, &mut self.links);
        self.pins = Some(pins.map_err(|cause| Failure::Attach { stage: "pin", cause })?);
        Ok(self.loaded.pin_maps(kernel)?)
    }

    /// Detaches the programs, and returns what went wrong with that.
    pub(crate) fn detach(mut self) -> Vec<AttachError> {
        core::mem::take(&mut self.links).into_iter().filter_map(|link| link.detach().err()).collect()
    }

    /// Closes what the pins keep.
    pub(crate) fn close(&mut self) {
        drop(core::mem::take(&mut self.loaded));
    }

    /// Leaves everything behind: the pins keep it, or (struct_ops without a link) the kernel does.
    pub(crate) fn leave(mut self) {
        self.pins = None;
        core::mem::take(&mut self.links).into_iter().for_each(Link::leak);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(pins) = self.pins.take() {
            pins.remove(&mut self.links);
        }
    }
}
