//! The programs of guests: the test binary `tests/tests/live.rs`, and the command.
//!
//! Guests of the host's architecture run the executables of `cargo xtask test`, so that nothing is compiled
//! twice. For the other architectures, both are built as static programs.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use core_relo_vm::Arch;

use crate::install;
use crate::platform::Platform;
use crate::system::{Failure, Outcome, add_target, cargo, is_installed};
use crate::test;

/// A program of the workspace that guests run.
struct GuestProgram {
    /// A noun phrase in the plural for messages.
    text: &'static str,
    /// The name of cargo's target.
    name: &'static str,
    /// The arguments of cargo that build it alone, as a static program.
    arguments: &'static [&'static str],
    /// The integration tests for which `cargo xtask test` builds it.
    tests: [&'static str; 2],
}

const LIVE_TEST: GuestProgram = GuestProgram {
    text: "the live tests",
    name: "live",
    arguments: &["test", "--no-run", "--package", "core-relo-tests", "--test", "live"],
    tests: ["--test", "live"],
};

const COMMAND: GuestProgram = GuestProgram {
    text: "the command's executables",
    name: "core-relo",
    arguments: &["build", "--package", "core-relo-cli", "--bin", "core-relo"],
    tests: ["--test", "newcomer"],
};

/// Builds the test binary for an architecture and returns its path.
pub fn live_test(platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    build(&LIVE_TEST, platform, may_install)
}

/// Builds the command for an architecture and returns its path.
pub fn command(platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    build(&COMMAND, platform, may_install)
}

fn build(program: &GuestProgram, platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    if Some(platform.arch) == Arch::host() {
        let (mut command, _) = test::workspace_test_command(may_install);
        command.arg("--no-run").args(program.tests);
        return build_with(command, program);
    }
    build_static(program, platform, may_install)
}

/// Runs cargo and returns the path of the executable that it builds.
fn build_with(mut command: Command, program: &GuestProgram) -> Outcome<PathBuf> {
    command.args(["--message-format", "json-render-diagnostics"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo: {error}"))?;
    let out = child.stdout.take();
    let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
    let found = lines.filter_map(|line| executable(&line, program.name)).last();
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    found
        .filter(|_| status.success())
        .ok_or_else(|| Failure::CannotRun(format!("{} could not be built", program.text)))
}

fn build_static(program: &GuestProgram, platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    let target = platform.triple;
    let text = program.text;
    if !add_target(target) {
        return Err(Failure::CannotRun(format!(
            "{text} could not be built for {target}: rustup cannot install that target"
        )));
    }
    if let Some(cross) = &platform.cross
        && !is_installed(cross.linker)
        && !(may_install && install::cross(&cross.packages) && is_installed(cross.linker))
    {
        return Err(Failure::CannotRun(format!(
            "{text} could not be built for {target}: {} is not installed (Debian: apt-get install {})",
            cross.linker,
            cross.packages.join(" ")
        )));
    }
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -C target-feature=+crt-static");
    let mut command = cargo();
    // With an explicit target, the flags do not apply to build scripts and macros.
    command.args(program.arguments).args(["--target", target]);
    // Guests do not need debug information.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    if let Some(cross) = &platform.cross {
        flags = format!("{flags} {}", cross.flags);
        let variable = target.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), cross.linker);
    }
    command.env("RUSTFLAGS", flags.trim()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    eprintln!("building {text} as a static program for {target}");
    let path = build_with(command, program).map_err(|error| {
        Failure::CannotRun(format!(
            "{error} for {target}; unless it is a musl target, they need glibc's static library (Debian: libc6-dev, Fedora: glibc-static)"
        ))
    })?;
    let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !core_relo_vm::executable::is_static(&data) {
        return Err(Failure::CannotRun(format!("{}: not a static program", path.display())));
    }
    Ok(path)
}

/// Returns the path of a target's executable from cargo's JSON message.
fn executable(message: &str, target: &str) -> Option<PathBuf> {
    if !message.contains("\"reason\":\"compiler-artifact\"")
        || !message.contains(&format!("\"name\":\"{target}\""))
    {
        return None;
    }
    let path = message.split_once("\"executable\":\"")?.1.split('"').next()?;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_found_in_the_output_of_cargo() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"live"},"executable":"/a/live-1","fresh":true}"#;
        assert_eq!(executable(message, "live"), Some(PathBuf::from("/a/live-1")));
        assert_eq!(executable(message, "other"), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, "live"), None);
    }
}
