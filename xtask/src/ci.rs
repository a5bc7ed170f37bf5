//! `cargo xtask ci`: the checks that every change must pass, cheapest first.

use crate::system::{Failure, Outcome, cargo, check, output, report_skip, reported_skips, root};
use crate::{fuzz, matrix, miri, test, tidy};
use std::time::Instant;

/// A part of the checks.
type Step = fn() -> Outcome;

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    let steps: [(&str, Step); 8] = [
        ("fmt", check_format),
        ("tidy", || tidy::run(&[])),
        ("clippy", lint),
        ("doc", document),
        ("test", || test::run(&["--vm", "--growth", "--require"].map(str::to_owned))),
        ("fuzz", fuzz_briefly),
        ("miri", || miri::run(&miri::CI_ARGUMENTS.map(str::to_owned))),
        ("matrix", || matrix::run(&matrix::CI_ROWS.map(str::to_owned))),
    ];
    for (name, step) in steps {
        let start = Instant::now();
        step()?;
        println!("ci: {name} took {} s", start.elapsed().as_secs());
    }
    for skip in reported_skips() {
        println!("ci: {skip}");
    }
    Ok(())
}

/// The packages that are workspaces of their own.
const OWN_WORKSPACES: [&str; 2] = ["fuzz", "benches"];

fn check_format() -> Outcome {
    if !has_component("fmt") {
        return Ok(());
    }
    check(cargo().args(["fmt", "--all", "--check"]))?;
    for package in OWN_WORKSPACES {
        let manifest = root().join(package).join("Cargo.toml");
        check(cargo().args(["fmt", "--check", "--manifest-path"]).arg(manifest))?;
    }
    Ok(())
}

fn lint() -> Outcome {
    if !has_component("clippy") {
        return Ok(());
    }
    check(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // No other step compiles these packages.
    for package in OWN_WORKSPACES {
        let manifest = root().join(package).join("Cargo.toml");
        let mut clippy = cargo();
        clippy.arg("clippy").arg("--manifest-path").arg(manifest);
        clippy.arg("--target-dir").arg(root().join("target"));
        check(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn document() -> Outcome {
    check(cargo().args(["doc", "--no-deps", "--workspace", "--quiet"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

fn fuzz_briefly() -> Outcome {
    // The tests of the fuzz generators show that generated inputs reach deep code.
    let target = root().join("target");
    check(
        cargo()
            .args(["test", "--quiet", "--lib", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"])
            .arg(target),
    )?;
    fuzz::run(&["--smoke".to_owned()])
}

/// Returns whether a component of the toolchain is installed. Installs a missing one if rustup can.
fn has_component(part: &str) -> bool {
    let works = || output(cargo().args([part, "--version"])).is_some();
    if works() {
        return true;
    }
    let component = if part == "fmt" { "rustfmt" } else { part };
    let added = check(std::process::Command::new("rustup").args(["component", "add", component]));
    if added.is_ok() && works() {
        return true;
    }
    report_skip(&format!("cargo {part}"), "not installed");
    false
}
