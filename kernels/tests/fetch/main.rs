//! Fetches kernels from a small repository: from a directory, and from a server with faults.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod lying_mirrors;
mod other_formats;
mod rpm;
mod server;
mod signatures;
mod store_as_mirror;

use core_relo::{
    Endian,
    btf::{Btf, Builder, TypeId},
};
use core_relo_kernels::{
    Kernel, KernelSource, WantedFacts,
    fetch::{
        AvailableKernel, FetchError, FetchOptions, Fetcher, KernelSpec, MirrorDefect, Mirrors, NoProgress,
        Protection, Store, StoredKernel,
    },
};
use core_relo_test_support::AptRepository;
use core_relo_verdict::fleet::JudgedKernel as _;
use server::{Fault, Server};
use std::{fs, path::Path, thread};

/// A repository, and its directory.
struct Repository {
    dir: tempfile::TempDir,
    apt: AptRepository,
}

impl Repository {
    /// Creates a repository. Returns `None` with a skip if a tool is missing.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let apt = AptRepository::new(dir.path(), &kernel_btf(), &module_btf())?;
        Some(Self { dir, apt })
    }
}

/// Returns BTF of a kernel.
fn kernel_btf() -> Vec<u8> {
    let mut builder = Builder::new(Endian::Little);
    let int = builder.int("int", 4, 1);
    builder.structure("task_struct", 4, &[("pid", int, 0)]);
    builder.finish()
}

/// Returns split BTF of a module.
fn module_btf() -> Vec<u8> {
    let base = Btf::parse(kernel_btf()).unwrap();
    let mut builder = Builder::split(&base);
    builder.structure("xfs_inode", 4, &[("number", TypeId(1), 0)]);
    builder.finish()
}

/// Returns the names in a directory, which need not exist.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A store, and a mirror.
struct Machine {
    dir: tempfile::TempDir,
    mirrors: Mirrors,
}

impl Machine {
    /// Creates a machine with an empty store.
    fn new(mirror: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut mirrors = Mirrors::default();
        mirrors.set_apt_dir(dir.path().join("apt"));
        mirrors.set("debian".to_owned(), mirror.parse().unwrap());
        Self { dir, mirrors }
    }

    fn store(&self) -> Store {
        Store::new(self.dir.path().join("store"))
    }

    fn options() -> FetchOptions {
        FetchOptions::default().allow_unsigned(true)
    }

    fn find(&self, spec: &str) -> Result<Vec<AvailableKernel>, FetchError> {
        let (store, spec) = (self.store(), format!("{spec}@amd64").parse::<KernelSpec>()?);
        Fetcher::new(&self.mirrors, &store, Self::options(), &NoProgress).find(&spec)
    }

    fn fetch(&self, kernel: &AvailableKernel) -> Result<StoredKernel, FetchError> {
        let store = self.store();
        Fetcher::new(&self.mirrors, &store, Self::options(), &NoProgress).fetch(kernel)
    }

    /// Asserts that the store has no kernel, and nothing that is half written.
    fn assert_empty(&self) {
        assert_eq!(self.store().kernels(), Ok(Vec::new()));
        assert_eq!(names_in(&self.store().root().join("tmp")), [""; 0]);
    }
}

fn releases(kernels: &[AvailableKernel]) -> Vec<&str> {
    kernels.iter().map(|kernel| kernel.release.as_str()).collect()
}

fn file_address(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Returns the defect of a mirror's file.
fn defect<T: std::fmt::Debug>(result: Result<T, FetchError>) -> MirrorDefect {
    match result.unwrap_err() {
        FetchError::Mirror { defect, .. } => defect,
        other => panic!("{other}"),
    }
}

#[test]
fn kernels_of_a_directory_are_selected_and_stored() {
    let Some(repository) = Repository::new() else { return };
    let machine = Machine::new(&file_address(&repository.apt.archive()));
    let newest = machine.find("debian:12").unwrap();
    assert_eq!(releases(&newest), ["6.1.0-2-amd64"]);
    assert_eq!(releases(&machine.find("debian:12/all").unwrap()), ["6.1.0-1-amd64", "6.1.0-2-amd64"]);
    assert_eq!(releases(&machine.find("debian:bookworm/6.1.1").unwrap()), ["6.1.0-1-amd64"]);
    assert_eq!(releases(&machine.find("debian:12/6.1.0-2-cloud-amd64").unwrap()), ["6.1.0-2-cloud-amd64"]);
    assert_eq!(releases(&machine.find("debian:12/6.1-cloud").unwrap()), ["6.1.0-2-cloud-amd64"]);
    assert_eq!(
        machine.find("debian:12/claud").unwrap_err().to_string(),
        "`debian:12/claud@x86_64`: no flavour `claud`; near: cloud; known: cloud, generic"
    );
    assert_eq!(
        machine.find("debian:12/since-6.2").unwrap_err().to_string(),
        "`debian:12/since-6.2@x86_64` selects none of 3 kernels; versions: 6.1.9, 6.1.1"
    );

    let stored = machine.fetch(&newest[0]).unwrap();
    assert_eq!(fs::read(stored.btf()).unwrap(), kernel_btf());
    assert_eq!(names_in(&stored.modules()), ["xfs.btf"]);
    // The list of symbols has no symbol.
    let files: Vec<_> = stored.manifest.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["6.1.0-2-amd64.btf", "config-6.1.0-2-amd64", "vmlinuz-6.1.0-2-amd64"]);
    assert_eq!(stored.manifest.kernel.protection, Protection::File);
    assert_eq!(machine.store().kernels().unwrap(), std::slice::from_ref(&stored));
    machine.store().remove(&stored).unwrap();
    machine.assert_empty();
}

#[test]
fn a_stored_kernel_has_its_configuration_and_its_modules() {
    let Some(repository) = Repository::new() else { return };
    let machine = Machine::new(&file_address(&repository.apt.archive()));
    let stored = machine.fetch(&machine.find("debian:12").unwrap()[0]).unwrap();
    let source = KernelSource::Fetched(stored.target());
    assert_eq!(source.id().to_string(), "fetched:debian:12/6.1.0-2-amd64@x86_64");
    let image = core_relo_kernels::OpenedKernel::open(&source, &[], core_relo_kernels::Limits::default());
    let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
    let kernel: Kernel = image.unwrap().parse_with_facts(wanted).unwrap();
    assert_eq!(kernel.name, "debian:12/6.1.0-2-amd64");
    assert!(kernel.has_own_kconfig() && kernel.can_add_modules() && !kernel.has_modules());
    let names = core_relo::Name::new(b"xfs_inode");
    let with_modules = kernel.with_modules_for(&mut [names].into_iter()).unwrap();
    assert!(with_modules.has_modules() && !with_modules.can_add_modules());
}

/// Each fault is one that a mirror or a proxy has. None makes a wrong kernel visible.
#[test]
fn faults_of_packages_are_errors_or_are_overcome() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    let kernel = machine.find("debian:12").unwrap().remove(0);
    assert_eq!(kernel.protection, Protection::None);
    server.take_requests();

    server.add_fault(".deb", Fault::Status(404));
    assert_eq!(defect(machine.fetch(&kernel)), MirrorDefect::Status { code: 404 });
    machine.assert_empty();
    assert_eq!(server.take_requests().len(), 1, "a missing file is not requested again");

    for at in [10, 300, 500] {
        server.clear_faults();
        server.add_fault(".deb", Fault::ChangedByte(at));
        assert!(matches!(defect(machine.fetch(&kernel)), MirrorDefect::Hash { .. }), "byte {at}");
        machine.assert_empty();
    }
    server.clear_faults();
    server.add_fault(".deb", Fault::Longer);
    let expected = kernel.packages[0].bytes;
    assert_eq!(defect(machine.fetch(&kernel)), MirrorDefect::Long { expected });
    machine.assert_empty();

    // Connections that end early go on where they ended.
    server.clear_faults();
    server.add_fault(".deb", Fault::CutAfter(400));
    server.take_requests();
    machine.fetch(&kernel).unwrap();
    let requests = server.take_requests();
    assert!(requests[1].ends_with(".deb from 400") && requests[2].ends_with(".deb from 800"), "{requests:?}");

    // Without ranges, the download begins anew and skips what it has.
    let other = Machine::new(&format!("{}/debian", server.address()));
    server.clear_faults();
    server.add_fault(".deb", Fault::CutWithoutRanges { bytes: 400, times: 2 });
    other.fetch(&kernel).unwrap();

    // A server that never sends a byte.
    let other = Machine::new(&format!("{}/debian", server.address()));
    server.clear_faults();
    server.add_fault(".deb", Fault::CutAfter(0));
    assert!(matches!(
        defect(other.fetch(&kernel)),
        MirrorDefect::Connection { .. } | MirrorDefect::Short { .. }
    ));
    other.assert_empty();
}

#[test]
fn faults_of_indexes_are_errors() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));

    server.add_fault("Packages.xz", Fault::ChangedByte(100));
    assert!(matches!(defect(machine.find("debian:12")), MirrorDefect::Hash { .. }));
    server.clear_faults();
    server.add_fault("bookworm/Release", Fault::Status(503));
    assert_eq!(defect(machine.find("debian:12")), MirrorDefect::Status { code: 503 });
    server.clear_faults();
    let missing = MirrorDefect::NoRelease {
        release: "13 (trixie)".to_owned(),
        available: vec!["12 (bookworm)".to_owned()],
    };
    assert_eq!(defect(machine.find("debian:13")), missing);

    repository.apt.write_index("Valid-Until: Thu, 01 Jan 2026 00:00:00 UTC\n");
    assert!(matches!(defect(machine.find("debian:12")), MirrorDefect::Expired { .. }));
    let store = machine.store();
    let lenient = Machine::options().allow_expired(true);
    let spec = "debian:12@amd64".parse().unwrap();
    assert!(Fetcher::new(&machine.mirrors, &store, lenient, &NoProgress).find(&spec).is_ok());

    // The index of another suite, replayed.
    let other = repository.apt.archive().join("dists/trixie");
    fs::create_dir_all(&other).unwrap();
    fs::copy(repository.apt.suite().join("Release"), other.join("Release")).unwrap();
    let defect = defect(machine.find("debian:13"));
    assert_eq!(defect.to_string(), "is the index of oldstable, bookworm, expected trixie");
}

/// The lists are in the store by their hashes, so that they are downloaded once.
#[test]
fn a_list_is_downloaded_once() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    machine.find("debian:12").unwrap();
    server.take_requests();
    machine.find("debian:12/all").unwrap();
    assert!(!server.take_requests().iter().any(|path| path.contains("Packages")));
}

#[test]
fn several_fetches_of_a_kernel_download_it_once() {
    let Some(repository) = Repository::new() else { return };
    let server = Server::new(repository.dir.path());
    let machine = Machine::new(&format!("{}/debian", server.address()));
    let kernel = machine.find("debian:12").unwrap().remove(0);
    server.take_requests();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| machine.fetch(&kernel).unwrap());
        }
    });
    let packages = server.take_requests().into_iter().filter(|path| path.contains(".deb"));
    assert_eq!(packages.count(), 1);
    assert_eq!(machine.store().kernels().unwrap().len(), 1);
}

/// A process that was killed leaves a directory that the next fetch removes.
#[test]
fn remains_of_killed_fetches_are_removed() {
    let Some(repository) = Repository::new() else { return };
    let machine = Machine::new(&file_address(&repository.apt.archive()));
    let remains = machine.store().root().join("tmp/killed");
    fs::create_dir_all(&remains).unwrap();
    fs::write(remains.join("6.1.0-2-amd64.btf"), "half").unwrap();
    machine.find("debian:12").unwrap();
    machine.assert_empty();
}
