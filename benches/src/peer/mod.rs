//! Who is measured: each does the same job through its own public way, or what comes closest to it.

#[cfg(feature = "aya")]
pub mod aya;
#[cfg(feature = "libbpf")]
pub mod libbpf;
pub mod ours;

use std::path::{Path, PathBuf};

/// One of those measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Ours,
    Libbpf,
    Aya,
}

impl Peer {
    pub const ALL: [Self; 3] = [Self::Ours, Self::Libbpf, Self::Aya];

    /// As it is called in tables, JSON and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Libbpf => "libbpf",
            Self::Aya => "aya",
        }
    }

    /// Why this program cannot measure it.
    pub const fn missing(self) -> Option<&'static str> {
        match self {
            Self::Libbpf if !cfg!(feature = "libbpf") => Some("built without the feature `libbpf`"),
            Self::Aya if !cfg!(feature = "aya") => Some("built without the feature `aya`"),
            _ => None,
        }
    }

    /// Gets ready what is not to be measured. Whoever calls this links everybody.
    pub fn prepare(self, target: &Path, objects: &[PathBuf]) -> Result<Box<dyn Prepared>, String> {
        match self {
            Self::Ours => Ok(Box::new(ours::Ours::new(target, objects).that_loads())),
            #[cfg(feature = "libbpf")]
            Self::Libbpf => Ok(Box::new(libbpf::Libbpf::new(target, objects)?)),
            #[cfg(feature = "aya")]
            Self::Aya => Ok(Box::new(aya::Aya::new(target, objects))),
            #[cfg(not(all(feature = "libbpf", feature = "aya")))]
            _ => Err(self.missing().unwrap_or_default().to_owned()),
        }
    }
}

/// A peer with a target and objects, of which it has read nothing that it will not read again while it is measured.
pub trait Prepared {
    /// Parses the target, from its file.
    fn parse_target(&self) -> Result<(), String>;

    /// The same, with every reference of every type looked at; for who has one way to parse that is the same.
    fn validate_target(&self) -> Result<(), String> {
        self.parse_target()
    }

    /// Relocates each object: read, opened, relocated, dropped; on a target of its own, or all of them on one that is made
    /// ready for many.
    fn relocate(&self, shared: bool) -> Result<(), String>;

    /// Loads each object into the running kernel and lets go of it, one after the other.
    fn load(&self) -> Result<(), String> {
        Err("this peer has no way to do that".to_owned())
    }

    /// Decides all objects' records on each kernel of those that the target, a text file, names line by line.
    fn kernels(&self) -> Result<(), String> {
        Err("this peer has no way to do that".to_owned())
    }
}
