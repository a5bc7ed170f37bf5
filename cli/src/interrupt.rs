//! The running kernel, which gets no further request once a signal asks the command to end.

use core_relo_loader::{
    load::{Kernel, RunningKernel},
    maps::Arena,
    sys::{BtfLoad, Errno, MapCreate, MapInfo, ProgLoad},
};
use std::{
    cell::{Cell, RefCell},
    fmt,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

/// The running kernel until a signal arrives. Later requests fail with `EINTR`, so that the load stops and is undone.
///
/// Requests that undo something are always passed on. So are the renames that make pins of maps visible: no pin that is visible
/// is removed, so a load that began with them is finished.
pub(crate) struct Interruptible<'s> {
    has_arrived: RefCell<&'s mut dyn FnMut() -> bool>,
    is_interrupted: Cell<bool>,
}

impl<'s> Interruptible<'s> {
    /// `has_arrived` returns whether a signal has arrived.
    pub(crate) fn new(has_arrived: &'s mut dyn FnMut() -> bool) -> Self {
        Self { has_arrived: RefCell::new(has_arrived), is_interrupted: Cell::new(false) }
    }

    /// Looks for a signal before the next step, and returns whether the command has to stop.
    pub(crate) fn look(&self) -> bool {
        if !self.is_interrupted.get() {
            self.is_interrupted.set((*self.has_arrived.borrow_mut())());
        }
        self.is_interrupted.get()
    }

    /// Whether a step was refused because of a signal. A signal that nobody has looked for yet does not count.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.get()
    }

    fn request<T>(&self, request: impl FnOnce(RunningKernel) -> T) -> Result<T, Errno> {
        if self.look() { Err(INTERRUPTED) } else { Ok(request(RunningKernel)) }
    }
}

/// `EINTR`
const INTERRUPTED: Errno = Errno(4);

impl fmt::Debug for Interruptible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interruptible").field("is_interrupted", &self.is_interrupted).finish_non_exhaustive()
    }
}

impl Kernel for Interruptible<'_> {
    fn create_token(&self, bpffs: &Path) -> Result<OwnedFd, Errno> {
        self.request(|k| k.create_token(bpffs))?
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        self.request(|k| k.raise_memlock_limit())?
    }

    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        self.request(|k| k.btf_load(btf, log))?
    }

    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno> {
        self.request(|k| k.btf_by_id(id))?
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        self.request(|k| k.map_create(map))?
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        self.request(|k| k.map_info(map))?
    }

    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.request(|k| k.map_update(map, key, value))?
    }

    fn map_fill(&self, map: BorrowedFd<'_>, elements: &[(u32, u32)]) -> Result<(), (u32, Errno)> {
        let first = elements.first().map_or(0, |(key, _)| *key);
        self.request(|k| k.map_fill(map, elements)).map_err(|errno| (first, errno))?
    }

    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.request(|k| k.map_freeze(map))?
    }

    fn map_arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno> {
        self.request(|k| k.map_arena(map, offset, data))?
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        self.request(|k| k.duplicate(fd))?
    }

    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        self.request(|k| k.prog_load(prog, log))?
    }

    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno> {
        self.request(|k| k.prog_bind_map(prog, map))?
    }

    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        self.request(|k| k.pin(object, path))?
    }

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.request(|k| k.open_pin(path))?
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        RunningKernel.rename_pin(from, to)
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        RunningKernel.unpin(path)
    }

    fn make_folder(&self, path: &Path) -> Result<bool, Errno> {
        self.request(|k| k.make_folder(path))?
    }

    fn remove_folder(&self, path: &Path) {
        RunningKernel.remove_folder(path);
    }
}
