//! What a load left in the kernel, owned.

use super::{
    error::RemainingPins,
    kernel::{Kernel, Running},
};
use crate::{
    Global,
    globals::ObjectTypes,
    load_plan::{MapPlan, ProgramPlan},
    maps::Arena,
    sys::{self, Errno, MapFd},
};
use core::fmt;
use core_relo_object::ModuleIndex;
use std::{
    collections::HashMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// A loaded object: it owns every descriptor, and dropping it leaves nothing behind but what was pinned or attached apart.
#[derive(Debug, Default)]
#[must_use = "dropping it unloads"]
#[non_exhaustive]
pub struct Loaded {
    pub(super) name: String,
    pub(super) btf: Option<OwnedFd>,
    pub(super) maps: Vec<LoadedMap>,
    pub(super) programs: Vec<LoadedProgram>,
    /// Modules' BTF, which attachments may need.
    pub(super) modules: Vec<OwnedFd>,
    pub(super) token: Option<OwnedFd>,
    pub(super) globals: Vec<Global>,
    pub(super) types: ObjectTypes,
    /// Folders this load made for its pins.
    pub(super) folders: Vec<PathBuf>,
    #[cfg(feature = "usdt")]
    pub(super) usdt: std::sync::OnceLock<Option<crate::attach::UsdtManager>>,
    /// How it was planned that its USDT probes are attached.
    #[cfg(feature = "usdt")]
    pub(super) usdt_plan: Option<crate::load_plan::UsdtPlan>,
}

/// A map of a loaded object.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedMap {
    /// How it was planned.
    pub plan: MapPlan,
    pub(super) fd: Option<OwnedFd>,
    pub(super) is_reused: bool,
    pub(super) arena: Option<Arena>,
    pub(super) pin_state: PinState,
}

/// Whether a map is pinned at the path that its plan names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PinState {
    /// The map is not pinned there.
    Unpinned,
    /// The load opened the pin of another load.
    Found,
    /// The load made the pin.
    Made,
}

/// A program of a loaded object.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedProgram {
    /// How it was planned.
    pub plan: ProgramPlan,
    pub(super) fd: OwnedFd,
    /// What the verifier said of it, if it was asked to.
    pub log: String,
}

impl Loaded {
    /// The object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its maps, in libbpf's order, those that were not created included.
    pub fn maps(&self) -> &[LoadedMap] {
        &self.maps
    }

    /// The map of a name; data maps go by their section's.
    pub fn map(&self, name: &str) -> Option<&LoadedMap> {
        self.maps.iter().find(|m| m.plan.name == name)
    }

    /// Its programs that were loaded.
    pub fn programs(&self) -> &[LoadedProgram] {
        &self.programs
    }

    /// The program of a name.
    pub fn program(&self, name: &str) -> Option<&LoadedProgram> {
        self.programs.iter().find(|p| p.plan.name == name)
    }

    /// Its types in the kernel.
    pub fn btf(&self) -> Option<BorrowedFd<'_>> {
        self.btf.as_ref().map(AsFd::as_fd)
    }

    /// The BPF token it was loaded with.
    pub fn token(&self) -> Option<BorrowedFd<'_>> {
        self.token.as_ref().map(AsFd::as_fd)
    }

    /// Returns the BTF of a module of the plan.
    pub fn module(&self, module: ModuleIndex) -> Option<BorrowedFd<'_>> {
        self.modules.get(module.0).map(AsFd::as_fd)
    }

    /// Makes pins that remain of an earlier attempt pins of this load, which found them (see [`LoadError::PinTaken`](super::LoadError::PinTaken)).
    ///
    /// A pin that is of another map by now stays another load's pin.
    pub fn adopt_pins(&mut self, remaining: &RemainingPins, kernel: &impl Kernel) {
        let ids: HashMap<&Path, u32> = remaining.pins.iter().map(|(path, id)| (&**path, *id)).collect();
        for map in self.maps.iter_mut().filter(|m| m.pin_state == PinState::Found) {
            let (Some(path), Some(fd)) = (&map.plan.pin, &map.fd) else { continue };
            let Some(made) = ids.get(&**path) else { continue };
            if kernel.map_info(fd.as_fd()).is_ok_and(|info| info.id == *made) {
                (map.pin_state, map.is_reused) = (PinState::Made, false);
            }
        }
        self.folders.extend_from_slice(&remaining.folders);
    }

    /// Removes the pins of maps that this load made, and the folders it made for them, if they are empty (libbpf:
    /// `bpf_object__unpin_maps`). Pins that the load found stay, and so do pins of other maps that have the path by now.
    ///
    /// Processes that opened such a pin keep their map, but later ones get a new map. Nothing else removes a pin that a load made.
    pub fn unpin_maps(&mut self) {
        for map in self.maps.iter_mut().filter(|m| m.pin_state == PinState::Made) {
            map.pin_state = PinState::Unpinned;
            let (Some(path), Some(fd)) = (&map.plan.pin, &map.fd) else { continue };
            if let Err(errno) = unpin_map(path, fd) {
                log::warn!("map {}: its pin {} stays: {errno}", map.plan.name, path.display());
            }
        }
        self.folders.drain(..).rev().for_each(|folder| Running.remove_folder(&folder));
    }
}

/// Removes a pin, if it is the map's; `EEXIST` if it is another map's.
fn unpin_map(path: &Path, map: &OwnedFd) -> Result<(), Errno> {
    let pinned = Running.open_pin(path)?;
    if sys::map_info(&pinned)?.id == sys::map_info(map)?.id {
        Running.unpin(path)
    } else {
        Err(Errno(libc::EEXIST))
    }
}

impl LoadedMap {
    pub(super) const fn new(plan: MapPlan) -> Self {
        Self { plan, fd: None, is_reused: false, arena: None, pin_state: PinState::Unpinned }
    }

    /// Its name: of a data map its section's.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Its descriptor, if it was created.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// A handle of its own, with the sizes of its elements; `ENOENT` if the map was not created.
    pub fn handle(&self) -> Result<MapFd, Errno> {
        let fd = self.fd.as_ref().ok_or(Errno(libc::ENOENT))?;
        let map = MapFd::new(fd.try_clone().map_err(|e| Errno::from_io_error(&e))?)?;
        Ok(map.with_name(self.name()))
    }

    /// Whether the map existed before the load: it was pinned, or is a map of the caller.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// The path that the map is pinned at, by this load or an earlier one.
    pub fn pin_path(&self) -> Option<&Path> {
        self.plan.pin.as_deref().filter(|_| self.pin_state != PinState::Unpinned)
    }

    /// The arena in this process's memory, if it is one.
    pub fn arena(&self) -> Option<&Arena> {
        self.arena.as_ref()
    }
}

impl LoadedProgram {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }
}

impl AsFd for LoadedProgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Display for LoadedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", core_relo::Escaped(&self.plan.name))
    }
}
