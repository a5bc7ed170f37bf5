//! The kernels in repositories of apk and pacman.
//!
//! The indexes of these formats have no dates, and no hashes of each other: each is read anew.

use super::{
    address::Address,
    apk::{head::PackageHead, index, signature},
    available::{AvailableKernel, KernelLine, KernelPackage, PackageRole, Protection},
    distribution::{Architecture, IndexFormat, Suite},
    error::{FetchError, MirrorDefect},
    fetcher::Fetcher,
    index_file::protection_without_signature,
    mirrors::Mirror,
    pacman,
    rpm_layout::expand,
    rpm_md::mirror_list::MIRROR_LIST,
    spec::KernelSpec,
};
use crate::limits::{MAX_APK_KERNELS, MAX_PACKAGES_BYTES};
use std::io;

/// Returns the name of an architecture in repositories of apk and pacman.
fn architecture_name(architecture: Architecture) -> &'static str {
    match architecture.machine() {
        "i686" => "x86",
        "arm" => "armv7",
        machine => machine,
    }
}

/// Returns the paths of the index of a repository below the mirror's address. The first that exists is used.
pub(super) fn index_paths(format: IndexFormat, suite: &Suite, architecture: Architecture) -> Vec<String> {
    let (name, machine) = (suite.name, architecture.machine());
    let architecture = architecture_name(architecture);
    match format {
        IndexFormat::Apt => vec![format!("dists/{name}/InRelease"), format!("dists/{name}/Release")],
        IndexFormat::Apk => vec![format!("{name}/{architecture}/APKINDEX.tar.gz")],
        IndexFormat::Pacman => vec![format!("{name}/os/{architecture}/{name}.db")],
        IndexFormat::RpmMd(_) => match expand(name, machine) {
            list if list.ends_with(MIRROR_LIST) => vec![list],
            path => vec![format!("{path}/repodata/repomd.xml")],
        },
    }
}

/// A repository of a specification, and its index.
struct Repository<'r> {
    spec: &'r KernelSpec,
    mirror: Mirror,
    architecture: Architecture,
    /// The path of the packages below the mirror's address.
    directory: String,
    address: Address,
    index: Vec<u8>,
}

impl Repository<'_> {
    /// Returns the error of an index that cannot be unpacked.
    fn packed(&self, error: io::Error) -> FetchError {
        FetchError::mirror(&self.address, MirrorDefect::Packed(error.into()))
    }

    /// Returns the path of a package below the mirror's address.
    fn path(&self, file_name: &str) -> String {
        format!("{}/{file_name}", self.directory)
    }
}

/// A kernel in an index of any format.
struct ListedKernel {
    package: String,
    version: String,
    release: String,
    flavour: String,
    bytes: u64,
    hash: String,
    path: String,
}

impl Fetcher<'_> {
    /// Returns the kernels in a repository of apk.
    pub(super) fn read_apk_repository(
        &self,
        spec: &KernelSpec,
        suite: &Suite,
        architecture: Architecture,
    ) -> Result<Vec<AvailableKernel>, FetchError> {
        let repository = self.open_repository(spec, suite, architecture)?;
        let protection = self.verify_apk_index(&repository)?;
        let text = index::text(&repository.index).map_err(|error| repository.packed(error))?;
        let listed = index::find_kernels(&text);
        if listed.len() > MAX_APK_KERNELS {
            let defect = MirrorDefect::TooManyKernels { limit: MAX_APK_KERNELS };
            return Err(FetchError::mirror(&repository.address, defect));
        }
        let mut kernels = Vec::new();
        for kernel in listed {
            let path = repository.path(&kernel.file_name());
            let address = repository.mirror.address.join(&path);
            // The index has the hash of the package's metadata, which have the hash of its files.
            let head = PackageHead::read(&self.transport, &address)?;
            head.check(&kernel.metadata_hash).map_err(|defect| FetchError::mirror(&address, defect))?;
            let listed = ListedKernel {
                release: kernel.release(),
                package: kernel.package,
                version: kernel.version,
                flavour: kernel.flavour,
                bytes: kernel.bytes,
                hash: head.files_sha256,
                path,
            };
            kernels.push(listed.into_available(&repository, &protection));
        }
        Ok(kernels)
    }

    /// Returns the kernels in a repository of pacman.
    pub(super) fn read_pacman_repository(
        &self,
        spec: &KernelSpec,
        suite: &Suite,
        architecture: Architecture,
    ) -> Result<Vec<AvailableKernel>, FetchError> {
        let repository = self.open_repository(spec, suite, architecture)?;
        // Arch does not sign its databases. The signatures of packages are not verified.
        let protection = protection_without_signature(&repository.address);
        let listed = pacman::find_kernels(&repository.index).map_err(|error| repository.packed(error))?;
        let listed = listed.into_iter().map(|kernel| ListedKernel {
            release: kernel.release(),
            flavour: kernel.flavour().to_owned(),
            path: repository.path(&kernel.file_name),
            package: kernel.package,
            version: kernel.version,
            bytes: kernel.bytes,
            hash: kernel.sha256,
        });
        Ok(listed.map(|kernel| kernel.into_available(&repository, &protection)).collect())
    }

    /// Downloads the index of a repository.
    fn open_repository<'r>(
        &self,
        spec: &'r KernelSpec,
        suite: &Suite,
        architecture: Architecture,
    ) -> Result<Repository<'r>, FetchError> {
        let mirror = self.mirrors.find(spec.distribution(), suite.archive)?;
        let paths = index_paths(spec.distribution().format, suite, architecture);
        let path = paths.first().map_or("", String::as_str);
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned();
        let address = mirror.address.join(path);
        let index = self.transport.read(&address, MAX_PACKAGES_BYTES)?;
        Ok(Repository { spec, mirror, architecture, directory, address, index })
    }

    /// Verifies the signature of an index of apk, and returns what protects it.
    ///
    /// Where the machine has Alpine's keys and `openssl`, an index without a good signature is an error,
    /// unless the mirror is a directory of this machine or the user allows it.
    fn verify_apk_index(&self, repository: &Repository<'_>) -> Result<Protection, FetchError> {
        let Repository { address, index, mirror, .. } = repository;
        let unsigned = protection_without_signature(address);
        let keys = mirror.keyrings.first().filter(|keys| signature::can_verify(keys));
        let Some(keys) = keys.filter(|_| !self.options.allow_unsigned) else { return Ok(unsigned) };
        let Some(found) = index::signature(index).map_err(|error| repository.packed(error))? else {
            if unsigned == Protection::File {
                return Ok(unsigned);
            }
            let reason = "the index has no signature".to_owned();
            return Err(FetchError::Unverified { address: address.clone(), reason });
        };
        let tmp = self.store.temporary_dir()?;
        let key = signature::verify(keys, index, &found, tmp.path(), address)?;
        Ok(Protection::Signature { keyring: key.display().to_string() })
    }
}

impl ListedKernel {
    fn into_available(self, repository: &Repository<'_>, protection: &Protection) -> AvailableKernel {
        let distribution = repository.spec.distribution();
        AvailableKernel {
            distribution: distribution.name.to_owned(),
            distribution_release: repository.spec.release().number.to_owned(),
            release: self.release,
            version: self.version,
            architecture: repository.architecture.machine().to_owned(),
            flavour: self.flavour,
            line: KernelLine::Default,
            packages: vec![KernelPackage {
                name: self.package,
                role: PackageRole::Image,
                bytes: self.bytes,
                hash: self.hash,
                archive: distribution.name.to_owned(),
                path: self.path,
            }],
            protection: protection.clone(),
        }
    }
}
