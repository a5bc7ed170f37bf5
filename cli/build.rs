//! Gives the compiler the text of `core-relo --version`: the version, and the commit that is built.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The commit, given by the builder: a hash, or a hash and a date. Archives of the sources have no history.
const VARIABLE: &str = "CORE_RELO_COMMIT";

/// The file in which cargo notes the commit of a package.
const PACKAGE_COMMIT: &str = ".cargo_vcs_info.json";

/// The number of digits of a commit's hash in the version.
const HASH_DIGITS: usize = 9;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let version = variable("CARGO_PKG_VERSION");
    let text = match commit(Path::new(&variable("CARGO_MANIFEST_DIR"))) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=CORE_RELO_VERSION={text}");
}

/// Returns a variable that cargo sets.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(1)
}

/// Returns the commit of a package, if it is known.
fn commit(package: &Path) -> Option<String> {
    match env::var(VARIABLE) {
        Ok(given) if is_commit(&given) => return Some(given),
        Ok(given) if !given.is_empty() => {
            fail(&format!("{VARIABLE}: `{given}`, expected a hash, or a hash and a date `2026-01-31`"))
        }
        _ => {}
    }
    let info = package.join(PACKAGE_COMMIT);
    if let Ok(text) = fs::read_to_string(&info) {
        println!("cargo::rerun-if-changed={PACKAGE_COMMIT}");
        return packaged_commit(&text);
    }
    // With the commit, a debug build would compile the whole command again after each commit.
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return None;
    }
    checked_out_commit(package)
}

/// Returns whether a text is a hash, or a hash and a date, with `-dirty` behind the hash of changed sources.
fn is_commit(text: &str) -> bool {
    let (hash, date) = text.split_once(' ').unwrap_or((text, "2026-01-31"));
    let hash = hash.strip_suffix("-dirty").unwrap_or(hash);
    let is_date_digit = |(at, byte): (usize, u8)| {
        if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() }
    };
    (7..=64).contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && date.len() == 10
        && date.bytes().enumerate().all(is_date_digit)
}

/// Returns the commit in cargo's file: `"sha1": "HASH"`.
fn packaged_commit(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1)?;
    is_commit(hash).then(|| hash.get(..HASH_DIGITS).map(str::to_owned))?
}

/// Returns the commit of the checkout that the package is a directory of. A package in the repository of
/// another project is not part of its commit.
fn checked_out_commit(package: &Path) -> Option<String> {
    let places =
        git(package, &["rev-parse", "--show-toplevel", "--git-path", "HEAD", "--git-path", "logs/HEAD"])?;
    let mut places = places.lines();
    let top = PathBuf::from(places.next()?);
    if top.canonicalize().ok()? != package.parent()?.canonicalize().ok()? {
        return None;
    }
    // The log of HEAD grows with each commit and checkout.
    for place in places.map(|place| package.join(place)).filter(|place| place.exists()) {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    let commit = git(package, &["log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%d"])?;
    let (hash, date) = commit.trim().split_once(' ')?;
    let commit = format!("{} {date}", hash.get(..HASH_DIGITS)?);
    is_commit(&commit).then_some(commit)
}

/// Returns what a command of git prints.
fn git(dir: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(dir).args(words).env("TZ", "UTC").output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}
