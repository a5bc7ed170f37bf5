//! `cargo xtask static`: the command as one static file for x86-64 and arm64.

use std::path::PathBuf;

use crate::system::{Failure, Outcome, add_target, cargo, check, root};

/// The bound on the size of a file, in bytes.
const MAX_BYTES: u64 = 5_000_000;

/// The targets by the names of their architectures. Rust's own linker and the C library that comes with the target build them on any
/// host, see `.cargo/config.toml`.
const TARGETS: [(&str, &str); 2] =
    [("x86_64", "x86_64-unknown-linux-musl"), ("aarch64", "aarch64-unknown-linux-musl")];

/// The profile in `Cargo.toml`, and the name of its directory.
const PROFILE: &str = "static";

/// Flags that make the file smaller. Unwind tables are of no use, because a panic ends the process in this profile. The linker keeps
/// one of several identical functions. Cargo does not apply `strip` of the profile to a package with settings of its own.
const FLAGS: &str = "-Cstrip=symbols -Cforce-unwind-tables=no -Clink-arg=--icf=all";

/// Builds the architectures that the arguments name, or all, and prints path and size of each file.
pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.iter().find(|arg| TARGETS.iter().all(|(name, _)| name != arg)) {
        let names = TARGETS.map(|(name, _)| name).join(", ");
        return Err(Failure::Usage(format!("no architecture `{other}`, expected one of {names}")));
    }
    let is_selected = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    for (_, target) in TARGETS.iter().filter(|(name, _)| is_selected(name)) {
        build(target)?;
    }
    Ok(())
}

fn build(target: &str) -> Outcome {
    if !add_target(target) {
        return Err(Failure::CannotRun(format!("rustup cannot install {target}")));
    }
    let mut command = cargo();
    command.args(["build", "--locked", "-p", "core-relo-cli", "--profile", PROFILE, "--target", target]);
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_uppercase().replace('-', "_"));
    check(command.env(variable, FLAGS).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    let path = target_dir().join(target).join(PROFILE).join("core-relo");
    let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let bytes = u64::try_from(data.len()).map_err(|error| error.to_string())?;
    println!("{}: {bytes} bytes", path.display());
    if !core_relo_vm::executable::is_static(&data) {
        return Err(format!("{}: not a static program", path.display()).into());
    }
    if bytes > MAX_BYTES {
        return Err(
            format!("{}: too large: {bytes} bytes, expected at most {MAX_BYTES}", path.display()).into()
        );
    }
    Ok(())
}

/// Returns cargo's target directory.
fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) if !dir.is_empty() => root().join(dir),
        _ => root().join("target"),
    }
}
