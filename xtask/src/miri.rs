//! `cargo xtask miri`: the unit tests of the code without system calls under Miri, where the toolchain has it.
//!
//! The engine forbids unsafe code and the loader keeps it in `sys`; Miri looks for undefined behaviour below them, in the crates they
//! use, and for what depends on the machine: alignment, addresses, the width of a pointer.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::system::{Failure, Outcome, output, root};

/// The loader's modules without system calls. Their tests make their objects in memory.
const PURE: [&str; 5] = ["object::", "link::", "load_plan::", "static_link::", "globals::"];

/// Time after which a run counts as stuck.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Tests open the committed objects, and hash maps want random numbers.
const FLAGS: &str = "-Zmiri-disable-isolation";

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    if !is_installed() {
        println!("SKIP miri: not installed (rustup component add --toolchain nightly miri)");
        return Ok(());
    }
    test("core-relo", &[])?;
    test("core-relo-loader", &PURE)
}

/// Whether the nightly toolchain has Miri, or can get it.
fn is_installed() -> bool {
    let works = || output(Command::new("cargo").args(["+nightly", "miri", "--version"])).is_some();
    let add = || {
        output(Command::new("rustup").args([
            "component",
            "add",
            "--toolchain",
            "nightly",
            "miri",
            "rust-src",
        ]))
    };
    works() || (add().is_some() && works())
}

/// Runs a package's unit tests whose paths contain one of `filters`, or all.
fn test(package: &str, filters: &[&str]) -> Outcome {
    let mut command = Command::new("cargo");
    command
        .current_dir(root())
        .args(["+nightly", "miri", "test", "--lib", "-p", package, "--"])
        .args(filters);
    command.env("MIRIFLAGS", FLAGS);
    eprintln!("+ MIRIFLAGS={FLAGS} cargo +nightly miri test --lib -p {package} -- {}", filters.join(" "));
    let cannot_run = |why: std::io::Error| Failure::CannotRun(format!("cargo miri: {why}"));
    let mut child = command.spawn().map_err(cannot_run)?;
    let end = Instant::now() + LIMIT;
    loop {
        match child.try_wait().map_err(cannot_run)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("miri: {package}: {status}").into()),
            None if Instant::now() > end => {
                child.kill().and_then(|()| child.wait()).map_err(cannot_run)?;
                let minutes = LIMIT.as_secs() / 60;
                return Err(format!("miri: {package}: did not end within {minutes} minutes").into());
            }
            None => thread::sleep(Duration::from_millis(200)),
        }
    }
}
