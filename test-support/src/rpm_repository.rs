//! Small rpm-md repositories, made by the tools that those of distributions are made with.

use crate::{
    skip, this_test,
    tools::{is_installed, output, write},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The tools that make a repository.
const TOOLS: [&str; 2] = ["rpmbuild", "createrepo_c"];

/// A package for x86-64.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests fill in all fields")]
pub struct RpmPackage<'p> {
    /// The name.
    pub name: &'p str,
    /// Version and release: `5.14.0-427.el9`.
    pub version: &'p str,
    /// What the package provides beside its name: `kernel-uname-r = 5.14.0-427.el9.x86_64`.
    pub provides: &'p [String],
    /// The compression of the payload: `w9.gzdio`, `w7.xzdio`, `w3.zstdio`.
    pub payload: &'p str,
    /// The paths and contents of the files.
    pub files: &'p [(String, Vec<u8>)],
}

/// A directory of packages, and its index.
#[derive(Debug)]
pub struct RpmRepository {
    dir: PathBuf,
}

impl RpmRepository {
    /// Creates an empty repository. Returns `None` with a skip if a tool is missing.
    ///
    /// # Panics
    ///
    /// If the directory cannot be created.
    pub fn new(dir: &Path) -> Option<Self> {
        if let Some(tool) = TOOLS.iter().find(|tool| !is_installed(tool)) {
            skip(&this_test(), &format!("{tool} is not installed"));
            return None;
        }
        fs::create_dir_all(dir).expect("a directory");
        Some(Self { dir: dir.to_path_buf() })
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a package.
    ///
    /// # Panics
    ///
    /// If a file cannot be written, or `rpmbuild` fails.
    pub fn add_package(&self, package: &RpmPackage<'_>) {
        let RpmPackage { name, version: full_version, provides, payload, files } = package;
        let work = self.dir.join("work");
        let root = work.join("root");
        for (path, content) in *files {
            write(&root.join(path), content);
        }
        fs::create_dir_all(&root).expect("a directory");
        let (version, release) = full_version.rsplit_once('-').expect("a version with a release");
        let provides: String = provides.iter().map(|name| format!("Provides: {name}\n")).collect();
        let list: String = files.iter().map(|(path, _)| format!("/{path}\n")).collect();
        let spec = format!(
            "Name: {name}\nVersion: {version}\nRelease: {release}\nSummary: a\nLicense: GPL\nBuildArch: x86_64\n\
             AutoReqProv: no\n{provides}%define __os_install_post %{{nil}}\n%define debug_package %{{nil}}\n\
             %description\na <kernel> & more\n%install\nmkdir -p %{{buildroot}}\ncp -a {}/. %{{buildroot}}\n%files\n{list}",
            root.display()
        );
        let spec_file = work.join("package.spec");
        write(&spec_file, spec.as_bytes());
        let define = |name: &str, value: &str| format!("{name} {value}");
        let top = work.display().to_string();
        let mut build = Command::new("rpmbuild");
        build.args(["-bb", "--target", "x86_64", "--define", &define("_topdir", &top)]);
        build.args(["--define", &define("_binary_payload", payload)]).arg(&spec_file);
        output(&mut build);
        let file = format!("{name}-{full_version}.x86_64.rpm");
        let packages = self.dir.join("Packages");
        fs::create_dir_all(&packages).expect("a directory");
        fs::rename(work.join("RPMS/x86_64").join(&file), packages.join(&file)).expect("the package");
        fs::remove_dir_all(work).expect("the directory of the build");
    }

    /// Writes the index with options of `createrepo_c`.
    ///
    /// # Panics
    ///
    /// If `createrepo_c` fails.
    pub fn write_index(&self, options: &[&str]) {
        output(Command::new("createrepo_c").arg("--quiet").args(options).arg(&self.dir));
    }

    /// Returns the path of the index.
    pub fn index(&self) -> PathBuf {
        self.dir.join("repodata/repomd.xml")
    }
}
