//! `core-relo.lock`: the kernels that specifications selected at the time of the last update, so that the
//! same kernels are used until the next one.
//!
//! The file has a line of JSON for each kernel, in the order of the specifications, so that changes of it can
//! be read and merged. A specification has its architecture, so that the file means the same everywhere.

use super::{available::AvailableKernel, distribution::Architecture, error::FetchError, spec::KernelSpec};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The version of the format.
const VERSION: u32 = 1;

/// The remedy for a file that cannot be understood.
const REMEDY: &str = "restore the file, or remove it and run `core-relo kernels update`";

/// The kernels of specifications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    specs: BTreeMap<String, Vec<AvailableKernel>>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    core_relo_lock: u32,
}

/// A further line.
#[derive(Serialize, Deserialize)]
struct Entry {
    spec: String,
    kernel: AvailableKernel,
}

impl LockFile {
    /// Reads a lock file. One that does not exist has no specifications.
    pub fn read(path: &Path) -> Result<Self, FetchError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(FetchError::store(path, &error)),
        };
        Self::parse(&text).map_err(|problem| FetchError::Damaged {
            path: path.to_path_buf(),
            problem,
            help: REMEDY,
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1u32..);
        let header = lines.next().and_then(|(line, _)| serde_json::from_str::<Header>(line).ok());
        match header {
            Some(Header { core_relo_lock: VERSION }) => {}
            Some(Header { core_relo_lock: version }) => {
                return Err(format!("has the format {version}, expected {VERSION}"));
            }
            None => return Err("is no lock file: its first line is not that of one".to_owned()),
        }
        let mut lock = Self::default();
        for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
            let Entry { spec, kernel } =
                serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
            if !kernel.is_well_formed() {
                return Err(format!("line {number}: a name, version, path or hash is damaged"));
            }
            lock.specs.entry(spec).or_default().push(kernel);
        }
        Ok(lock)
    }

    /// Returns the text of the file.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(&Header { core_relo_lock: VERSION })?;
        text.push('\n');
        for (spec, kernels) in &self.specs {
            for kernel in kernels {
                let entry = Entry { spec: spec.clone(), kernel: kernel.clone() };
                text.push_str(&serde_json::to_string(&entry)?);
                text.push('\n');
            }
        }
        Ok(text)
    }

    /// Writes the file as a whole.
    pub fn write(&self, path: &Path) -> Result<(), FetchError> {
        let failed = |error: &io::Error| FetchError::store(path, error);
        let text = self.to_text().map_err(|error| failed(&error.into()))?;
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(".core-relo-lock-")
            .permissions(new_file_permissions())
            .tempfile_in(dir)
            .map_err(|error| failed(&error))?;
        fs::write(file.path(), text).map_err(|error| failed(&error))?;
        file.as_file().sync_all().map_err(|error| failed(&error))?;
        file.persist(path).map_err(|error| failed(&error.error))?;
        Ok(())
    }

    /// Returns the kernels of a specification.
    pub fn find(&self, spec: &KernelSpec) -> Option<&[AvailableKernel]> {
        self.specs.get(&key(spec)).map(Vec::as_slice)
    }

    /// Sets the kernels of a specification, and returns the earlier ones.
    pub fn set(&mut self, spec: &KernelSpec, kernels: Vec<AvailableKernel>) -> Option<Vec<AvailableKernel>> {
        self.specs.insert(key(spec), kernels)
    }

    /// Returns the specifications.
    pub fn specs(&self) -> impl Iterator<Item = &str> {
        self.specs.keys().map(String::as_str)
    }
}

/// Returns the permissions of a new file, which the process may narrow.
fn new_file_permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

/// Returns the specification with its architecture.
fn key(spec: &KernelSpec) -> String {
    match Architecture::of_host() {
        Some(host) => spec.clone().with_architecture(host).to_string(),
        None => spec.to_string(),
    }
}

/// Returns the lock file of a project: the one beside its `core-relo.toml`, or in the current directory.
pub fn lock_path(config: Option<&Path>) -> PathBuf {
    config.map_or_else(|| PathBuf::from("core-relo.lock"), |config| config.with_file_name("core-relo.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::available::{KernelLine, KernelPackage, PackageRole, Protection};

    fn kernel(release: &str) -> AvailableKernel {
        AvailableKernel {
            distribution: "debian".to_owned(),
            distribution_release: "12".to_owned(),
            release: release.to_owned(),
            version: "6.1.1-1".to_owned(),
            architecture: "x86_64".to_owned(),
            flavour: "generic".to_owned(),
            line: KernelLine::Default,
            packages: Vec::new(),
            protection: Protection::File,
        }
    }

    #[test]
    fn a_lock_file_keeps_the_kernels_of_each_specification() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("core-relo.lock");
        assert_eq!(LockFile::read(&path), Ok(LockFile::default()));
        let spec: KernelSpec = "debian:12@amd64".parse().unwrap();
        let other: KernelSpec = "debian:11@arm64".parse().unwrap();
        let mut lock = LockFile::default();
        assert_eq!(lock.set(&spec, vec![kernel("6.1.0-1-amd64"), kernel("6.1.0-2-amd64")]), None);
        lock.set(&other, vec![kernel("5.10.0-1-arm64")]);
        lock.write(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let specs: Vec<_> = text.lines().skip(1).map(|line| line.split('"').nth(3).unwrap()).collect();
        assert_eq!(specs, ["debian:11@aarch64", "debian:12@x86_64", "debian:12@x86_64"]);
        let read = LockFile::read(&path).unwrap();
        assert_eq!(read, lock);
        assert_eq!(read.find(&spec).map(<[_]>::len), Some(2));
        assert_eq!(read.find(&"debian:12/cloud@amd64".parse().unwrap()), None);
    }

    /// The lock file of somebody else's project must not lead out of the mirror, or of the store.
    #[test]
    fn hostile_lock_files_are_errors() {
        let parse_kernel = |kernel| {
            let mut lock = LockFile::default();
            lock.set(&"debian:12@amd64".parse().unwrap(), vec![kernel]);
            LockFile::parse(&lock.to_text().unwrap()).map(|_| ())
        };
        let parse = |release: &str, path: &str, hash: String| {
            let package = KernelPackage {
                name: "linux-image".to_owned(),
                role: PackageRole::Image,
                bytes: 1,
                hash,
                archive: "debian".to_owned(),
                path: path.to_owned(),
            };
            let kernel = AvailableKernel { packages: vec![package], ..kernel(release) };
            parse_kernel(kernel)
        };
        let error = Err("line 2: a name, version, path or hash is damaged".to_owned());
        let hash = || "a".repeat(64);
        assert_eq!(parse("6.1.0-1-amd64", "pool/x.deb", hash()), Ok(()));
        assert_eq!(parse("6.1/../../../x", "pool/x.deb", hash()), error);
        assert_eq!(parse("/etc", "pool/x.deb", hash()), error);
        assert_eq!(parse("..", "pool/x.deb", hash()), error);
        assert_eq!(parse("6.1.0-1-amd64", "../../etc/x", hash()), error);
        assert_eq!(parse("6.1.0-1-amd64", "pool/x.deb", "a".to_owned()), error);
        let version = "x:6.1.1-1".to_owned();
        assert_eq!(parse_kernel(AvailableKernel { version, ..kernel("6.1.0-1-amd64") }), error);
    }

    #[test]
    fn damaged_lock_files_are_errors() {
        for (text, problem) in [
            ("", "is no lock file: its first line is not that of one"),
            ("{\"core_relo_lock\":2}\n", "has the format 2, expected 1"),
            (
                "{\"core_relo_lock\":1}\n{\"spec\":\"x\"}\n",
                "line 2: missing field `kernel` at line 1 column 12",
            ),
        ] {
            assert_eq!(LockFile::parse(text), Err(problem.to_owned()));
        }
    }
}
