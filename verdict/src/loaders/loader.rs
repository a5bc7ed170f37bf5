//! The known loaders.

use super::aya;
use core::fmt;
use core_relo_object::object::Object;

/// A loader of BPF objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LoaderKind {
    /// libbpf 1.x.
    #[default]
    Libbpf,
    /// This project's loader.
    CoreRelo,
    /// The Go library cilium/ebpf.
    Cilium,
    /// The Rust library aya.
    Aya,
}

impl LoaderKind {
    /// All known loaders.
    pub const ALL: &'static [Self] = &[Self::Libbpf, Self::CoreRelo, Self::Cilium, Self::Aya];

    /// Returns the word for options and JSON: `libbpf`, `core-relo`, `cilium`, `aya`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Libbpf => "libbpf",
            Self::CoreRelo => "core-relo",
            Self::Cilium => "cilium",
            Self::Aya => "aya",
        }
    }

    /// Returns the loader with a [word](Self::word).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|loader| loader.word() == word)
    }

    /// Returns the name of the project, such as `cilium/ebpf`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cilium => "cilium/ebpf",
            other => other.word(),
        }
    }

    /// Returns whether the loader loads programs whose section begins with `?`, unless user space removes
    /// them (cilium/ebpf: `getProgType`, which ignores the mark).
    pub const fn loads_optional_programs(self) -> bool {
        matches!(self, Self::Cilium)
    }

    /// Returns the license of the programs. Without a section `license`, aya takes that of the GPL (aya:
    /// `Object::parse`). The others leave it empty.
    pub(crate) fn license<'d>(self, object: &Object<'d>) -> Option<&'d [u8]> {
        match self {
            Self::Aya => match aya::license_data(object) {
                Some(data) => data.split(|byte| *byte == 0).next(),
                None => Some(b"GPL"),
            },
            _ => object.license(),
        }
    }
}

impl fmt::Display for LoaderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
