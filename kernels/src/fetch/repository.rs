//! The kernels in the repositories of a release, from the indexes of a mirror.

use super::{
    address::Address,
    apt::{
        clear_signed::ClearSigned,
        packages::{ListOrigin, find_kernels, retain_kernel_packages},
        release::{IndexedList, Release},
    },
    available::{AvailableKernel, Protection},
    distribution::{Architecture, Distribution, IndexFormat, Suite},
    error::{FetchError, MirrorDefect},
    fetcher::Fetcher,
    index_file::IndexFile,
    mirrors::Mirror,
    repositories::index_paths,
    rpm_layout::expand,
    rpm_md::mirror_list::MIRROR_LIST,
    spec::KernelSpec,
    transport::{Download, Expected},
};
use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    limits::{MAX_INDEX_BYTES, MAX_PACKAGES_BYTES},
};
use std::{collections::BTreeSet, time::SystemTime};

/// The files with signatures of an index.
const SIGNATURES: &str = "InRelease or Release.gpg";

/// The version of the format of stored lists. A change of the packages that are kept needs a new one.
const LIST_FORMAT: u32 = 1;

/// The files that an rpm-md repository always has.
const RPM_INDEX_FILES: [&str; 2] = ["repomd.xml", MIRROR_LIST];

/// An index that has been read and verified.
struct VerifiedIndex {
    release: Release,
    protection: Protection,
}

impl Fetcher<'_> {
    /// Returns the kernels in the repositories that a specification may select from.
    ///
    /// The first repository of a release must be there. A mirror may lack others, which is noted.
    pub(super) fn read_repositories(
        &self,
        spec: &KernelSpec,
        architecture: Architecture,
    ) -> Result<Vec<AvailableKernel>, FetchError> {
        let suites = spec.release().suites.iter();
        let mut kernels: Vec<AvailableKernel> = Vec::new();
        for (index, suite) in suites.filter(|suite| suite.is_backports == spec.is_backports()).enumerate() {
            let found = match spec.distribution().format {
                IndexFormat::Apt => self.read_suite(spec, suite, architecture),
                IndexFormat::Apk => self.read_apk_repository(spec, suite, architecture),
                IndexFormat::Pacman => self.read_pacman_repository(spec, suite, architecture),
                IndexFormat::RpmMd(layout) => self.read_rpm_repository(spec, layout, suite, architecture),
            };
            match found {
                Ok(found) => {
                    if found.iter().any(|kernel| kernel.protection == Protection::None) {
                        self.progress.note(&unprotected_note(spec, suite, architecture));
                    }
                    add_new(&mut kernels, found);
                }
                Err(error) if index > 0 && is_optional(spec.distribution().format, &error) => {
                    let name = expand(suite.name, architecture.machine());
                    self.progress.note(&format!("{name} is left out: {error}"));
                }
                Err(error) if index == 0 && error.is_missing() => {
                    return Err(self.missing_release(spec, suite, architecture).unwrap_or(error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(kernels)
    }

    /// Returns the error of a mirror without a release, with the releases that it has. Returns `None` for a
    /// mirror that has the release, and lacks a list of it.
    fn missing_release(
        &self,
        spec: &KernelSpec,
        suite: &Suite,
        architecture: Architecture,
    ) -> Option<FetchError> {
        let (number, machine) = (spec.release().number, architecture.machine());
        let address =
            self.mirrors.find_for(spec.distribution(), suite.archive, number, machine).ok()?.address;
        let release = spec.release().label();
        let available = self.releases_on_mirror(spec.distribution(), architecture);
        if available.contains(&release) {
            return None;
        }
        Some(FetchError::mirror(&address, MirrorDefect::NoRelease { release, available }))
    }

    /// Returns the known releases of a distribution that its mirror has. Returns none if the mirror cannot be
    /// asked.
    pub fn releases_on_mirror(
        &self,
        distribution: &'static Distribution,
        architecture: Architecture,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for release in distribution.releases {
            let Some(suite) = release.suites.first() else { continue };
            let machine = architecture.machine();
            let mirror = self.mirrors.find_for(distribution, suite.archive, release.number, machine);
            let Ok(mirror) = mirror else { return found };
            let paths = index_paths(distribution.format, suite, architecture);
            let addresses = paths.iter().map(|path| mirror.address.join(path));
            let mut answers = addresses.map(|address| self.transport.open(&address, 0).map(drop));
            match answers.find(|answer| !matches!(answer, Err(error) if error.is_missing())) {
                Some(Ok(())) => found.push(release.label()),
                // The mirror does not answer, and will not answer the next question.
                Some(Err(_)) => return found,
                None => {}
            }
        }
        found
    }

    /// Returns the kernels of a suite of an apt repository.
    fn read_suite(
        &self,
        spec: &KernelSpec,
        suite: &'static Suite,
        architecture: Architecture,
    ) -> Result<Vec<AvailableKernel>, FetchError> {
        let distribution = spec.distribution();
        let mirror = self.mirrors.find(distribution, suite.archive)?;
        let suite_address = mirror.address.join(&format!("dists/{}", suite.name));
        let index = {
            let _lock = self.store.lock_index(&suite_address, self.progress)?;
            self.read_index(&mirror, &suite_address, suite)?
        };
        let origin = ListOrigin {
            distribution,
            release: spec.release(),
            suite,
            architecture,
            protection: &index.protection,
        };
        let mut kernels = Vec::new();
        for component in distribution.components {
            let Some(list) = index.release.packages(component, architecture.debian()) else {
                let architecture = architecture.debian().to_owned();
                let defect = MirrorDefect::NoArchitecture { architecture };
                return Err(FetchError::mirror(&suite_address.join("Release"), defect));
            };
            let text = self.read_list(&suite_address, list, index.release.has_by_hash)?;
            add_new(&mut kernels, find_kernels(&text, origin));
        }
        Ok(kernels)
    }

    /// Reads and verifies the index of a suite.
    fn read_index(
        &self,
        mirror: &Mirror,
        suite_address: &Address,
        suite: &Suite,
    ) -> Result<VerifiedIndex, FetchError> {
        let index = self.download_index(suite_address)?;
        let protection = self.verify_index(mirror, &index)?;
        let IndexFile { address, content, .. } = index;
        let release = Release::parse(&content);
        let release = release.ok_or_else(|| FetchError::mirror(&address, MirrorDefect::NoIndex))?;
        if !release.names.iter().any(|name| name == suite.name) {
            let (found, expected) = (release.names, suite.name.to_owned());
            return Err(FetchError::mirror(&address, MirrorDefect::OtherSuite { found, expected }));
        }
        self.check_date(suite_address, &release, &protection)?;
        let age = release.valid_until.and_then(|end| SystemTime::now().duration_since(end).ok());
        if let Some(age) = age.filter(|_| !self.options.allow_expired) {
            return Err(FetchError::mirror(&address, MirrorDefect::Expired { seconds: age.as_secs() }));
        }
        Ok(VerifiedIndex { release, protection })
    }

    /// Compares the date of an index with that of the newest one that was read from the same address. An old
    /// index with a good signature may be replayed, so that the newest kernels stay unknown.
    ///
    /// The date of an index that nothing protects is worth nothing.
    fn check_date(
        &self,
        address: &Address,
        release: &Release,
        protection: &Protection,
    ) -> Result<(), FetchError> {
        let Some(date) = release.date else { return Ok(()) };
        if !matches!(protection, Protection::Signature { .. } | Protection::Tls) {
            return Ok(());
        }
        let newest = self.store.newest_index(address);
        match newest.and_then(|newest| newest.duration_since(date).ok()).map(|age| age.as_secs()) {
            Some(0) => Ok(()),
            Some(_) if self.options.allow_expired => Ok(()),
            Some(seconds) => Err(FetchError::mirror(address, MirrorDefect::Older { seconds })),
            None => self.store.set_newest_index(address, date),
        }
    }

    /// Downloads `InRelease`, which has its signature in itself, or `Release` and `Release.gpg`. These two
    /// may be of different times while a mirror changes, or behind a proxy.
    fn download_index(&self, suite_address: &Address) -> Result<IndexFile, FetchError> {
        let address = suite_address.join("InRelease");
        match self.transport.read(&address, MAX_INDEX_BYTES) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                let signed = ClearSigned::parse(&text);
                let signed = signed.ok_or_else(|| FetchError::mirror(&address, MirrorDefect::NoIndex))?;
                let signature = Some(signed.signature.into_bytes());
                return Ok(IndexFile {
                    address,
                    content: signed.content,
                    signature,
                    signature_names: SIGNATURES,
                });
            }
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
        let address = suite_address.join("Release");
        let content = self.transport.read(&address, MAX_INDEX_BYTES)?;
        let content = String::from_utf8_lossy(&content).into_owned();
        let signature = match self.transport.read(&address.with_ending(".gpg"), MAX_INDEX_BYTES) {
            Err(error) if error.is_missing() => None,
            signature => Some(signature?),
        };
        Ok(IndexFile { address, content, signature, signature_names: SIGNATURES })
    }

    /// Returns the paragraphs of kernels in a list of packages, from the store if the list was read before.
    fn read_list(
        &self,
        suite_address: &Address,
        list: &IndexedList,
        has_by_hash: bool,
    ) -> Result<String, FetchError> {
        let stored_name = format!("{}.kernels-{LIST_FORMAT}", list.sha256);
        if let Some(text) = self.store.read_index(&stored_name) {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        let path = if has_by_hash { list.path_by_hash() } else { list.path.clone() };
        let content = match self.download_list(&suite_address.join(&path), list) {
            // A copy of a mirror may lack the directory of hashes.
            Err(error) if error.is_missing() && has_by_hash => {
                self.download_list(&suite_address.join(&list.path), list)?
            }
            content => content?,
        };
        let text = unpack_list(&content).map_err(|error| {
            FetchError::mirror(&suite_address.join(&list.path), MirrorDefect::Packed(error.into()))
        })?;
        let kernels = retain_kernel_packages(&text);
        self.store.write_index(&stored_name, kernels.as_bytes())?;
        Ok(kernels)
    }

    fn download_list(&self, address: &Address, list: &IndexedList) -> Result<Vec<u8>, FetchError> {
        if list.bytes > MAX_PACKAGES_BYTES {
            return Err(FetchError::mirror(address, MirrorDefect::TooLarge { limit: MAX_PACKAGES_BYTES }));
        }
        let expected = Expected { bytes: list.bytes, hash: &list.sha256 };
        Download::open(&self.transport, self.progress, address, expected)?.read_all()
    }
}

/// Returns the note about an index that nothing protects.
fn unprotected_note(spec: &KernelSpec, suite: &Suite, architecture: Architecture) -> String {
    let name = expand(suite.name, architecture.machine());
    let remedy = match spec.distribution().format {
        IndexFormat::Apt => format!("install {} and gpgv", spec.distribution().keyring),
        IndexFormat::Apk => {
            format!("install the keys of the distribution in {}", spec.distribution().keyring)
        }
        // Not every index has a signature.
        IndexFormat::RpmMd(_) | IndexFormat::Pacman => "use a mirror with https".to_owned(),
    };
    format!("{name}: neither a signature nor TLS protects the index; help: {remedy}")
}

/// Adds kernels that are not in another repository with the same version already: an update is often in
/// several.
fn add_new(kernels: &mut Vec<AvailableKernel>, found: Vec<AvailableKernel>) {
    let identity = |kernel: &AvailableKernel| {
        (kernel.release.clone(), kernel.version.clone(), kernel.architecture.clone())
    };
    let mut known: BTreeSet<_> = kernels.iter().map(identity).collect();
    kernels.extend(found.into_iter().filter(|kernel| known.insert(identity(kernel))));
}

/// Returns whether a repository may be left out: the mirror does not have it, or not this architecture.
///
/// An rpm-md repository with an index and without the list of packages is one that is changing. Debian's
/// indexes have lists for architectures that a release no longer supports.
fn is_optional(format: IndexFormat, error: &FetchError) -> bool {
    match error {
        FetchError::NoMirror { .. }
        | FetchError::Mirror { defect: MirrorDefect::NoArchitecture { .. }, .. } => true,
        FetchError::Mirror { address, .. } => {
            let is_of_rpm = matches!(format, IndexFormat::RpmMd(_));
            error.is_missing() && (!is_of_rpm || RPM_INDEX_FILES.contains(&address.last_part()))
        }
        _ => false,
    }
}

/// Unpacks a list of packages.
fn unpack_list(content: &[u8]) -> std::io::Result<String> {
    match Compression::detect(content) {
        None => Ok(String::from_utf8_lossy(content).into_owned()),
        Some(format) => {
            let budget = Budget::for_list(MAX_PACKAGES_BYTES, content);
            let bytes = Streams::concatenated(format, content, budget).read_all()?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}
