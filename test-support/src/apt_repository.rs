//! A small apt repository, made by the tools that Debian's are made with.

use core_relo::{
    Endian,
    btf::{Builder, TypeId},
};
use core_relo_test_support::{skip, this_test};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The tools that make a repository.
const TOOLS: [&str; 3] = ["dpkg-deb", "apt-ftparchive", "xz"];

/// A repository in a directory, as `debian` and `debian-security` of a mirror.
pub(crate) struct Repository {
    pub(crate) dir: tempfile::TempDir,
}

impl Repository {
    /// Creates a repository with the kernels 6.1.0-1 and 6.1.0-2 in two flavours. Returns `None` with a skip
    /// if a tool is missing.
    pub(crate) fn new() -> Option<Self> {
        let missing = TOOLS.iter().find(|tool| !is_installed(tool));
        if let Some(tool) = missing {
            skip(&this_test(), &format!("{tool} is not installed"));
            return None;
        }
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        for (release, version) in
            [("6.1.0-1-amd64", "6.1.1-1"), ("6.1.0-2-amd64", "6.1.9-1"), ("6.1.0-2-cloud-amd64", "6.1.9-1")]
        {
            repository.add_kernel(release, version);
        }
        repository.write_index("");
        Some(repository)
    }

    /// Returns the directory of the archive.
    pub(crate) fn archive(&self) -> PathBuf {
        self.dir.path().join("debian")
    }

    /// Returns the directory of the suite.
    pub(crate) fn suite(&self) -> PathBuf {
        self.archive().join("dists/bookworm")
    }

    /// Adds the package of a kernel.
    pub(crate) fn add_kernel(&self, release: &str, version: &str) {
        let tree = self.dir.path().join("tree");
        let modules = tree.join(format!("lib/modules/{release}/kernel/fs"));
        fs::create_dir_all(tree.join("boot")).unwrap();
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = format!(
            "Package: linux-image-{release}\nSource: linux\nVersion: {version}\nArchitecture: amd64\n\
             Installed-Size: 400000\nMaintainer: nobody <nobody@example>\nDescription: a kernel\n"
        );
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        fs::write(tree.join(format!("boot/vmlinuz-{release}")), kernel_btf()).unwrap();
        fs::write(tree.join(format!("boot/config-{release}")), "CONFIG_BPF=y\n").unwrap();
        fs::write(
            tree.join(format!("boot/System.map-{release}")),
            "ffffffffffffffff B see the -dbg package\n",
        )
        .unwrap();
        fs::write(modules.join("xfs.ko"), module_btf()).unwrap();
        let pool = self.archive().join("pool");
        fs::create_dir_all(&pool).unwrap();
        let package = pool.join(format!("linux-image-{release}_{version}_amd64.deb"));
        run(Command::new("dpkg-deb").args(["--root-owner-group", "-Zxz", "--build"]).arg(&tree).arg(package));
        fs::remove_dir_all(tree).unwrap();
    }

    /// Writes the lists of packages and the index, with further fields.
    pub(crate) fn write_index(&self, fields: &str) {
        let list = self.suite().join("main/binary-amd64");
        fs::create_dir_all(&list).unwrap();
        let packages =
            output(Command::new("apt-ftparchive").args(["packages", "pool"]).current_dir(self.archive()));
        fs::write(list.join("Packages"), packages).unwrap();
        run(Command::new("xz").arg("-fk").arg(list.join("Packages")));
        fs::remove_file(list.join("Packages")).unwrap();
        for name in ["Release", "Release.gpg", "InRelease"] {
            // The index would list itself.
            let _: std::io::Result<()> = fs::remove_file(self.suite().join(name));
        }
        let options = ["-o", "APT::FTPArchive::Release::Suite=oldstable"];
        let codename = ["-o", "APT::FTPArchive::Release::Codename=bookworm"];
        let command = &mut Command::new("apt-ftparchive");
        let command = command.args(options).args(codename).args(["release", "."]).current_dir(self.suite());
        let release = String::from_utf8(output(command)).unwrap();
        fs::write(self.suite().join("Release"), format!("{fields}{release}")).unwrap();
    }
}

/// Returns BTF of a kernel.
pub(crate) fn kernel_btf() -> Vec<u8> {
    let mut builder = Builder::new(Endian::Little);
    let int = builder.int("int", 4, 1);
    builder.structure("task_struct", 4, &[("pid", int, 0)]);
    builder.finish()
}

/// Returns split BTF of a module.
fn module_btf() -> Vec<u8> {
    let base = core_relo::btf::Btf::parse(kernel_btf()).unwrap();
    let mut builder = Builder::split(&base);
    builder.structure("xfs_inode", 4, &[("number", TypeId(1), 0)]);
    builder.finish()
}

fn is_installed(tool: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&paths).any(|dir| dir.join(tool).is_file())
}

pub(crate) fn run(command: &mut Command) {
    output(command);
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns the names of files below a directory that is a part of the store.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
