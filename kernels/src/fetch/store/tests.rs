//! Kernels in the store.

use super::*;
use crate::{
    KernelSource,
    fetch::available::{KernelLine, KernelPackage, PackageRole, Protection},
};

fn kernel(distribution_release: &str) -> AvailableKernel {
    AvailableKernel {
        distribution: "debian".to_owned(),
        distribution_release: distribution_release.to_owned(),
        release: "7.2.13+deb14-amd64".to_owned(),
        version: "7.2.13-1".to_owned(),
        architecture: "x86_64".to_owned(),
        flavour: "generic".to_owned(),
        line: KernelLine::Default,
        packages: vec![KernelPackage {
            name: "linux-binary-7.2.13+deb14-amd64".to_owned(),
            role: PackageRole::Image,
            bytes: 1000,
            hash: "a".repeat(64),
            archive: "debian".to_owned(),
            path: "pool/x.deb".to_owned(),
        }],
        protection: Protection::File,
    }
}

fn publish(store: &Store, kernel: &AvailableKernel) -> StoredKernel {
    let mut staged = store.stage(kernel).unwrap();
    staged.write("7.2.13+deb14-amd64.btf".to_owned(), b"btf").unwrap();
    store.publish(staged).unwrap()
}

/// Creates a kernel in a store in this directory.
pub(crate) fn test_kernel(dir: &Path) -> StoredKernel {
    publish(&Store::new(dir), &kernel("14"))
}

/// A package moves from sid to the next release as it is. The kernel of one is not that of the other.
#[test]
fn releases_with_the_same_packages_have_kernels_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    publish(&store, &kernel("sid"));
    assert_eq!(store.find(&kernel("14")), Ok(None));
    let stored = publish(&store, &kernel("14"));
    assert_eq!(store.find(&kernel("14")), Ok(Some(stored.clone())));
    assert_eq!(store.select(&"debian:14".parse().unwrap()), Ok(vec![stored]));
}

/// The name does not have the architecture of every kernel, and results are stored under the identity.
#[test]
fn kernels_of_several_architectures_have_identities_and_series_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let of = |architecture: &str, flavour: &str, line: KernelLine| {
        let mut kernel = kernel("14");
        kernel.architecture = architecture.to_owned();
        kernel.flavour = flavour.to_owned();
        kernel.line = line;
        let target = publish(&store, &kernel).target();
        let series = target.series.clone();
        (KernelSource::Fetched(target).id().to_string(), series)
    };
    let name = "fetched:debian:14/7.2.13+deb14-amd64";
    for (architecture, flavour, line, series) in [
        ("x86_64", "generic", KernelLine::Default, "debian:14 x86_64"),
        ("aarch64", "64k", KernelLine::Default, "debian:14 aarch64 64k"),
        ("aarch64", "generic", KernelLine::Additional, "debian:14 aarch64 additional"),
        ("aarch64", "cloud", KernelLine::Backports, "debian:14 aarch64 cloud backports"),
    ] {
        let expected = (format!("{name}@{architecture}"), series.to_owned());
        assert_eq!(of(architecture, flavour, line), expected);
    }
}

/// A directory without a description is no kernel, and does not prevent a fetch.
#[test]
fn the_rest_of_a_kernel_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let stored = publish(&store, &kernel("14"));
    fs::remove_file(stored.dir.join(MANIFEST)).unwrap();
    assert_eq!(store.find(&kernel("14")), Ok(None));
    assert_eq!(publish(&store, &kernel("14")), stored);
}
