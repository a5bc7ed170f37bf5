//! `cargo xtask soak`: an agent that loads, attaches and reads events at full rate, and starts anew each second.

use std::path::PathBuf;
use std::process::Command;

use crate::system::{Outcome, cargo, check, root};

/// Mounts a bpffs that only the agent sees.
const WITH_BPFFS: &str = "mount -t bpf bpf /sys/fs/bpf && exec \"$@\"";

/// Builds and runs the agent. It checks after each second that nothing has grown.
pub fn run(args: &[String]) -> Outcome {
    check(cargo().args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "core-relo-tests",
        "--example",
        "soak",
    ]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let example = target.join("release/examples/soak");
    check(Command::new("unshare").args(["--mount", "sh", "-c", WITH_BPFFS, "sh"]).arg(example).args(args))
}
