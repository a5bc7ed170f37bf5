//! Signatures of indexes, made by `gpg` and verified by the program that the machine has.

use super::{Repository, server::Server};
use core_relo_kernels::fetch::{
    FetchError, FetchOptions, Fetcher, KernelSpec, MirrorDefect, Mirrors, NoProgress, Protection, Store,
};
use core_relo_test_support::{skip, this_test};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The programs that the tests need.
const TOOLS: [&str; 2] = ["gpg", "gpgv"];

/// A key of a distribution.
pub(crate) struct Key {
    home: tempfile::TempDir,
}

impl Key {
    /// Creates a key. Returns `None` with a skip if a program is missing.
    pub(crate) fn new() -> Option<Self> {
        let paths = std::env::var_os("PATH").unwrap();
        let is_installed = |tool: &&str| std::env::split_paths(&paths).any(|dir| dir.join(tool).is_file());
        if let Some(tool) = TOOLS.iter().find(|tool| !is_installed(tool)) {
            skip(&this_test(), &format!("{tool} is not installed"));
            return None;
        }
        // The path of a socket is short.
        let key = Self { home: tempfile::tempdir_in("/tmp").unwrap() };
        let words = ["--passphrase", "", "--quick-generate-key", "test", "ed25519", "sign"];
        run(key.gpg().args(words));
        run(key.gpg().arg("--output").arg(key.keyring()).args(["--export", "test"]));
        Some(key)
    }

    fn gpg(&self) -> Command {
        let mut command = Command::new("gpg");
        command.env("GNUPGHOME", self.home.path()).args([
            "--batch",
            "--quiet",
            "--yes",
            "--pinentry-mode",
            "loopback",
        ]);
        command
    }

    fn keyring(&self) -> PathBuf {
        self.home.path().join("keyring.gpg")
    }

    /// Writes the key as text.
    pub(crate) fn export_text(&self, file: &Path) {
        run(self.gpg().arg("--armor").arg("--output").arg(file).args(["--export", "test"]));
    }

    /// Signs a file in another one, `FILE.asc`, with further options.
    pub(crate) fn sign_detached(&self, file: &Path, options: &[&str]) {
        let signature = file.with_extension("xml.asc");
        let mut command = self.gpg();
        command.args(options).arg("--armor").arg("--output").arg(signature).arg("--detach-sign").arg(file);
        run(&mut command);
    }

    /// Signs an index: `InRelease`, and `Release.gpg`.
    fn sign(&self, suite: &Path) {
        let release = suite.join("Release");
        run(self.gpg().arg("--output").arg(suite.join("InRelease")).arg("--clear-sign").arg(&release));
        run(self.gpg().arg("--output").arg(suite.join("Release.gpg")).arg("--detach-sign").arg(&release));
    }
}

/// Runs a command that succeeds.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for Key {
    fn drop(&mut self) {
        // The agent that gpg has started.
        let mut command = Command::new("gpgconf");
        let _: std::io::Result<_> =
            command.env("GNUPGHOME", self.home.path()).args(["--kill", "gpg-agent"]).output();
    }
}

/// Finds kernels with an apt configuration that names the keyring, and an empty store.
fn find(server: &Server, keyring: &Path) -> Result<Protection, FetchError> {
    find_in(tempfile::tempdir().unwrap().path(), server, keyring, FetchOptions::default())
}

/// Finds kernels with an apt configuration that names the keyring, and a store in a directory.
fn find_in(
    dir: &Path,
    server: &Server,
    keyring: &Path,
    options: FetchOptions,
) -> Result<Protection, FetchError> {
    let list = format!("deb [signed-by={}] {}/debian bookworm main\n", keyring.display(), server.address());
    fs::write(dir.join("sources.list"), list).unwrap();
    let mut mirrors = Mirrors::default();
    mirrors.set_apt_dir(dir);
    let store = Store::new(dir.join("store"));
    let spec: KernelSpec = "debian:12@amd64".parse().unwrap();
    let kernels = Fetcher::new(&mirrors, &store, options, &NoProgress).find(&spec)?;
    Ok(kernels[0].protection.clone())
}

#[test]
fn indexes_need_a_good_signature() {
    let Some(repository) = Repository::new() else { return };
    let Some(key) = Key::new() else { return };
    let server = Server::new(repository.dir.path());
    let unsigned = find(&server, &key.keyring()).unwrap_err();
    assert!(matches!(&unsigned, FetchError::Unverified { .. }), "{unsigned}");

    key.sign(&repository.apt.suite());
    let keyring = key.keyring().display().to_string();
    assert_eq!(find(&server, &key.keyring()), Ok(Protection::Signature { keyring: keyring.clone() }));
    // An older repository has only the detached signature.
    let signed = fs::read_to_string(repository.apt.suite().join("InRelease")).unwrap();
    fs::remove_file(repository.apt.suite().join("InRelease")).unwrap();
    assert_eq!(find(&server, &key.keyring()), Ok(Protection::Signature { keyring }));

    fs::write(repository.apt.suite().join("InRelease"), signed.replace("amd64", "arm64")).unwrap();
    let changed = find(&server, &key.keyring()).unwrap_err();
    assert!(
        matches!(&changed, FetchError::Mirror { defect: MirrorDefect::Signature { .. }, .. }),
        "{changed}"
    );
    let Some(other) = Key::new() else { return };
    fs::write(repository.apt.suite().join("InRelease"), signed).unwrap();
    let foreign = find(&server, &other.keyring()).unwrap_err();
    assert!(
        matches!(&foreign, FetchError::Mirror { defect: MirrorDefect::Signature { .. }, .. }),
        "{foreign}"
    );
}

/// A mirror, or somebody on the way, may answer with an index of last month, whose signature is good. The
/// newest kernels would stay unknown.
#[test]
fn an_older_index_than_the_one_before_is_an_error() {
    let Some(repository) = Repository::new() else { return };
    let Some(key) = Key::new() else { return };
    let server = Server::new(repository.dir.path());
    let suite = repository.apt.suite();
    let store = tempfile::tempdir().unwrap();
    let options = FetchOptions::default();
    let find = |options| find_in(store.path(), &server, &key.keyring(), options);
    let mut texts = Vec::new();
    for date in ["Thu, 05 Nov 2026 12:00:00 UTC", "Sat, 07 Nov 2026 13:00:00 UTC"] {
        repository.apt.write_index("");
        let index = fs::read_to_string(suite.join("Release")).unwrap();
        let lines = index.lines().map(|line| match line.starts_with("Date:") {
            true => format!("Date: {date}\n"),
            false => format!("{line}\n"),
        });
        fs::write(suite.join("Release"), lines.collect::<String>()).unwrap();
        key.sign(&suite);
        texts.push(fs::read(suite.join("InRelease")).unwrap());
    }
    let replay = |text: &[u8]| fs::write(suite.join("InRelease"), text).unwrap();
    for text in &texts {
        replay(text);
        find(options).unwrap();
    }
    find(options).unwrap();
    replay(&texts[0]);
    let older = find(options).unwrap_err();
    let FetchError::Mirror { defect, .. } = &older else { panic!("{older}") };
    assert_eq!(*defect, MirrorDefect::Older { seconds: 49 * 3600 });
    assert!(older.to_string().contains("is 2 days older than the index that was read from here"), "{older}");
    find(options.allow_expired(true)).unwrap();
    assert!(find(options).is_err(), "the newest index is still known");
}
