//! Pinning the maps of a loaded object, the last step of a load.
//!
//! Another process can open a pin as soon as the pin has its final name, and nobody can tell whether one has. So no load removes
//! such a pin, and all that can fail comes before: every map is first pinned under a private name in the same folder, then all
//! are renamed. libbpf pins a map when it creates it, and removes the pin if the load fails.

use super::{
    Kernel, Loaded,
    error::{LoadError, LoadHint, RemainingPins},
    loaded::{LoadedMap, PinState},
};
use crate::sys::Errno;
use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    process,
};

/// The number of private names that are tried: processes that were killed may have left some.
const PRIVATE_NAMES: u32 = 64;

impl Loaded {
    /// Makes the pins that the plan names for maps and that do not exist yet (libbpf: `bpf_object__create_maps`). The last folder
    /// of a path is made if it is missing (libbpf: `make_parent_dir`).
    ///
    /// [`LoadError::PinTaken`] means that another process made one of the pins first. Its map has the path then, so the caller
    /// drops this object and loads it again ([`retry_taken_pins`](super::retry_taken_pins)). No error leaves a pin behind, with one exception: if several pins are made and a
    /// later one does not get its name, the earlier ones stay, as other processes may use them already.
    pub fn pin_maps(&mut self, kernel: &impl Kernel) -> Result<(), LoadError> {
        let mut staged = Staged { kernel, object: &self.name, pins: Vec::new(), folders: Vec::new() };
        for map in &mut self.maps {
            if let LoadedMap { plan, fd: Some(fd), pin_state: state @ PinState::Unpinned, .. } = map
                && let Some(path) = &plan.pin
            {
                staged.add(OwnedFd::as_fd(fd), &plan.name, path, state)?;
            }
        }
        staged.check_names()?;
        staged.rename()?;
        self.folders.append(&mut staged.folders);
        Ok(())
    }
}

/// Pins under private names, and the folders that were made for them. Dropping it removes those that were not renamed.
struct Staged<'l, K: Kernel> {
    kernel: &'l K,
    object: &'l str,
    pins: Vec<Pin<'l>>,
    folders: Vec<PathBuf>,
}

/// A pin that does not have its final name yet.
struct Pin<'l> {
    fd: BorrowedFd<'l>,
    map: &'l str,
    path: &'l Path,
    state: &'l mut PinState,
    /// The present name; none once the pin has its final one.
    private: Option<PathBuf>,
}

impl<'l, K: Kernel> Staged<'l, K> {
    /// Pins a map under a private name.
    fn add(
        &mut self,
        fd: BorrowedFd<'l>,
        map: &'l str,
        path: &'l Path,
        state: &'l mut PinState,
    ) -> Result<(), LoadError> {
        let private = self.pin(fd, path).map_err(|errno| LoadError::pin(self.object, map, path, errno))?;
        self.pins.push(Pin { fd, map, path, state, private: Some(private) });
        Ok(())
    }

    fn pin(&mut self, fd: BorrowedFd<'_>, path: &Path) -> Result<PathBuf, Errno> {
        let folder = path.parent().ok_or(Errno(libc::EISDIR))?;
        for _ in 0..PRIVATE_NAMES {
            let private = folder.join(private_name());
            let mut pinned = self.kernel.pin(fd, &private);
            if pinned == Err(Errno(libc::ENOENT)) {
                if self.kernel.make_folder(folder)? {
                    self.folders.push(folder.to_path_buf());
                }
                // Also if another load made the folder in the meantime.
                pinned = self.kernel.pin(fd, &private);
            }
            match pinned {
                Err(Errno(libc::EEXIST)) => {}
                pinned => return pinned.map(|()| private),
            }
        }
        Err(Errno(libc::EEXIST))
    }

    /// Checks that all final names are free, before the first pin gets its own and cannot be removed any more.
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

    /// Gives the pins their final names.
    fn rename(&mut self) -> Result<(), LoadError> {
        let (kernel, object) = (self.kernel, self.object);
        let mut made: Vec<(&Path, BorrowedFd<'_>)> = Vec::new();
        for pin in &mut self.pins {
            let Some(private) = &pin.private else { continue };
            if let Err(errno) = kernel.rename_pin(private, pin.path) {
                for (path, _) in &made {
                    log::warn!("the pin {} stays: other processes may use it", path.display());
                }
                let mut error = pin.error(object, errno);
                if let LoadError::PinTaken { remaining, .. } = &mut error {
                    *remaining = remaining_pins(kernel, &made, &self.folders);
                }
                return Err(error);
            }
            (*pin.state, pin.private) = (PinState::Made, None);
            made.push((pin.path, pin.fd));
        }
        Ok(())
    }
}

impl Pin<'_> {
    fn error(&self, object: &str, errno: Errno) -> LoadError {
        if errno == Errno(libc::EEXIST) {
            let (object, map, path) = (object.into(), self.map.into(), self.path.to_path_buf());
            let remaining = RemainingPins::default();
            return LoadError::PinTaken { object, map, path, attempts: 1, remaining };
        }
        LoadError::pin(object, self.map, self.path, errno)
    }
}

impl<K: Kernel> Drop for Staged<'_, K> {
    fn drop(&mut self) {
        for private in self.pins.iter().filter_map(|pin| pin.private.as_ref()) {
            if let Err(errno) = self.kernel.unpin(private) {
                log::warn!("{} stays: {errno}", private.display());
            }
        }
        // A folder that holds a pin by now is not empty, and stays.
        self.folders.iter().rev().for_each(|folder| self.kernel.remove_folder(folder));
    }
}

/// Describes the pins that have their final names, and the folders that were made for them.
fn remaining_pins(
    kernel: &impl Kernel,
    made: &[(&Path, BorrowedFd<'_>)],
    folders: &[PathBuf],
) -> RemainingPins {
    let mut remaining = RemainingPins::default();
    for (path, fd) in made {
        match kernel.map_info(*fd) {
            Ok(info) => remaining.pins.push((path.to_path_buf(), info.id)),
            // The next attempt takes the pin for that of another load, and keeps it.
            Err(errno) => log::info!("the pin {}: the id of its map is not known: {errno}", path.display()),
        }
    }
    let has_pin = |folder: &&PathBuf| made.iter().any(|(path, _)| path.parent() == Some(folder));
    remaining.folders = folders.iter().filter(has_pin).cloned().collect();
    remaining
}

/// A name that other loads hardly use, and that bpffs takes: it has no dot. Loads in other PID namespaces, and loads that were killed,
/// may have left the same one: then the next number is tried.
fn private_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("core_relo_{}_{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}
