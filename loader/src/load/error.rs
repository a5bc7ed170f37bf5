//! Why an object is not loaded.

use super::verifier::Refused;
use crate::{attach::Hint, load_plan::LoadPlanError, sys::Errno};
use core::fmt;
use core_relo::{Escaped, Text};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an object is not loaded. Nothing of it is left in the kernel, but for pins that already had their final names when another
/// process took a later one ([`LoadError::PinTaken`]): other processes may use them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot even be planned.
    #[error("{}{cause}", Object(.object))]
    Plan {
        /// The object's name.
        object: Text,
        /// Why not.
        #[source]
        cause: LoadPlanError,
    },
    /// The kernel refused a request other than loading a program.
    #[error("{}{what}: {errno}{hint}", Object(.object))]
    Kernel {
        /// The object's name.
        object: Text,
        /// What was asked: `map \`events\``.
        what: Text,
        /// Why not.
        errno: Errno,
        /// What to do.
        hint: LoadHint,
    },
    /// The kernel refused a program.
    #[error("{}{refused}", Object(.object))]
    Program {
        /// The object's name.
        object: Text,
        /// Which, and what the verifier said.
        refused: Box<Refused>,
    },
    /// A map that is pinned already is not what the object defines.
    #[error("{}map `{map}`: what is pinned at {} has {field} {found}, the object wants {expected}; remove the pin, or give the map another name or pin", Object(.object), Escaped(path.display()))]
    PinnedOther {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// What differs.
        field: &'static str,
        /// What the object wants.
        expected: u64,
        /// What is pinned.
        found: u64,
    },
    /// A pin cannot be made or opened.
    #[error("{}map `{map}`: pin {}: {errno}{hint}", Object(.object), Escaped(path.display()))]
    Pin {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// Why not.
        errno: Errno,
        /// What to do.
        hint: LoadHint,
    },
    /// Another process pinned a map at the same path while this object was loaded. A new load uses that map.
    #[error(
        "{}map `{map}`: pin {}: another process pinned a map there during the load ({attempts} of at most {} attempts); load the object again",
        Object(.object), Escaped(path.display()), super::PIN_ATTEMPTS
    )]
    PinTaken {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// The number of loads that ended so.
        attempts: u32,
        /// The pins that already had their final names.
        remaining: RemainingPins,
    },
}

/// Pins of maps that an object made before another process took the name of a later pin. They stay, as other processes may use
/// them.
///
/// The next load of the object finds these pins. [`Loaded::adopt_pins`](super::Loaded::adopt_pins) makes them pins of that load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemainingPins {
    /// The pins, each with the id of its map.
    pub pins: Vec<(PathBuf, u32)>,
    /// The folders that were made for the pins.
    pub folders: Vec<PathBuf>,
}

impl RemainingPins {
    /// Adds the pins of a later attempt.
    pub fn extend(&mut self, later: Self) {
        self.pins.extend(later.pins);
        self.folders.extend(later.folders);
    }
}

impl LoadError {
    /// A pin that cannot be made or opened.
    #[cold]
    pub(super) fn pin(object: &str, map: &str, path: &Path, errno: Errno) -> Self {
        let hint = match errno.0 {
            libc::EPERM | libc::EINVAL | libc::ENODEV | libc::EOPNOTSUPP | libc::ENOENT | libc::ENOTDIR => LoadHint(
                "is it below a mounted bpffs, without a `.` in its name, and do its folders exist? (mount -t bpf bpf /sys/fs/bpf)".into(),
            ),
            libc::EROFS => LoadHint("that bpffs is mounted read-only".into()),
            _ => Hint::of(errno).into(),
        };
        Self::Pin { object: object.into(), map: map.into(), path: path.to_path_buf(), errno, hint }
    }

    /// The kernel's number for it, if it was the kernel that refused.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Plan { .. } => None,
            Self::Kernel { errno, .. } | Self::Pin { errno, .. } => Some(*errno),
            Self::Program { refused, .. } => Some(refused.errno),
            Self::PinnedOther { .. } => Some(Errno(libc::EINVAL)),
            Self::PinTaken { .. } => Some(Errno(libc::EEXIST)),
        }
    }

    /// What the verifier said, all of it, if it was a program that was refused.
    pub fn verifier_log(&self) -> Option<&str> {
        match self {
            Self::Program { refused, .. } => Some(&refused.log),
            _ => None,
        }
    }
}

/// A way out, printed in parentheses; may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadHint(pub String);

impl From<Hint> for LoadHint {
    fn from(hint: Hint) -> Self {
        Self(hint.0.to_owned())
    }
}

impl fmt::Display for LoadHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", Escaped(&self.0)) }
    }
}

struct Object<'o>(&'o str);

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", Escaped(self.0)) }
    }
}
