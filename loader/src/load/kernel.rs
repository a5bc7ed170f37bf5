//! What a load asks of a kernel, one method for each kind of request: the running kernel, or a test's stand-in.

use crate::{
    maps::{Arena, MapError},
    sys::{self, BtfLoad, Errno, MapCreate, MapFd, MapInfo, MapShape, ProgLoad},
};
use std::{
    fs::File,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

/// A kernel that loads.
///
/// Each method is one request. A test's kernel can refuse any of them, to see that nothing is left behind.
pub trait Kernel {
    /// Opens a bpffs and makes a BPF token of it.
    fn token(&self, bpffs: &Path) -> Result<OwnedFd, Errno>;
    /// Lifts the limit on locked memory.
    fn raise_memlock_limit(&self) -> Result<(), Errno>;
    /// Loads BTF; what the kernel has against it goes to `log`.
    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno>;
    /// Opens a BTF of the kernel's, as a module's.
    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno>;
    /// Makes a map.
    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno>;
    /// Says what a map is; `EINVAL` of what is none.
    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno>;
    /// Writes an element.
    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno>;
    /// Keeps user space from writing a map from now on.
    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Maps an arena into memory and writes `data` at `offset`. Programs that use it can be loaded from then on. None, if this
    /// kernel is a stand-in without memory.
    fn arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno>;
    /// Another descriptor of the same thing.
    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno>;
    /// Loads a program; the verifier's words go to `log`.
    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno>;
    /// Lets a program hold a map.
    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Gives something a name below bpffs.
    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno>;
    /// Opens what is pinned.
    fn pinned(&self, path: &Path) -> Result<OwnedFd, Errno>;
    /// Removes a pin.
    fn unpin(&self, path: &Path) -> Result<(), Errno>;
    /// Makes a folder for pins, for its owner only; says whether it was missing. A stand-in has all folders.
    fn make_folder(&self, _path: &Path) -> Result<bool, Errno> {
        Ok(false)
    }
    /// Removes a folder that was made for pins, if it is empty.
    fn remove_folder(&self, _path: &Path) {}
}

/// The running kernel.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "callers name it: `load(&plan, &Running)`")]
pub struct Running;

impl Kernel for Running {
    fn token(&self, bpffs: &Path) -> Result<OwnedFd, Errno> {
        sys::token_create(File::open(bpffs).map_err(|e| Errno::of(&e))?)
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        sys::raise_memlock_limit()
    }

    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        sys::btf_load(btf, log)
    }

    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno> {
        sys::btf_fd_by_id(id)
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        sys::map_create(map)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        sys::map_info(&map)
    }

    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        sys::map_update(MapShape::of(&map)?, key, value, 0)
    }

    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno> {
        sys::map_freeze(map)
    }

    fn arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno> {
        let errno = |e: MapError| match e {
            MapError::Kernel { errno, .. } => errno,
            other => {
                log::warn!("{other}");
                Errno(libc::EINVAL)
            }
        };
        let arena = Arena::new(MapFd::new(self.duplicate(map)?)?).map_err(errno)?;
        if !data.is_empty() {
            arena.write_bytes(offset, data).map_err(errno)?;
        }
        Ok(Some(arena))
    }

    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        fd.try_clone_to_owned().map_err(|e| Errno::of(&e))
    }

    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        sys::prog_load(prog, log)
    }

    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno> {
        sys::prog_bind_map(prog, map)
    }

    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno> {
        sys::obj_pin(object, path)
    }

    fn pinned(&self, path: &Path) -> Result<OwnedFd, Errno> {
        sys::obj_get(path, 0)
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        std::fs::remove_file(path).map_err(|e| Errno::of(&e))
    }

    fn make_folder(&self, path: &Path) -> Result<bool, Errno> {
        sys::make_pin_folder(path)
    }

    fn remove_folder(&self, path: &Path) {
        if let Err(e) = std::fs::remove_dir(path) {
            log::debug!("{} stays: {e}", path.display());
        }
    }
}
