//! [`Loaded`]: the maps and programs of a loaded object.

use super::{
    error::RemainingPins,
    kernel::{Kernel, RunningKernel},
    verifier_stats::VerifierStats,
};
use crate::{
    limits::STREAM_BYTES,
    maps::Arena,
    sys::{self, Errno, MapFd, StreamId, TestRun, TestRunResult},
};
use core::fmt;
use core_relo_object::{
    ModuleIndex,
    globals::{Global, ObjectTypes},
    load_plan::{MapPlan, ProgramPlan},
};
use std::{
    collections::HashMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

/// A loaded object, which owns the descriptors of its maps and programs. Dropping it leaves only pins and
/// attached links behind.
#[derive(Debug, Default)]
#[must_use = "dropping it unloads"]
#[non_exhaustive]
pub struct Loaded {
    pub(super) name: String,
    pub(super) btf: Option<OwnedFd>,
    /// The reason why the kernel refused the object's BTF. Errors of later steps report the reason too.
    pub(super) btf_refusal: Option<String>,
    pub(super) maps: Vec<LoadedMap>,
    pub(super) programs: Vec<LoadedProgram>,
    /// The BTF of modules, which attaching may need.
    pub(super) modules: Vec<OwnedFd>,
    pub(super) token: Option<OwnedFd>,
    pub(super) globals: Vec<Global>,
    pub(super) types: ObjectTypes,
    /// The directories that this load created for its pins.
    pub(super) dirs: Vec<PathBuf>,
    #[cfg(feature = "usdt")]
    pub(super) usdt: std::sync::OnceLock<Option<crate::attach::UsdtManager>>,
    /// The plan for attaching USDT probes.
    #[cfg(feature = "usdt")]
    pub(super) usdt_plan: Option<core_relo_object::load_plan::UsdtPlan>,
}

/// A map of a loaded object.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedMap {
    /// The plan of the map. If the caller provided the map, the plan has the properties of the caller's map.
    pub plan: MapPlan,
    pub(super) fd: Option<OwnedFd>,
    pub(super) is_reused: bool,
    pub(super) arena: Option<Arena>,
    pub(super) pin_state: PinState,
}

/// The state of a map's pin at the path in the map's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PinState {
    /// The map is not pinned there.
    Unpinned,
    /// An earlier load, or another process, created the pin. This load opened it.
    Existing,
    /// This load created the pin.
    Created,
}

/// A program of a loaded object.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedProgram {
    /// The plan of the program.
    pub plan: ProgramPlan,
    pub(super) fd: OwnedFd,
    /// The verifier's log; empty with a log level of 0.
    pub log: String,
}

impl Loaded {
    /// Returns the object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the maps in libbpf's order, including maps that were not created.
    pub fn maps(&self) -> &[LoadedMap] {
        &self.maps
    }

    /// Finds a map by name. The name of a data map is the name of its section.
    pub fn map(&self, name: &str) -> Option<&LoadedMap> {
        self.maps.iter().find(|m| m.plan.name() == name)
    }

    /// Returns the programs that were loaded.
    pub fn programs(&self) -> &[LoadedProgram] {
        &self.programs
    }

    /// Finds a program by name.
    pub fn program(&self, name: &str) -> Option<&LoadedProgram> {
        self.programs.iter().find(|p| p.plan.name() == name)
    }

    /// Returns the descriptor of the object's BTF, if the kernel has loaded it.
    pub fn btf(&self) -> Option<BorrowedFd<'_>> {
        self.btf.as_ref().map(AsFd::as_fd)
    }

    /// Returns the reason why the kernel refused the object's BTF. The object is then loaded without BTF:
    /// maps have no types, and programs have no source lines.
    pub fn btf_refusal(&self) -> Option<&str> {
        self.btf_refusal.as_deref()
    }

    /// Returns the BPF token that the object was loaded with.
    pub fn token(&self) -> Option<BorrowedFd<'_>> {
        self.token.as_ref().map(AsFd::as_fd)
    }

    /// Returns the BTF of a kernel module, by the module's index in the plan.
    pub fn module(&self, module: ModuleIndex) -> Option<BorrowedFd<'_>> {
        self.modules.get(module.0).map(AsFd::as_fd)
    }

    /// Adopts the pins of an earlier attempt that failed with
    /// [`LoadError::PinTaken`](super::LoadError::PinTaken). They then count as created by this load.
    ///
    /// A pin is not adopted if another process has replaced it by a pin of another map.
    pub fn adopt_pins(&mut self, remaining: &RemainingPins, kernel: &impl Kernel) {
        let ids: HashMap<&Path, u32> = remaining.pins.iter().map(|(path, id)| (&**path, *id)).collect();
        for map in self.maps.iter_mut().filter(|m| m.pin_state == PinState::Existing) {
            let (Some(path), Some(fd)) = (map.plan.pin(), &map.fd) else { continue };
            let Some(adopted_id) = ids.get(path) else { continue };
            if kernel.map_info(fd.as_fd()).is_ok_and(|info| info.id == *adopted_id) {
                (map.pin_state, map.is_reused) = (PinState::Created, false);
            }
        }
        self.dirs.extend_from_slice(&remaining.dirs);
    }

    /// Removes the map pins that this load created (libbpf: `bpf_object__unpin_maps`), and the directories
    /// that it created for the pins, if they are empty. Pins of earlier loads stay. So does a pin that
    /// another process has replaced by a pin of another map.
    ///
    /// Processes that opened a removed pin keep the map. Later processes get a new map. No other call removes
    /// a pin that a load created.
    pub fn unpin_maps(&mut self) {
        for map in self.maps.iter_mut().filter(|m| m.pin_state == PinState::Created) {
            map.pin_state = PinState::Unpinned;
            let (Some(path), Some(fd)) = (map.plan.pin(), &map.fd) else { continue };
            if let Err(errno) = unpin_map(path, fd) {
                log::warn!("map {}: the pin {} stays: {errno}", map.plan.name(), path.display());
            }
        }
        self.dirs.drain(..).rev().for_each(|dir| RunningKernel.remove_dir(&dir));
    }
}

/// Removes the pin of a map. Fails with `EEXIST` if the path is the pin of another map.
fn unpin_map(path: &Path, map: &OwnedFd) -> Result<(), Errno> {
    let pinned = RunningKernel.open_pin(path)?;
    if sys::MapInfo::query(&pinned)?.id == sys::MapInfo::query(map)?.id {
        RunningKernel.unpin(path)
    } else {
        Err(Errno(libc::EEXIST))
    }
}

impl LoadedMap {
    pub(super) const fn new(plan: MapPlan) -> Self {
        Self { plan, fd: None, is_reused: false, arena: None, pin_state: PinState::Unpinned }
    }

    /// Returns the map's name. The name of a data map is the name of its section.
    pub fn name(&self) -> &str {
        self.plan.name()
    }

    /// Returns the map's descriptor, if the map was created.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Duplicates the descriptor for use with [`maps`](crate::maps). Returns `ENOENT` if the map was not
    /// created.
    pub fn handle(&self) -> Result<MapFd, Errno> {
        let fd = self.fd.as_ref().ok_or(Errno(libc::ENOENT))?;
        let map = MapFd::new(fd.try_clone().map_err(|e| Errno::from_io_error(&e))?)?;
        Ok(map.with_name(self.name()))
    }

    /// Returns whether the map existed before the load: a pinned map, or a map of the caller.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Returns the path of the map's pin, which this load or an earlier one created.
    pub fn pin_path(&self) -> Option<&Path> {
        self.plan.pin().filter(|_| self.pin_state != PinState::Unpinned)
    }

    /// Returns the arena in this process's memory, if the map is an arena.
    pub fn arena(&self) -> Option<&Arena> {
        self.arena.as_ref()
    }
}

impl LoadedProgram {
    /// Returns the program's name.
    pub fn name(&self) -> &str {
        self.plan.name()
    }

    /// Returns the verifier's statistics. A load with log level 4 has all values; without a log, only the
    /// number of instructions is known, from Linux 5.16 on.
    pub fn verifier_stats(&self) -> VerifierStats {
        let mut stats = VerifierStats::from_log(&self.log);
        // Older kernels leave 0.
        let verified_insns =
            sys::ProgramInfo::query(self).ok().map(|info| info.verified_insns).filter(|n| *n > 0);
        stats.verified_insns = verified_insns.map(u64::from).or(stats.verified_insns);
        stats
    }

    /// Runs the program once, or as often as the request says (`BPF_PROG_TEST_RUN`).
    pub fn test_run(&self, run: &mut TestRun<'_>) -> Result<TestRunResult, Errno> {
        sys::test_run(self, run)
    }

    /// Reads what the program wrote to a stream since the last read: `bpf_stream_vprintk` writes to
    /// [`StreamId::Stdout`], the kernel's reports of faults are in [`StreamId::Stderr`] (kernels from 6.17;
    /// `EINVAL` on older ones).
    ///
    /// Returns at most 1 MiB, so that a program that never stops writing does not keep the caller. The kernel
    /// holds 100,000 bytes and drops what does not fit.
    pub fn read_stream(&self, stream: StreamId) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        let mut part = [0; 4096];
        while text.len() < STREAM_BYTES {
            let count = sys::read_stream(self, stream, &mut part)?;
            let read = part.get(..count).filter(|read| !read.is_empty());
            let Some(read) = read else { break };
            text.extend_from_slice(read);
        }
        Ok(text)
    }

    /// Associates the program with a struct_ops map, which kfuncs of the map's subsystem then use (kernels
    /// from 7.0; libbpf: `bpf_program__assoc_struct_ops`). The programs of the map itself are associated with
    /// it already.
    ///
    /// Fails with `EINVAL` for a program or map of another type, and on older kernels. Fails with `EBUSY` if
    /// the program is associated with another map.
    pub fn associate_struct_ops(&self, map: impl AsFd) -> Result<(), Errno> {
        sys::prog_assoc_struct_ops(self, map)
    }
}

impl AsFd for LoadedProgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Display for LoadedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", core_relo::Escaped(self.plan.name()))
    }
}
