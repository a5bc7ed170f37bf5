//! `cargo xtask kernels`: vmlinux and module BTF of Debian kernels, as targets to relocate against.
//!
//! apt downloads the packages, with its state in `target/kernels/apt`. The system's apt state is neither used
//! nor changed. A kernel that cannot be fetched is a skip with its reason, never a failure.

mod apt;
pub mod boot;
pub mod btf;
mod image;
mod version;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::install;
use crate::platform::{PLATFORMS, Platform};
use crate::system::{Failure, Outcome, files_below, is_installed, kernels_dir, root};
pub use version::version_key;

use version::is_in_series;

/// A selection of kernels, of which the newest is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KernelSelection {
    series: String,
    arch: String,
    flavour: String,
    /// Whether the BTF of modules is extracted as well. This works before 7.x, where the image's package
    /// contains the modules.
    has_modules: bool,
}

/// The default selections: long-term kernels, the newest one, and a big-endian one.
const DEFAULT: [(&str, &str, &str, bool); 5] = [
    ("5.10", "amd64", "cloud", false),
    ("6.1", "amd64", "cloud", true),
    ("6.12", "amd64", "cloud", true),
    ("7", "amd64", "cloud", false),
    ("6.12", "s390x", "generic", false),
];

/// The modules whose BTF is extracted, if the kernel has them.
const MODULES: [&str; 12] = [
    "veth",
    "nf_conntrack",
    "tcp_bbr",
    "xfs",
    "btrfs",
    "kvm",
    "fuse",
    "nf_tables",
    "tun",
    "bridge",
    "virtio_net",
    "overlay",
];

pub fn run(args: &[String]) -> Outcome {
    if let Some(flag) = args.iter().find(|arg| arg.starts_with('-') && *arg != "--list") {
        return Err(Failure::Usage(format!("unknown argument `{flag}`")));
    }
    if args.iter().any(|arg| arg == "--list") {
        for platform in DEFAULT.map(|(_, arch, ..)| arch).into_iter().collect::<BTreeSet<_>>() {
            for kernel in &available_kernels(platform)?.1 {
                println!("{}", kernel.name());
            }
        }
        return Ok(());
    }
    for skip in fetch(args) {
        println!("SKIP {skip}");
    }
    let all = files_below(&kernels_dir());
    println!("{} BTF files in {}", all.len(), kernels_dir().display());
    Ok(())
}

/// Fetches the selected kernels that are not cached yet. Returns a line with the reason for each one that
/// cannot be fetched.
pub fn fetch(series: &[String]) -> Vec<String> {
    let missing: Vec<KernelSelection> =
        selections(series).into_iter().filter(|selection| !selection.is_cached()).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut skips = Vec::new();
    for selection in &missing {
        eprintln!("kernel BTF {}", selection.name());
        let result = available_kernels(&selection.arch).and_then(|(apt, kernels)| {
            let in_selection = kernels.iter().filter(|kernel| selection.contains(kernel));
            let newest = in_selection.max_by_key(|kernel| version_key(&kernel.version));
            let newest = newest.ok_or_else(|| Failure::from(apt.no_kernel()))?;
            fetch_kernel(apt, newest, selection.has_modules)
        });
        if let Err(error) = result {
            skips.push(format!("kernel BTF {}: {error}", selection.name()));
        }
    }
    skips
}

/// The kernels of an architecture on the mirror, with the apt that downloads them.
type Listed = Outcome<(apt::Apt, Vec<apt::Kernel>)>;

/// Returns the kernels of an architecture on the mirror, listed at the first call. `arch` is Debian's name.
fn available_kernels(arch: &str) -> Outcome<&'static (apt::Apt, Vec<apt::Kernel>)> {
    static KERNELS: [OnceLock<Listed>; PLATFORMS.len()] = [const { OnceLock::new() }; PLATFORMS.len()];
    let known = PLATFORMS.iter().zip(&KERNELS).find(|(platform, _)| platform.debian == arch);
    let (platform, listed) =
        known.ok_or_else(|| format!("no kernels for the architecture {arch} are known"))?;
    listed.get_or_init(|| list_kernels(platform)).as_ref().map_err(Failure::clone)
}

fn list_kernels(platform: &'static Platform) -> Listed {
    let missing: Vec<_> =
        ["apt-get", "apt-cache", "dpkg-deb", "tar"].into_iter().filter(|tool| !is_installed(tool)).collect();
    if !missing.is_empty() {
        return Err(format!("needs Debian's {}", missing.join(", ")).into());
    }
    install::decompressors();
    let apt = apt::Apt::new(&work_dir().join(platform.debian), platform)?;
    let kernels = apt.kernels()?;
    Ok((apt, kernels))
}

/// Downloads a kernel, and writes its BTF, and that of its modules, to the cache.
fn fetch_kernel(apt: &apt::Apt, kernel: &apt::Kernel, modules: bool) -> Outcome {
    let deb = apt.download(kernel)?;
    let tree = deb.with_extension("tree");
    let unpacked =
        create_empty(&tree).and_then(|()| unpack(&deb, &tree, if modules { &MODULES } else { &[] }));
    let result = unpacked.and_then(|()| extract(kernel, &tree));
    for path in [tree.as_path(), deb.as_path()] {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    result
}

fn extract(kernel: &apt::Kernel, tree: &Path) -> Outcome {
    let files = files_below(tree);
    let is_image =
        |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinu"));
    let image = files.iter().find(is_image).ok_or("no kernel image in the package")?;
    let image = std::fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
    let data = image::vmlinux_btf(&image)?;
    let name = kernel.name();
    let mut modules = 0;
    for file in &files {
        let stem = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((stem, packed)) = stem.split_once(".ko") else { continue };
        let stem = stem.replace('-', "_");
        if !MODULES.contains(&stem.as_str()) {
            continue;
        }
        let data = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let object = if packed.is_empty() { Some(data) } else { image::unpack(&data) };
        if let Some(section) =
            object.and_then(|object| btf::elf_section(&object, b".BTF").map(<[u8]>::to_vec))
        {
            write(&kernels_dir().join("modules").join(&name).join(format!("{stem}.btf")), &section)?;
            modules += 1;
        }
    }
    // The kernel's BTF is written last, so that an interrupted fetch does not look complete.
    write(&kernels_dir().join(format!("{name}.btf")), &data)?;
    eprintln!("  {name}: {} bytes, {modules} modules", data.len());
    Ok(())
}

/// Creates an empty directory, after removing an old one.
fn create_empty(dir: &Path) -> Outcome {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()).into())
}

/// Extracts the kernel image, its configuration and the given modules from a package.
fn unpack(deb: &Path, tree: &Path, modules: &[&str]) -> Outcome {
    let mut dpkg = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("dpkg-deb: {error}"))?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "--wildcards", "--wildcards-match-slash", "-C"]).arg(tree);
    tar.args(["./boot/vmlinu*", "*/lib/modules/*/vmlinu*", "./boot/config-*", "*/lib/modules/*/config"]);
    tar.args(modules.iter().flat_map(|module| {
        let dashed = module.replace('_', "-");
        [format!("*/{module}.ko*"), format!("*/{dashed}.ko*")]
    }));
    // tar fails if a pattern matches nothing, and not every package has every file: the caller checks the
    // unpacked files.
    let stdin = dpkg.stdout.take().map_or(Stdio::null(), Stdio::from);
    let tar = tar.stdin(stdin).stderr(Stdio::null()).status();
    let dpkg = dpkg.wait().map_err(|error| format!("dpkg-deb: {error}"))?;
    tar.map_err(|error| format!("tar: {error}"))?;
    if dpkg.success() { Ok(()) } else { Err(format!("dpkg-deb: {dpkg}").into()) }
}

/// Returns the selections for the series or architectures in `series`, or the default selections if there are
/// none.
fn selections(series: &[String]) -> Vec<KernelSelection> {
    let all = DEFAULT.map(|(series, arch, flavour, modules)| KernelSelection {
        series: series.to_owned(),
        arch: arch.to_owned(),
        flavour: flavour.to_owned(),
        has_modules: modules,
    });
    if series.is_empty() {
        return all.to_vec();
    }
    let mut chosen = Vec::new();
    for name in series {
        let known: Vec<KernelSelection> =
            all.iter().filter(|w| w.series == *name || w.arch == *name).cloned().collect();
        if known.is_empty() {
            let (arch, flavour) = ("amd64".to_owned(), "cloud".to_owned());
            chosen.push(KernelSelection { series: name.clone(), arch, flavour, has_modules: false });
        }
        chosen.extend(known);
    }
    chosen
}

impl KernelSelection {
    fn name(&self) -> String {
        format!("{} {} {}", self.series, self.arch, self.flavour)
    }

    fn contains(&self, kernel: &apt::Kernel) -> bool {
        kernel.arch == self.arch
            && kernel.flavour == self.flavour
            && is_in_series(&kernel.version, &self.series)
    }

    fn is_cached(&self) -> bool {
        let names = std::fs::read_dir(kernels_dir()).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).any(|name| {
            let inner = name.strip_prefix(&format!("{}-", self.arch));
            inner
                .and_then(|rest| rest.strip_suffix(&format!("-{}.btf", self.flavour)))
                .is_some_and(|v| is_in_series(v, &self.series))
        })
    }
}

fn work_dir() -> PathBuf {
    root().join("target/kernels/apt")
}

fn write(path: &Path, data: &[u8]) -> Outcome {
    let dir = path.parent().unwrap_or(path);
    let temporary = path.with_extension("new");
    std::fs::create_dir_all(dir)
        .and_then(|()| std::fs::write(&temporary, data))
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_architectures_select_kernels() {
        let names = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            selections(&args).iter().map(KernelSelection::name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["s390x", "6.5"]), ["6.12 s390x generic", "6.5 amd64 cloud"]);
        assert_eq!(names(&[]).len(), DEFAULT.len());
    }
}
