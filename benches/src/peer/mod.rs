//! The measured implementations, called peers: core-relo, libbpf and aya-obj. Each runs the same job with its
//! public functions, or with the closest equivalent.

#[cfg(feature = "aya")]
pub mod aya;
#[cfg(feature = "libbpf")]
pub mod libbpf;
pub mod ours;
mod prepared;

pub use prepared::Prepared;

use std::path::{Path, PathBuf};

/// A measured implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// core-relo.
    Ours,
    /// libbpf, by its C functions.
    Libbpf,
    /// aya-obj.
    Aya,
}

impl Peer {
    pub const ALL: [Self; 3] = [Self::Ours, Self::Libbpf, Self::Aya];

    /// Returns the name of the peer in tables, JSON and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Libbpf => "libbpf",
            Self::Aya => "aya",
        }
    }

    /// Returns the reason why this program cannot measure the peer, if any.
    pub const fn missing_reason(self) -> Option<&'static str> {
        match self {
            Self::Libbpf if !cfg!(feature = "libbpf") => Some("built without the feature `libbpf`"),
            Self::Aya if !cfg!(feature = "aya") => Some("built without the feature `aya`"),
            _ => None,
        }
    }

    /// Prepares the peer, outside the measured time. A program that calls this function links all peers that
    /// are compiled in.
    pub fn prepare(self, target: &Path, objects: &[PathBuf]) -> Result<Box<dyn Prepared>, String> {
        match self {
            Self::Ours => Ok(Box::new(ours::Ours::new(target, objects).with_load())),
            #[cfg(feature = "libbpf")]
            Self::Libbpf => Ok(Box::new(libbpf::Libbpf::new(target, objects)?)),
            #[cfg(feature = "aya")]
            Self::Aya => Ok(Box::new(aya::Aya::new(target, objects))),
            #[cfg(not(all(feature = "libbpf", feature = "aya")))]
            _ => Err(self.missing_reason().unwrap_or_default().to_owned()),
        }
    }
}
