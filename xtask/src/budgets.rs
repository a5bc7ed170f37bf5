//! `cargo xtask budgets`: counts the instructions of hot paths, and fails above their budgets.
//! docs/performance.md has the same figures.

use crate::system::{Failure, Outcome, cargo, check, is_installed, kernels_dir, report_skip, root};
use crate::{cases, install};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of types in the kernel of the budgets: that of Linux 6.18. A kernel with more types has larger
/// budgets.
const REFERENCE_TYPES: u64 = 126_573;

/// The object of the budgets for one object, below the directory of committed objects.
const OBJECT: &str = "el/kernel/sock.bpf.o";

/// The function in `tests/examples/parts.rs` whose instructions count.
const COUNTED: &str = "*counted*";

/// A budget in thousands of instructions.
struct Budget {
    name: &'static str,
    limit: u64,
    work: Work,
}

/// The counted work.
enum Work {
    /// A part of `tests/examples/parts.rs`, on the running kernel's BTF.
    Part(&'static str),
    /// A command of core-relo.
    Command(&'static [&'static str]),
    /// `check` of the object on the running kernel.
    CheckRunning,
    /// `check` of the object on a copy of the running kernel's BTF.
    CheckFile,
    /// One more kernel of a `check` of all committed objects.
    FleetKernel,
}

const BUDGETS: [Budget; 7] = [
    Budget { name: "parse", limit: 3_500, work: Work::Part("parse") },
    Budget { name: "validate", limit: 6_500, work: Work::Part("validate") },
    Budget { name: "job", limit: 5_500, work: Work::Part("job") },
    Budget { name: "core-relo --version", limit: 1_150, work: Work::Command(&["--version"]) },
    Budget { name: "core-relo check, running kernel", limit: 10_600, work: Work::CheckRunning },
    Budget { name: "core-relo check, file", limit: 13_900, work: Work::CheckFile },
    Budget { name: "core-relo check, kernel of a fleet", limit: 79_400, work: Work::FleetKernel },
];

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("unknown argument `{other}`")));
    }
    if !is_installed("valgrind") && !install::valgrind() {
        report_skip("budgets", "no valgrind");
        return Ok(());
    }
    // One build has the same features for both.
    let packages = ["--package", "core-relo-cli", "--package", "core-relo-tests"];
    let programs = ["--bin", "core-relo", "--example", "parts"];
    // callgrind finds the counted function by its symbol.
    let mut build = cargo();
    build.env("CARGO_PROFILE_RELEASE_STRIP", "none");
    check(build.args(["build", "--release"]).args(packages).args(programs))?;
    let counter = Counter::new()?;
    let mut exceeded = Vec::new();
    for budget in &BUDGETS {
        let Some((count, limit)) = counter.count(budget)? else { continue };
        println!("{:>9} of {limit:>9} thousand instructions  {}", count, budget.name);
        if count > limit {
            exceeded
                .push(format!("{}: {count} thousand instructions, expected {limit} at most", budget.name));
        }
    }
    if exceeded.is_empty() { Ok(()) } else { Err(Failure::Failed(exceeded.join("; "))) }
}

/// The inputs of the counted programs.
struct Counter {
    release: PathBuf,
    dir: PathBuf,
    objects: PathBuf,
    /// A copy of the running kernel's BTF, and the number of its types.
    running: Option<(PathBuf, u64)>,
    kernels: Vec<PathBuf>,
}

impl Counter {
    fn new() -> Outcome<Self> {
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let dir = target.join("budgets");
        let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
        fs::create_dir_all(&dir).map_err(failed)?;
        let mut kernels: Vec<_> = fs::read_dir(kernels_dir()).into_iter().flatten().flatten().collect();
        kernels.sort_by_key(|entry| entry.file_name());
        let is_btf = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "btf");
        let kernels = kernels.iter().map(|entry| entry.path()).filter(is_btf).collect();
        let objects = cases::dir().join("prebuilt");
        let mut counter = Self { release: target.join("release"), dir, objects, running: None, kernels };
        let copy = counter.dir.join("vmlinux.btf");
        if fs::copy("/sys/kernel/btf/vmlinux", &copy).is_ok() {
            let output = Command::new(counter.parts()).arg("parse").arg(&copy).output();
            let output = output.map_err(|error| format!("{}: {error}", counter.parts().display()))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let count = text.split_whitespace().find_map(|word| word.parse().ok());
            counter.running = Some((copy, count.ok_or("parts: no number of types")?));
        }
        Ok(counter)
    }

    fn parts(&self) -> PathBuf {
        self.release.join("examples/parts")
    }

    /// Returns the thousands of instructions, and their limit. Returns `None` if the machine lacks the input.
    fn count(&self, budget: &Budget) -> Outcome<Option<(u64, u64)>> {
        let command = || Command::new(self.release.join("core-relo"));
        let object = self.objects.join(OBJECT);
        if let Work::Command(args) = budget.work {
            return Ok(Some((self.callgrind(command().args(args), None)?, budget.limit)));
        }
        if matches!(budget.work, Work::FleetKernel) {
            let [first, rest @ ..] = &self.kernels[..] else {
                report_skip(budget.name, "no kernels: run `cargo xtask kernels`");
                return Ok(None);
            };
            let check = |kernels: &[PathBuf]| {
                let kernels = kernels.iter().flat_map(|kernel| [Path::new("--btf"), kernel]);
                self.callgrind(command().arg("check").arg(self.objects.join("el")).args(kernels), None)
            };
            let (one, all) = (check(std::slice::from_ref(first))?, check(&self.kernels)?);
            let more = u64::try_from(rest.len()).map_err(|error| error.to_string())?;
            return Ok(all.saturating_sub(one).checked_div(more).map(|count| (count, budget.limit)));
        }
        let Some((btf, types)) = &self.running else {
            report_skip(budget.name, "the running kernel has no BTF");
            return Ok(None);
        };
        let limit = budget.limit * REFERENCE_TYPES.max(*types) / REFERENCE_TYPES;
        let count = match budget.work {
            Work::Part(part) => {
                let mut parts = Command::new(self.parts());
                self.callgrind(parts.arg(part).arg(btf).arg(&object), Some(COUNTED))?
            }
            Work::CheckRunning => self.callgrind(command().arg("check").arg(&object), None)?,
            _ => self.callgrind(command().arg("check").arg(&object).arg("--btf").arg(btf), None)?,
        };
        Ok(Some((count, limit)))
    }

    /// Returns the thousands of instructions of a program, or of the calls of one of its functions.
    fn callgrind(&self, program: &Command, function: Option<&str>) -> Outcome<u64> {
        let profile = self.dir.join("profile");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--tool=callgrind"]);
        valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
        valgrind.args(function.map(|function| format!("--toggle-collect={function}")));
        valgrind.arg(program.get_program()).args(program.get_args()).env_remove("RUST_LOG");
        let output = valgrind.output().map_err(|error| format!("valgrind: {error}"))?;
        // `check` exits with 1 or 2 if an object does not load.
        if !matches!(output.status.code(), Some(0..=2)) {
            return Err(format!("valgrind: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let text = fs::read_to_string(&profile).map_err(|error| format!("{}: {error}", profile.display()))?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total: Option<u64> = total.and_then(|total| total.trim().parse().ok());
        let total = total.filter(|total| *total > 0);
        Ok(total.ok_or_else(|| format!("{}: no instructions", profile.display()))?.div_ceil(1_000))
    }
}
