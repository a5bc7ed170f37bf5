//! The kernels in a list of packages (`Packages`).
//!
//! | package | contents |
//! |---|---|
//! | `linux-image-R` | the kernel; from Linux 7.0 on, nothing but dependencies |
//! | `linux-image-R-unsigned` | the same without a signature for Secure Boot |
//! | `linux-binary-R` | from Linux 7.0 on, the image |
//! | `linux-base-R` | from Linux 7.0 on, configuration and symbols |
//! | `linux-modules-R` | from Linux 7.0 on, the modules |
//! | `linux-image-R-dbg` | debug information |
//! | `linux-image-R`, `linux-image-unsigned-R` | on Ubuntu, the image |
//! | `linux-modules-R`, `linux-modules-extra-R` | on Ubuntu, the modules; the first has configuration and symbols |
//!
//! A package such as `linux-image-amd64` or `linux-image-6.12-amd64` has only dependencies and is no kernel.

use crate::fetch::{
    available::{
        AvailableKernel, KernelLine, KernelPackage, PackageRole, Protection, is_file_name, is_relative,
    },
    deb822::{Paragraph, paragraphs},
    distribution::{Architecture, Distribution, DistributionRelease, GENERIC, Suite},
    kernel_version::has_valid_epoch,
    sha256::is_sha256,
};
use std::collections::BTreeMap;

/// The beginnings of the names of packages with parts of a kernel.
const PREFIXES: [(&str, PackageRole); 5] = [
    ("linux-image-", PackageRole::Image),
    ("linux-binary-", PackageRole::Image),
    ("linux-base-", PackageRole::Base),
    ("linux-modules-extra-", PackageRole::ExtraModules),
    ("linux-modules-", PackageRole::Modules),
];

/// The word before the release in Ubuntu's names of images without a signature.
const UNSIGNED: &str = "unsigned-";

/// The end of the names of packages with the sources of signed packages.
const TEMPLATE: &str = "-signed-template";

/// The least installed size, in KiB, of a package that contains an image.
const MIN_IMAGE_KIB: u64 = 1024;

/// The place of a list of packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListOrigin<'o> {
    pub(crate) distribution: &'static Distribution,
    pub(crate) release: &'static DistributionRelease,
    pub(crate) suite: &'static Suite,
    pub(crate) architecture: Architecture,
    pub(crate) protection: &'o Protection,
}

/// Returns the paragraphs of packages with parts of a kernel.
pub(crate) fn retain_kernel_packages(list: &str) -> String {
    let kernels = paragraphs(list).filter(|paragraph| paragraph.field("Package").is_some_and(is_part));
    kernels.flat_map(|paragraph| [paragraph.text(), "\n\n"]).collect()
}

/// Returns whether a package may contain a part of a kernel: its name has a release.
fn is_part(name: &str) -> bool {
    split_name(name).is_some_and(|(rest, _)| is_release(rest.strip_prefix(UNSIGNED).unwrap_or(rest)))
}

/// Splits the beginning off a package's name, and returns the contents that it stands for.
fn split_name(name: &str) -> Option<(&str, PackageRole)> {
    PREFIXES.iter().find_map(|(prefix, role)| Some((name.strip_prefix(prefix)?, *role)))
}

fn is_release(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && is_file_name(text)
}

/// A package in a list.
struct ListedPackage {
    package: KernelPackage,
    version: String,
    release: String,
    is_unsigned: bool,
    installed_kib: u64,
    source: String,
}

/// Finds the kernels in a list of packages.
pub(crate) fn find_kernels(list: &str, origin: ListOrigin<'_>) -> Vec<AvailableKernel> {
    let mut parts: BTreeMap<(String, String), Vec<ListedPackage>> = BTreeMap::new();
    for paragraph in paragraphs(list) {
        if let Some(part) = parse_package(paragraph, origin) {
            parts.entry((part.release.clone(), part.version.clone())).or_default().push(part);
        }
    }
    parts
        .into_iter()
        .filter_map(|((release, version), parts)| kernel(release, version, parts, origin))
        .collect()
}

/// Parses a paragraph. Returns `None` for a package that is no part of a kernel, or whose fields are damaged.
fn parse_package(paragraph: Paragraph<'_>, origin: ListOrigin<'_>) -> Option<ListedPackage> {
    let name = paragraph.field("Package")?;
    let (rest, role) = split_name(name)?;
    let (rest, role) = match rest.strip_suffix("-dbg") {
        Some(rest) => (rest, PackageRole::Debug),
        None => (rest, role),
    };
    let unsigned = rest.strip_suffix("-unsigned").or_else(|| rest.strip_prefix(UNSIGNED));
    let (release, is_unsigned) = match unsigned {
        Some(release) => (release, true),
        None => (rest, false),
    };
    let (sha256, path) = (paragraph.field("SHA256")?, paragraph.field("Filename")?);
    // apt-ftparchive lists the files of its own directory so.
    let path = path.strip_prefix("./").unwrap_or(path);
    let version = paragraph.field("Version")?;
    let is_template = release.ends_with(TEMPLATE);
    if is_template
        || !has_valid_epoch(version)
        || !is_release(release)
        || !is_sha256(sha256)
        || !is_relative(path)
    {
        return None;
    }
    let package = KernelPackage {
        name: name.to_owned(),
        role,
        bytes: paragraph.field("Size")?.parse().ok()?,
        hash: sha256.to_ascii_lowercase(),
        archive: origin.suite.archive.mirror_key(origin.distribution.name),
        path: path.to_owned(),
    };
    let installed_kib = paragraph.field("Installed-Size").and_then(|size| size.parse().ok());
    Some(ListedPackage {
        package,
        version: version.to_owned(),
        release: release.to_owned(),
        is_unsigned,
        // A list without the size leaves only the size of the package.
        installed_kib: installed_kib.unwrap_or(u64::MAX),
        source: paragraph.field("Source").unwrap_or(name).split(' ').next().unwrap_or(name).to_owned(),
    })
}

/// Creates the kernel of some packages with the same release and version. Returns `None` if no package has
/// an image.
fn kernel(
    release: String,
    version: String,
    parts: Vec<ListedPackage>,
    origin: ListOrigin<'_>,
) -> Option<AvailableKernel> {
    // The unsigned image has the same contents; it is the kernel where there is no signed one.
    let images = parts
        .iter()
        .filter(|part| part.package.role == PackageRole::Image && part.installed_kib >= MIN_IMAGE_KIB);
    let image = images.min_by_key(|part| part.is_unsigned)?;
    let line = match (origin.suite.is_backports, is_default_source(&image.source)) {
        (true, _) => KernelLine::Backports,
        (false, true) => KernelLine::Default,
        (false, false) => KernelLine::Additional,
    };
    let mut packages = vec![image.package.clone()];
    let further = [PackageRole::Base, PackageRole::Modules, PackageRole::ExtraModules, PackageRole::Debug];
    for role in further {
        packages.extend(parts.iter().find(|part| part.package.role == role).map(|part| part.package.clone()));
    }
    let flavour = flavour(&release, origin.architecture);
    Some(AvailableKernel {
        distribution: origin.distribution.name.to_owned(),
        distribution_release: origin.release.number.to_owned(),
        release,
        version,
        architecture: origin.architecture.machine().to_owned(),
        flavour,
        line,
        packages,
        protection: origin.protection.clone(),
    })
}

/// Returns whether a source package is that of the release's own kernel: `linux`, `linux-signed-amd64` or
/// `linux-aws`, not `linux-6.12`, `linux-signed-6.12-amd64` or `linux-signed-hwe-6.8`.
fn is_default_source(source: &str) -> bool {
    !source.split('-').any(is_release)
}

/// Returns the flavour in a release: `cloud` of `6.1.0-43-cloud-amd64`, `generic` of `6.1.0-43-amd64`, `16k`
/// of `6.12.1+deb13-arm64-16k`.
fn flavour(release: &str, architecture: Architecture) -> String {
    // Debian's names of kernels differ from those of architectures in some cases.
    let names: &[&str] = match architecture.debian() {
        "ppc64el" => &["powerpc64le", "ppc64el"],
        "i386" => &[],
        "armhf" => &["armmp"],
        debian => &[debian],
    };
    let parts: Vec<_> = release.split('-').collect();
    let is_word =
        |part: &&str| part.starts_with(|first: char| first.is_ascii_alphabetic()) || part.ends_with('k');
    let words: Vec<_> = parts.into_iter().skip(1).filter(is_word).collect();
    let words = words.join("-");
    let flavour = names.iter().find_map(|name| {
        let (before, after) = words.split_once(name)?;
        Some(format!("{before}{after}"))
    });
    let flavour = flavour.unwrap_or(words);
    let flavour = flavour.trim_matches('-').replace("--", "-");
    if flavour.is_empty() { GENERIC.to_owned() } else { flavour }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(name: &str, version: &str, source: &str, kib: u64) -> String {
        let hash = "a".repeat(64);
        format!(
            "Package: {name}\nSource: {source}\nVersion: {version}\nInstalled-Size: {kib}\nArchitecture: amd64\n\
             Filename: pool/{name}.deb\nSize: 1000\nSHA256: {hash}\n\n"
        )
    }

    fn find(list: &str) -> Vec<AvailableKernel> {
        let distribution = Distribution::from_name("debian").unwrap();
        let release = distribution.release("12").unwrap();
        let origin = ListOrigin {
            distribution,
            release,
            suite: &release.suites[0],
            architecture: Architecture::from_name("amd64").unwrap(),
            protection: &Protection::None,
        };
        find_kernels(&retain_kernel_packages(list), origin)
    }

    #[test]
    fn signed_and_unsigned_images_are_one_kernel() {
        let list = [
            paragraph("linux-image-6.1.0-50-cloud-amd64-unsigned", "6.1.176-1", "linux", 400_000),
            paragraph(
                "linux-image-6.1.0-50-cloud-amd64",
                "6.1.176-1",
                "linux-signed-amd64 (6.1.176+1)",
                400_000,
            ),
            paragraph("linux-image-6.1.0-50-cloud-amd64-dbg", "6.1.176-1", "linux", 4_000_000),
            paragraph("linux-image-cloud-amd64", "6.1.176-1", "linux-signed-amd64 (6.1.176+1)", 13),
            paragraph("linux-image-6.12-amd64", "6.12.9-1", "linux-signed-6.12-amd64 (6.12.9+1)", 13),
            paragraph("linux-image-6.12-amd64-signed-template", "6.12.9-1", "linux-6.12", 4000),
            paragraph("bash", "5", "bash", 4000),
        ];
        let kernels = find(&list.concat());
        assert_eq!(kernels.len(), 1, "{kernels:?}");
        let kernel = &kernels[0];
        assert_eq!(kernel.name(), "debian:12/6.1.0-50-cloud-amd64");
        assert_eq!((kernel.flavour.as_str(), kernel.line), ("cloud", KernelLine::Default));
        let names: Vec<_> = kernel.packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["linux-image-6.1.0-50-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64-dbg"]);
        assert_eq!(kernel.download_bytes(), 1000);
    }

    #[test]
    fn a_package_whose_epoch_is_no_number_is_no_part_of_a_kernel() {
        let list = |version| paragraph("linux-image-6.1.0-50-amd64", version, "linux", 400_000);
        assert_eq!(find(&list("1:6.1.176-1")).len(), 1);
        assert!(find(&list("x:6.1.176-1")).is_empty());
    }

    #[test]
    fn a_kernel_may_be_in_several_packages() {
        let release = "7.2.13+deb14-amd64";
        let list = [
            paragraph(&format!("linux-image-{release}"), "7.2.13-1", "linux-signed-amd64 (7.2.13+1)", 15),
            paragraph(
                &format!("linux-binary-{release}"),
                "7.2.13-1",
                "linux-signed-amd64 (7.2.13+1)",
                14_220,
            ),
            paragraph(&format!("linux-base-{release}"), "7.2.13-1", "linux", 963),
            paragraph(&format!("linux-modules-{release}"), "7.2.13-1", "linux", 109_569),
        ];
        let kernels = find(&list.concat());
        let packages: Vec<_> =
            kernels[0].packages.iter().map(|package| (package.name.clone(), package.role)).collect();
        assert_eq!(
            packages,
            [
                (format!("linux-binary-{release}"), PackageRole::Image),
                (format!("linux-base-{release}"), PackageRole::Base),
                (format!("linux-modules-{release}"), PackageRole::Modules),
            ]
        );
        assert_eq!(kernels[0].flavour, GENERIC);
    }

    #[test]
    fn kernels_of_later_series_are_additional() {
        let name = "linux-image-6.12.117+deb12-amd64";
        let source = "linux-signed-6.12-amd64 (6.12.117+1~deb12u1)";
        let kernels = find(&paragraph(name, "6.12.117-1~deb12u1", source, 400_000));
        assert_eq!(kernels[0].line, KernelLine::Additional);
    }

    #[test]
    fn ubuntus_kernels_have_modules_in_packages_of_their_own() {
        let release = "6.8.0-40-generic";
        let source = "linux-hwe-6.8";
        let list = [
            paragraph(&format!("linux-image-unsigned-{release}"), "6.8.0-40.40~22.04.3", source, 14_000),
            paragraph(&format!("linux-modules-{release}"), "6.8.0-40.40~22.04.3", source, 120_000),
            paragraph(&format!("linux-modules-extra-{release}"), "6.8.0-40.40~22.04.3", source, 500_000),
            paragraph("linux-modules-nvidia-535-6.8.0-40-generic", "6.8.0-40.40~22.04.3", source, 5000),
            paragraph("linux-image-generic-hwe-22.04", "6.8.0-40.40~22.04.3", source, 20),
        ];
        let kernels = find(&list.concat());
        assert_eq!(kernels.len(), 1, "{kernels:?}");
        let roles: Vec<_> = kernels[0].packages.iter().map(|package| package.role).collect();
        assert_eq!(roles, [PackageRole::Image, PackageRole::Modules, PackageRole::ExtraModules]);
        assert_eq!((kernels[0].release.as_str(), kernels[0].flavour.as_str()), (release, GENERIC));
        assert_eq!((kernels[0].line, kernels[0].series().as_str()), (KernelLine::Additional, "6.8"));
    }

    /// A path that leaves the mirror would be a request for another file, or a file of this machine.
    #[test]
    fn packages_outside_of_the_mirror_are_left_out() {
        let entry = paragraph("linux-image-6.1.0-50-amd64", "6.1.176-1", "linux", 400_000);
        for path in ["/etc/passwd", "pool/../../x", "pool/x?y", "pool//x", "pool/%2e%2e/x"] {
            let hostile = entry.replace("pool/linux-image-6.1.0-50-amd64.deb", path);
            assert!(find(&hostile).is_empty(), "{path}");
        }
        assert!(find(&entry.replace(&"a".repeat(64), "abc")).is_empty());
        assert!(find(&entry.replace("linux-image-6.1.0-50", "linux-image-6.1/../..")).is_empty());
        assert_eq!(find(&entry.replace("Filename: pool", "Filename: ./pool")), find(&entry));
        assert_eq!(find(&entry).len(), 1);
    }

    #[test]
    fn flavours_are_the_words_beside_the_architecture() {
        let flavour = |release, name| flavour(release, Architecture::from_name(name).unwrap());
        assert_eq!(flavour("6.1.0-50-rt-amd64", "amd64"), "rt");
        assert_eq!(flavour("6.1.0-47-powerpc64le", "ppc64el"), GENERIC);
        assert_eq!(flavour("6.12.1+deb13-powerpc64le-64k", "ppc64el"), "64k");
        assert_eq!(flavour("6.12.1+deb13-arm64-16k", "arm64"), "16k");
        assert_eq!(flavour("6.1.0-50-686-pae", "i386"), "pae");
        assert_eq!(flavour("6.12.57+deb12-cloud-arm64", "arm64"), "cloud");
    }
}
