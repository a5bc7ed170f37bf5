//! Pinning the maps of a loaded object, the last step of a load.
//!
//! As soon as a pin has its final name, other processes can open the pin, and no load can tell whether one
//! did. Therefore no load removes such a pin, and all steps that can fail come first. Every map is pinned
//! under a private name in the same directory, then all pins are renamed. libbpf pins a map when it creates
//! the map, and removes the pin if the load fails.

use super::{
    error::{LoadError, LoadHint, RemainingPins},
    kernel::Kernel,
    leftover_pins::{PRIVATE_PREFIX, warn_of_leftovers},
    loaded::{Loaded, LoadedMap, PinState},
};
use crate::sys::Errno;
use alloc::collections::BTreeSet;
use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process,
};

/// The number of private names to try. Processes that were killed may have left some.
const PRIVATE_NAMES: u32 = 64;

impl Loaded {
    /// Creates the map pins of the plan that do not exist yet (libbpf: `bpf_object__create_maps`). Creates
    /// the last directory of a path if the directory is missing (libbpf: `make_parent_dir`).
    ///
    /// [`LoadError::PinTaken`] means that another process created one of the pins first. The caller then
    /// drops this object and loads it again, to use the other map
    /// ([`retry_taken_pins`](super::retry_taken_pins)). An error leaves no pin behind, with one exception: if
    /// one of several pins does not get its name, the pins renamed before stay, because other processes may
    /// use them already.
    pub fn pin_maps(&mut self, kernel: &impl Kernel) -> Result<(), LoadError> {
        let mut staged = StagedPins { kernel, object: &self.name, pins: Vec::new(), dirs: Vec::new() };
        for map in &mut self.maps {
            if let LoadedMap { plan, fd: Some(fd), pin_state: state @ PinState::Unpinned, .. } = map
                && let Some(path) = plan.pin()
            {
                staged.add(OwnedFd::as_fd(fd), plan.name(), path, state)?;
            }
        }
        staged.check_names()?;
        staged.rename()?;
        staged.parents().into_iter().for_each(warn_of_leftovers);
        self.dirs.append(&mut staged.dirs);
        Ok(())
    }
}

/// Pins under private names, and the directories created for them. Dropping it removes the pins that were not
/// renamed.
struct StagedPins<'l, K: Kernel> {
    kernel: &'l K,
    object: &'l str,
    pins: Vec<StagedPin<'l>>,
    dirs: Vec<PathBuf>,
}

/// A pin that does not have its final name yet.
struct StagedPin<'l> {
    fd: BorrowedFd<'l>,
    map: &'l str,
    path: &'l Path,
    state: &'l mut PinState,
    /// The private name; `None` after the pin got its final name.
    private_path: Option<PathBuf>,
}

impl<'l, K: Kernel> StagedPins<'l, K> {
    /// Pins a map under a private name.
    fn add(
        &mut self,
        fd: BorrowedFd<'l>,
        map: &'l str,
        path: &'l Path,
        state: &'l mut PinState,
    ) -> Result<(), LoadError> {
        let pinned = self.pin_privately(fd, path);
        let private_path = pinned.map_err(|errno| LoadError::pin(self.object, map, path, errno))?;
        self.pins.push(StagedPin { fd, map, path, state, private_path: Some(private_path) });
        Ok(())
    }

    /// Pins a map under a private name in the directory of `path`. Returns the private path.
    fn pin_privately(&mut self, fd: BorrowedFd<'_>, path: &Path) -> Result<PathBuf, Errno> {
        let dir = path.parent().ok_or(Errno(libc::EISDIR))?;
        for _ in 0..PRIVATE_NAMES {
            let private_path = dir.join(private_name());
            let mut pinned = self.kernel.pin(fd, &private_path);
            if pinned == Err(Errno(libc::ENOENT)) {
                if self.kernel.make_dir(dir)? {
                    self.dirs.push(dir.to_path_buf());
                }
                // The directory exists now, even if another load created it.
                pinned = self.kernel.pin(fd, &private_path);
            }
            match pinned {
                Err(Errno(libc::EEXIST)) => {}
                pinned => return pinned.map(|()| private_path),
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Checks that all final names are free, because a renamed pin cannot be removed any more.
    fn check_names(&self) -> Result<(), LoadError> {
        self.pins.iter().try_for_each(|pin| match self.kernel.open_pin(pin.path) {
            Err(Errno(libc::ENOENT)) if pin.path.is_symlink() => Err(LoadError::Pin {
                object: self.object.into(),
                map: pin.map.into(),
                path: pin.path.to_path_buf(),
                errno: Errno(libc::EEXIST),
                hint: LoadHint("it is a symbolic link to a file that does not exist: remove the link".into()),
            }),
            Err(Errno(libc::ENOENT)) => Ok(()),
            Err(errno) => Err(pin.error(self.object, errno)),
            Ok(_) => Err(pin.error(self.object, Errno(libc::EEXIST))),
        })
    }

    /// Returns the directories of the pins.
    fn parents(&self) -> BTreeSet<&'l Path> {
        self.pins.iter().filter_map(|pin| pin.path.parent()).collect()
    }

    /// Gives the pins their final names.
    fn rename(&mut self) -> Result<(), LoadError> {
        let (kernel, object) = (self.kernel, self.object);
        let mut renamed: Vec<(&Path, BorrowedFd<'_>)> = Vec::new();
        for pin in &mut self.pins {
            let Some(private_path) = &pin.private_path else { continue };
            if let Err(errno) = kernel.rename_pin(private_path, pin.path) {
                for (path, _) in &renamed {
                    log::warn!("the pin {} stays: other processes may use it", path.display());
                }
                let mut error = pin.error(object, errno);
                if let LoadError::PinTaken { remaining, .. } = &mut error {
                    *remaining = remaining_pins(kernel, &renamed, &self.dirs);
                }
                return Err(error);
            }
            (*pin.state, pin.private_path) = (PinState::Created, None);
            renamed.push((pin.path, pin.fd));
        }
        Ok(())
    }
}

impl StagedPin<'_> {
    fn error(&self, object: &str, errno: Errno) -> LoadError {
        if errno == Errno(libc::EEXIST) {
            let (object, map, path) = (object.into(), self.map.into(), self.path.to_path_buf());
            let remaining = RemainingPins::default();
            return LoadError::PinTaken { object, map, path, attempts: 1, remaining };
        }
        LoadError::pin(object, self.map, self.path, errno)
    }
}

impl<K: Kernel> Drop for StagedPins<'_, K> {
    fn drop(&mut self) {
        for private_path in self.pins.iter().filter_map(|pin| pin.private_path.as_ref()) {
            if let Err(errno) = self.kernel.unpin(private_path) {
                log::warn!("the pin {} stays: {errno}", private_path.display());
            }
        }
        // Directories with renamed pins are not empty, so they stay.
        self.dirs.iter().rev().for_each(|dir| self.kernel.remove_dir(dir));
    }
}

/// Describes the pins that have their final names, and the directories that the load created for them.
fn remaining_pins(
    kernel: &impl Kernel,
    renamed: &[(&Path, BorrowedFd<'_>)],
    dirs: &[PathBuf],
) -> RemainingPins {
    let mut remaining = RemainingPins::default();
    for (path, fd) in renamed {
        match kernel.map_info(*fd) {
            Ok(info) => remaining.pins.push((path.to_path_buf(), info.id)),
            // The next attempt takes the pin for that of another load, and keeps it.
            Err(errno) => log::info!("the pin {}: the id of its map is not known: {errno}", path.display()),
        }
    }
    let has_pin = |dir: &&PathBuf| renamed.iter().any(|(path, _)| path.parent() == Some(dir));
    remaining.dirs = dirs.iter().filter(has_pin).cloned().collect();
    remaining
}

/// Returns a new private name, without a dot, which bpffs refuses. Loads in other PID namespaces and loads
/// that were killed may have left the same name. Then the caller tries the next one.
fn private_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("{PRIVATE_PREFIX}{}_{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}
