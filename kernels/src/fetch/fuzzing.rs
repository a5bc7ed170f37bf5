//! Fuzzing entry points: the parsers of what mirrors send, and of specifications and lock files.

use super::{
    address::Address,
    apk::{head::PackageHead, index},
    apt::{
        clear_signed::ClearSigned,
        packages::{ListOrigin, find_kernels, retain_kernel_packages},
        release::Release,
    },
    available::{AvailableKernel, Protection, is_file_name, is_relative},
    distribution::{Architecture, Distribution, IndexFormat},
    lock_file::LockFile,
    pacman,
    rpm_md::{
        kernels::{ListOrigin as RpmListOrigin, find_kernels as find_rpm_kernels},
        mirror_list::repository_path,
        primary::read_packages,
        repomd::find_primary,
    },
    spec::KernelSpec,
};

/// Parses bytes in each format of indexes, and returns the kernels that they list.
///
/// # Panics
///
/// If a parser returns a kernel whose names could leave the store or the mirror.
pub fn parse_indexes(bytes: &[u8]) -> Vec<AvailableKernel> {
    let text = String::from_utf8_lossy(bytes);
    let content =
        ClearSigned::parse(&text).map_or_else(|| text.clone().into_owned(), |signed| signed.content);
    if let Some(release) = Release::parse(&content) {
        let _list = release.packages("main", "amd64").map(|list| list.path_by_hash());
    }
    let kernels = apt_kernels(&text);
    assert!(kernels.iter().all(AvailableKernel::is_well_formed), "{kernels:?}");
    let _head = PackageHead::parse(bytes);
    let _signature = index::signature(bytes);
    for kernel in index::text(bytes).iter().flat_map(|text| index::find_kernels(text)) {
        assert!(is_file_name(&kernel.file_name()) && is_file_name(&kernel.release()), "{kernel:?}");
    }
    for kernel in index::find_kernels(&text) {
        assert!(is_file_name(&kernel.file_name()) && is_file_name(&kernel.release()), "{kernel:?}");
    }
    for kernel in pacman::find_kernels(bytes).iter().flatten() {
        assert!(is_file_name(&kernel.file_name) && is_file_name(&kernel.release()), "{kernel:?}");
    }
    let rpm_kernels = rpm_kernels(bytes);
    assert!(rpm_kernels.iter().flatten().all(AvailableKernel::is_well_formed), "{rpm_kernels:?}");
    let path = "http://a/b".parse().map(|mirror: Address| repository_path(&text, &mirror, "x86_64"));
    assert!(!matches!(&path, Ok(Ok(path)) if !is_relative(path)), "{path:?}");
    kernels
}

/// Parses a specification, which has one spelling, and selects kernels.
///
/// # Panics
///
/// If the spelling of a specification is another specification.
pub fn parse_spec(text: &str, kernels: &[AvailableKernel]) {
    let Ok(spec) = text.parse::<KernelSpec>() else { return };
    let spelled = spec.to_string().parse();
    assert_eq!(spelled.as_ref(), Ok(&spec), "{text}");
    if let Ok(selected) = spec.select(kernels) {
        assert!(!selected.is_empty() && selected.iter().all(|kernel| spec.describes(kernel)), "{text}");
    }
}

/// Parses a lock file. The text of its kernels is a lock file with the same kernels.
///
/// # Panics
///
/// If it is another one.
pub fn parse_lock_file(text: &str) {
    let Ok(lock) = LockFile::parse(text) else { return };
    let again = lock.to_text().map(|text| LockFile::parse(&text));
    assert_eq!(again.ok(), Some(Ok(lock)));
}

fn apt_kernels(list: &str) -> Vec<AvailableKernel> {
    let Some(distribution) = Distribution::from_name("debian") else { return Vec::new() };
    let Some(release) = distribution.release("12") else { return Vec::new() };
    let Some((suite, architecture)) = release.suites.first().zip(Architecture::from_name("amd64")) else {
        return Vec::new();
    };
    let protection = &Protection::None;
    let origin = ListOrigin { distribution, release, suite, architecture, protection };
    find_kernels(&retain_kernel_packages(list), origin)
}

/// Parses an index and a list of an rpm-md repository, and returns the kernels in the list.
fn rpm_kernels(bytes: &[u8]) -> Option<Vec<AvailableKernel>> {
    let _primary = find_primary(bytes);
    let packages = read_packages(bytes).ok()?;
    let distribution = Distribution::from_name("rocky")?;
    let IndexFormat::RpmMd(layout) = distribution.format else { return None };
    let release = distribution.release("9")?;
    let (suite, architecture) = release.suites.first().zip(Architecture::from_name("amd64"))?;
    let (protection, path) = (&Protection::None, "9/BaseOS/x86_64/os");
    let origin = RpmListOrigin { distribution, layout, release, suite, architecture, protection, path };
    find_rpm_kernels(&packages, origin).ok()
}
