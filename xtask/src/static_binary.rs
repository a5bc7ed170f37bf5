//! `cargo xtask static`: the command as one static file for x86-64 and arm64.

use std::path::PathBuf;

use crate::system::{Failure, Outcome, add_target, cargo, check, root};

/// A target. Rust's own linker and the C library that comes with the target build it on any host, see
/// `.cargo/config.toml`.
struct Target {
    architecture: &'static str,
    triple: &'static str,
    /// The flags of this target besides [`FLAGS`].
    flags: &'static [&'static str],
    /// The bound on the size of the file, a little above its present size.
    max_bytes: u64,
}

const TARGETS: [Target; 2] = [
    Target {
        architecture: "x86_64",
        triple: "x86_64-unknown-linux-musl",
        flags: &X86_64_FLAGS,
        max_bytes: 8_100_000,
    },
    Target {
        architecture: "aarch64",
        triple: "aarch64-unknown-linux-musl",
        flags: &[],
        max_bytes: 7_100_000,
    },
];

/// Flags that make the file for x86-64 smaller:
///
/// * Repeated instructions become functions. LLVM does this by itself for arm64, but not for x86-64. The
///   threshold keeps out functions that save few instructions, because their calls cost time: without it, the
///   file is 31,000 bytes smaller, and `btf dump` takes 1.4 times as long.
/// * A function with large values on the stack is not made part of its only caller, because instructions that
///   address a large frame are longer.
/// * A `match` with few cases becomes comparisons, which are shorter than the code and the offsets of a table
///   of jumps.
const X86_64_FLAGS: [&str; 4] = [
    "-Cllvm-args=-enable-machine-outliner",
    "-Cllvm-args=-outliner-benefit-threshold=8",
    "-Cllvm-args=-inline-max-stacksize=256",
    "-Cllvm-args=-min-jump-table-entries=8",
];

/// The profile in `Cargo.toml`, and the name of its directory.
const PROFILE: &str = "static";

/// Flags that make the file smaller:
///
/// * Cargo does not apply `strip` of the profile to a package with settings of its own.
/// * Unwind tables are of no use, because a panic ends the process in this profile. The standard library has
///   them nevertheless, so [`LINKER_SCRIPT`] leaves them out.
/// * The linker keeps one of several identical functions.
/// * Relocations of a position-independent program have a compact encoding, which the C library's startup
///   code reads.
/// * Functions that differ in constants and callees alone become one function with parameters.
/// * Backtraces would be empty, so the code behind them is left out (`loader/src/sys/unwinding.rs`).
/// * SHA-2, which `prog sign` needs, is a loop in place of repeated instructions, without variants for some
///   processors.
const FLAGS: [&str; 9] = [
    "-Cstrip=symbols",
    "-Cforce-unwind-tables=no",
    "-Clink-arg=--icf=all",
    "-Clink-arg=--no-eh-frame-hdr",
    "-Clink-arg=--pack-dyn-relocs=relr",
    "-Cllvm-args=-enable-global-merge-func",
    "--cfg=core_relo_static",
    "--cfg=sha2_backend=\"soft\"",
    "--cfg=sha2_backend_soft=\"compact\"",
];

/// The linker script, relative to the workspace.
const LINKER_SCRIPT: &str = "xtask/src/static_binary.ld";

/// Builds the architectures that the arguments name, or all, and prints path and size of each file.
pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.iter().find(|arg| TARGETS.iter().all(|target| target.architecture != *arg)) {
        let names = TARGETS.map(|target| target.architecture).join(", ");
        return Err(Failure::Usage(format!("no architecture `{other}`, expected one of {names}")));
    }
    let is_selected = |target: &&Target| args.is_empty() || args.iter().any(|arg| arg == target.architecture);
    let targets: Vec<&Target> = TARGETS.iter().filter(is_selected).collect();
    targets.into_iter().try_for_each(|target| {
        build(target)?;
        check_file(target)
    })
}

fn build(target: &Target) -> Outcome {
    if !add_target(target.triple) {
        return Err(Failure::CannotRun(format!("rustup cannot install {}", target.triple)));
    }
    let mut command = cargo();
    command.args(["build", "--locked", "-p", "core-relo-cli", "--profile", PROFILE, "--all-features"]);
    command.args(["--target", target.triple]);
    let script = format!("-Clink-arg=-T{}", root().join(LINKER_SCRIPT).display());
    // The variable takes precedence over every other source of flags. It separates them by a character that
    // no path contains.
    let flags = [&FLAGS[..], target.flags, &[script.as_str()]].concat().join("\x1f");
    check(command.env("CARGO_ENCODED_RUSTFLAGS", flags))
}

/// Prints path and size of the file of a target, and checks both the size and that the file needs no
/// libraries.
fn check_file(target: &Target) -> Outcome {
    let path = target_dir().join(target.triple).join(PROFILE).join("core-relo");
    let data = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let bytes = u64::try_from(data.len()).map_err(|error| error.to_string())?;
    println!("{}: {bytes} bytes", path.display());
    if !core_relo_vm::executable::is_static(&data) {
        return Err(format!("{}: not a static program", path.display()).into());
    }
    let max_bytes = target.max_bytes;
    if bytes > max_bytes {
        return Err(
            format!("{}: too large: {bytes} bytes, expected at most {max_bytes}", path.display()).into()
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
