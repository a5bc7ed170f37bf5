//! The packages of the same kernel, by the naming rules of distributions.

use crate::package::PackageMetadata;

/// The beginnings of the names of packages with an image: Debian and Ubuntu, and Debian since Linux 7.
const IMAGE_PREFIXES: [&str; 2] = ["linux-image-", "linux-binary-"];

/// The endings of the names of packages with debug information.
const DEBUG_SUFFIXES: [&str; 3] = ["-dbg", "-dbgsym", "-debuginfo"];

/// The beginnings of the names of Debian's and Ubuntu's packages beside the image.
const OTHER_PREFIXES: [&str; 3] = ["linux-headers-", "linux-modules-extra-", "linux-modules-"];

/// The endings of the names of rpm packages beside `kernel-core`.
const OTHER_SUFFIXES: [&str; 7] = [
    "-modules-extra",
    "-modules-core",
    "-modules-internal",
    "-modules",
    "-devel-matched",
    "-devel",
    "-headers",
];

impl PackageMetadata {
    /// Returns whether the package has debug information, by its name.
    pub fn is_debug(&self) -> bool {
        DEBUG_SUFFIXES.iter().any(|suffix| self.name.ends_with(suffix))
    }

    /// Returns the name of the package with the kernel's debug information, for a package with an image. The
    /// name is a guess by the rules of distributions.
    pub fn debug_package(&self, release: &str) -> Option<String> {
        let name = &*self.name;
        if self.is_debug() {
            return None;
        }
        if IMAGE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            // Releases of Debian end in the architecture, those of Ubuntu in a flavour.
            return Some(if release.ends_with(&self.architecture) {
                format!("linux-image-{release}-dbg")
            } else {
                format!("linux-image-unsigned-{release}-dbgsym")
            });
        }
        let base = name.strip_suffix("-core").unwrap_or(name);
        is_rpm_kernel(base).then(|| format!("{base}-debuginfo"))
    }

    /// Returns the name of the package with the image, for another package of a kernel: from its
    /// dependencies, or else a guess from its name.
    pub fn kernel_package(&self) -> Option<String> {
        let is_image = |name: &&str| IMAGE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let is_core =
            |name: &&str| is_rpm_kernel(name) && name.ends_with("-core") && !name.contains("-modules");
        let mut names = self.depends.iter().map(|name| name.strip_suffix("-uname-r").unwrap_or(name));
        let dependency = names.find(|name| (is_image(name) || is_core(name)) && *name != self.name);
        dependency.map(str::to_owned).or_else(|| self.kernel_package_by_name())
    }

    fn kernel_package_by_name(&self) -> Option<String> {
        let name = &*self.name;
        if let Some(release) = OTHER_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            // Debian has packages with modules only beside `linux-binary-*`, Ubuntu beside `linux-image-*`.
            let has_binary = name.starts_with("linux-modules-") && release.ends_with(&self.architecture);
            return Some(format!("linux-{}-{release}", if has_binary { "binary" } else { "image" }));
        }
        if is_rpm_kernel(name) {
            let base = OTHER_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix))?;
            return Some(format!("{base}-core"));
        }
        // Arch.
        name.strip_suffix("-headers").filter(|base| base.starts_with("linux")).map(str::to_owned)
    }
}

/// Returns whether a name is that of an rpm package of a kernel.
fn is_rpm_kernel(name: &str) -> bool {
    name == "kernel" || name.starts_with("kernel-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, architecture: &str, depends: &[&str]) -> PackageMetadata {
        PackageMetadata {
            name: name.to_owned(),
            architecture: architecture.to_owned(),
            depends: depends.iter().map(|name| (*name).to_owned()).collect(),
            ..PackageMetadata::default()
        }
    }

    #[test]
    fn packages_without_an_image_name_the_one_with_it() {
        for (name, architecture, depends, expected) in [
            (
                "linux-image-amd64",
                "amd64",
                &["linux-image-6.1.0-56-amd64"][..],
                Some("linux-image-6.1.0-56-amd64"),
            ),
            ("linux-headers-6.1.0-50-amd64", "amd64", &[], Some("linux-image-6.1.0-50-amd64")),
            ("linux-modules-extra-6.8.0-31-generic", "amd64", &[], Some("linux-image-6.8.0-31-generic")),
            ("linux-modules-7.0.4-amd64", "amd64", &[], Some("linux-binary-7.0.4-amd64")),
            (
                "kernel",
                "x86_64",
                &["kernel-modules-core-uname-r", "kernel-core-uname-r"],
                Some("kernel-core"),
            ),
            ("kernel-modules-extra", "x86_64", &[], Some("kernel-core")),
            ("kernel-uek-devel", "x86_64", &[], Some("kernel-uek-core")),
            ("linux-lts-headers", "x86_64", &[], Some("linux-lts")),
            ("bash", "amd64", &["libc6"], None),
        ] {
            assert_eq!(package(name, architecture, depends).kernel_package().as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn packages_with_an_image_name_the_one_with_debug_information() {
        for (name, architecture, release, expected) in [
            ("linux-image-6.1.0-50-amd64", "amd64", "6.1.0-50-amd64", Some("linux-image-6.1.0-50-amd64-dbg")),
            (
                "linux-image-6.8.0-31-generic",
                "amd64",
                "6.8.0-31-generic",
                Some("linux-image-unsigned-6.8.0-31-generic-dbgsym"),
            ),
            ("kernel-core", "x86_64", "5.14.0-427.el9.x86_64", Some("kernel-debuginfo")),
            ("kernel-default", "x86_64", "6.4.0-default", Some("kernel-default-debuginfo")),
            ("kernel-debuginfo", "x86_64", "5.14.0-427.el9.x86_64", None),
            ("linux", "x86_64", "6.17.1-arch1-1", None),
        ] {
            assert_eq!(
                package(name, architecture, &[]).debug_package(release).as_deref(),
                expected,
                "{name}"
            );
        }
    }
}
