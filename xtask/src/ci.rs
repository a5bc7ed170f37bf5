//! `cargo xtask ci`: the checks that every change must pass, cheapest first.

use crate::system::{Failure, Outcome, cargo, check, output, root};
use crate::{fuzz, matrix, miri, test, tidy};

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    if has_component("fmt") {
        check(cargo().args(["fmt", "--all", "--check"]))?;
    }
    tidy::run(&[])?;
    if has_component("clippy") {
        check(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        // These packages are workspaces of their own; no other step compiles them.
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
    // The tests of the fuzz generators show that generated inputs reach deep code.
    let target = root().join("target");
    check(
        cargo()
            .args(["test", "--quiet", "--lib", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"])
            .arg(target),
    )?;
    fuzz::run(&["--smoke".to_owned()])?;
    miri::run(&["--minutes".to_owned(), miri::CI_MINUTES.to_owned()])?;
    matrix::run(&[])
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
    println!("SKIP cargo {part}: not installed");
    false
}
