//! [`Kernel`]: the requests of a load to the kernel, one method each.

use super::verifier::log_text;
use crate::{
    features::Prober,
    maps::{Arena, MapError},
    sys::{self, Errno, MapFd, MapShape, Pod as _},
};
use core_relo_object::object::MapType;
use std::{
    fs::OpenOptions,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::Path,
};

pub use crate::sys::{BtfLoad, MapCreate, MapInfo, ProgLoad};

/// The size of the log of a map's creation. The kernel writes one line.
const MAP_LOG_BYTES: usize = 4096;

/// A kernel that executes the requests of a load, usually [`RunningKernel`].
///
/// Each method is one request. A kernel for tests can refuse any request, to check that a failed load leaves
/// nothing behind.
pub trait Kernel {
    /// Opens a bpffs and creates a BPF token from it.
    fn create_token(&self, bpffs: &Path) -> Result<OwnedFd, Errno>;
    /// Raises the limit on locked memory.
    fn raise_memlock_limit(&self) -> Result<(), Errno>;
    /// Loads BTF. The kernel explains a refusal in `log`.
    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno>;
    /// Opens a BTF object of the kernel by id, such as a module's.
    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno>;
    /// Creates a map.
    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno>;
    /// Returns the kernel's reason why it refuses a map, if the kernel has common attributes
    /// (`BPF_COMMON_ATTRS`: Linux 7.2, not 6.18).
    ///
    /// The default implementation, for tests, knows no reason.
    fn map_refusal(&self, _map: &MapCreate<'_>) -> Option<String> {
        None
    }
    /// Returns whether the kernel has a map type, to explain why it refuses a map. Returns `None` if nothing
    /// tells.
    ///
    /// The default implementation, for tests, does not know.
    fn has_map_type(&self, _map_type: MapType) -> Option<bool> {
        None
    }
    /// Returns a map's properties. Fails with `EINVAL` if the descriptor is not a map's.
    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno>;
    /// Writes an element.
    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno>;
    /// Writes elements with keys and values of four bytes, in order. An error comes with the key of the
    /// element.
    fn map_fill(&self, map: BorrowedFd<'_>, elements: &[(u32, u32)]) -> Result<(), (u32, Errno)> {
        let mut elements = elements.iter();
        elements.try_for_each(|(key, value)| {
            self.map_update(map, key.as_bytes(), value.as_bytes()).map_err(|errno| (*key, errno))
        })
    }
    /// Makes a map read-only for user space.
    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Maps an arena into memory and writes `data` at `offset`. The kernel refuses programs that use an arena
    /// without a mapping.
    ///
    /// A kernel for tests, whose maps have no memory, returns `None`.
    fn map_arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno>;
    /// Duplicates a descriptor.
    fn duplicate(&self, fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno>;
    /// Loads a program. The verifier writes to `log`.
    fn prog_load(&self, prog: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno>;
    /// Binds a map to a program, so that the map lives as long as the program.
    fn prog_bind_map(&self, prog: BorrowedFd<'_>, map: BorrowedFd<'_>) -> Result<(), Errno>;
    /// Pins a program, map or link in a bpffs.
    fn pin(&self, object: BorrowedFd<'_>, path: &Path) -> Result<(), Errno>;
    /// Opens a pinned program, map or link.
    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno>;
    /// Renames a pin in the same bpffs. Fails with `EEXIST` if `to` exists.
    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno>;
    /// Removes a pin.
    fn unpin(&self, path: &Path) -> Result<(), Errno>;
    /// Creates a directory for pins, to which only its owner has access. Returns `false` if the directory
    /// exists.
    ///
    /// The default implementation, for tests, reports that every directory exists.
    fn make_dir(&self, _path: &Path) -> Result<bool, Errno> {
        Ok(false)
    }
    /// Removes a directory for pins, if the directory is empty.
    fn remove_dir(&self, _path: &Path) {}
}

/// The running kernel.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "callers name it: `execute(&plan, &RunningKernel)`")]
pub struct RunningKernel;

impl Kernel for RunningKernel {
    fn create_token(&self, bpffs: &Path) -> Result<OwnedFd, Errno> {
        // O_DIRECTORY keeps the call from opening a pipe, which may wait, or a device, which may have side
        // effects.
        let dir = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(bpffs);
        sys::token_create(dir.map_err(|e| Errno::from_io_error(&e))?)
    }

    fn raise_memlock_limit(&self) -> Result<(), Errno> {
        sys::raise_memlock_limit()
    }

    fn btf_load(&self, btf: &BtfLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        sys::btf_load(btf, log)
    }

    fn btf_by_id(&self, id: u32) -> Result<OwnedFd, Errno> {
        sys::ObjectKind::Btf.open(id)
    }

    fn map_create(&self, map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
        sys::map_create(map)
    }

    fn map_refusal(&self, map: &MapCreate<'_>) -> Option<String> {
        let mut log = vec![0; MAP_LOG_BYTES];
        // The request is refused again, since nothing has changed. A map that is created after all is
        // dropped.
        let refused = sys::map_create_log(map, &mut log).is_err();
        let text = log_text(&log).trim().to_owned();
        (refused && !text.is_empty()).then_some(text)
    }

    fn has_map_type(&self, map_type: MapType) -> Option<bool> {
        Prober::new().map_type(map_type).ok().map(|probed| probed.is_supported)
    }

    fn map_info(&self, map: BorrowedFd<'_>) -> Result<MapInfo, Errno> {
        Ok(MapInfo::query(&map)?)
    }

    fn map_update(&self, map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Errno> {
        MapShape::query(&map)?.update(key, value, 0)
    }

    /// Writes all elements in one request, if the kernel can (5.6; for maps of maps 5.13).
    ///
    /// After an update of a map of maps, the kernel waits until no running program can use the old element,
    /// about 10 ms. Since 6.8 it waits once per request, not once per element.
    fn map_fill(&self, map: BorrowedFd<'_>, elements: &[(u32, u32)]) -> Result<(), (u32, Errno)> {
        let shape = MapShape::query(&map).map_err(|errno| (0, errno))?;
        if let [_, _, ..] = elements {
            let keys: Vec<u8> = elements.iter().flat_map(|(key, _)| key.as_bytes()).copied().collect();
            let values: Vec<u8> = elements.iter().flat_map(|(_, value)| value.as_bytes()).copied().collect();
            if shape.update_batch(&keys, &values, 0).is_ok() {
                return Ok(());
            }
        }
        let mut elements = elements.iter();
        elements.try_for_each(|(key, value)| {
            shape.update(key.as_bytes(), value.as_bytes(), 0).map_err(|errno| (*key, errno))
        })
    }

    fn map_freeze(&self, map: BorrowedFd<'_>) -> Result<(), Errno> {
        sys::map_freeze(map)
    }

    fn map_arena(&self, map: BorrowedFd<'_>, offset: usize, data: &[u8]) -> Result<Option<Arena>, Errno> {
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
        fd.try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))
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

    fn open_pin(&self, path: &Path) -> Result<OwnedFd, Errno> {
        sys::obj_get(path, 0)
    }

    fn rename_pin(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        sys::rename_pin(from, to)
    }

    fn unpin(&self, path: &Path) -> Result<(), Errno> {
        std::fs::remove_file(path).map_err(|e| Errno::from_io_error(&e))
    }

    fn make_dir(&self, path: &Path) -> Result<bool, Errno> {
        sys::make_pin_dir(path)
    }

    fn remove_dir(&self, path: &Path) {
        if let Err(e) = std::fs::remove_dir(path) {
            log::debug!("the directory {} stays: {e}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live_test_support;
    use core_relo_object::object::MapType;
    use std::os::fd::{AsFd as _, AsRawFd as _};

    #[test]
    fn a_map_of_maps_is_filled_in_one_request_and_an_error_names_the_key() {
        for map_type in [MapType::ArrayOfMaps, MapType::HashOfMaps] {
            let Some(inner) = live_test_support::map(MapType::Array, 4, 4, 1) else { return };
            let shape = MapCreate {
                key_size: 4,
                value_size: 4,
                max_entries: 4,
                inner: Some(inner.as_fd()),
                ..MapCreate::default()
            };
            let Some(outer) = live_test_support::map_with(map_type, &shape) else { return };
            let value = inner.as_fd().as_raw_fd().cast_unsigned();
            let fill = |keys: &[u32]| {
                let elements: Vec<_> = keys.iter().map(|key| (*key, value)).collect();
                RunningKernel.map_fill(outer.as_fd(), &elements)
            };
            assert_eq!(fill(&[1, 3]), Ok(()), "{map_type:?}");
            let id = MapInfo::query(&inner).unwrap().id;
            let shape = MapShape::query(&outer).unwrap();
            let read = |key: u32| {
                let mut value = 0u32;
                shape.lookup(key.as_bytes(), value.as_bytes_mut(), 0).map(|()| value)
            };
            assert_eq!(
                [read(0), read(1), read(2), read(3)].map(Result::ok),
                [None, Some(id), None, Some(id)]
            );
            assert_eq!(fill(&[]), Ok(()));
            if map_type == MapType::ArrayOfMaps {
                assert_eq!(fill(&[0, 9, 2]), Err((9, Errno(libc::E2BIG))));
                assert_eq!([read(0), read(2)].map(Result::ok), [Some(id), None]);
            }
        }
    }
}
