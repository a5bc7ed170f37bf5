//! The addresses of mirrors: given by the user, from the machine's configuration, or the distribution's.

use super::{
    address::{Address, Scheme},
    apt::sources::find_mirror,
    distribution::{Archive, DISTRIBUTIONS, Distribution, IndexFormat},
    error::FetchError,
    store::Store,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The directory of the machine's apt configuration.
const APT_DIR: &str = "/etc/apt";

/// The addresses of mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrors {
    given: BTreeMap<String, Address>,
    /// The keyrings of distributions, other than those in the table.
    keyrings: BTreeMap<String, PathBuf>,
    apt_dir: PathBuf,
}

/// The mirror of an archive, and the keyring for its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirror {
    pub(crate) address: Address,
    pub(crate) keyring: PathBuf,
}

impl Default for Mirrors {
    fn default() -> Self {
        Self { given: BTreeMap::new(), keyrings: BTreeMap::new(), apt_dir: PathBuf::from(APT_DIR) }
    }
}

impl Mirrors {
    /// Returns the names that mirrors can be given for: `debian`, `debian-security`, `ubuntu`.
    pub fn names() -> Vec<String> {
        let names = DISTRIBUTIONS.iter().flat_map(|distribution| {
            distribution.archives().map(|archive| archive.mirror_key(distribution.name))
        });
        names.collect()
    }

    /// Sets the address for a name of [`names`](Self::names). A mirror of `debian` alone has the security
    /// updates beside it, in `debian-security`.
    pub fn set(&mut self, name: String, address: Address) {
        self.given.insert(name, address);
    }

    /// Replaces the keyring of a distribution, or its directory of keys.
    pub fn set_keyring(&mut self, distribution: &str, keyring: impl Into<PathBuf>) {
        self.keyrings.insert(distribution.to_owned(), keyring.into());
    }

    /// Replaces the directory of the machine's apt configuration, `/etc/apt`.
    pub fn set_apt_dir(&mut self, dir: impl Into<PathBuf>) {
        self.apt_dir = dir.into();
    }

    /// Returns the directory of an earlier fetch that is given as mirror of a distribution.
    pub(crate) fn find_store(&self, distribution: &Distribution) -> Option<Store> {
        match self.given.get(distribution.name)?.scheme() {
            Scheme::File(path) => Some(Store::new(path)).filter(Store::has_kernels),
            Scheme::Http | Scheme::Https => None,
        }
    }

    /// Finds the mirror of an archive.
    pub(crate) fn find(&self, distribution: &Distribution, archive: Archive) -> Result<Mirror, FetchError> {
        let name = archive.mirror_key(distribution.name);
        let own = || PathBuf::from(distribution.keyring);
        let keyring = self.keyrings.get(distribution.name).cloned().unwrap_or_else(own);
        let with_keyring = |address| Mirror { address, keyring: keyring.clone() };
        if let Some(address) = self.given.get(&name) {
            return Ok(with_keyring(address.clone()));
        }
        if let Some(main) = self.given.get(distribution.name) {
            let ending = name.strip_prefix(distribution.name).unwrap_or("");
            return Ok(with_keyring(main.with_ending(ending)));
        }
        let apt = (distribution.format == IndexFormat::Apt).then_some(());
        if let Some(mirror) = apt.and_then(|()| find_mirror(&self.apt_dir, distribution, archive)) {
            let found = mirror.keyring.filter(|keyring| Path::is_file(keyring));
            let keyring = found.unwrap_or(keyring);
            return Ok(Mirror { address: mirror.address, keyring });
        }
        let default = distribution.default_mirror.and_then(|address| address.parse().ok());
        default.map(with_keyring).ok_or(FetchError::NoMirror { distribution: name })
    }
}
