//! `cargo xtask vm --verdicts`: compares the verdicts of `core-relo check` with real loads on each kernel.

mod classify;
mod matrix;
mod model;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cases;
use crate::kernel_crashes::{self, Crash};
use crate::kernels::boot::Bootable;
use crate::platform::Platform;
use crate::system::{Failure, Outcome, cargo, check, files_below, root};
use core_relo_vm::Arch;
use matrix::Matrix;
use model::{Prediction, ProgramKey, read_predictions, read_realities};

/// The objects of the loader's examples.
const EXAMPLES: &str = "loader/examples/prebuilt";

/// The name of the running kernel in reports.
const RUNNING: &str = "running kernel";

/// A comparison of verdicts with real loads on kernels of an architecture.
#[derive(Debug)]
pub struct Comparison {
    pub platform: &'static Platform,
    /// The command for guests of another architecture than the host.
    pub guest_binary: Option<PathBuf>,
    /// Whether a kernel whose loads of an earlier run are stored is not booted.
    pub reuse: bool,
    /// The time limit for a kernel.
    pub limit: Duration,
}

impl Comparison {
    /// Loads every program of the objects on each kernel and, if it has the architecture, on the running one,
    /// and compares with the verdicts.
    pub fn run(&self, kernels: &[Bootable], dir: Option<&Path>) -> Outcome {
        let command = build_command()?;
        let mut total = Matrix::default();
        for kernel in kernels {
            let crash = |path: &Path| kernel_crashes::on_release(path, &kernel.release);
            let objects = objects(dir, self.platform, crash)?;
            let image = kernel.image.as_os_str();
            println!("{}: {} objects", kernel.name, objects.len());
            let predicted = ["check", "--loader", "core-relo", "--format", "json", "--btf"];
            let predicted = run(Command::new(&command).args(predicted).arg(image).args(&objects))?;
            let predictions = read_predictions(&predicted)?;
            let real = match self.reuse.then(|| std::fs::read_to_string(loads_file(kernel))) {
                Some(Ok(text)) => text,
                _ => self.load_in_guest(&command, kernel, &objects)?,
            };
            total.merge(compare_kernel(&kernel.name, &predictions, &real)?);
        }
        if Some(self.platform.arch) != Arch::host() {
            println!("SKIP {RUNNING}: another architecture");
        } else if is_root() {
            let crash = |path: &Path| kernel_crashes::on_running_kernel(path, None);
            let objects = objects(dir, self.platform, crash)?;
            println!("{RUNNING}: {} objects", objects.len());
            let predicted = run(Command::new(&command)
                .args(["check", "--loader", "core-relo", "--format", "json"])
                .args(&objects))?;
            let predictions = read_predictions(&predicted)?;
            let real =
                run(Command::new(&command).args(["load", "--each", "--format", "json"]).args(&objects))?;
            total.merge(compare_kernel(RUNNING, &predictions, &real)?);
        } else {
            println!("SKIP {RUNNING}: not root");
        }
        print(&total)
    }

    /// Loads every program in QEMU, and stores the result for later runs.
    fn load_in_guest(&self, command: &Path, kernel: &Bootable, objects: &[PathBuf]) -> Outcome<String> {
        let timeout = self.limit.as_secs().to_string();
        let mut vm = Command::new(command);
        vm.args(["vm", "--format", "json", "--timeout", &timeout]);
        if let Some(path) = &self.guest_binary {
            vm.arg("--guest-binary").arg(path);
        }
        let real = run(vm.arg("--kernel").arg(&kernel.image).arg("--").args(objects))?;
        let file = loads_file(kernel);
        let dir = file.parent().unwrap_or(Path::new(""));
        let stored = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(&file, &real));
        stored.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(real)
    }
}

/// Prints the results of all kernels. Fails on a wrong `loads`.
fn print(total: &Matrix) -> Outcome {
    println!("all kernels\n{}", total.table());
    for (title, list) in [
        ("wrong `loads`", &total.wrong_loads),
        ("false refusals", &total.false_refusals),
        ("refused for other reasons (verifier, privileges, memory)", &total.other_refusals),
        ("not judged", &total.unjudged),
    ] {
        if !list.is_empty() {
            println!("\n{title}:");
            list.iter().for_each(|line| println!("  {line}"));
        }
    }
    println!("\n{}", total.summary());
    match total.wrong_loads.len() {
        0 => Ok(()),
        count => Err(format!("{count} wrong `loads`").into()),
    }
}

/// Returns the file with the real loads of the last run on a kernel.
fn loads_file(kernel: &Bootable) -> PathBuf {
    root().join("target/vm").join(&kernel.name).join("loads.jsonl")
}

fn compare_kernel(
    kernel: &str,
    predictions: &BTreeMap<ProgramKey, Prediction>,
    real: &str,
) -> Outcome<Matrix> {
    let matrix = Matrix::new(kernel, predictions, &read_realities(real)?);
    println!("{}\n{}\n", matrix.table(), matrix.summary());
    Ok(matrix)
}

/// Returns the committed objects in the byte order of an architecture, those of the examples, and those below
/// a directory, without those that crash the kernel.
fn objects(
    dir: Option<&Path>,
    platform: &Platform,
    find_crash: impl Fn(&Path) -> Option<&'static Crash>,
) -> Outcome<Vec<PathBuf>> {
    let committed =
        [cases::dir().join("prebuilt"), root().join(EXAMPLES)].map(|dir| dir.join(platform.objects));
    let mut objects = Vec::new();
    for dir in committed.iter().map(PathBuf::as_path).chain(dir) {
        let found = files_below(dir).into_iter().filter(|file| file.to_string_lossy().ends_with(".bpf.o"));
        let before = objects.len();
        objects.extend(found);
        if objects.len() == before {
            return Err(Failure::CannotRun(format!("{}: no *.bpf.o", dir.display())));
        }
    }
    objects.retain(|object| {
        let crash = find_crash(object);
        if let Some(crash) = crash {
            println!("SKIP {}: {}", object.display(), crash.reason);
        }
        crash.is_none()
    });
    Ok(objects)
}

/// Builds the command and returns its path.
fn build_command() -> Outcome<PathBuf> {
    check(cargo().args(["build", "--package", "core-relo-cli"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let command = root().join(target).join("debug/core-relo");
    if command.is_file() { Ok(command) } else { Err(format!("{}: not built", command.display()).into()) }
}

/// Runs the command and returns its output. Exit status 1 means that something was refused, 2 that some
/// results are unknown.
fn run(command: &mut Command) -> Outcome<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let out = out.map_err(|error| format!("core-relo: {error}"))?;
    if out.stdout.is_empty() || out.status.code().is_none() {
        return Err(Failure::CannotRun(format!("core-relo: {}", out.status)));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn is_root() -> bool {
    // The owner of /proc/self is the effective user.
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|status| status.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_crash_the_kernel_are_left_out() {
        let dir = std::env::temp_dir().join(format!("core-relo-crash-objects-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for name in ["verifier_subprog_precision.bpf.o", "other.bpf.o"] {
            std::fs::write(dir.join(name), "").unwrap();
        }
        let found = objects(Some(&dir), &crate::platform::PLATFORMS[0], |path| {
            kernel_crashes::on_release(path, "7.2")
        });
        std::fs::remove_dir_all(&dir).unwrap();
        let found = found.unwrap();
        let has = |name: &str| found.iter().any(|path| path.ends_with(name));
        assert!(has("other.bpf.o") && !has("verifier_subprog_precision.bpf.o"));
    }

    #[test]
    fn each_architecture_has_objects_in_its_byte_order() {
        for platform in &crate::platform::PLATFORMS {
            let found = objects(None, platform, |_| None).unwrap();
            let order = format!("/{}/", platform.objects);
            assert!(found.iter().all(|path| path.to_string_lossy().contains(&order)), "{}", platform.debian);
        }
    }
}
