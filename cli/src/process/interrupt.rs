//! Access to the running kernel that stops when a termination signal arrives.

use core_relo_loader::{
    Errno,
    inventory::MapInfo,
    load::{BtfLoad, Kernel, MapCreate, ProgLoad, RunningKernel},
    maps::Arena,
    object::MapType,
};
use std::{
    cell::{Cell, RefCell},
    fmt,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

/// The running kernel until a signal arrives. Later requests fail with `EINTR`, so that the load stops and is
/// undone.
///
/// Requests that undo something always reach the kernel. So do the renames that make map pins visible: a
/// visible pin is never removed, so a load that has made one visible is completed.
pub(crate) struct InterruptibleKernel<'s> {
    has_arrived: RefCell<&'s mut dyn FnMut() -> bool>,
    is_interrupted: Cell<bool>,
}

impl<'s> InterruptibleKernel<'s> {
    /// Creates the access. `has_arrived` returns whether a signal has arrived.
    pub(crate) fn new(has_arrived: &'s mut dyn FnMut() -> bool) -> Self {
        Self { has_arrived: RefCell::new(has_arrived), is_interrupted: Cell::new(false) }
    }

    /// Checks for a signal, and returns whether the command has to stop.
    pub(crate) fn check_interrupted(&self) -> bool {
        if !self.is_interrupted.get() {
            self.is_interrupted.set((*self.has_arrived.borrow_mut())());
        }
        self.is_interrupted.get()
    }

    /// Returns whether a check has found a signal. It does not check again.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted.get()
    }

    fn request<T>(&self, request: impl FnOnce(RunningKernel) -> T) -> Result<T, Errno> {
        if self.check_interrupted() { Err(INTERRUPTED) } else { Ok(request(RunningKernel)) }
    }
}

/// `EINTR`.
const INTERRUPTED: Errno = Errno(4);

impl fmt::Debug for InterruptibleKernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterruptibleKernel")
            .field("is_interrupted", &self.is_interrupted)
            .finish_non_exhaustive()
    }
}

impl Kernel for InterruptibleKernel<'_> {
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

    fn map_refusal(&self, map: &MapCreate<'_>) -> Option<String> {
        self.request(|k| k.map_refusal(map)).ok()?
    }

    fn has_map_type(&self, map_type: MapType) -> Option<bool> {
        self.request(|k| k.has_map_type(map_type)).ok()?
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

    fn make_dir(&self, path: &Path) -> Result<bool, Errno> {
        self.request(|k| k.make_dir(path))?
    }

    fn remove_dir(&self, path: &Path) {
        RunningKernel.remove_dir(path);
    }
}
