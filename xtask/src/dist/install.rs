//! Installs the files of a release into clean roots, and runs the command there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::Release;
use super::{Binary, archive_name, deb_name, module_path, rpm_name};
use crate::install;
use crate::system::{Failure, Outcome, check as run, is_installed, output, report_skip, target_dir};

/// The place of the command in packages, and its shell completion and page, as samples of the other files.
const COMMAND: &str = "usr/bin/core-relo";
const INSTALLED: [&str; 4] = [
    "usr/share/bash-completion/completions/core-relo",
    "usr/share/doc/core-relo/README.md",
    "usr/share/man/man1/core-relo-check.1.gz",
    "usr/share/man/man1/core-relo-prog-attach.1.gz",
];

/// Installs every file of a directory that fits a binary, and runs the command.
pub fn check(release: &Release, binaries: &[Binary], directory: &Path) -> Outcome {
    let mut checks = Checks { release, directory, roots: target_dir().join("dist-roots"), count: 0 };
    checks.sums()?;
    for binary in binaries {
        checks.archive(binary)?;
        checks.deb(binary)?;
        checks.debian_system(binary)?;
        checks.rpm(binary)?;
        checks.wheel(binary)?;
    }
    let _ = fs::remove_dir_all(&checks.roots);
    println!("dist: {} installations work", checks.count);
    Ok(())
}

/// The installations of a release.
struct Checks<'c> {
    release: &'c Release,
    /// The directory of the files.
    directory: &'c Path,
    /// The directory of the roots.
    roots: PathBuf,
    /// The number of installations that work.
    count: usize,
}

impl Checks<'_> {
    /// Checks `SHA256SUMS` as a user does.
    fn sums(&self) -> Outcome {
        if !is_installed("sha256sum") {
            report_skip("dist: SHA256SUMS", "no sha256sum");
            return Ok(());
        }
        let mut sums = Command::new("sha256sum");
        run(sums.current_dir(self.directory).args(["--check", "--strict", "--quiet", "SHA256SUMS"]))
    }

    fn archive(&mut self, binary: &Binary) -> Outcome {
        if !is_installed("tar") {
            report_skip("dist: the archive", "no tar");
            return Ok(());
        }
        let name = archive_name(self.release, binary.target);
        let root = self.empty_root("archive")?;
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(self.directory.join(format!("{name}.tar.gz"))).arg("-C").arg(&root);
        run(&mut tar)?;
        let top = root.join(&name);
        for file in ["LICENSES-THIRD-PARTY", "man/core-relo-check.1", "complete/core-relo.bash"] {
            expect_file(&top.join(file))?;
        }
        expect_file(&top.join(module_path("")))?;
        self.run_in(binary, &root, &format!("{name}/core-relo"))
    }

    /// Installs the `.deb` into a root with nothing else.
    fn deb(&mut self, binary: &Binary) -> Outcome {
        if !is_installed("dpkg") || !is_root() {
            report_skip("dist: the .deb in an empty root", "no dpkg, or not root");
            return Ok(());
        }
        let root = self.empty_root("deb")?;
        for directory in ["var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "var/log"] {
            create(&root.join(directory))?;
        }
        let status = root.join("var/lib/dpkg/status");
        fs::write(&status, "").map_err(|error| format!("{}: {error}", status.display()))?;
        let mut dpkg = Command::new("dpkg");
        let root_option = format!("--root={}", root.display());
        dpkg.arg(&root_option).args(["--force-architecture", "--force-not-root", "-i"]);
        run(dpkg.arg(self.directory.join(deb_name(self.release, binary.platform))).env("PATH", with_sbin()))?;
        let verified = output(Command::new("dpkg").args([&root_option, "--verify", "core-relo"]));
        if verified.as_deref() != Some("") {
            return Err(format!("dpkg --verify: {verified:?}, expected no differences").into());
        }
        self.installed(binary, &root)
    }

    /// Installs the `.deb` into a new Debian.
    fn debian_system(&mut self, binary: &Binary) -> Outcome {
        let part = "dist: the .deb in a new Debian";
        if !binary.platform.is_host() {
            report_skip(part, &format!("{} is not this machine's architecture", binary.platform.debian));
            return Ok(());
        }
        if !is_root() {
            report_skip(part, "not root");
            return Ok(());
        }
        if !is_installed("debootstrap") && !install::debootstrap() {
            report_skip(part, "no debootstrap");
            return Ok(());
        }
        let root = self.empty_root("debian")?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", "stable"]).arg(&root).stdout(std::process::Stdio::null());
        // Without an address, the mirror that debootstrap knows.
        if let Some(mirror) = debian_mirror() {
            debootstrap.arg(mirror);
        }
        if let Err(error) = run(&mut debootstrap) {
            report_skip(part, &error.to_string());
            return Ok(());
        }
        let name = deb_name(self.release, binary.platform);
        let copy = root.join("tmp").join(&name);
        fs::copy(self.directory.join(&name), &copy)
            .map_err(|error| format!("{}: {error}", copy.display()))?;
        let mut dpkg = Command::new("chroot");
        run(dpkg.arg(&root).args(["dpkg", "-i", &format!("/tmp/{name}")]))?;
        self.run_in(binary, &root, COMMAND)?;
        let mut purge = Command::new("chroot");
        run(purge.arg(&root).args(["dpkg", "--purge", "core-relo"]))?;
        match root.join(COMMAND).exists() {
            true => Err("dpkg --purge leaves the command".into()),
            false => Ok(()),
        }
    }

    fn rpm(&mut self, binary: &Binary) -> Outcome {
        if !is_installed("rpm") || !is_root() {
            report_skip("dist: the .rpm in an empty root", "no rpm, or not root");
            return Ok(());
        }
        let package = self.directory.join(rpm_name(self.release, binary.platform));
        let root = self.empty_root("rpm")?;
        let rpm = |words: &[&str]| {
            let mut rpm = Command::new("rpm");
            rpm.arg("--root").arg(&root).args(["--dbpath", "/var/lib/rpm"]).args(words);
            rpm
        };
        let checked = output(Command::new("rpm").arg("--checksig").arg(&package));
        if !checked.as_deref().is_some_and(|text| text.contains("digests OK")) {
            return Err(format!("rpm --checksig: {checked:?}, expected `digests OK`").into());
        }
        run(&mut rpm(&["--initdb"]))?;
        run(rpm(&["--install", "--ignorearch"]).arg(&package))?;
        let verified = output(&mut rpm(&["--verify", "core-relo"]));
        if verified.as_deref() != Some("") {
            return Err(format!("rpm --verify: {verified:?}, expected no differences").into());
        }
        self.installed(binary, &root)
    }

    fn wheel(&mut self, binary: &Binary) -> Outcome {
        let part = "dist: the wheel";
        if !is_installed("python3") {
            report_skip(part, "no python3");
            return Ok(());
        }
        let root = self.empty_root("wheel")?;
        let mut venv = Command::new("python3");
        if run(venv.args(["-m", "venv"]).arg(root.join("venv"))).is_err() {
            report_skip(part, "python3 has no venv");
            return Ok(());
        }
        let mut pip = Command::new(root.join("venv/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
        let mut prefix = "venv";
        if !binary.platform.is_host() {
            // Pip refuses the wheel of another platform in an environment of this one.
            let [tag, ..] = binary.platform.wheel else { return Err("no tag".into()) };
            pip.args(["--only-binary=:all:", "--platform", tag, "--target"]).arg(root.join("other"));
            prefix = "other";
        }
        pip.arg("--find-links").arg(self.directory).arg(format!("core-relo=={}", self.release.version));
        run(&mut pip)?;
        expect_file(&root.join(module_path(&format!("{prefix}/"))))?;
        self.run_in(binary, &root, &format!("{prefix}/bin/core-relo"))
    }

    /// Checks the other files of a package, and runs the command.
    fn installed(&mut self, binary: &Binary, root: &Path) -> Outcome {
        for file in INSTALLED {
            expect_file(&root.join(file))?;
        }
        expect_file(&root.join(module_path("usr/")))?;
        self.run_in(binary, root, COMMAND)
    }

    /// Runs the command in a root: as root, with this root as the only files, else as a program of this
    /// system.
    fn run_in(&mut self, binary: &Binary, root: &Path, place: &str) -> Outcome {
        let command = |words: &[&str]| match (binary.platform.is_host(), is_root()) {
            (true, true) => {
                let mut chroot = Command::new("chroot");
                chroot.arg(root).arg(format!("/{place}")).args(words);
                chroot
            }
            (true, false) => {
                let mut direct = Command::new(root.join(place));
                direct.args(words);
                direct
            }
            (false, _) => {
                let mut emulator = Command::new(binary.platform.emulator);
                emulator.arg(root.join(place)).args(words);
                emulator
            }
        };
        if !binary.platform.is_host() && !is_installed(binary.platform.emulator) {
            report_skip(&format!("dist: {place} for {}", binary.target.triple), "no emulator");
            return Ok(());
        }
        let version = output(&mut command(&["--version"]));
        let expected = format!("{}\n", self.release.version_line());
        if version.as_ref() != Some(&expected) {
            return Err(format!("{place} --version: {version:?}, expected {expected:?}").into());
        }
        if !output(&mut command(&["demo"])).is_some_and(|text| text.contains("refused")) {
            return Err(format!("{place} demo fails").into());
        }
        self.count += 1;
        Ok(())
    }

    fn empty_root(&self, name: &str) -> Outcome<PathBuf> {
        let root = self.roots.join(name);
        if root.exists() {
            fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        }
        create(&root)?;
        Ok(root)
    }
}

fn create(directory: &Path) -> Outcome {
    fs::create_dir_all(directory)
        .map_err(|error| Failure::Failed(format!("{}: {error}", directory.display())))
}

fn expect_file(path: &Path) -> Outcome {
    if path.is_file() { Ok(()) } else { Err(format!("{}: not installed", path.display()).into()) }
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_some_and(|user| user.trim() == "0")
}

/// Returns `PATH` with the directories of programs that dpkg looks for.
fn with_sbin() -> String {
    format!(
        "{}:/usr/local/sbin:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned())
    )
}

/// Returns the mirror of Debian in the machine's apt configuration.
fn debian_mirror() -> Option<String> {
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(SITE) $(REPO_URI) $(ORIGIN)", "Created-By: Packages"]);
    let text = output(&mut targets)?;
    let uri = |line: &str| Some(line.split(' ').nth(1)?.to_owned());
    text.lines()
        .filter(|line| line.ends_with(" Debian"))
        .filter_map(uri)
        .find(|uri| uri.ends_with("/debian/"))
}
