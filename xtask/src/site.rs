//! `cargo xtask site`: the module of the page that `core-relo site` writes.

use std::path::PathBuf;

use crate::static_binary::Build;
use crate::system::{Failure, Outcome, add_target, cargo, check};

/// The target, which has neither files nor a network.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The name of the module, by which `core-relo site` finds it.
pub const MODULE: &str = "core-relo-web.wasm";

/// The profile in `Cargo.toml`, and the name of its directory.
const PROFILE: &str = "static";

/// The stack of the module, in bytes: as large as that of a process. The default is an eighth of it.
const STACK_BYTES: u32 = 8 << 20;

/// The bound on the size of the module, a little above its present size.
const MAX_BYTES: u64 = 2_000_000;

/// Builds the module, and prints its path and size.
pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let path = build(&Build::of_checkout())?;
    let bytes = std::fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    println!("{}: {bytes} bytes", path.display());
    println!("core-relo site -o DIR --wasm {} --btf KERNEL writes a page", path.display());
    if bytes > MAX_BYTES {
        return Err(format!("{}: {bytes} bytes, expected at most {MAX_BYTES}", path.display()).into());
    }
    Ok(())
}

/// Builds the module, and returns its path. The file depends on the sources and the compiler only.
pub fn build(build: &Build) -> Outcome<PathBuf> {
    if !add_target(TARGET) {
        return Err(Failure::CannotRun(format!("rustup cannot install {TARGET}")));
    }
    build.fetch(TARGET)?;
    let mut command = cargo();
    command.current_dir(&build.sources).env("CARGO_ENCODED_RUSTFLAGS", build.path_flags()?.join("\x1f"));
    command.args(["rustc", "--locked", "-p", "core-relo-web", "--lib", "--crate-type", "cdylib"]);
    command.args(["--profile", PROFILE, "--target", TARGET, "--target-dir"]).arg(&build.target_dir);
    command.args(["--", "-Cstrip=symbols"]);
    check(command.arg(format!("-Clink-arg=-zstack-size={STACK_BYTES}")))?;
    let built = build.target_dir.join(TARGET).join(PROFILE).join("core_relo_web.wasm");
    let directory = build.target_dir.join("site");
    let module = directory.join(MODULE);
    let copied = std::fs::create_dir_all(&directory).and_then(|()| std::fs::copy(&built, &module));
    copied.map_err(|error| format!("{}: {error}", module.display()))?;
    Ok(module)
}
