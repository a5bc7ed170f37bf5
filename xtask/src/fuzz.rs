//! `cargo xtask fuzz`: cargo-fuzz over the targets in `fuzz/`, or their replay on the stable toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases;
use crate::kernels::btf::elf_section;
use crate::system::{Failure, Outcome, cargo, check, files_below, output, root};

const SMOKE_SECONDS: u32 = 60;

pub fn run(args: &[String]) -> Outcome {
    let mut seconds = SMOKE_SECONDS;
    let mut named = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--smoke" => seconds = SMOKE_SECONDS,
            "--seconds" => {
                let number = words.next().and_then(|n| n.parse().ok());
                seconds = number.ok_or_else(|| Failure::Usage("--seconds needs a number".to_owned()))?;
            }
            flag if flag.starts_with('-') => {
                return Err(Failure::Usage(format!("unknown argument `{flag}`")));
            }
            target => named.push(target.to_owned()),
        }
    }
    let known = targets();
    if let Some(other) = named.iter().find(|name| !known.contains(name)) {
        return Err(Failure::Usage(format!("no fuzz target `{other}`; there are {}", known.join(", "))));
    }
    let chosen = if named.is_empty() { known } else { named };
    let missing = missing();
    if let Some(why) = &missing {
        println!("SKIP cargo-fuzz: {why}; replaying the seeds and mutations of them instead");
    }
    for target in &chosen {
        match missing {
            None => fuzz(target, seconds)?,
            Some(_) => replay(target, seconds)?,
        }
    }
    Ok(())
}

fn fuzz(target: &str, seconds: u32) -> Outcome {
    // New inputs go to the first folder, which is not committed; the seeds are only read.
    let corpus = root().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus).map_err(|why| format!("{}: {why}", corpus.display()))?;
    let mut command = Command::new("cargo");
    command
        .current_dir(root())
        .args(["+nightly", "fuzz", "run", "--features", "libfuzzer", target])
        .arg(corpus);
    command.args(seeds(target)).arg("--");
    command.arg(format!("-max_total_time={seconds}")).args([
        "-rss_limit_mb=2048",
        "-timeout=10",
        "-print_final_stats=1",
    ]);
    check(&mut command)
}

fn replay(target: &str, seconds: u32) -> Outcome {
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--quiet",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--bin",
        "replay",
        "--",
        target,
    ]);
    check(command.arg(seconds.to_string()).args(seeds(target)))
}

/// Folders of inputs to begin with: the target's own where there are any, and what the committed objects give.
fn seeds(target: &str) -> Vec<PathBuf> {
    let own = root().join("fuzz/seeds").join(target);
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
    [own, made].into_iter().filter(|path| path.is_dir()).collect()
}

/// What an object is to a fuzz target: a section of it, the whole, or the program before its target's BTF, with its length
/// first, or a program's files, each with its length before the next.
fn seed(target: &str, object: &Path) -> Option<Vec<u8>> {
    let data = std::fs::read(object).ok()?;
    match target {
        "btf" => elf_section(&data, b".BTF").map(<[u8]>::to_vec),
        "ext" => elf_section(&data, b".BTF.ext").map(<[u8]>::to_vec),
        "plan" => {
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
        _ => Some(data),
    }
}

fn targets() -> Vec<String> {
    let files = files_below(&root().join("fuzz/fuzz_targets"));
    files.iter().filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect()
}

/// What keeps cargo-fuzz from running.
fn missing() -> Option<&'static str> {
    // A toolchain may have been forced on this task; the fuzzer chooses its own.
    if output(Command::new("cargo").args(["+nightly", "--version"])).is_none() {
        return Some("no nightly toolchain (rustup toolchain install nightly)");
    }
    if output(Command::new("cargo").args(["fuzz", "--version"])).is_none() {
        return Some("not installed (cargo install cargo-fuzz)");
    }
    None
}
