//! The test binary for the guest: `tests/tests/live.rs` as a static program.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use crate::install;
use crate::platform::Platform;
use crate::system::{Failure, Outcome, add_target, cargo, is_installed};

const TEST: &str = "live";

/// Builds the test binary for an architecture and returns its path.
pub fn live_test(platform: &Platform, may_install: bool) -> Outcome<PathBuf> {
    let target = platform.triple;
    if !add_target(target) {
        return Err(Failure::CannotRun(format!(
            "the live tests could not be built for {target}: rustup cannot install that target"
        )));
    }
    if let Some(cross) = &platform.cross
        && !is_installed(cross.linker)
        && !(may_install && install::cross(&cross.packages) && is_installed(cross.linker))
    {
        return Err(Failure::CannotRun(format!(
            "the live tests could not be built for {target}: {} is not installed (Debian: apt-get install {})",
            cross.linker,
            cross.packages.join(" ")
        )));
    }
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" -C target-feature=+crt-static");
    let mut command = cargo();
    // With an explicit target, the flags do not apply to build scripts and macros.
    command.args(["test", "--no-run", "--package", "core-relo-tests", "--test", TEST, "--target", target]);
    command.args(["--message-format", "json-render-diagnostics"]);
    // Debug information would double the size of the guest's file system.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(cross) = &platform.cross {
        flags = format!("{flags} {}", cross.flags);
        let variable = target.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), cross.linker);
    }
    command.env("RUSTFLAGS", flags.trim()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    eprintln!("building the live tests as a static program for {target}");
    let mut child = command.spawn().map_err(|error| format!("cargo: {error}"))?;
    let out = child.stdout.take();
    let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
    let found = lines.filter_map(|line| executable(&line)).last();
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    let path = found.filter(|_| status.success()).ok_or_else(|| {
        Failure::CannotRun(format!(
            "the live tests could not be built for {target}; unless it is a musl target, they need glibc's static library \
             (Debian: libc6-dev, Fedora: glibc-static)"
        ))
    })?;
    let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !core_relo_vm::executable::is_static(&data) {
        return Err(Failure::CannotRun(format!("{}: not a static program", path.display())));
    }
    Ok(path)
}

/// Returns the path of the test binary from cargo's JSON message.
fn executable(message: &str) -> Option<PathBuf> {
    if !message.contains("\"reason\":\"compiler-artifact\"")
        || !message.contains(&format!("\"name\":\"{TEST}\""))
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
        assert_eq!(executable(message), Some(PathBuf::from("/a/live-1")));
        assert_eq!(executable(&message.replace("\"live\"", "\"other\"")), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
