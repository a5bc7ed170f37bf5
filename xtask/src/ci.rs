//! `cargo xtask ci`: what a change has to pass, cheapest first.

use crate::system::{Failure, Outcome, cargo, check, output, root};
use crate::{fuzz, miri, test, tidy};

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    if has("fmt") {
        check(cargo().args(["fmt", "--all", "--check"]))?;
    }
    tidy::run(&[])?;
    if has("clippy") {
        check(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        // Workspaces of their own, which nothing else here compiles.
        for package in ["fuzz", "benches"] {
            let manifest = root().join(package).join("Cargo.toml");
            let mut clippy = cargo();
            clippy.arg("clippy").arg("--manifest-path").arg(manifest);
            clippy.arg("--target-dir").arg(root().join("target"));
            check(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
        }
    }
    check(cargo().args(["doc", "--no-deps", "--workspace", "--quiet"]).env("RUSTDOCFLAGS", "-Dwarnings"))?;
    test::run(&["--vm".to_owned()])?;
    // The generators' own tests: a fuzz target that reaches nothing finds nothing.
    let target = root().join("target");
    check(
        cargo()
            .args(["test", "--quiet", "--lib", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"])
            .arg(target),
    )?;
    fuzz::run(&["--smoke".to_owned()])?;
    miri::run(&["--minutes".to_owned(), miri::CI_MINUTES.to_owned()])
}

/// Is this part of the toolchain installed, or can it be?
fn has(part: &str) -> bool {
    let works = || output(cargo().args([part, "--version"])).is_some();
    if works() {
        return true;
    }
    let component = if part == "fmt" { "rustfmt" } else { part };
    let added = check(std::process::Command::new("rustup").args(["component", "add", component]));
    if added.is_ok() && works() {
        return true;
    }
    println!("SKIP cargo {part}: not installed");
    false
}
