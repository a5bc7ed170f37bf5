//! The addresses of mirrors: given by the user, from the machine's configuration, or the distribution's.

use super::{
    address::{Address, Scheme},
    apt::sources::find_mirror,
    distribution::{ALPINE, Archive, DISTRIBUTIONS, Distribution, IndexFormat},
    error::FetchError,
    store::Store,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The directory of the machine's apt configuration.
const APT_DIR: &str = "/etc/apt";

/// The directories with keys of rpm distributions: their own one, and that of the package
/// `distribution-gpg-keys`, which other distributions have.
const KEY_DIRS: [&str; 2] = ["/etc/pki/rpm-gpg", "/usr/share/distribution-gpg-keys"];

/// The addresses of mirrors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirrors {
    given: BTreeMap<String, Address>,
    apt_dir: PathBuf,
    /// The directory with Alpine's keys.
    apk_keys: PathBuf,
    key_dirs: Vec<PathBuf>,
}

/// The mirror of an archive, and the keyrings for its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirror {
    pub(crate) address: Address,
    /// The keyrings that the machine has.
    pub(crate) keyrings: Vec<PathBuf>,
}

impl Default for Mirrors {
    fn default() -> Self {
        Self {
            given: BTreeMap::new(),
            apt_dir: PathBuf::from(APT_DIR),
            apk_keys: PathBuf::from(ALPINE.keyring),
            key_dirs: KEY_DIRS.map(PathBuf::from).into(),
        }
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

    /// Replaces the directory with Alpine's keys, `/etc/apk/keys`.
    pub fn set_apk_keys(&mut self, dir: impl Into<PathBuf>) {
        self.apk_keys = dir.into();
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

    /// Replaces the directories with keys of rpm distributions, `/etc/pki/rpm-gpg` and
    /// `/usr/share/distribution-gpg-keys`.
    pub fn set_key_dirs(&mut self, dirs: Vec<PathBuf>) {
        self.key_dirs = dirs;
    }

    /// Finds the mirror of an archive for a release and an architecture.
    pub(crate) fn find_for(
        &self,
        distribution: &Distribution,
        archive: Archive,
        release: &str,
        architecture: &str,
    ) -> Result<Mirror, FetchError> {
        if let IndexFormat::RpmMd(layout) = distribution.format
            && !self.given.contains_key(distribution.name)
            && let Some(address) = layout.other_mirror(release, architecture)
        {
            return Ok(Mirror { address: address.parse()?, keyrings: self.keyrings(distribution) });
        }
        self.find(distribution, archive)
    }

    /// Returns the keyrings of a distribution that the machine has.
    fn keyrings(&self, distribution: &Distribution) -> Vec<PathBuf> {
        let candidates: Vec<_> = match distribution.format {
            IndexFormat::Apt | IndexFormat::Pacman => vec![PathBuf::from(distribution.keyring)],
            IndexFormat::Apk => vec![self.apk_keys.clone()],
            IndexFormat::RpmMd(layout) => {
                let in_dir = |dir: &PathBuf| layout.keys.iter().map(|key| dir.join(key)).collect::<Vec<_>>();
                self.key_dirs.iter().flat_map(in_dir).collect()
            }
        };
        candidates.into_iter().filter(|keyring| keyring.exists()).collect()
    }

    /// Finds the mirror of an archive.
    pub(crate) fn find(&self, distribution: &Distribution, archive: Archive) -> Result<Mirror, FetchError> {
        let name = archive.mirror_key(distribution.name);
        let with_keyring = |address| Mirror { address, keyrings: self.keyrings(distribution) };
        if let Some(address) = self.given.get(&name) {
            return Ok(with_keyring(address.clone()));
        }
        if let Some(main) = self.given.get(distribution.name) {
            let ending = name.strip_prefix(distribution.name).unwrap_or("");
            return Ok(with_keyring(main.with_ending(ending)));
        }
        let is_apt = distribution.format == IndexFormat::Apt;
        if is_apt && let Some(mirror) = find_mirror(&self.apt_dir, distribution, archive) {
            let keyring = mirror.keyring.filter(|keyring| Path::is_file(keyring));
            let keyrings = keyring.map_or_else(|| self.keyrings(distribution), |keyring| vec![keyring]);
            return Ok(Mirror { address: mirror.address, keyrings });
        }
        let default = distribution.default_mirror.and_then(|address| address.parse().ok());
        default.map(with_keyring).ok_or(FetchError::NoMirror { distribution: name })
    }
}
