//! aya and aya-obj, which need a newer Rust than the workspace: the toolchain, and the test of the rules in
//! which loaders differ.

use std::process::Command;

use crate::system::{cargo, check, is_installed, output, root};

/// The oldest Rust version that aya and aya-obj support.
const RUST: (u32, u32) = (1, 98);

/// Returns the command that compares the table of rules with aya (`benches/tests/aya_rules.rs`). The error is
/// the reason why it cannot run.
pub fn test_command(may_install: bool) -> Result<Command, String> {
    let mut command = cargo_of(toolchain(may_install)?.as_deref());
    command.args([
        "test",
        "--manifest-path",
        "benches/Cargo.toml",
        "--features",
        "aya",
        "--test",
        "aya_rules",
    ]);
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.env("CARGO_TARGET_DIR", root().join("target"));
    }
    Ok(command)
}

/// Returns the cargo of a toolchain, by default of the current one.
pub fn cargo_of(toolchain: Option<&str>) -> Command {
    let Some(name) = toolchain else { return cargo() };
    let mut rustup = Command::new("rustup");
    rustup.args(["run", name, "cargo"]).current_dir(root());
    rustup
}

/// Returns the name of a toolchain that is new enough for aya-obj, or `None` if the current one is.
pub fn toolchain(may_install: bool) -> Result<Option<String>, String> {
    if version(cargo().arg("--version")).is_some_and(|found| found >= RUST) {
        return Ok(None);
    }
    let name = format!("{}.{}.0", RUST.0, RUST.1);
    let works = |name: &str| {
        version(Command::new("rustup").args(["run", name, "cargo", "--version"])).is_some_and(|v| v >= RUST)
    };
    if works("stable") {
        return Ok(Some("stable".to_owned()));
    }
    if !works(&name) && may_install && is_installed("rustup") {
        eprintln!("installing Rust {name} with rustup, for aya-obj; the default toolchain stays");
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", &name, "--profile", "minimal", "--no-self-update"]);
        if let Err(error) = check(&mut install) {
            eprintln!("{error}");
        }
    }
    match works(&name) {
        true => Ok(Some(name)),
        false => Err(format!("aya-obj needs Rust {name} (rustup toolchain install {name})")),
    }
}

/// Returns the major and minor version from `cargo 1.98.0 (…)`.
fn version(command: &mut Command) -> Option<(u32, u32)> {
    parse_version(&output(command)?)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split_whitespace().nth(1)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared_by_number() {
        assert_eq!(parse_version("cargo 1.98.0 (88d9e12ae 2026-08-18)"), Some((1, 98)));
        assert!(parse_version("cargo 1.101.0-nightly (92b5b8c87 2026-10-29)") > Some(RUST));
        assert_eq!(parse_version("cargo"), None);
    }
}
