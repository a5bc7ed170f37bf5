//! The commit in `core-relo --version`: the build script, compiled and run alone.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use core_relo_test_support::skip;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A commit's hash.
const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

/// The build script as a program.
struct BuildScript {
    dir: tempfile::TempDir,
    program: PathBuf,
}

impl BuildScript {
    fn compile() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("build-script");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut compile = Command::new(compiler);
        compile.args(["--edition", "2024", "-o"]).arg(&program).arg(source);
        assert!(compile.status().unwrap().success());
        Self { dir, program }
    }

    /// Creates the directory of a package, `NAME/cli`.
    fn package(&self, name: &str) -> PathBuf {
        let package = self.dir.path().join(name).join("cli");
        fs::create_dir_all(&package).unwrap();
        package
    }

    fn output(&self, package: &Path, profile: &str, commit: &str) -> Output {
        let mut run = Command::new(&self.program);
        run.current_dir(package).env("CARGO_MANIFEST_DIR", package).env("CARGO_PKG_VERSION", "1.2.3");
        run.env("PROFILE", profile).env("CORE_RELO_COMMIT", commit);
        // A directory above the temporary one may be a repository.
        run.env("GIT_CEILING_DIRECTORIES", self.dir.path());
        run.output().unwrap()
    }

    /// Returns the version that the compiler gets.
    fn version(&self, package: &Path, profile: &str, commit: &str) -> String {
        let output = self.output(package, profile, commit);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=CORE_RELO_VERSION="));
        line.expect(&text).to_owned()
    }
}

#[test]
fn the_builder_names_the_commit() {
    let script = BuildScript::compile();
    let package = script.package("archive");
    for (commit, version) in [
        ("", "1.2.3"),
        ("0123456789", "1.2.3 (0123456789)"),
        ("012345678 2026-01-31", "1.2.3 (012345678 2026-01-31)"),
        ("012345678-dirty 2026-01-31", "1.2.3 (012345678-dirty 2026-01-31)"),
    ] {
        assert_eq!(script.version(&package, "release", commit), version);
        assert_eq!(script.version(&package, "debug", commit), version);
    }
    for commit in ["v1.2.3", "012345678 today", "012345678\n2026-01-31", "012345678 2026-01-31 x"] {
        let output = script.output(&package, "release", commit);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && message.contains("expected a hash"), "{message}");
    }
}

#[test]
fn a_published_package_has_the_commit_in_its_file() {
    let script = BuildScript::compile();
    let package = script.package("published");
    let info = format!("{{\n  \"git\": {{\n    \"sha1\": \"{HASH}\"\n  }},\n  \"path_in_vcs\": \"cli\"\n}}");
    fs::write(package.join(".cargo_vcs_info.json"), info).unwrap();
    assert_eq!(script.version(&package, "release", ""), "1.2.3 (012345678)");
    fs::write(package.join(".cargo_vcs_info.json"), "{}").unwrap();
    assert_eq!(script.version(&package, "release", ""), "1.2.3");
}

#[test]
fn a_checkout_has_its_own_commit_only() {
    let script = BuildScript::compile();
    let package = script.package("clone");
    let git = |words: &str| {
        let mut git = Command::new("git");
        git.arg("-C").arg(package.parent().unwrap()).args(["-c", "user.name=x", "-c", "user.email=x"]);
        git.args(["-c", "commit.gpgsign=false"]).env("GIT_COMMITTER_DATE", "2026-01-31T23:30:00-0200");
        git.args(words.split(' ')).output().ok().filter(|output| output.status.success())
    };
    if git("init --quiet").is_none() {
        return skip!("no git");
    }
    git("commit --quiet --allow-empty -m first").unwrap();
    let hash = String::from_utf8(git("rev-parse HEAD").unwrap().stdout).unwrap();
    // 2026-01-31 in the committer's time zone.
    assert_eq!(script.version(&package, "release", ""), format!("1.2.3 ({} 2026-02-01)", &hash[..9]));
    assert_eq!(script.version(&package, "debug", ""), "1.2.3", "each commit would compile the command again");
    // Of another project, whose repository has this one as a directory.
    let vendored = script.package("clone/vendor/core-relo");
    assert_eq!(script.version(&vendored, "release", ""), "1.2.3");
}
