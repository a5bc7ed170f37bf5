//! `cargo xtask dist`: the files of a release, from the static builds of the command.
//!
//! Equal sources and an equal compiler make equal files: times are those of the commit, names are sorted, the
//! owner is root.

mod check;
mod deb;
mod dependencies;
mod documents;
mod files;
mod install;
mod licences;
mod platform;
mod release;
mod rpm;
mod sbom;
mod sha256;
mod tar;
mod wheel;
mod zip;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::site;
use crate::static_binary::{Build, Target, selected};
use crate::system::{Failure, Outcome, files_below, read, report_skip, root, target_dir};
use documents::{Document, Documents};
use files::Files;
use platform::Platform;
use release::Release;

/// The revision of the packages of a version.
const REVISION: &str = "1";

const LICENCE: &str = "MIT OR Apache-2.0";

const MAINTAINER: &str = "The core-relo authors";

const SUMMARY: &str = "checks on which kernels BPF objects load, explains why not, and loads them";

const DESCRIPTION: &str = "core-relo reads compiled BPF objects and relocates them (CO-RE) against the types\n\
     of kernels (BTF). Without privileges, it predicts whether a kernel loads an object,\n\
     and names the fix if not. It also loads and attaches objects, shows the BPF objects\n\
     of the running kernel, and fetches kernels of distributions.";

pub const HELP: &str = "usage: cargo xtask dist [--target ARCH]... [-o DIR] [--binaries DIR] [--check]

Builds the command for each architecture (default: x86_64 and aarch64; also riscv64, s390x, ppc64le, with Debian's
cross compilers) as `cargo xtask static` does, and the module of its page as `cargo xtask site` does. Writes archives, .deb and .rpm packages, Python wheels, bills of
materials (CycloneDX) and SHA256SUMS.

  --target ARCH    an architecture or its triple; may be repeated
  -o DIR           the directory of the files (default: target/dist), which is emptied
  --binaries DIR   pack DIR/TRIPLE/core-relo and DIR/wasm32-unknown-unknown/core-relo-web.wasm in place of builds
  --check          build everything a second time, from a copy of the sources in another directory, and compare the
                   bytes; install each file in a clean root and run the command there

environment: CORE_RELO_COMMIT and SOURCE_DATE_EPOCH (default: hash, date and time of the checkout's commit)";

/// The files of a release by name.
type Artefacts = BTreeMap<String, Vec<u8>>;

/// The options of the task.
#[derive(Debug, Default)]
struct Options {
    targets: Vec<String>,
    output: Option<PathBuf>,
    binaries: Option<PathBuf>,
    is_checked: bool,
}

impl Options {
    fn parse(args: &[String]) -> Outcome<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| Failure::Usage(format!("{arg}: no value")));
            match arg.as_str() {
                "--target" => options.targets.push(value()?.clone()),
                "-o" => options.output = Some(absolute(value()?)?),
                "--binaries" => options.binaries = Some(absolute(value()?)?),
                "--check" => options.is_checked = true,
                other => return Err(Failure::Usage(format!("unknown argument `{other}`"))),
            }
        }
        Ok(options)
    }
}

fn absolute(path: &str) -> Outcome<PathBuf> {
    std::path::absolute(path).map_err(|error| format!("{path}: {error}").into())
}

/// A static file of the command.
#[derive(Debug)]
struct Binary {
    target: &'static Target,
    platform: &'static Platform,
    path: PathBuf,
}

pub fn run(args: &[String]) -> Outcome {
    let options = Options::parse(args)?;
    let release = Release::read()?;
    let mut targets = Vec::new();
    for target in selected(&options.targets)? {
        // A target that is named is needed.
        match target.missing().filter(|_| options.binaries.is_none()) {
            Some(missing) if options.targets.is_empty() => report_skip(target.triple, &missing),
            Some(missing) => return Err(Failure::CannotRun(missing)),
            None => targets.push(target),
        }
    }
    let build = Build { commit: Some(release.commit.clone()), ..Build::of_checkout() };
    let programs = programs(&targets, &build, options.binaries.as_deref())?;
    let artefacts = pack(&release, &programs)?;
    let output = options.output.unwrap_or_else(|| target_dir().join("dist"));
    write(&artefacts, &output)?;
    if !options.is_checked {
        return Ok(());
    }
    match options.binaries {
        Some(_) => {
            report_skip("dist: a second build", "the binaries are given");
            check::compare(&artefacts, &pack(&release, &programs)?)?;
        }
        None => check::compare(&artefacts, &check::second_build(&release, &targets)?)?,
    }
    install::check(&release, &programs.binaries, &output)
}

/// The programs of a release.
#[derive(Debug)]
struct Programs {
    binaries: Vec<Binary>,
    /// The path of the module of the page, which is the same for all targets.
    module: PathBuf,
}

/// Builds the command for each target, and the module, or finds the builds that are given.
fn programs(targets: &[&'static Target], build: &Build, given: Option<&Path>) -> Outcome<Programs> {
    let binary = |target: &&'static Target| {
        let path = match given {
            Some(dir) => dir.join(target.triple).join("core-relo"),
            None => build.build(target)?,
        };
        let platform = Platform::find(target.architecture)
            .ok_or_else(|| format!("{}: no names of packages", target.architecture))?;
        Ok(Binary { target, platform, path })
    };
    let binaries = targets.iter().map(binary).collect::<Outcome<_>>()?;
    let module = match given {
        Some(dir) => dir.join(site::TARGET).join(site::MODULE),
        None => site::build(build)?,
    };
    Ok(Programs { binaries, module })
}

/// Packs the programs.
fn pack(release: &Release, programs: &Programs) -> Outcome<Artefacts> {
    let read_program = |path: &Path| -> Outcome<Vec<u8>> {
        fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
    };
    let documents = Documents::print(&documents::runnable(&programs.binaries)?)?;
    let module = read_program(&programs.module)?;
    let mut artefacts = Artefacts::new();
    for binary in &programs.binaries {
        let (target, platform) = (binary.target, binary.platform);
        let command = read_program(&binary.path)?;
        let dependencies = dependencies::read_dependencies(target)?;
        let licences = licences(&dependencies)?;
        let parts = Parts { command: &command, module: &module, documents: &documents, licences };
        let name = archive_name(release, target);
        artefacts.insert(
            format!("{name}.tar.gz"),
            tar::gzip(&tar::tar(&parts.archive()?, &format!("{name}/"), release.time)?)?,
        );
        artefacts.insert(format!("{name}.cdx.json"), sbom::sbom(release, target, &command, &dependencies)?);
        artefacts.insert(deb_name(release, platform), deb::package(release, platform, &parts.debian()?)?);
        artefacts.insert(rpm_name(release, platform), rpm::package(release, platform, &parts.rpm()?)?);
        let (name, wheel) = wheel::wheel(release, platform, &parts)?;
        artefacts.insert(name, wheel);
    }
    let line = |(name, bytes): (&String, &Vec<u8>)| format!("{}  {name}\n", sha256::sha256_hex(bytes));
    let sums: String = artefacts.iter().map(line).collect();
    artefacts.insert("SHA256SUMS".to_owned(), sums.into_bytes());
    Ok(artefacts)
}

fn archive_name(release: &Release, target: &Target) -> String {
    format!("core-relo-{}-{}", release.version, target.triple)
}

fn deb_name(release: &Release, platform: &Platform) -> String {
    format!("core-relo_{}-{REVISION}_{}.deb", release.version, platform.debian)
}

fn rpm_name(release: &Release, platform: &Platform) -> String {
    format!("core-relo-{}-{REVISION}.{}.rpm", release.version, platform.rpm)
}

/// Returns the licences of this project and of the crates in the command.
fn licences(dependencies: &dependencies::Dependencies) -> Outcome<Vec<Document>> {
    let mut licences = Vec::new();
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        licences.push(Document { name: name.to_owned(), text: read(&root().join(name))?.into_bytes() });
    }
    let text = licences::third_party_licences(dependencies)?.into_bytes();
    licences.push(Document { name: "LICENSES-THIRD-PARTY".to_owned(), text });
    Ok(licences)
}

/// What archives and packages contain.
struct Parts<'p> {
    command: &'p [u8],
    module: &'p [u8],
    documents: &'p Documents,
    licences: Vec<Document>,
}

/// Returns the path of the module below a prefix, where the command finds it.
fn module_path(prefix: &str) -> String {
    format!("{prefix}share/core-relo/{}", site::MODULE)
}

impl Parts<'_> {
    fn archive(&self) -> Outcome<Files> {
        let mut files = Files::default();
        files.add_executable("core-relo", self.command);
        files.add(module_path(""), self.module);
        for name in ["README.md", "CHANGELOG.md", "SECURITY.md"] {
            files.add(name, read(&root().join(name))?);
        }
        // The README refers to them.
        for path in files_below(&root().join("docs")) {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            files.add(format!("docs/{name}"), read(&path)?);
        }
        for Document { name, text } in &self.licences {
            files.add(&**name, text.clone());
        }
        for Document { name, text } in &self.documents.manual_pages {
            files.add(format!("man/{name}"), text.clone());
        }
        for Document { name, text } in &self.documents.completions {
            files.add(format!("complete/{name}"), text.clone());
        }
        Ok(files)
    }

    /// Returns the files that all distributions have at the same place.
    fn installed(&self) -> Outcome<Files> {
        let mut files = Files::default();
        files.add_executable("usr/bin/core-relo", self.command);
        files.add(module_path("usr/"), self.module);
        for Document { name, text } in &self.documents.manual_pages {
            files.add(format!("usr/share/man/man1/{name}.gz"), tar::gzip(text)?);
        }
        let bash = "usr/share/bash-completion/completions/core-relo";
        files.add(bash, self.documents.completion("bash"));
        files.add("usr/share/fish/vendor_completions.d/core-relo.fish", self.documents.completion("fish"));
        for name in ["README.md", "CHANGELOG.md"] {
            files.add(format!("usr/share/doc/core-relo/{name}"), read(&root().join(name))?);
        }
        Ok(files)
    }

    fn debian(&self) -> Outcome<Files> {
        let mut files = self.installed()?;
        files.add("usr/share/zsh/vendor-completions/_core-relo", self.documents.completion("zsh"));
        // The policy of Debian: one file with all licences.
        let texts = self.licences.iter().map(|Document { name, text }| {
            [format!("{name}\n{}\n\n", "=".repeat(name.len())).as_bytes(), text, b"\n"].concat()
        });
        let notice = format!("core-relo is distributed under {LICENCE}, at your option.\n\n");
        files.add(
            "usr/share/doc/core-relo/copyright",
            [notice.into_bytes(), texts.collect::<Vec<_>>().concat()].concat(),
        );
        Ok(files)
    }

    fn rpm(&self) -> Outcome<Files> {
        let mut files = self.installed()?;
        files.add("usr/share/zsh/site-functions/_core-relo", self.documents.completion("zsh"));
        for Document { name, text } in &self.licences {
            files.add(format!("usr/share/licenses/core-relo/{name}"), text.clone());
        }
        Ok(files)
    }
}

/// Writes the files into a directory of their own, and prints their names and sizes.
fn write(artefacts: &Artefacts, directory: &Path) -> Outcome {
    let error = |path: &Path, error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if directory.join("SHA256SUMS").is_file() {
        fs::remove_dir_all(directory).map_err(|why| error(directory, why))?;
    }
    fs::create_dir_all(directory).map_err(|why| error(directory, why))?;
    for (name, bytes) in artefacts {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(|why| error(&path, why))?;
        println!("{}: {} bytes", path.display(), bytes.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
