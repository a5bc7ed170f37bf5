//! A small apt repository with kernels, made by the tools that Debian's are made with.

use crate::{
    skip, this_test,
    tools::{is_installed, output, write},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The tools that make a repository.
const TOOLS: [&str; 3] = ["dpkg-deb", "apt-ftparchive", "xz"];

/// The kernels: release, and version of the package.
const KERNELS: [(&str, &str); 3] =
    [("6.1.0-1-amd64", "6.1.1-1"), ("6.1.0-2-amd64", "6.1.9-1"), ("6.1.0-2-cloud-amd64", "6.1.9-1")];

/// A repository of Debian 12 for amd64, in the directory `debian` of another one.
#[derive(Debug)]
pub struct AptRepository {
    dir: PathBuf,
    image: Vec<u8>,
    module: Vec<u8>,
}

impl AptRepository {
    /// Creates a repository with the kernels 6.1.0-1 and 6.1.0-2, and 6.1.0-2 also as `cloud`. `image` and
    /// `module` are the contents of their files. Returns `None` with a skip if a tool is missing.
    pub fn new(dir: &Path, image: &[u8], module: &[u8]) -> Option<Self> {
        if let Some(tool) = TOOLS.iter().find(|tool| !is_installed(tool)) {
            skip(&this_test(), &format!("{tool} is not installed"));
            return None;
        }
        let repository = Self { dir: dir.to_path_buf(), image: image.to_owned(), module: module.to_owned() };
        for (release, version) in KERNELS {
            repository.add_kernel(release, version);
        }
        repository.write_index("");
        Some(repository)
    }

    /// Returns the directory of the archive.
    pub fn archive(&self) -> PathBuf {
        self.dir.join("debian")
    }

    /// Returns the directory of the suite.
    pub fn suite(&self) -> PathBuf {
        self.archive().join("dists/bookworm")
    }

    /// Adds the package of a kernel, with an image, a configuration, a `System.map` without symbols as
    /// Debian's, and the module xfs.
    ///
    /// # Panics
    ///
    /// If a file cannot be written, or `dpkg-deb` fails.
    pub fn add_kernel(&self, release: &str, version: &str) {
        let tree = self.dir.join("tree");
        let control = format!(
            "Package: linux-image-{release}\nSource: linux\nVersion: {version}\nArchitecture: amd64\n\
             Installed-Size: 400000\nMaintainer: nobody <nobody@example>\nDescription: a kernel\n"
        );
        let symbols = "ffffffffffffffff B see the package of debug information\n";
        write(&tree.join("DEBIAN/control"), control.as_bytes());
        write(&tree.join(format!("boot/vmlinuz-{release}")), &self.image);
        write(&tree.join(format!("boot/config-{release}")), b"CONFIG_BPF=y\n");
        write(&tree.join(format!("boot/System.map-{release}")), symbols.as_bytes());
        write(&tree.join(format!("lib/modules/{release}/kernel/fs/xfs.ko")), &self.module);
        let pool = self.archive().join("pool");
        fs::create_dir_all(&pool).expect("a directory");
        let package = pool.join(format!("linux-image-{release}_{version}_amd64.deb"));
        output(
            Command::new("dpkg-deb").args(["--root-owner-group", "-Zxz", "--build"]).arg(&tree).arg(package),
        );
        fs::remove_dir_all(tree).expect("the tree");
    }

    /// Writes the lists of packages and the index without a signature, which begins with some fields.
    ///
    /// # Panics
    ///
    /// If a file cannot be written, or a tool fails.
    pub fn write_index(&self, fields: &str) {
        let list = self.suite().join("main/binary-amd64/Packages");
        let packages =
            output(Command::new("apt-ftparchive").args(["packages", "pool"]).current_dir(self.archive()));
        write(&list, &packages);
        output(Command::new("xz").arg("--force").arg(&list));
        for name in ["Release", "Release.gpg", "InRelease"] {
            // The index would list itself.
            let _: io::Result<()> = fs::remove_file(self.suite().join(name));
        }
        let field = |name: &str, value: &str| format!("APT::FTPArchive::Release::{name}={value}");
        let mut command = Command::new("apt-ftparchive");
        command.args(["-o", &field("Suite", "oldstable"), "-o", &field("Codename", "bookworm")]);
        let index = output(command.args(["release", "."]).current_dir(self.suite()));
        write(&self.suite().join("Release"), &[fields.as_bytes(), &index].concat());
    }
}
