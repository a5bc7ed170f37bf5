//! A loaded object with its links and pins, which are undone together.

use crate::{
    args::load::AttachRequest,
    attach_point::{explain_refusal, may_use_traffic_control},
    error::{BadInput, escape_path},
    events::{EventReaders, EventSource},
    process::interrupt::InterruptibleKernel,
};
use core_relo_loader::{
    Errno,
    attach::{AttachError, Link},
    attach_point::PointProgram,
    inventory::ProgramInfo,
    load::{LoadError, Loaded, LoadedMap, Pins},
};
use std::{
    convert::Infallible,
    mem,
    path::{Path, PathBuf},
};

/// A loaded object, its links and its pins. Dropping it removes all of them, except for the pins of maps that
/// the object itself names: other processes may use those. A warning names each pin that stays.
#[derive(Debug)]
pub(crate) struct LoadedObject {
    pub(crate) links: Vec<Link>,
    pub(crate) loaded: Loaded,
    /// Whether the object is loaded by its variants.
    pub(crate) is_adaptive: bool,
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
        Self {
            links: Vec::new(),
            loaded,
            is_adaptive: false,
            events: None,
            pins: None,
            named_pins: Vec::new(),
        }
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

    /// Attaches programs to the attach points that the user names.
    pub(crate) fn attach_to<'r>(
        &mut self,
        kernel: &InterruptibleKernel<'_>,
        requests: impl IntoIterator<Item = &'r AttachRequest>,
    ) -> Result<(), LoadFailure> {
        for request in requests {
            if kernel.check_interrupted() {
                return Err(LoadFailure::Interrupted);
            }
            let links = self.attach_one(request);
            self.links.extend(links.map_err(|cause| LoadFailure::Attach { stage: "attach", cause })?);
        }
        Ok(())
    }

    fn attach_one(
        &self,
        AttachRequest { program: name, point }: &AttachRequest,
    ) -> Result<Vec<Link>, AttachError> {
        let missing = || AttachError::target(format!("program `{name}`"), "it is not loaded");
        let program = self.loaded.program(name).ok_or_else(missing)?;
        let open_map = |map: &str| {
            let missing = "the object has no such map, or it was not created";
            let fd = self.loaded.map(map).and_then(LoadedMap::fd);
            let fd = fd.ok_or_else(|| AttachError::target(format!("map `{map}`"), missing))?;
            fd.try_clone_to_owned().map_err(|e| AttachError::target(format!("map `{map}`"), e.to_string()))
        };
        let to_attach = self.loaded.program_ref(name)?;
        let attached = PointProgram {
            program: to_attach,
            point,
            open_map: &open_map,
            may_use_traffic_control: may_use_traffic_control(to_attach.attach_type, self.is_adaptive),
        };
        let links = attached.attach_by_link();
        let links = links.map_err(|e| {
            let programs = self.loaded.programs().iter();
            let loaded =
                programs.filter_map(|program| Some((ProgramInfo::query(program).ok()?.id, program.name())));
            explain_refusal(e, &attached, &loaded.collect::<Vec<_>>())
        });
        links.map_err(|cause| AttachError::Program {
            program: name.as_str().into(),
            section: program.plan.section().into(),
            cause: Box::new(cause),
        })
    }

    /// Returns the reason why attaching failed: that the pins of this load exist, if an attach point is
    /// taken, or else the error itself.
    pub(crate) fn explain_taken(&self, failure: LoadFailure, dir: &Path) -> LoadFailure {
        let is_taken = |e: &AttachError| matches!(e.errno(), Some(Errno::EBUSY | Errno::EEXIST));
        match failure {
            LoadFailure::Attach { cause, .. } if is_taken(&cause) => match self.loaded.check_pins(dir) {
                Err(cause) => LoadFailure::Attach { stage: "pin", cause },
                Ok(()) => LoadFailure::Attach { stage: "attach", cause },
            },
            failure => failure,
        }
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

    /// Leaves everything in the kernel. The pins keep it; the kernel itself keeps a struct_ops map without a
    /// link.
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
