//! `cargo xtask static`: the command as one static file, for x86-64, arm64 and other architectures.
//!
//! The file depends on the sources and the compiler only: not on the directories of the sources, of cargo and
//! of the build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install;
use crate::system::{Failure, Outcome, add_target, cargo, check, is_installed, output, root, target_dir};

/// A target.
#[derive(Debug)]
pub struct Target {
    pub architecture: &'static str,
    pub triple: &'static str,
    libraries: Libraries,
    /// The flags of this target besides those of all.
    flags: &'static [&'static str],
    /// The bound on the size of the file, a little above its present size.
    max_bytes: u64,
}

/// The linker and the C library.
#[derive(Debug)]
enum Libraries {
    /// Rust's own linker and the C library (musl) that comes with the target, which build the file on any
    /// host, see `.cargo/config.toml`.
    Rust,
    /// Debian's cross compiler, with the static glibc of these packages.
    Debian { compiler: &'static str, packages: [&'static str; 2] },
}

/// The targets. rustup has no standard library with musl for s390x.
pub const TARGETS: [Target; 5] = [
    Target {
        architecture: "x86_64",
        triple: "x86_64-unknown-linux-musl",
        libraries: Libraries::Rust,
        flags: &X86_64_FLAGS,
        max_bytes: 8_100_000,
    },
    Target {
        architecture: "aarch64",
        triple: "aarch64-unknown-linux-musl",
        libraries: Libraries::Rust,
        flags: &[],
        max_bytes: 7_200_000,
    },
    Target {
        architecture: "riscv64",
        triple: "riscv64gc-unknown-linux-gnu",
        libraries: Libraries::Debian {
            compiler: "riscv64-linux-gnu-gcc",
            packages: ["gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"],
        },
        flags: &[],
        max_bytes: 12_000_000,
    },
    Target {
        architecture: "s390x",
        triple: "s390x-unknown-linux-gnu",
        libraries: Libraries::Debian {
            compiler: "s390x-linux-gnu-gcc",
            packages: ["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
        },
        flags: &[],
        max_bytes: 12_000_000,
    },
    Target {
        architecture: "ppc64le",
        triple: "powerpc64le-unknown-linux-gnu",
        libraries: Libraries::Debian {
            compiler: "powerpc64le-linux-gnu-gcc",
            packages: ["gcc-powerpc64le-linux-gnu", "libc6-dev-ppc64el-cross"],
        },
        flags: &[],
        max_bytes: 12_000_000,
    },
];

/// The architectures that are built if none is named.
pub const DEFAULT_ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// The sources of a build and the directory of its results.
#[derive(Debug)]
pub struct Build {
    /// The root of the workspace.
    pub sources: PathBuf,
    pub target_dir: PathBuf,
    /// The commit in the version, see `cli/build.rs`. Without one, the build finds it.
    pub commit: Option<String>,
}

/// Flags that make the file for x86-64 smaller:
///
/// * Repeated instructions become functions. LLVM does this by itself for arm64, but not for x86-64. The
///   threshold keeps out functions that save few instructions, because their calls cost time: without it, the
///   file is 31,000 bytes smaller, and `btf dump` takes 1.4 times as long.
/// * A function with large values on the stack is not made part of its only caller, because instructions that
///   address a large frame are longer.
/// * A `match` with few cases becomes comparisons, which are shorter than the code and the offsets of a table
///   of jumps.
const X86_64_FLAGS: [&str; 4] = [
    "-Cllvm-args=-enable-machine-outliner",
    "-Cllvm-args=-outliner-benefit-threshold=8",
    "-Cllvm-args=-inline-max-stacksize=256",
    "-Cllvm-args=-min-jump-table-entries=8",
];

/// The profile in `Cargo.toml`, and the name of its directory.
const PROFILE: &str = "static";

/// Flags that make every file smaller:
///
/// * Cargo does not apply `strip` of the profile to a package with settings of its own.
/// * Unwind tables are of no use, because a panic ends the process in this profile.
/// * Functions that differ in constants and callees alone become one function with parameters.
/// * Backtraces would be empty, so the code behind them is left out (`loader/src/sys/unwinding.rs`).
/// * SHA-2, which `prog sign` needs, is a loop in place of repeated instructions, without variants for some
///   processors.
const FLAGS: [&str; 6] = [
    "-Cstrip=symbols",
    "-Cforce-unwind-tables=no",
    "-Cllvm-args=-enable-global-merge-func",
    "--cfg=core_relo_static",
    "--cfg=sha2_backend=\"soft\"",
    "--cfg=sha2_backend_soft=\"compact\"",
];

/// Flags for Rust's own linker:
///
/// * The standard library has unwind tables, so a linker script leaves them out. Its path is relative to the
///   workspace, where cargo starts the compiler, so that the flag is the same everywhere.
/// * The linker keeps one of several identical functions.
/// * Relocations of a position-independent program have a compact encoding, which the C library's startup
///   code reads.
const LINKER_FLAGS: [&str; 4] = [
    "-Clink-arg=-Txtask/src/static_binary.ld",
    "-Clink-arg=--icf=all",
    "-Clink-arg=--no-eh-frame-hdr",
    "-Clink-arg=--pack-dyn-relocs=relr",
];

/// Builds the architectures that the arguments name, or those that are built by default, and prints path and
/// size of each file.
pub fn run(args: &[String]) -> Outcome {
    let build = Build::of_checkout();
    selected(args)?.into_iter().try_for_each(|target| {
        if let Some(missing) = target.missing() {
            return Err(Failure::CannotRun(missing));
        }
        let path = build.build(target)?;
        target.check_file(&path)
    })
}

/// Returns the targets with these architectures or triples. No names stand for the default.
pub fn selected(names: &[String]) -> Outcome<Vec<&'static Target>> {
    let is_named = |target: &Target, name: &str| target.architecture == name || target.triple == name;
    if let Some(other) = names.iter().find(|name| TARGETS.iter().all(|target| !is_named(target, name))) {
        let known = TARGETS.map(|target| target.architecture).join(", ");
        return Err(Failure::Usage(format!("no architecture `{other}`, expected one of {known}")));
    }
    let is_selected = |target: &&Target| match names {
        [] => DEFAULT_ARCHITECTURES.contains(&target.architecture),
        names => names.iter().any(|name| is_named(target, name)),
    };
    Ok(TARGETS.iter().filter(is_selected).collect())
}

impl Target {
    /// Returns what a build for this target lacks, after an attempt to install it.
    pub fn missing(&self) -> Option<String> {
        if !add_target(self.triple) {
            return Some(format!("rustup cannot install {}", self.triple));
        }
        let Libraries::Debian { compiler, packages } = &self.libraries else { return None };
        let is_there = is_installed(compiler) || (install::cross(packages) && is_installed(compiler));
        (!is_there).then(|| format!("no {compiler} (Debian's {})", packages.join(", ")))
    }

    /// Prints path and size of a file, and checks both the size and that the file needs no libraries.
    fn check_file(&self, path: &Path) -> Outcome {
        let data = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let bytes = u64::try_from(data.len()).map_err(|error| error.to_string())?;
        println!("{}: {bytes} bytes", path.display());
        if !core_relo_vm::executable::is_static(&data) {
            return Err(format!("{}: not a static program", path.display()).into());
        }
        let max_bytes = self.max_bytes;
        if bytes > max_bytes {
            return Err(format!(
                "{}: too large: {bytes} bytes, expected at most {max_bytes}",
                path.display()
            )
            .into());
        }
        Ok(())
    }
}

impl Build {
    /// Returns a build of this checkout, in its own target directory.
    pub fn of_checkout() -> Self {
        Self { sources: root(), target_dir: target_dir(), commit: None }
    }

    /// Downloads the crates for a target, whose directory `path_flags` replaces by a name.
    pub fn fetch(&self, triple: &str) -> Outcome {
        let mut fetch = cargo();
        fetch.current_dir(&self.sources).args(["fetch", "--quiet", "--locked", "--target", triple]);
        check(&mut fetch)
    }

    /// Builds the command for a target. Returns the path of the file.
    pub fn build(&self, target: &Target) -> Outcome<PathBuf> {
        self.fetch(target.triple)?;
        let mut command = cargo();
        command.current_dir(&self.sources);
        command.args(["build", "--locked", "-p", "core-relo-cli", "--profile", PROFILE, "--all-features"]);
        command.args(["--target", target.triple, "--target-dir"]).arg(&self.target_dir);
        let mut flags: Vec<String> =
            FLAGS.iter().chain(target.flags).map(|flag| (*flag).to_owned()).collect();
        match &target.libraries {
            Libraries::Rust => flags.extend(LINKER_FLAGS.map(str::to_owned)),
            Libraries::Debian { compiler, .. } => {
                flags.push("-Ctarget-feature=+crt-static".to_owned());
                let variable = target.triple.to_uppercase().replace('-', "_");
                command.env(format!("CARGO_TARGET_{variable}_LINKER"), compiler);
            }
        }
        flags.extend(self.path_flags()?);
        // The variable takes precedence over every other source of flags. It separates them by a character
        // that no path contains.
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
        if let Some(commit) = &self.commit {
            command.env("CORE_RELO_COMMIT", commit);
        }
        check(&mut command)?;
        Ok(self.target_dir.join(target.triple).join(PROFILE).join("core-relo"))
    }

    /// Returns flags that replace directories of this machine by names: in the messages of panics, and in the
    /// hashes that decide about the order of code. Later flags win.
    pub fn path_flags(&self) -> Outcome<Vec<String>> {
        let print = |words: &[&str]| {
            let mut rustc = Command::new("rustc");
            rustc.current_dir(&self.sources).args(words);
            output(&mut rustc).ok_or_else(|| format!("rustc {} fails", words.join(" ")))
        };
        let sysroot = print(&["--print", "sysroot"])?;
        let version = print(&["-vV"])?;
        let hash = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
        let mut names = vec![(self.sources.clone(), "/core-relo".to_owned())];
        if let Some(cargo_home) = cargo_home() {
            // The directory of a registry is named after its host, which may be a mirror.
            let registries =
                std::fs::read_dir(cargo_home.join("registry/src")).into_iter().flatten().flatten();
            let registries = registries.map(|entry| (entry.path(), "/cargo/registry".to_owned()));
            let registries = registries.collect::<Vec<_>>();
            names.push((cargo_home, "/cargo".to_owned()));
            names.extend(registries);
        }
        // As in the files of the standard library, which were built elsewhere.
        names.push((Path::new(sysroot.trim()).join("lib/rustlib/src/rust"), format!("/rustc/{hash}")));
        names.push((self.target_dir.clone(), "/target".to_owned()));
        Ok(names.iter().map(|(dir, name)| format!("--remap-path-prefix={}={name}", dir.display())).collect())
    }
}

/// Returns the directory of cargo's downloads.
fn cargo_home() -> Option<PathBuf> {
    let given = std::env::var_os("CARGO_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}
