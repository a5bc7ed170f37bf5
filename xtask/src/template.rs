//! `cargo xtask template`: a new agent from `examples/agent-template`, with dependencies on this checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::progs;
use crate::system::{
    Failure, Outcome, add_target, cargo, check, files_below, has_target, output, read, report_skip, root,
};

/// The template, and its file that becomes `Cargo.toml`.
const TEMPLATE: &str = "examples/agent-template";
const MANIFEST: &str = "Cargo.toml.liquid";
/// Another target than that of the machines that usually build, for which an agent has to compile.
const FOREIGN: &str = "aarch64-unknown-linux-gnu";
/// The files that only cargo-generate needs.
const FOR_GENERATE: &str = "cargo-generate.toml";

/// Creates and builds a project, by default `target/template/agent`, which is removed first.
pub fn run(args: &[String]) -> Outcome {
    let directory = match args {
        [] if check_examples(true)? => return Ok(()),
        [] => return Err("clang 14 or later is not installed".into()),
        [directory] if !directory.starts_with('-') => directory,
        _ => return Err(Failure::Usage("expected the directory of the new project, or nothing".to_owned())),
    };
    let directory = std::path::absolute(directory).map_err(|error| format!("{directory}: {error}"))?;
    if directory.exists() {
        return Err(format!("{}: it exists already", directory.display()).into());
    }
    create(&directory)?;
    check(cargo().args(["build"]).current_dir(&directory))?;
    println!(
        "created {}: `cargo build` there, then run the agent in target/debug as root",
        directory.display()
    );
    Ok(())
}

/// Checks that a project from the template, also for another architecture, and the tokio example compile
/// without a warning. Returns `false` if there is no clang. `may_install` allows the installation of the
/// other architecture's standard library.
pub fn check_examples(may_install: bool) -> Outcome<bool> {
    if progs::compilers_or_install(false).is_empty() {
        return Ok(false);
    }
    let project = root().join("target/template/agent");
    let _ = fs::remove_dir_all(&project);
    create(&project)?;
    let host = host()?;
    for directory in [&project, &root().join("examples/agent-tokio")] {
        check(&mut compile(directory, &host))?;
    }
    if has_target(FOREIGN) || (may_install && add_target(FOREIGN)) {
        check(&mut compile(&project, FOREIGN))?;
    } else {
        report_skip(
            &format!("the template for {FOREIGN}"),
            "the target's standard library is not installed (rustup target add)",
        );
    }
    Ok(true)
}

/// Returns the target of this machine's programs.
fn host() -> Outcome<String> {
    let version = output(Command::new("rustc").arg("-vV")).ok_or("rustc: it does not run")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV: no line `host: `")?.to_owned())
}

/// Returns the command that compiles a project. The projects share their dependencies. With a target, even
/// that of this machine, `RUSTFLAGS` do not hold for build scripts, so that all targets share what these
/// need.
fn compile(directory: &Path, target: &str) -> Command {
    let mut command = cargo();
    command
        .args(["check", "--target", target])
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", root().join("target/template/target"));
    command.env("RUSTFLAGS", "-D warnings");
    command
}

/// Creates a project from the template.
fn create(project: &Path) -> Outcome {
    let template = root().join(TEMPLATE);
    let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for file in files_below(&template) {
        let relative = file.strip_prefix(&template).unwrap_or(&file);
        if relative == Path::new(FOR_GENERATE) {
            continue;
        }
        let is_manifest = relative == Path::new(MANIFEST);
        let to = project.join(if is_manifest { Path::new("Cargo.toml") } else { relative });
        let text = read(&file)?.replace("{{project-name}}", &name);
        let text = if is_manifest { on_this_checkout(&text) } else { text };
        write(&to, &text)?;
    }
    Ok(())
}

/// Makes the dependencies of a manifest those of this checkout. The project is no member of a workspace
/// around it.
fn on_this_checkout(manifest: &str) -> String {
    let path = |directory: &str| format!("{{ path = {:?} }}", root().join(directory));
    let loader =
        manifest.replace("core-relo-loader = \"0.1\"", &format!("core-relo-loader = {}", path("loader")));
    let both = loader.replace("core-relo-build = \"0.1\"", &format!("core-relo-build = {}", path("build")));
    format!("{both}\n[workspace]\n")
}

fn write(path: &PathBuf, text: &str) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_generate_fills_in_the_manifest() {
        let settings = fs::read_to_string(root().join(TEMPLATE).join(FOR_GENERATE)).unwrap();
        // It compares names after it removed `.liquid`.
        let name = MANIFEST.trim_end_matches(".liquid");
        assert!(settings.contains(&format!("include = [\"{name}\"")), "{settings}");
    }
}
