//! The files that distributions install beside a kernel: `config-R` and `System.map-R` beside `vmlinuz-R`,
//! and the same without `-R`. They count beside `R.btf`, too. Raw BTF shows no version: `version-R` has the
//! banner of the kernel, as `/proc/version` shows it. `distribution-R` has the package that the kernel is
//! from.

use super::{
    ImageFacts,
    banner::{Banner, find_banner},
    embedded_config::sets_option,
    fact::ImageFact,
};
use crate::{compression::format::Compression, error::escape_path, kernel_text};
use core_relo_verdict::kernel::DistributionKernel;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The names of images without their release.
const IMAGES: [&str; 2] = ["vmlinuz", "vmlinux"];

const KCONFIG: &str = "config";
const SYMBOLS: &str = "System.map";
const VERSION: &str = "version";
const DISTRIBUTION: &str = "distribution";

/// Returns the release in the name of an image or of raw BTF, with a `-` before it: `-R` of `vmlinuz-R`,
/// `vmlinux-R.btf` and `R.btf`, compressed or not.
fn release_suffix(file_name: &str) -> Option<String> {
    let file_name = Compression::uncompressed_name(file_name);
    let btf_name = file_name.strip_suffix(".btf");
    let name = btf_name.unwrap_or(file_name);
    match IMAGES.iter().find_map(|known| name.strip_prefix(known)) {
        Some(suffix) if suffix.is_empty() || suffix.starts_with('-') => Some(suffix.to_owned()),
        _ => btf_name.filter(|release| !release.is_empty()).map(|release| format!("-{release}")),
    }
}

/// Returns the regular file of the same release beside an image.
fn find(image: &Path, name: &str) -> Option<PathBuf> {
    let suffix = release_suffix(image.file_name()?.to_str()?)?;
    let path = image.with_file_name(format!("{name}{suffix}"));
    path.is_file().then_some(path)
}

/// Returns whether an image has such a file beside it.
pub(super) fn exist(image: &Path) -> bool {
    [KCONFIG, SYMBOLS, VERSION, DISTRIBUTION].iter().any(|name| find(image, name).is_some())
}

/// Reads the configuration beside an image.
pub(super) fn read_kconfig(image: &Path, warnings: &mut Vec<String>) -> Option<ImageFact<Arc<str>>> {
    let (text, origin) = read(image, KCONFIG, warnings)?;
    kconfig_fact(text, origin, warnings)
}

/// Returns the configuration in a text.
pub(super) fn kconfig_fact(
    text: String,
    origin: String,
    warnings: &mut Vec<String>,
) -> Option<ImageFact<Arc<str>>> {
    if sets_option(&text) {
        return Some(ImageFact::new(text.into(), origin));
    }
    warnings.push(format!("{origin} is left out: it sets no option, expected a kernel's configuration"));
    None
}

/// Reads the version beside an image.
pub(super) fn read_version(image: &Path, facts: &mut ImageFacts) {
    let Some((text, origin)) = read(image, VERSION, &mut facts.warnings) else { return };
    let Some(Banner { release, version, version_string }) = find_banner(text.as_bytes()) else {
        let warning = format!("{origin} is left out: it has no banner, expected `Linux version ...`");
        return facts.warnings.push(warning);
    };
    facts.release = Some(release);
    facts.version_string = version_string;
    facts.version = version.map(|version| ImageFact::new(version, origin));
}

/// Reads the package that an image is from.
pub(super) fn read_distribution(image: &Path, facts: &mut ImageFacts) {
    // Most images have no such file, and no verdict needs it.
    let Some((text, origin)) = read(image, DISTRIBUTION, &mut facts.warnings) else { return };
    facts.distribution = DistributionKernel::from_line(&text);
    if facts.distribution.is_none() {
        let expected = "expected a line such as `debian 12 6.1.192-3 x86_64`";
        facts.warnings.push(format!("{origin} is left out: {expected}"));
    }
}

/// Reads the symbols beside an image.
pub(super) fn read_symbols(image: &Path, warnings: &mut Vec<String>) -> Option<ImageFact<Arc<str>>> {
    let (text, origin) = read(image, SYMBOLS, warnings)?;
    symbols_fact(text, origin)
}

/// Returns the symbols in a text.
pub(super) fn symbols_fact(text: String, origin: String) -> Option<ImageFact<Arc<str>>> {
    if kernel_text::has_kernel_symbols(&text) {
        return Some(ImageFact::new(text.into(), origin));
    }
    log::info!("{origin} is left out: it has no symbol _text");
    None
}

/// Reads a file beside an image, and returns its text and its name. A file that cannot be read is left out
/// with a warning.
fn read(image: &Path, name: &str, warnings: &mut Vec<String>) -> Option<(String, String)> {
    let path = find(image, name)?;
    let origin = escape_path(&path);
    match kernel_text::read(&path) {
        Ok(text) => Some((text, origin)),
        Err(bad) => {
            warnings.push(format!("{origin} is left out: {}", bad.what()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_and_of_raw_btf_have_the_release() {
        for (name, expected) in [
            ("vmlinuz", Some("")),
            ("vmlinuz-6.1.0-50-amd64", Some("-6.1.0-50-amd64")),
            ("vmlinux.btf", Some("")),
            ("vmlinux-6.1.0.btf", Some("-6.1.0")),
            ("6.1.0-50-amd64.btf", Some("-6.1.0-50-amd64")),
            ("6.1.0-50-amd64.btf.xz", Some("-6.1.0-50-amd64")),
            ("vmlinux-6.1.0.zst", Some("-6.1.0")),
            ("vmlinuxes", None),
            ("6.1.0-50-amd64.xz", None),
            (".btf", None),
            ("6.1.0-50-amd64", None),
        ] {
            assert_eq!(release_suffix(name).as_deref(), expected, "{name}");
        }
    }
}
