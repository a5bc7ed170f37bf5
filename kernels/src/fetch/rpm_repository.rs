//! The kernels in the rpm-md repositories of a release.

use super::{
    address::Address,
    available::{AvailableKernel, KernelPackage, Protection},
    distribution::{Architecture, Archive, Distribution, Suite},
    error::{FetchError, MirrorDefect},
    fetcher::Fetcher,
    index_file::{IndexFile, protection_without_signature},
    mirrors::Mirror,
    rpm_layout::{RpmLayout, expand},
    rpm_md::{
        kernels::{ListOrigin, find_debug_package, find_kernels},
        mirror_list::{MIRROR_LIST, repository_path},
        path::resolve,
        primary::{ListedPackage, read_packages},
        repomd::{RepositoryList, find_primary},
        xml::XmlError,
    },
    rpm_md_defect::RpmMdDefect,
    spec::KernelSpec,
    transport::{Download, Expected},
};
use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    limits::{Limits, MAX_INDEX_BYTES, MAX_PACKAGES_BYTES, MAX_PRIMARY_BYTES},
};
use std::io::{BufRead, BufReader, Cursor, Read};

/// The index of a repository, below it.
const INDEX: &str = "repodata/repomd.xml";

/// The end of the names of signatures.
const SIGNATURE_ENDING: &str = ".asc";

/// The number of bytes at the start of a list from which its compression is detected.
const HEAD_BYTES: u64 = 16;

/// A repository whose index has been read and verified.
struct Repository {
    mirror: Mirror,
    /// The path below the mirror.
    path: String,
    primary: RepositoryList,
    protection: Protection,
}

impl Fetcher<'_> {
    /// Returns the kernels of a repository.
    pub(super) fn read_rpm_repository(
        &self,
        spec: &KernelSpec,
        layout: &'static RpmLayout,
        suite: &'static Suite,
        architecture: Architecture,
    ) -> Result<Vec<AvailableKernel>, FetchError> {
        let (distribution, release) = (spec.distribution(), spec.release());
        let machine = architecture.machine();
        let mirror = self.mirrors.find_for(distribution, suite.archive, release.number, machine)?;
        let repository = self.open_rpm_repository(mirror, layout, &expand(suite.name, machine), machine)?;
        let packages = self.read_primary(&repository)?;
        let Repository { path, protection, .. } = &repository;
        let origin = ListOrigin { distribution, layout, release, suite, architecture, protection, path };
        find_kernels(&packages, origin).map_err(|defect| repository.error(&repository.primary.path, defect))
    }

    /// Finds the package with the debug information of a kernel, in the repositories that have it. Returns
    /// `None` if none has it.
    pub(super) fn find_rpm_debug_package(
        &self,
        kernel: &AvailableKernel,
        distribution: &'static Distribution,
        layout: &'static RpmLayout,
    ) -> Result<Option<KernelPackage>, FetchError> {
        let Some(release) = distribution.release(&kernel.distribution_release) else { return Ok(None) };
        let machine = kernel.architecture.as_str();
        for suite in release.suites {
            let Some(path) = layout.debug_path(suite.name) else { continue };
            let mirror = self.mirrors.find_for(distribution, Archive::Main, release.number, machine)?;
            let repository = match self.open_rpm_repository(mirror, layout, &expand(&path, machine), machine)
            {
                Err(error) if error.is_missing() => continue,
                repository => repository?,
            };
            let packages = self.read_primary(&repository)?;
            let found = find_debug_package(&packages, kernel, &repository.path);
            let found = found.map_err(|defect| repository.error(&repository.primary.path, defect))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Reads and verifies the index of a repository.
    fn open_rpm_repository(
        &self,
        mirror: Mirror,
        layout: &RpmLayout,
        suite: &str,
        machine: &str,
    ) -> Result<Repository, FetchError> {
        let path = match suite.ends_with(MIRROR_LIST) {
            true => self.read_mirror_list(&mirror, suite, machine)?,
            false => suite.to_owned(),
        };
        let address = mirror.address.join(&path).join(INDEX);
        let content = self.transport.read(&address, MAX_INDEX_BYTES)?;
        let signature = match self.transport.read(&address.with_ending(SIGNATURE_ENDING), MAX_INDEX_BYTES) {
            Err(error) if error.is_missing() => None,
            // Some hosts answer so for files that they do not have.
            Err(error) if error.is_forbidden() && !layout.requires_signature => None,
            signature => Some(signature?),
        };
        let is_verified = layout.requires_signature || signature.is_some();
        let damaged = |defect: RpmMdDefect| FetchError::mirror(&address, defect.into());
        let content = String::from_utf8(content).map_err(|error| {
            let offset = u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(u64::MAX);
            damaged(RpmMdDefect::Xml { offset, problem: "no text".to_owned() })
        })?;
        let index =
            IndexFile { address: address.clone(), content, signature, signature_names: "repomd.xml.asc" };
        let protection = match is_verified {
            true => self.verify_index(&mirror, &index)?,
            false => protection_without_signature(&address),
        };
        let primary =
            find_primary(index.content.as_bytes()).map_err(|error| mirror_error(&address, error))?;
        Ok(Repository { mirror, path, primary, protection })
    }

    /// Reads the path of a repository in a file of addresses.
    fn read_mirror_list(&self, mirror: &Mirror, suite: &str, machine: &str) -> Result<String, FetchError> {
        let address = mirror.address.join(suite);
        let list = self.transport.read(&address, MAX_INDEX_BYTES)?;
        let path = repository_path(&String::from_utf8_lossy(&list), &mirror.address, machine);
        path.map_err(|defect| FetchError::mirror(&address, defect.into()))
    }

    /// Returns the packages of kernels in the list of a repository, from the store if it was read before.
    fn read_primary(&self, repository: &Repository) -> Result<Vec<ListedPackage>, FetchError> {
        let Repository { primary, .. } = repository;
        // The name has the version of the format.
        let stored_name = format!("{}.rpm-kernels-1", primary.hash);
        let stored = self.store.read_index(&stored_name);
        if let Some(packages) = stored.and_then(|stored| serde_json::from_slice(&stored).ok()) {
            return Ok(packages);
        }
        let path = resolve(&repository.path, &primary.path);
        let path = path.map_err(|defect| repository.error(INDEX, defect))?;
        let address = repository.mirror.address.join(&path);
        if primary.bytes > MAX_PACKAGES_BYTES {
            return Err(FetchError::mirror(&address, MirrorDefect::TooLarge { limit: MAX_PACKAGES_BYTES }));
        }
        let packages = self.download_primary(&address, primary)?;
        let text = serde_json::to_vec(&packages)
            .map_err(|error| FetchError::store(&stored_name, &std::io::Error::from(error)))?;
        self.store.write_index(&stored_name, &text)?;
        Ok(packages)
    }

    /// Reads a list of packages while it arrives. It is used only if its hash is right.
    fn download_primary(
        &self,
        address: &Address,
        primary: &RepositoryList,
    ) -> Result<Vec<ListedPackage>, FetchError> {
        let expected = Expected { bytes: primary.bytes, hash: &primary.hash };
        let mut download = Download::open(&self.transport, self.progress, address, expected)?;
        let packages = unpack_list(&mut download, primary.bytes).and_then(read_packages);
        if let Some(error) = download.take_mirror_error() {
            return Err(error);
        }
        match packages {
            Ok(packages) => download.finish().map(|()| packages),
            // A list that was changed on the way is the cause, and the damage the effect.
            Err(error) => download.finish().and_then(|()| Err(mirror_error(address, error))),
        }
    }
}

impl Repository {
    /// Returns the error of a file of the repository.
    fn error(&self, path: &str, defect: RpmMdDefect) -> FetchError {
        FetchError::mirror(&self.mirror.address.join(&self.path).join(path), defect.into())
    }
}

/// Returns the error of a file on a mirror.
fn mirror_error(address: &Address, error: XmlError) -> FetchError {
    match error {
        XmlError::Stream(error) => FetchError::mirror(address, MirrorDefect::Packed(error.into())),
        XmlError::Document(defect) => FetchError::mirror(address, defect.into()),
    }
}

/// Unpacks a list of packages, of any compression.
fn unpack_list<'r>(mut stream: impl Read + 'r, stored_bytes: u64) -> Result<Box<dyn BufRead + 'r>, XmlError> {
    let mut head = Vec::new();
    stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(XmlError::Stream)?;
    let format = Compression::detect(&head);
    let stream = Cursor::new(head).chain(BufReader::new(stream));
    let budget = Budget::for_kernel(Limits::new(Some(MAX_PRIMARY_BYTES)), stored_bytes);
    Ok(match format {
        Some(format) => Box::new(BufReader::new(Streams::concatenated(format, stream, budget))),
        None => Box::new(stream),
    })
}
