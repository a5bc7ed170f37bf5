//! `cargo xtask bench`: core-relo beside libbpf, aya-obj and aya, from the package in `benches/`.

use std::path::PathBuf;
use std::process::Command;

use crate::agents;
use crate::aya;
use crate::cases;
use crate::install;
use crate::system::{Failure, Outcome, cargo, check, is_installed, root};

pub const HELP: &str = "usage: cargo xtask bench [OPTIONS]

  Measures the time of each job with core-relo (`ours`), libbpf and aya-obj, and the peak memory of a process that runs one job and
  contains one of the three. Also measures the steps of a verdict, and how many kernels of a fleet one core judges per second. As root, also loads the objects into the running kernel. Writes target/bench.json.

  --instructions   also count the instructions of each job in such a process, with callgrind; the profiles stay in target/bench
  --growth         instead, measure how time and memory grow with the size of the target's BTF and the number of records, modules,
                   objects and kernels; and for each command, with the number of each part of its input (types, members,
                   symbols and so on), from 1,000 to 100,000; writes target/bench-growth.json
  --ring           instead, as root, measure readers of ring buffers and perf buffers beside libbpf's and aya's: throughput, CPU time and
                   latency; writes target/bench-ring.json
  --agent          instead, build a small agent with each of core-relo, libbpf-rs and aya from nothing: processor time of the build,
                   size of the executable, number of crates
  --parts          instead, measure the parts of a job and of a verdict: parse, scan, index, plan, patch, reachability and so on
  --btf FILE       the target (default: the running kernel's)
  --objects DIR    directory of objects, *.bpf.o (default: bpf-progs/prebuilt)
  --rounds N       number of runs of each job (default: as many as take ten seconds, from 5 to 301)
  --no-install     install nothing, and skip the measurements whose tools are missing

  libbpf needs a C compiler, make, pkg-config, libelf and zlib; aya-obj and aya need Rust 1.98; --instructions needs valgrind.";

/// The parsed arguments.
#[derive(Default)]
struct Options {
    agent: bool,
    instructions: bool,
    growth: bool,
    parts: bool,
    ring: bool,
    no_install: bool,
    btf: Option<PathBuf>,
    objects: Option<PathBuf>,
    rounds: Option<String>,
}

pub fn run(args: &[String]) -> Outcome {
    let options = parse(args)?;
    if options.agent {
        return agents::run(!options.no_install);
    }
    let built = build(!options.no_install);
    let btf = options.btf.clone().unwrap_or_else(|| "/sys/kernel/btf/vmlinux".into());
    if !btf.is_file() {
        let reason = "not found; give the BTF of a kernel with --btf FILE";
        return Err(Failure::CannotRun(format!("{}: {reason}", btf.display())));
    }
    let objects = options.objects.clone().unwrap_or_else(|| cases::dir().join("prebuilt"));
    if options.parts {
        let mut command = built.command("bench");
        command.args(["--bench", "parts"]).env("CORE_RELO_BENCH_BTF", &btf);
        return check(command.env("CORE_RELO_BENCH_OBJECTS", &objects));
    }
    if !options.ring {
        // The measured programs are separate binaries beside the measuring one; `run` alone would not build
        // them.
        check(built.command("build").args(["--release", "--quiet", "--bins"]))?;
    }
    if options.growth {
        check(cargo().args(["build", "--release", "--quiet", "--package", "core-relo-cli"]))?;
    }
    let mut command = built.command("run");
    let measurement = match (options.growth, options.ring) {
        (true, _) => "growth",
        (_, true) => "ring",
        _ => "table",
    };
    command.args(["--release", "--quiet", "--", measurement]);
    command.arg("--btf").arg(&btf).arg("--objects").arg(&objects).arg("--out").arg(root().join("target"));
    for (peer, reason) in &built.without {
        command.args(["--without", *peer, reason]);
    }
    if let Some(rounds) = &options.rounds {
        command.args(["--rounds", rounds]);
    }
    if options.instructions {
        if is_installed("valgrind") || (!options.no_install && install::valgrind()) {
            command.arg("--instructions");
        } else {
            println!("SKIP instructions: no valgrind");
        }
    }
    check(&mut command)
}

fn parse(args: &[String]) -> Outcome<Options> {
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().cloned().ok_or_else(|| Failure::Usage(format!("{word} needs a value")));
        // Paths are relative to the caller's directory, in which cargo may not run.
        let path = |value: String| std::path::absolute(&value).map_err(|error| format!("{value}: {error}"));
        match word.as_str() {
            "--instructions" => options.instructions = true,
            "--agent" => options.agent = true,
            "--growth" => options.growth = true,
            "--parts" => options.parts = true,
            "--ring" => options.ring = true,
            "--no-install" => options.no_install = true,
            "--btf" => options.btf = Some(path(value()?)?),
            "--objects" => options.objects = Some(path(value()?)?),
            "--rounds" => options.rounds = Some(value()?),
            other => return Err(Failure::Usage(format!("unknown argument `{other}`"))),
        }
    }
    if [options.agent, options.growth, options.parts, options.ring].iter().filter(|is_set| **is_set).count()
        > 1
    {
        return Err(Failure::Usage("--agent, --growth, --parts or --ring, one of them".to_owned()));
    }
    Ok(options)
}

/// The features and the toolchain with which the benchmarks can be built on this machine.
struct Build {
    toolchain: Option<String>,
    features: Vec<&'static str>,
    /// The peers that cannot be built, with the reasons.
    without: Vec<(&'static str, String)>,
}

fn build(may_install: bool) -> Build {
    let mut build = Build { toolchain: None, features: Vec::new(), without: Vec::new() };
    match install::libbpf_build_tools(may_install) {
        None => build.features.push("libbpf"),
        Some(missing) => build.without.push(("libbpf", format!("libbpf cannot be built without {missing}"))),
    }
    match aya::toolchain(may_install) {
        Ok(toolchain) => {
            build.toolchain = toolchain;
            build.features.push("aya");
        }
        Err(reason) => build.without.push(("aya", reason)),
    }
    build
}

impl Build {
    /// Returns a cargo command for the package, with the features that can be built.
    fn command(&self, verb: &str) -> Command {
        let mut command = aya::cargo_of(self.toolchain.as_deref());
        command.args([verb, "--manifest-path", "benches/Cargo.toml"]);
        command.args(["--features", &self.features.join(",")]);
        if std::env::var_os("CARGO_TARGET_DIR").is_none() {
            command.env("CARGO_TARGET_DIR", root().join("target"));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_argument_and_a_missing_value_are_refused() {
        for words in [
            &["--fast"][..],
            &["--btf"],
            &["--growth", "--parts"],
            &["--ring", "--parts"],
            &["--agent", "--ring"],
        ] {
            let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            assert!(matches!(parse(&words), Err(Failure::Usage(_))), "{words:?}");
        }
    }
}
