//! Fetches kernels: finds them in repositories, downloads their packages, and stores what verdicts use.

use super::{
    apk::head::{PackageHead, plain_head},
    available::{AvailableKernel, KernelPackage},
    distribution::{Architecture, Archive, Distribution, IndexFormat},
    error::{FetchError, MirrorDefect},
    kernel_files::unpack_into,
    mirrors::Mirrors,
    spec::{KernelSpec, SpecError},
    store::{Store, StoredKernel},
    transport::{Download, Expected, Progress, Transport},
};
use std::{
    io::{Cursor, Read},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The number of kernels that are fetched at the same time, and so the connections to a mirror.
const PARALLEL_FETCHES: usize = 2;

/// The settings of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchOptions {
    /// Whether indexes are used that have expired.
    pub allow_expired: bool,
    /// Whether signatures are not verified.
    pub allow_unsigned: bool,
    /// Whether the BTF of kernels without BTF is made from the debug information in another package.
    pub from_debuginfo: bool,
}

impl FetchOptions {
    /// Returns the options with expired indexes allowed or refused.
    #[must_use]
    pub const fn allow_expired(self, allow_expired: bool) -> Self {
        Self { allow_expired, ..self }
    }

    /// Returns the options with or without the verification of signatures.
    #[must_use]
    pub const fn allow_unsigned(self, allow_unsigned: bool) -> Self {
        Self { allow_unsigned, ..self }
    }

    /// Returns the options with or without BTF from debug information.
    #[must_use]
    pub const fn from_debuginfo(self, from_debuginfo: bool) -> Self {
        Self { from_debuginfo, ..self }
    }
}

/// Finds and fetches kernels.
pub struct Fetcher<'f> {
    pub(super) mirrors: &'f Mirrors,
    pub(super) store: &'f Store,
    pub(super) options: FetchOptions,
    pub(super) progress: &'f dyn Progress,
    pub(super) transport: Transport,
}

impl std::fmt::Debug for Fetcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mirrors, store, options, .. } = self;
        f.debug_struct("Fetcher")
            .field("mirrors", mirrors)
            .field("store", store)
            .field("options", options)
            .finish_non_exhaustive()
    }
}

impl<'f> Fetcher<'f> {
    /// Creates a fetcher.
    pub fn new(
        mirrors: &'f Mirrors,
        store: &'f Store,
        options: FetchOptions,
        progress: &'f dyn Progress,
    ) -> Self {
        Self { mirrors, store, options, progress, transport: Transport::default() }
    }

    /// Returns the kernels that a specification selects, the oldest first, from the indexes of the mirrors.
    /// A specification without an architecture selects kernels for this machine's.
    pub fn find(&self, spec: &KernelSpec) -> Result<Vec<AvailableKernel>, FetchError> {
        let _lock = self.store.enter()?;
        let architecture = spec.architecture().or_else(Architecture::of_host);
        let architecture =
            architecture.ok_or_else(|| SpecError::NoArchitecture { spec: spec.to_string() })?;
        let spec = spec.clone().with_architecture(architecture);
        let kernels = match self.mirrors.find_store(spec.distribution()) {
            Some(store) => well_formed_kernels(&store)?,
            None => self.read_repositories(&spec, architecture)?,
        };
        Ok(spec.select(&kernels)?)
    }

    /// Fetches kernels that are not in the store, two at a time. Returns a result for each kernel.
    pub fn fetch_all(&self, kernels: &[AvailableKernel]) -> Vec<Result<StoredKernel, FetchError>> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..PARALLEL_FETCHES.min(kernels.len()) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(kernel) = kernels.get(index) else { return };
                        let result = self.fetch(kernel);
                        results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Fetches a kernel, unless it is in the store. A second process that fetches the same kernel waits for
    /// the first.
    pub fn fetch(&self, kernel: &AvailableKernel) -> Result<StoredKernel, FetchError> {
        if let Some(stored) = self.store.find(kernel)? {
            return Ok(stored);
        }
        let _user = self.store.enter()?;
        let _lock = self.store.lock_kernel(kernel, self.progress)?;
        if let Some(stored) = self.store.find(kernel)? {
            return Ok(stored);
        }
        let without_btf = kernel.btf_missing_until().filter(|_| !self.options.from_debuginfo);
        if let Some(since) = without_btf {
            let (name, bytes) = (kernel.name(), kernel.download_bytes());
            return Err(FetchError::TooOld { name, bytes, since });
        }
        let mut staged = self.store.stage(kernel)?;
        let distribution = Distribution::from_name(&kernel.distribution);
        if let Some(store) = distribution.and_then(|distribution| self.mirrors.find_store(distribution)) {
            let missing = || FetchError::Offline { name: kernel.name(), store: store.root().to_path_buf() };
            staged.copy_from(&store.find(kernel)?.ok_or_else(missing)?)?;
            return self.store.publish(staged);
        }
        for package in kernel.fetched_packages() {
            self.read_package(kernel, package, &mut |stream, _bytes| {
                unpack_into(&mut staged, package, stream)
            })?;
        }
        if !staged.has(&format!("{}.btf", kernel.release)) {
            if !staged.has(&format!("vmlinuz-{}", kernel.release)) {
                let packages: Vec<_> =
                    kernel.fetched_packages().map(|package| package.name.clone()).collect();
                return Err(FetchError::NoImage { name: kernel.name(), packages });
            }
            self.store_btf_from_debug_info(&mut staged)?;
        }
        self.store.publish(staged)
    }

    /// Passes the stream of a package and its size to a function, then reads the rest and compares the hash.
    pub(super) fn read_package(
        &self,
        kernel: &AvailableKernel,
        package: &KernelPackage,
        read: &mut dyn FnMut(&mut dyn Read, u64) -> Result<(), FetchError>,
    ) -> Result<(), FetchError> {
        let address = self.package_address(kernel, package)?;
        let expected = Expected { bytes: package.bytes, hash: &package.hash };
        let mut download = Download::open(&self.transport, self.progress, &address, expected)?;
        let unpacked = if hashes_files_only(kernel) {
            let head = PackageHead::read(&self.transport, &address)?;
            if head.files_sha256 != package.hash {
                let (found, expected) = (head.files_sha256, package.hash.clone());
                return Err(FetchError::mirror(&address, MirrorDefect::Hash { found, expected }));
            }
            download.skip_unhashed(head.files_offset)?;
            let head = plain_head(&package.name)
                .map_err(|error| FetchError::mirror(&address, MirrorDefect::Packed(error.into())))?;
            read(&mut Cursor::new(head).chain(&mut download), package.bytes)
        } else {
            read(&mut download, package.bytes)
        };
        if let Some(error) = download.take_mirror_error() {
            return Err(error);
        }
        match unpacked {
            Ok(()) => download.finish(),
            Err(error @ FetchError::Store { .. }) => Err(error),
            // A package that was changed on the way is the cause, and the damage the effect.
            Err(error) => download.finish().and(Err(error)),
        }
    }

    fn package_address(
        &self,
        kernel: &AvailableKernel,
        package: &KernelPackage,
    ) -> Result<super::Address, FetchError> {
        let unknown = || FetchError::NoMirror { distribution: package.archive.clone() };
        let distribution = Distribution::from_name(&kernel.distribution).ok_or_else(unknown)?;
        let is_archive = |archive: &Archive| archive.mirror_key(distribution.name) == package.archive;
        let archive = distribution.archives().find(is_archive).ok_or_else(unknown)?;
        let (release, architecture) = (&kernel.distribution_release, &kernel.architecture);
        let mirror = self.mirrors.find_for(distribution, archive, release, architecture)?;
        Ok(mirror.address.join(&package.path))
    }
}

/// Returns the kernels in a store that is a mirror. Names that are no plain names are left out.
fn well_formed_kernels(store: &Store) -> Result<Vec<AvailableKernel>, FetchError> {
    let kernels = store.kernels()?.into_iter().map(|kernel| kernel.manifest.kernel);
    Ok(kernels.filter(AvailableKernel::is_well_formed).collect())
}

/// Returns whether the hash of a package is that of its files without its head: apk's indexes have no hash of
/// the whole.
fn hashes_files_only(kernel: &AvailableKernel) -> bool {
    Distribution::from_name(&kernel.distribution)
        .is_some_and(|distribution| distribution.format == IndexFormat::Apk)
}
