//! The files of kernels in packages, by their paths.

use crate::{compression::format::Compression, file_kind::is_module_name};
use std::path::{Component, Path};

/// The kind of a kernel's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelFileKind {
    /// A boot image or a vmlinux, also of a debug package.
    Image,
    /// The configuration.
    Config,
    /// The symbols: `System.map`.
    Symbols,
    /// A module.
    Module,
}

/// A file of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelFile<'p> {
    /// The kind.
    pub kind: KernelFileKind,
    /// The release in the path. It may be empty, or a flavour, as in Alpine's `boot/vmlinuz-lts`.
    pub release: &'p str,
}

/// The names of images. The release follows after a `-`.
const IMAGES: [&str; 6] = ["vmlinuz", "vmlinux", "bzImage", "zImage", "Image", "image"];

/// The directory of debug packages, which contain a copy of the tree of files.
const DEBUG_DIR: [&str; 3] = ["usr", "lib", "debug"];

impl<'p> KernelFile<'p> {
    /// Returns the kernel file at a path in a package; `None` for other files.
    ///
    /// Debian and Ubuntu have `boot/vmlinuz-R`, `boot/config-R` and `boot/System.map-R`. Fedora, RHEL, SUSE
    /// and Arch have the same names without the release in `lib/modules/R` or `usr/lib/modules/R`. Debug
    /// packages have `usr/lib/debug/boot/vmlinux-R` or `usr/lib/debug/lib/modules/R/vmlinux`. Arch's headers
    /// have `usr/lib/modules/R/build/vmlinux`.
    pub fn from_path(path: &'p Path) -> Option<Self> {
        let mut parts = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(part) => parts.push(part.to_str()?),
                _ => return None,
            }
        }
        match parts.strip_prefix(&DEBUG_DIR) {
            Some([name]) => Self::with_release(name),
            Some(rest) => Self::from_parts(rest).filter(|file| file.kind == KernelFileKind::Image),
            None => Self::from_parts(&parts),
        }
    }

    fn from_parts(parts: &[&'p str]) -> Option<Self> {
        let parts = parts.strip_prefix(&["usr"]).unwrap_or(parts);
        match parts {
            ["boot", name] => Self::with_release(name),
            ["lib", "modules", release, name] | ["lib", "modules", release, "build", name] => {
                // Azure Linux has `vmlinux-R` in its directory of debug information.
                let stem = name.strip_suffix(release).and_then(|name| name.strip_suffix('-'));
                Self::named(stem.unwrap_or(name), release)
            }
            ["lib", "modules", release, .., name] => {
                is_module_name(Path::new(name)).then_some(Self { kind: KernelFileKind::Module, release })
            }
            _ => None,
        }
    }

    /// Returns the file with this name in `boot`.
    fn with_release(name: &'p str) -> Option<Self> {
        let stem = file_stem(name);
        let names = IMAGES.iter().chain(&["config", "System.map"]);
        let (known, rest) = names.filter_map(|known| Some((known, stem.strip_prefix(known)?))).next()?;
        let release = if rest.is_empty() { rest } else { rest.strip_prefix('-')? };
        Self::named(known, release)
    }

    /// Returns the file with this name in the directory of a release.
    fn named(name: &str, release: &'p str) -> Option<Self> {
        let kind = match file_stem(name) {
            "config" => KernelFileKind::Config,
            "System.map" => KernelFileKind::Symbols,
            name if IMAGES.contains(&name) => KernelFileKind::Image,
            _ => return None,
        };
        Some(Self { kind, release })
    }

    /// Returns whether the release in the path is one, rather than a flavour.
    pub fn has_release(&self) -> bool {
        self.release.starts_with(|first: char| first.is_ascii_digit())
    }
}

/// Returns a name without the endings of compressed files and of debug information. Checksums beside images,
/// such as `vmlinuz-6.1.hmac`, stay different from the name of an image.
fn file_stem(name: &str) -> &str {
    const OTHER_ENDINGS: [&str; 3] = [".hmac", ".sig", ".sha256"];
    let name = Compression::uncompressed_name(name);
    if OTHER_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return "";
    }
    name.strip_suffix(".debug").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{KernelFileKind::*, *};

    #[test]
    fn paths_of_distributions_are_known() {
        for (path, kind, release) in [
            ("boot/vmlinuz-6.1.0-50-amd64", Image, "6.1.0-50-amd64"),
            ("boot/vmlinux-6.1.0-50-powerpc64le", Image, "6.1.0-50-powerpc64le"),
            ("boot/vmlinux-6.4.0-default.xz", Image, "6.4.0-default"),
            ("boot/vmlinuz-lts", Image, "lts"),
            ("boot/vmlinuz", Image, ""),
            ("boot/config-6.1.0-50-amd64", Config, "6.1.0-50-amd64"),
            ("boot/System.map-6.1.0-50-amd64", Symbols, "6.1.0-50-amd64"),
            ("lib/modules/5.14.0-427.el9.x86_64/vmlinuz", Image, "5.14.0-427.el9.x86_64"),
            ("lib/modules/5.14.0-427.el9.x86_64/config", Config, "5.14.0-427.el9.x86_64"),
            ("usr/lib/modules/6.17.1-arch1-1/vmlinuz", Image, "6.17.1-arch1-1"),
            ("usr/lib/modules/6.17.1-arch1-1/build/vmlinux", Image, "6.17.1-arch1-1"),
            ("usr/lib/modules/6.4.0-default/System.map", Symbols, "6.4.0-default"),
            ("usr/lib/debug/boot/vmlinux-6.1.0-50-amd64", Image, "6.1.0-50-amd64"),
            ("usr/lib/debug/vmlinux-6.1.0-50-amd64", Image, "6.1.0-50-amd64"),
            ("usr/lib/debug/lib/modules/6.1.0-50-amd64/vmlinux", Image, "6.1.0-50-amd64"),
            ("usr/lib/debug/usr/lib/modules/6.4.0-default/vmlinux.debug", Image, "6.4.0-default"),
            ("usr/lib/debug/lib/modules/6.6.64.2-7.azl3/vmlinux-6.6.64.2-7.azl3", Image, "6.6.64.2-7.azl3"),
            ("lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz", Module, "6.1.0"),
            ("lib/modules/6.1.0/extra/x.ko", Module, "6.1.0"),
        ] {
            assert_eq!(KernelFile::from_path(Path::new(path)), Some(KernelFile { kind, release }), "{path}");
        }
    }

    #[test]
    fn other_paths_are_no_kernel_files() {
        for path in [
            "boot/.vmlinuz-6.1.0.hmac",
            "boot/vmlinuz-6.1.0.hmac",
            "boot/initrd.img-6.1.0",
            "lib/modules/6.1.0/modules.dep",
            "usr/lib/debug/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko",
            "usr/src/linux-headers-6.1.0/include/config/auto.conf",
            "usr/share/doc/linux-image-6.1.0/copyright",
            "vmlinuz-6.1.0",
        ] {
            assert_eq!(KernelFile::from_path(Path::new(path)), None, "{path}");
        }
    }
}
