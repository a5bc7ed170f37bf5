//! Errors of loads.

use super::{signature::SignatureRefusal, verifier::RefusedProgram};
use crate::{hint::Hint, sys::Errno};
use core::fmt;
use core_relo::{Escaped, Text};
use core_relo_object::{InternalError, load_plan::LoadPlanError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The maximum number of attempts of [`execute`](super::execute), if other processes keep taking the pins of
/// the object first.
pub const PIN_ATTEMPTS: u32 = 5;

/// The reason why an object is not loaded.
///
/// A failed load leaves nothing in the kernel, with one exception: pins that had their final names when
/// another process took a later name ([`LoadError::PinTaken`]) stay, because other processes may use them.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The load cannot be planned.
    #[error("{}{cause}", ObjectPrefix(.object))]
    Plan {
        /// The object's name.
        object: Text,
        /// The problem.
        #[source]
        cause: LoadPlanError,
    },
    /// The kernel refused a request other than loading a program.
    #[error("{}{request}: {errno}{hint}", ObjectPrefix(.object))]
    Kernel {
        /// The object's name.
        object: Text,
        /// The request, such as "map \`events\`: creating it".
        request: Text,
        /// The map, if the request creates or fills a map.
        map: Option<Text>,
        /// The kernel's error number.
        errno: Errno,
        /// The likely remedy.
        hint: LoadHint,
    },
    /// The kernel refused a program.
    #[error("{}{refused}", ObjectPrefix(.object))]
    Program {
        /// The object's name.
        object: Text,
        /// The program and the verifier's log.
        refused: Box<RefusedProgram>,
        /// Further programs that the kernel refused, with the last lines of the log: those of an adaptive
        /// load, which continues after the first refusal to learn which other alternatives the kernel
        /// refuses.
        others: Vec<RefusedProgram>,
    },
    /// The kernel refused the signature of a loader program.
    #[error("{}{refusal} ({errno})", ObjectPrefix(.object))]
    Signature {
        /// The object's name.
        object: Text,
        /// The kernel's error number.
        errno: Errno,
        /// The reason.
        refusal: SignatureRefusal,
    },
    /// The loader program has no signature that the kernel could check.
    #[error("{}the loader program has no signature: sign it with `core-relo prog sign`", ObjectPrefix(.object))]
    Unsigned {
        /// The object's name.
        object: Text,
    },
    /// A broken invariant of this library.
    #[error("{}{cause}", ObjectPrefix(.object))]
    Internal {
        /// The object's name.
        object: Text,
        /// The invariant.
        #[source]
        cause: InternalError,
    },
    /// The pinned map is not what the object defines.
    #[error("{}map `{map}`: wrong {field} of the map pinned at {}: {found}, expected {expected}: remove the pin, or give the map another name or pin", ObjectPrefix(.object), Escaped(path.display()))]
    PinMismatch {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// The property that differs.
        field: &'static str,
        /// The value in the object's definition.
        expected: u64,
        /// The value of the pinned map.
        found: u64,
    },
    /// The caller's map has a type that programs cannot use in place of the object's map.
    #[error("{}map `{map}`: the reused map {reused}, expected {}: reuse another map, or let the load create one", ObjectPrefix(.object), .expected)]
    ReusedMap {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The reused map: its name, id, type and sizes.
        reused: Text,
        /// The type in the object's definition.
        expected: Text,
    },
    /// A pin cannot be created or opened.
    #[error("{}map `{map}`: pin {}: {errno}{hint}", ObjectPrefix(.object), Escaped(path.display()))]
    Pin {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// The kernel's error number.
        errno: Errno,
        /// The likely remedy.
        hint: LoadHint,
    },
    /// Another process pinned a map at the same path while this object was loaded. A new load uses that map.
    #[error(
        "{}map `{map}`: pin {}: another process pinned a map there during the load ({attempts} of at most {PIN_ATTEMPTS} attempts); load the object again",
        ObjectPrefix(.object), Escaped(path.display())
    )]
    PinTaken {
        /// The object's name.
        object: Text,
        /// The map.
        map: Text,
        /// The pin.
        path: PathBuf,
        /// The number of loads that ended with this error.
        attempts: u32,
        /// The pins that already had their final names.
        remaining: RemainingPins,
    },
}

core_relo::debug_as_message!(LoadError);

/// Pins of maps that a load created before another process took the name of a later pin. They stay, as other
/// processes may use them.
///
/// The next load of the object finds these pins. [`Loaded::adopt_pins`](super::Loaded::adopt_pins) makes them
/// pins of that load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemainingPins {
    /// The pins, each with the id of its map.
    pub pins: Vec<(PathBuf, u32)>,
    /// The directories that the load created for the pins.
    pub dirs: Vec<PathBuf>,
}

impl RemainingPins {
    /// Adds the pins of a later attempt.
    pub fn extend(&mut self, later: Self) {
        self.pins.extend(later.pins);
        self.dirs.extend(later.dirs);
    }
}

impl LoadError {
    /// Creates the error of a pin that cannot be created or opened.
    #[cold]
    pub(super) fn pin(object: &str, map: &str, path: &Path, errno: Errno) -> Self {
        let not_bpffs = || {
            LoadHint(
                "is it below a mounted bpffs, without a `.` in its name, and do its directories exist? (mount -t bpf bpf /sys/fs/bpf)".into(),
            )
        };
        let hint = match errno.0 {
            libc::EPERM | libc::EINVAL | libc::ENODEV | libc::EOPNOTSUPP | libc::ENOENT | libc::ENOTDIR => {
                Hint::missing_bpffs(path).map_or_else(not_bpffs, LoadHint::from)
            }
            libc::EROFS => LoadHint("that bpffs is mounted read-only".into()),
            _ => Hint::for_errno(errno).into(),
        };
        Self::Pin { object: object.into(), map: map.into(), path: path.to_path_buf(), errno, hint }
    }

    /// Returns the error number, if the kernel refused a request.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Plan { .. } | Self::Internal { .. } | Self::Unsigned { .. } | Self::ReusedMap { .. } => {
                None
            }
            Self::Kernel { errno, .. } | Self::Pin { errno, .. } | Self::Signature { errno, .. } => {
                Some(*errno)
            }
            Self::Program { refused, .. } => Some(refused.errno),
            Self::PinMismatch { .. } => Some(Errno(libc::EINVAL)),
            Self::PinTaken { .. } => Some(Errno(libc::EEXIST)),
        }
    }

    /// Returns the object's name; may be empty.
    pub fn object(&self) -> &str {
        match self {
            Self::Plan { object, .. }
            | Self::Kernel { object, .. }
            | Self::Program { object, .. }
            | Self::Signature { object, .. }
            | Self::Unsigned { object }
            | Self::Internal { object, .. }
            | Self::PinMismatch { object, .. }
            | Self::ReusedMap { object, .. }
            | Self::Pin { object, .. }
            | Self::PinTaken { object, .. } => object,
        }
    }

    /// Returns the message without the object's name, for callers that name the object themselves.
    pub fn without_object(&self) -> String {
        let message = self.to_string();
        let prefix = ObjectPrefix(self.object()).to_string();
        message.strip_prefix(&*prefix).map(str::to_owned).unwrap_or(message)
    }

    /// Returns whether the error says nothing about the request: another request would fail as well, or the
    /// same would work later.
    pub fn is_temporary(&self) -> bool {
        // Without bpf(2), nothing can be loaded.
        self.errno().is_some_and(|errno| errno.is_shortage() || errno == Errno::ENOSYS)
    }

    /// Returns the whole log of the verifier, if the kernel refused a program.
    pub fn verifier_log(&self) -> Option<&str> {
        match self {
            Self::Program { refused, .. } => Some(&refused.log),
            _ => None,
        }
    }
}

/// A likely remedy that may name parts of the object, printed in parentheses; may be empty.
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

/// The object's name and a colon; empty for an object without a name.
struct ObjectPrefix<'o>(&'o str);

impl fmt::Display for ObjectPrefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "{}: ", Escaped(self.0)) }
    }
}
