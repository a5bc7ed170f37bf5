//! Kernels to boot: the image unpacked, its configuration and the modules tests need, cached below
//! `target/kernels/boot/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use core_relo_vm::KernelImage;

use super::version::{is_in_series, version_key};
use super::{apt, available_kernels, btf, create_empty, image, unpack, write};
use crate::platform::Platform;
use crate::system::{Failure, Outcome, check, files_below, root};

/// Modules to insert before the tests, where the kernel does not have them built in.
const MODULES: [&str; 6] = ["veth", "sch_ingress", "cls_bpf", "act_bpf", "nf_conntrack", "tcp_dctcp"];

/// A module that is inserted before all others, because it has the serial ports of s390x.
pub const SERIAL_PORTS: &str = "virtio_console";

/// Modules that [`MODULES`] may depend on.
const DEPENDENCIES: [&str; 4] = ["nf_defrag_ipv4", "nf_defrag_ipv6", "libcrc32c", "crc32c_generic"];

/// The name of the image in the cache.
const IMAGE: &str = "vmlinux";

/// The suffix of a module's file name, before that of its compression.
const MODULE: &str = ".ko";

/// A kernel that can be booted.
#[derive(Debug, Clone)]
pub struct Bootable {
    /// `amd64-6.1.192-cloud`, or the file's name.
    pub name: String,
    /// The kernel's release, as `uname -r` prints it.
    pub release: String,
    pub platform: &'static Platform,
    /// The image, as QEMU boots it.
    pub image: PathBuf,
    pub config: Option<PathBuf>,
    /// The modules, in the order of insertion.
    pub modules: Vec<PathBuf>,
}

/// Returns the newest kernel of a series and fetches it if the cache does not have it.
pub fn newest(platform: &'static Platform, series: &str) -> Outcome<Bootable> {
    if let Some(found) = cached(platform, series) {
        return Ok(found);
    }
    let name = format!("kernel {} {series}", platform.debian);
    fetch(platform, series).map_err(|error| {
        Failure::CannotRun(format!("no {name}: {error}; give an image of your own with --kernel PATH"))
    })?;
    cached(platform, series).ok_or_else(|| format!("no {name} in {}", dir().display()).into())
}

/// Returns the newest kernel of a series in the cache.
pub fn cached(platform: &'static Platform, series: &str) -> Option<Bootable> {
    let dirs = std::fs::read_dir(dir()).into_iter().flatten().flatten().map(|entry| entry.path());
    let versions = dirs.filter_map(|dir| {
        let name = dir.file_name()?.to_string_lossy().into_owned();
        let version = name.strip_prefix(platform.debian)?.strip_prefix('-')?;
        let version = version.strip_suffix(platform.flavour)?.strip_suffix('-')?;
        is_in_series(version, series).then_some((version_key(version), dir))
    });
    open(&versions.max()?.1, platform)
}

/// Returns a static busybox for the guest and fetches it if the cache does not have it.
pub fn busybox(platform: &'static Platform) -> Outcome<PathBuf> {
    let path = dir().join(format!("busybox-{}", platform.debian));
    if path.is_file() {
        return Ok(path);
    }
    let (apt, _) = available_kernels(platform.debian)?;
    let deb = apt.download_newest("busybox-static")?;
    let tree = dir().join("unpacked");
    create_empty(&tree)?;
    let unpacked = check(Command::new("dpkg-deb").arg("-x").arg(&deb).arg(&tree));
    let _ = std::fs::remove_file(&deb);
    unpacked?;
    let is_busybox = |file: &&PathBuf| file.file_name().is_some_and(|name| name == "busybox");
    let files = files_below(&tree);
    let found = files.iter().find(is_busybox).ok_or("no busybox in the package busybox-static")?;
    let data = std::fs::read(found).map_err(|error| format!("{}: {error}", found.display()))?;
    let _ = std::fs::remove_dir_all(&tree);
    write(&path, &data)?;
    Ok(path)
}

/// Returns a kernel image given by the user, with the modules and configuration from the distribution's usual
/// paths.
pub fn from_image(path: &Path) -> Outcome<Bootable> {
    let cannot = |error: String| Failure::CannotRun(format!("{}: {error}", path.display()));
    let arch = KernelImage::open(path)?.arch();
    let platform = Platform::of_arch(arch).ok_or_else(|| cannot(format!("no tests are built for {arch}")))?;
    let image = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let kernel = image::bootable(image).map_err(|error| cannot(error.to_string()))?;
    let release =
        release(&kernel, path).ok_or_else(|| cannot("no Linux version in it or in its name".to_owned()))?;
    let dir = dir().join("own").join(&release);
    create_empty(&dir)?;
    let tree = Path::new("/lib/modules").join(&release);
    cache_modules(&files_below(&tree), &dir)?;
    for config in [PathBuf::from(format!("/boot/config-{release}")), tree.join("config")] {
        if let Ok(text) = std::fs::read(config) {
            write(&dir.join("config"), &text)?;
        }
    }
    write(&dir.join("release"), release.as_bytes())?;
    write(&dir.join(IMAGE), &kernel)?;
    open(&dir, platform).ok_or_else(|| cannot("could not be stored".to_owned()))
}

/// Downloads the newest kernel of a series into the cache.
fn fetch(platform: &Platform, series: &str) -> Outcome {
    let (apt, kernels) = available_kernels(platform.debian)?;
    let is_bootable =
        |kernel: &&apt::Kernel| kernel.flavour == platform.flavour && is_in_series(&kernel.version, series);
    let newest = kernels.iter().filter(is_bootable).max_by_key(|kernel| version_key(&kernel.version));
    let kernel = newest.ok_or_else(|| apt.no_kernel())?;
    let (dir, tree) = (dir().join(kernel.name()), dir().join("unpacked"));
    create_empty(&tree)?;
    let modules: Vec<&str> = MODULES.into_iter().chain(DEPENDENCIES).chain([SERIAL_PORTS]).collect();
    for package in kernel.packages() {
        eprintln!("downloading {package}");
        let deb = apt.download_package(kernel, package)?;
        let unpacked = unpack(&deb, &tree, &modules);
        let _ = std::fs::remove_file(&deb);
        unpacked?;
    }
    let result = cache_files(&tree, &dir);
    let _ = std::fs::remove_dir_all(&tree);
    result
}

/// Copies the needed files of unpacked packages into the cache. The image comes last, so that an interrupted
/// copy does not look complete.
fn cache_files(tree: &Path, dir: &Path) -> Outcome {
    let files = files_below(tree);
    let named = |prefix: &str| {
        let mut matching = files
            .iter()
            .filter(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
        matching.next()
    };
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let path = named("vmlinu").ok_or("no kernel image in the package")?;
    let kernel = image::bootable(read(path)?)?;
    create_empty(dir)?;
    cache_modules(&files, dir)?;
    if let Some(config) = named("config") {
        write(&dir.join("config"), &read(config)?)?;
    }
    let release = release(&kernel, path).ok_or("no Linux version in the image or in its name")?;
    write(&dir.join("release"), release.as_bytes())?;
    write(&dir.join(IMAGE), &kernel)
}

/// Copies the modules, unpacked and numbered in the order of insertion.
fn cache_modules(files: &[PathBuf], dir: &Path) -> Outcome {
    let mut objects = BTreeMap::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
        let Some((stem, packed)) = name.split_once(MODULE) else { continue };
        if !MODULES.contains(&stem) && !DEPENDENCIES.contains(&stem) && stem != SERIAL_PORTS {
            continue;
        }
        let data = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let object = if packed.is_empty() { Some(data) } else { image::unpack(&data) };
        if let Some(object) = object {
            objects.insert(stem.to_owned(), object);
        }
    }
    let mut names = order(&objects);
    names.sort_by_key(|name| name != SERIAL_PORTS);
    for (number, name) in names.iter().enumerate() {
        if let Some(object) = objects.get(name) {
            write(&dir.join("modules").join(format!("{number:02}-{name}{MODULE}")), object)?;
        }
    }
    Ok(())
}

/// Sorts module names so that each follows its dependencies. Drops modules with a missing dependency.
fn order(objects: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut sorted: Vec<String> = Vec::new();
    loop {
        let ready = objects.iter().find(|(name, object)| {
            !sorted.contains(name) && depends(object).iter().all(|dependency| sorted.contains(dependency))
        });
        match ready {
            Some((name, _)) => sorted.push(name.clone()),
            None => return sorted,
        }
    }
}

/// Returns the names in a module's `depends=` field.
fn depends(object: &[u8]) -> Vec<String> {
    let info = btf::elf_section(object, b".modinfo").unwrap_or_default();
    let mut entries = info.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let list =
        entries.find_map(|entry| entry.strip_prefix("depends=").map(str::to_owned)).unwrap_or_default();
    list.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

fn open(dir: &Path, platform: &'static Platform) -> Option<Bootable> {
    let image = dir.join(IMAGE);
    let config = dir.join("config");
    image.is_file().then(|| Bootable {
        platform,
        name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        release: std::fs::read_to_string(dir.join("release")).unwrap_or_default(),
        image,
        config: config.is_file().then_some(config),
        modules: files_below(&dir.join("modules")),
    })
}

/// Returns the release from the kernel's banner (`Linux version …`), or from the image's path: a compressed
/// image shows no banner.
fn release(kernel: &[u8], path: &Path) -> Option<String> {
    const BANNER: &[u8] = b"Linux version ";
    let at = kernel.windows(BANNER.len()).enumerate().filter(|(_, window)| *window == BANNER);
    let mut banners = at.filter_map(|(at, _)| {
        let text = kernel.get(at + BANNER.len()..)?.split(|byte| *byte == b' ').next()?;
        text.first()?.is_ascii_digit().then(|| String::from_utf8_lossy(text).into_owned())
    });
    banners.next().or_else(|| {
        let name = path.file_name()?.to_str()?;
        let directory = || path.parent()?.file_name()?.to_str();
        let release = name.split_once('-').map_or_else(directory, |(_, release)| Some(release))?;
        release.starts_with(|c: char| c.is_ascii_digit()).then(|| release.to_owned())
    })
}

pub fn dir() -> PathBuf {
    root().join("target/kernels/boot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_names_the_release() {
        let kernel = b"\0Linux version %s\0..Linux version 6.1.0-56-cloud-amd64 (x@y) gcc\0";
        assert_eq!(release(kernel, Path::new("vmlinux")).as_deref(), Some("6.1.0-56-cloud-amd64"));
        assert_eq!(release(b"no kernel", Path::new("vmlinux")), None);
    }

    #[test]
    fn the_path_of_a_compressed_image_names_the_release() {
        let release = |path: &str| release(b"compressed", Path::new(path));
        assert_eq!(release("/boot/vmlinuz-6.1.0-47-s390x").as_deref(), Some("6.1.0-47-s390x"));
        assert_eq!(release("/usr/lib/modules/7.2-s390x/vmlinuz").as_deref(), Some("7.2-s390x"));
        assert_eq!(release("/boot/vmlinuz-own"), None);
    }

    #[test]
    fn modules_without_modinfo_have_no_dependencies() {
        let objects = BTreeMap::from([("b".to_owned(), Vec::new()), ("a".to_owned(), Vec::new())]);
        assert_eq!(order(&objects), ["a", "b"]);
    }
}
