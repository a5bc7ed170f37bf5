//! `cargo xtask fuzz`: runs the targets in `fuzz/` with cargo-fuzz, or replays seeds and mutations of them on
//! stable Rust.
//!
//! `--smoke` always replays: a replay needs no other toolchain, shares the build of the tests, and takes a
//! known time.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::kernels::btf::elf_section;
use crate::system::{Failure, Outcome, cargo, check, files_below, output, report_skip, root};

/// The seconds for each target.
const SECONDS: u32 = 60;

/// Seconds for each target in `--smoke`, after its committed seeds: about two minutes for all targets.
const SMOKE_SECONDS: u32 = 5;

/// The limits for one input. The replay has the same.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=1024"];

/// The maximum number of bytes and of files of a target's committed seeds.
const SEED_BYTES: u64 = 64 << 10;
const SEED_FILES: usize = 24;

/// The prefix of the names of seeds that found a bug. Minimising keeps these seeds.
const REGRESSION: &str = "regression-";

/// The work to do on each target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Fuzz,
    Smoke,
    Minimise,
}

pub fn run(args: &[String]) -> Outcome {
    let (mut seconds, mut mode) = (None, Mode::Fuzz);
    let mut selected = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--smoke" => mode = Mode::Smoke,
            "--minimise" => mode = Mode::Minimise,
            "--seconds" => {
                let number = words.next().and_then(|n| n.parse().ok());
                seconds = Some(number.ok_or_else(|| Failure::Usage("--seconds needs a number".to_owned()))?);
            }
            flag if flag.starts_with('-') => {
                return Err(Failure::Usage(format!("unknown argument `{flag}`")));
            }
            target => selected.push(target.to_owned()),
        }
    }
    let known = targets();
    if let Some(other) = selected.iter().find(|name| !known.contains(name)) {
        return Err(Failure::Usage(format!(
            "no fuzz target `{other}`, expected one of {}",
            known.join(", ")
        )));
    }
    let selected = if selected.is_empty() { known } else { selected };
    let missing = missing_tool();
    match (mode, missing) {
        (Mode::Minimise, Some(reason)) => return Err(Failure::CannotRun(format!("cargo-fuzz: {reason}"))),
        (Mode::Fuzz, Some(reason)) => {
            report_skip(
                "cargo-fuzz",
                &format!("{reason}; replaying the seeds and mutations of them instead"),
            );
        }
        _ => {}
    }
    for target in &selected {
        match mode {
            Mode::Minimise => minimise(target)?,
            Mode::Fuzz if missing.is_none() => fuzz(target, seconds.unwrap_or(SECONDS))?,
            Mode::Fuzz => replay(target, seconds.unwrap_or(SECONDS), &seeds(target), None)?,
            Mode::Smoke => {
                let seconds = seconds.unwrap_or(SMOKE_SECONDS);
                replay(target, seconds, &committed_files(target), commit_number())?;
            }
        }
    }
    Ok(())
}

fn fuzz(target: &str, seconds: u32) -> Outcome {
    // New inputs go to the first directory, which is not committed; the seeds are only read.
    let corpus = root().join("fuzz/corpus").join(target);
    let mut command = fuzzer(target, &corpus)?;
    command.args(seeds(target)).arg("--").arg(format!("-max_total_time={seconds}")).args(LIMITS);
    check(command.arg("-print_final_stats=1"))
}

/// Creates a target's directory of inputs, and returns the command that runs the target on the directory.
fn fuzzer(target: &str, dir: &Path) -> Outcome<Command> {
    std::fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut command = Command::new("cargo");
    command.current_dir(root());
    command.args(["+nightly", "fuzz", "run", "--features", "libfuzzer", target]).arg(dir);
    Ok(command)
}

/// Renews the committed seeds: a sample of the inputs that together cover as much code as the whole corpus.
fn minimise(target: &str) -> Outcome {
    let merged = root().join("target/fuzz-merged").join(target);
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", merged.display()));
    let _ = std::fs::remove_dir_all(&merged);
    let mut command = fuzzer(target, &merged)?;
    command.arg(root().join("fuzz/corpus").join(target)).args(seeds(target));
    check(command.args(["--", "-merge=1"]).args(LIMITS))?;
    let committed = committed_seeds(target);
    std::fs::create_dir_all(&committed).map_err(failed)?;
    for old in files_below(&committed).iter().filter(|file| !is_regression(file)) {
        std::fs::remove_file(old).map_err(failed)?;
    }
    let size = |file: &Path| file.metadata().map(|meta| meta.len()).unwrap_or(u64::MAX);
    let mut files = files_below(&merged);
    files.sort_by_key(|file| size(file));
    let mut remaining = SEED_BYTES;
    // Inputs of all sizes are taken, because the parsers refuse most of the smallest ones early.
    for file in files.iter().step_by(files.len().div_ceil(SEED_FILES).max(1)) {
        let Some(rest) = remaining.checked_sub(size(file)) else { break };
        remaining = rest;
        let name = file.file_name().unwrap_or_default();
        std::fs::copy(file, committed.join(name)).map_err(failed)?;
    }
    Ok(())
}

fn is_regression(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(REGRESSION))
}

/// Returns a number of the last commit. It is the random seed of `--smoke`: each change gets other inputs,
/// and gets them again in a second run. Without git, the clock gives the seed.
fn commit_number() -> Option<u64> {
    let hash = output(Command::new("git").current_dir(root()).args(["rev-parse", "HEAD"]))?;
    u64::from_str_radix(hash.get(..15)?, 16).ok()
}

/// Replays the files and mutations of them. `SEED` in the environment takes precedence over the random seed.
fn replay(target: &str, seconds: u32, seeds: &[PathBuf], random_seed: Option<u64>) -> Outcome {
    let mut command = cargo();
    command.args(["run", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--example", "replay"]);
    // The tests have built most of the crates in this directory.
    command.arg("--target-dir").arg(root().join("target")).args(["--", target]);
    if let Some(number) = random_seed
        && std::env::var_os("SEED").is_none()
    {
        command.env("SEED", number.to_string());
    }
    check(command.arg(seconds.to_string()).args(seeds))
}

/// Returns the directory of a target's committed seeds.
fn committed_seeds(target: &str) -> PathBuf {
    root().join("fuzz/seeds").join(target)
}

/// Returns the directories of committed files to begin with: seeds, and objects of the tests.
fn committed_files(target: &str) -> Vec<PathBuf> {
    let objects = match target {
        // Unlike the prebuilt objects, these have debug information.
        "dwarf" => Some(root().join("dwarf/tests/objects")),
        // These have maps, variables and events of many types.
        "skeleton" => Some(cases::dir().join("prebuilt/el/live")),
        _ => None,
    };
    [committed_seeds(target)].into_iter().chain(objects).filter(|path| path.is_dir()).collect()
}

/// Returns the directories of seeds: the committed files, and seeds built from the committed objects.
fn seeds(target: &str) -> Vec<PathBuf> {
    let prebuilt = cases::dir().join("prebuilt");
    let made = root().join("target/fuzz-seeds").join(target);
    let _ = std::fs::remove_dir_all(&made);
    let _ = std::fs::create_dir_all(&made);
    for object in files_below(&prebuilt).iter().filter(|file| file.extension().is_some_and(|ext| ext == "o"))
    {
        let Some(seed) = seed(target, object) else { continue };
        let name = object.strip_prefix(&prebuilt).unwrap_or(object).to_string_lossy().replace('/', "-");
        let _ = std::fs::write(made.join(name), seed);
    }
    committed_files(target).into_iter().chain([made]).collect()
}

/// Builds a seed from an object, in the input format of the target: a section, the whole object, the length
/// and the bytes of the program followed by the BTF of its target, or the files to link, each except the last
/// one after its length. Generators do not read files, so they have no such seeds.
fn seed(target: &str, object: &Path) -> Option<Vec<u8>> {
    let data = std::fs::read(object).ok()?;
    match target {
        "btf" => elf_section(&data, b".BTF").map(<[u8]>::to_vec),
        "ext" => elf_section(&data, b".BTF.ext").map(<[u8]>::to_vec),
        "plan" | "verdict" => {
            let case = object.file_name()?.to_string_lossy().split('.').next()?.to_owned();
            let program = std::fs::read(object.with_file_name(format!("{case}.bpf.o"))).ok()?;
            let length = u32::try_from(program.len()).ok()?.to_le_bytes();
            Some([&length[..], &program, elf_section(&data, b".BTF")?].concat())
        }
        "link" => {
            let name = object.file_name()?.to_string_lossy().into_owned();
            let Some(group) = name.strip_suffix("_a.bpf.o") else { return Some(data) };
            let file = |letter| std::fs::read(object.with_file_name(format!("{group}_{letter}.bpf.o"))).ok();
            let before = |first: &[u8], rest: &[u8]| {
                Some([&u32::try_from(first.len()).ok()?.to_le_bytes()[..], first, rest].concat())
            };
            match (file('b')?, file('c')) {
                (second, Some(third)) => before(&data, &before(&second, &third)?),
                (second, None) => before(&data, &second),
            }
        }
        "object" | "load_plan" | "image" | "skeleton" => Some(data),
        _ => None,
    }
}

fn targets() -> Vec<String> {
    let files = files_below(&root().join("fuzz/fuzz_targets"));
    files.iter().filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect()
}

/// Returns the reason why cargo-fuzz cannot run, if any.
fn missing_tool() -> Option<&'static str> {
    // The environment may force a toolchain on this task; cargo-fuzz needs nightly.
    if output(Command::new("cargo").args(["+nightly", "--version"])).is_none() {
        return Some("no nightly toolchain (rustup toolchain install nightly)");
    }
    if output(Command::new("cargo").args(["fuzz", "--version"])).is_none() {
        return Some("not installed (cargo install cargo-fuzz)");
    }
    None
}
