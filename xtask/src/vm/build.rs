//! Static programs for the guest: the test binary `tests/tests/live.rs`, and the command.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use crate::install;
use crate::platform::Platform;
use crate::system::{Failure, Outcome, add_target, cargo, is_installed};

/// The name of the tests.
const TEST: &str = "live";

/// The name of the command.
const COMMAND: &str = "core-relo";

/// Builds the test binary for an architecture and returns its path.
pub fn live_test(platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    let args = ["test", "--no-run", "--package", "core-relo-tests", "--test", TEST];
    static_program(platform, may_install, "live tests", &args, TEST)
}

/// Builds the command for the guests of an architecture and returns its path.
pub fn guest_command(platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    let args = ["build", "--package", "core-relo-cli", "--bin", COMMAND];
    static_program(platform, may_install, "command", &args, COMMAND)
}

/// Builds a static program for an architecture and returns its path. `target_name` is its name in cargo's messages.
fn static_program(
    platform: &Platform,
    may_install: bool,
    what: &str,
    args: &[&str],
    target_name: &str,
) -> Outcome<PathBuf> {
    let target = platform.triple;
    let cannot = |why: String| Failure::CannotRun(format!("the {what} could not be built for {target}{why}"));
    if !add_target(target) {
        return Err(cannot(": rustup cannot install that target".to_owned()));
    }
    if let Some(cross) = &platform.cross
        && !is_installed(cross.linker)
        && !(may_install && install::cross(&cross.packages) && is_installed(cross.linker))
    {
        return Err(cannot(format!(
            ": {} is not installed (Debian: apt-get install {})",
            cross.linker,
            cross.packages.join(" ")
        )));
    }
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -C target-feature=+crt-static");
    let mut command = cargo();
    // With an explicit target, the flags do not apply to build scripts and macros.
    command.args(args).args(["--target", target, "--message-format", "json-render-diagnostics"]);
    // Debug information would double the size of the guest's file system.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(cross) = &platform.cross {
        flags = format!("{flags} {}", cross.flags);
        let variable = target.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), cross.linker);
    }
    command.env("RUSTFLAGS", flags.trim()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    eprintln!("building the {what} as a static program for {target}");
    let mut child = command.spawn().map_err(|error| format!("cargo: {error}"))?;
    let out = child.stdout.take();
    let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
    let found = lines.filter_map(|line| executable(&line, target_name)).last();
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    let path = found.filter(|_| status.success()).ok_or_else(|| {
        cannot(
            "; targets that are no musl targets need glibc's static library (Debian: libc6-dev, Fedora: glibc-static)"
                .to_owned(),
        )
    })?;
    let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !core_relo_vm::executable::is_static(&data) {
        return Err(Failure::CannotRun(format!("{}: not a static program", path.display())));
    }
    Ok(path)
}

/// Returns the path of a target's executable from cargo's JSON message.
fn executable(message: &str, target_name: &str) -> Option<PathBuf> {
    if !message.contains("\"reason\":\"compiler-artifact\"")
        || !message.contains(&format!("\"name\":\"{target_name}\""))
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
    fn the_test_binary_is_found_in_the_output_of_cargo() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"live"},"executable":"/a/live-1","fresh":true}"#;
        assert_eq!(executable(message, TEST), Some(PathBuf::from("/a/live-1")));
        assert_eq!(executable(message, COMMAND), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, TEST), None);
    }
}
