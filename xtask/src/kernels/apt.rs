//! A private apt: its lists, its cache and its package status are in one directory below `target/`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::platform::Platform;
use crate::system::{Outcome, output};

/// A private apt root with its package lists fetched.
pub struct Apt {
    dir: PathBuf,
    /// Debian's name of the architecture.
    arch: &'static str,
    /// The Debian releases whose package lists the mirror did not serve, or served damaged.
    missing: Vec<&'static str>,
}

/// A kernel on the mirror.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub arch: String,
    /// The upstream version: `6.1.192`, `7.3-rc7`.
    pub version: String,
    /// `cloud`, or `generic`.
    pub flavour: &'static str,
    /// The image's package first; from 7.x on modules and configuration are in packages of their own.
    packages: Vec<String>,
    package_version: String,
}

/// Prefixes of the names of kernel packages.
const PREFIXES: [&str; 4] = ["linux-image-", "linux-binary-", "linux-modules-", "linux-base-"];

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Apt {
    /// Creates the directory and fetches the package lists of an architecture from the mirror of this
    /// machine's apt.
    pub fn new(dir: &Path, platform: &'static Platform) -> Outcome<Self> {
        let mirror = mirror().ok_or("no Debian mirror in this machine's apt sources")?;
        if !Path::new(KEYRING).is_file() {
            return Err("Debian's archive keyring is not installed".into());
        }
        let place = dir.display();
        for part in ["state/lists/partial", "cache/archives/partial", "etc/parts", "debs"] {
            std::fs::create_dir_all(dir.join(part)).map_err(|error| format!("{place}: {error}"))?;
        }
        let mut sources = String::new();
        let arch = platform.debian;
        for suite in platform.suites {
            let _ = writeln!(sources, "deb [signed-by={KEYRING} arch={arch}] {mirror} {suite} main");
        }
        let config = format!(
            "Dir::State \"{place}/state\"; Dir::State::lists \"lists\"; Dir::State::status \"{place}/state/status\";\n\
             Dir::Cache \"{place}/cache\"; Dir::Etc::sourcelist \"{place}/etc/sources.list\";\n\
             Dir::Etc::sourceparts \"{place}/etc/parts\"; Dir::Etc::parts \"{place}/etc/parts\";\n\
             APT::Architecture \"{arch}\"; APT::Architectures {{ \"{arch}\"; }};\n\
             Acquire::Languages \"none\"; Acquire::Retries \"3\"; Acquire::Check-Valid-Until \"false\";\n\
             APT::Sandbox::User \"root\";\n"
        );
        let files = [("state/status", ""), ("etc/sources.list", &sources), ("apt.conf", &config)];
        for (name, text) in files {
            std::fs::write(dir.join(name), text).map_err(|error| format!("{place}/{name}: {error}"))?;
        }
        let mut apt = Self { dir: dir.to_path_buf(), arch, missing: Vec::new() };
        eprintln!("package lists of {} Debian releases for {arch}, into {place}", platform.suites.len());
        // apt leaves out a list that it cannot fetch.
        let status =
            apt.command("apt-get").arg("update").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.map_err(|error| format!("apt-get: {error}"))?;
        let lists = dir.join("state/lists");
        let files = std::fs::read_dir(&lists).map_err(|error| format!("{}: {error}", lists.display()))?;
        let names: Vec<_> =
            files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        let has_list = |suite: &&str| {
            let list = format!("_dists_{suite}_main_binary-{arch}_Packages");
            names.iter().any(|name| name.contains(&list))
        };
        apt.missing = platform.suites.iter().copied().filter(|suite| !has_list(suite)).collect();
        Ok(apt)
    }

    /// Returns why no kernel was found in the lists.
    pub fn no_kernel(&self) -> String {
        match self.missing.as_slice() {
            [] => "the mirror has none".to_owned(),
            missing => format!(
                "none in the mirror's package lists, of which those of {} could not be fetched",
                missing.join(", ")
            ),
        }
    }

    /// Returns every kernel in the lists that has one of the wanted flavours.
    pub fn kernels(&self) -> Outcome<Vec<Kernel>> {
        let text = output(self.command("apt-cache").arg("dumpavail")).ok_or("apt-cache dumpavail failed")?;
        let mut packages: HashMap<(String, String, String), u64> = HashMap::new();
        for paragraph in text.split("\n\n") {
            let name =
                paragraph.lines().next().and_then(|line| line.strip_prefix("Package: ")).unwrap_or_default();
            if !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            let field = |key: &str| {
                paragraph
                    .lines()
                    .find_map(|line| line.strip_prefix(key))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            packages.insert(
                (name.to_owned(), field("Architecture:"), field("Version:")),
                field("Size:").parse().unwrap_or(0),
            );
        }
        if packages.is_empty() {
            return Err("the mirror's package lists could not be fetched".into());
        }
        let mut kernels: Vec<Kernel> =
            packages.iter().filter_map(|(key, size)| kernel(key, *size, &packages)).collect();
        kernels.sort_by_key(|kernel| {
            (kernel.arch.clone(), super::version::version_key(&kernel.version), kernel.flavour)
        });
        Ok(kernels)
    }

    /// Downloads the package with a kernel's image and returns its path.
    pub fn download(&self, kernel: &Kernel) -> Outcome<PathBuf> {
        let image = kernel.packages.first().ok_or("no package")?;
        self.download_package(kernel, image)
    }

    /// Downloads one of a kernel's [`packages`](Kernel::packages) and removes the previous one.
    pub fn download_package(&self, kernel: &Kernel, package: &str) -> Outcome<PathBuf> {
        self.download_named(&format!("{package}:{}={}", kernel.arch, kernel.package_version))
    }

    /// Downloads the newest version of a package.
    pub fn download_newest(&self, package: &str) -> Outcome<PathBuf> {
        self.download_named(&format!("{package}:{}", self.arch))
    }

    /// Downloads a package, removes the previous one, and returns its path.
    fn download_named(&self, what: &str) -> Outcome<PathBuf> {
        let debs = self.dir.join("debs");
        let _ = std::fs::remove_dir_all(&debs);
        std::fs::create_dir_all(&debs).map_err(|error| format!("{}: {error}", debs.display()))?;
        let out = self.command("apt-get").current_dir(&debs).args(["download", what]).output();
        let out = out.map_err(|error| format!("apt-get: {error}"))?;
        let mut found = std::fs::read_dir(&debs).into_iter().flatten().flatten().map(|entry| entry.path());
        match found.find(|path| path.extension().is_some_and(|ext| ext == "deb")) {
            Some(deb) if out.status.success() => Ok(deb),
            _ => {
                let errors = String::from_utf8_lossy(&out.stderr);
                let reason =
                    errors.lines().find(|line| line.starts_with("E:")).unwrap_or("apt-get download failed");
                Err(format!("{what}: {reason}").into())
            }
        }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("APT_CONFIG", self.dir.join("apt.conf")).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

impl Kernel {
    /// `amd64-6.1.192-cloud`.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.arch, self.version, self.flavour)
    }

    /// Returns the packages with the image, the modules and the configuration.
    pub fn packages(&self) -> &[String] {
        &self.packages
    }
}

/// Returns the kernel in a package. From 7.x on linux-image-* is empty and the kernel is in linux-binary-*.
fn kernel(
    key: &(String, String, String),
    size: u64,
    all: &HashMap<(String, String, String), u64>,
) -> Option<Kernel> {
    let (name, arch, package_version) = key;
    let rest =
        name.strip_prefix("linux-image-").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
    let release = rest.strip_suffix(&format!("-{}", Platform::named(arch)?.kernel_suffix))?;
    let (release, flavour) =
        release.strip_suffix("-cloud").map_or((release, "generic"), |release| (release, "cloud"));
    if release.ends_with("-rt") {
        return None;
    }
    let has = |package: &str| all.contains_key(&(package.to_owned(), arch.clone(), package_version.clone()));
    let mut packages = vec![name.clone()];
    if size < 1 << 20 {
        packages = PREFIXES.iter().skip(1).map(|prefix| format!("{prefix}{rest}")).collect();
        if !packages.first().is_some_and(|image| has(image)) {
            return None;
        }
        packages.retain(|package| has(package));
    }
    let version = package_version.split('-').next().unwrap_or_default().replace('~', "-");
    Some(Kernel { arch: arch.clone(), version, flavour, packages, package_version: package_version.clone() })
}

/// Returns the address of the Debian archive in this machine's apt sources.
fn mirror() -> Option<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    files.extend(crate::system::files_below(Path::new("/etc/apt/sources.list.d")));
    let known = |file: &&PathBuf| file.extension().is_some_and(|ext| ext == "list" || ext == "sources");
    files.iter().filter(known).find_map(|file| address(&std::fs::read_to_string(file).ok()?))
}

fn address(text: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = lines.flat_map(str::split_whitespace).map(|word| word.trim_end_matches('/'));
    words.find(|word| word.starts_with("http") && word.ends_with("/debian")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_found_in_both_formats() {
        let list = "# http://old/debian\ndeb http://mirror.example/debian/ bookworm main\n";
        assert_eq!(address(list).as_deref(), Some("http://mirror.example/debian"));
        let deb822 = "Types: deb\nURIs: https://mirror.example/pub/debian\nSuites: trixie\n";
        assert_eq!(address(deb822).as_deref(), Some("https://mirror.example/pub/debian"));
        assert_eq!(address("deb http://mirror.example/ubuntu noble main\n"), None);
    }

    #[test]
    fn packages_become_kernels() {
        let key = |name: &str, version: &str| (name.to_owned(), "amd64".to_owned(), version.to_owned());
        let binary = key("linux-binary-7.3-cloud-amd64", "7.3~rc7-1~exp1");
        let all = HashMap::from([(binary, 9 << 20)]);
        let found =
            kernel(&key("linux-image-7.3-cloud-amd64", "7.3~rc7-1~exp1"), 1000, &all).expect("a kernel");
        assert_eq!((found.version.as_str(), found.flavour), ("7.3-rc7", "cloud"));
        assert_eq!(found.packages, ["linux-binary-7.3-cloud-amd64"]);
        assert!(kernel(&key("linux-image-6.1.0-47-rt-amd64", "6.1.170-3"), 9 << 20, &all).is_none());
        assert!(kernel(&key("linux-image-6.1.0-47-amd64-dbg", "6.1.170-3"), 9 << 20, &all).is_none());
        assert!(kernel(&key("linux-image-cloud-amd64", "6.1.170-3"), 9 << 20, &all).is_none());
        let foreign = |name: &str| (name.to_owned(), "ppc64el".to_owned(), "6.1.170-3".to_owned());
        let found = kernel(&foreign("linux-image-6.1.0-47-powerpc64le"), 9 << 20, &all).expect("a kernel");
        assert_eq!(found.name(), "ppc64el-6.1.170-generic");
        assert!(kernel(&foreign("linux-image-6.1.0-47-powerpc64le-64k"), 9 << 20, &all).is_none());
    }
}
