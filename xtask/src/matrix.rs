//! `cargo xtask matrix`: the libraries under other toolchains, targets and dependency versions.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::install;
use crate::site;
use crate::system::{
    Failure, Outcome, add_target, cargo, check, files_below, is_installed, output, read, report_skip, root,
    workspace_value,
};
use crate::unprivileged;

/// The published packages, in the order of their dependencies.
const PACKAGES: [&str; 13] = [
    "core-relo-btf",
    "core-relo",
    "core-relo-object",
    "core-relo-verdict",
    "core-relo-report",
    "core-relo-sign",
    "core-relo-dwarf",
    "core-relo-loader",
    "core-relo-adaptive",
    "core-relo-kernels",
    "core-relo-vm",
    "core-relo-build",
    "core-relo-cli",
];

/// The directories of the libraries.
const LIBRARIES: [&str; 7] = ["btf", "core-relo", "object", "verdict", "dwarf", "loader", "adaptive"];

/// The packages whose results must not depend on the host: their tests run on foreign targets. The loader is
/// only compiled for these targets, because the emulators lack bpf(2).
const PORTABLE: [&str; 3] = ["core-relo-btf", "core-relo", "core-relo-object"];

/// The packages with features, and their features.
const FEATURES: [(&str, &[&str]); 9] = [
    ("core-relo-btf", &["c-header", "kernel-check", "serde", "text", "transform"]),
    ("core-relo", &["c-header", "text", "transform", "minimise", "serde"]),
    (
        "core-relo-object",
        &["btf-archive", "events", "inspection", "loader-program", "static-link", "test-support"],
    ),
    ("core-relo-verdict", &["serde", "test-support"]),
    (
        "core-relo-loader",
        &[
            "attach-points",
            "btf-archive",
            "events",
            "inspection",
            "inventory",
            "kconfig-gz",
            "loader-program",
            "netlink",
            "serde",
            "standard-streams",
            "static-link",
            "stripped-binaries",
            "uprobe",
            "usdt",
        ],
    ),
    ("core-relo-adaptive", &["load", "serde"]),
    ("core-relo-kernels", &["fetch", "fetch-tls"]),
    ("core-relo-build", &["btf-archive"]),
    ("core-relo-cli", &["completions", "fetch", "man", "jit-disassembly", "sign"]),
];

/// A target without an operating system, for the engine's promise of `no_std`.
const BARE_METAL: &str = "thumbv7em-none-eabi";

/// A target whose standard library has neither descriptors nor processes.
const WASM: &str = site::TARGET;

/// The packages that use no files, processes or system calls.
const PURE: [&str; 5] =
    ["core-relo-btf", "core-relo", "core-relo-object", "core-relo-verdict", "core-relo-report"];

/// The arguments that select the pure part of the crate of variants, whose results must not depend on the
/// host.
const PURE_VARIANTS: [&str; 3] = ["-p", "core-relo-adaptive", "--no-default-features"];

/// A foreign target whose tests run under QEMU's user-mode emulation.
struct Emulated {
    triple: &'static str,
    linker: &'static str,
    emulator: &'static str,
    /// The directory with the target's C library.
    sysroot: &'static str,
    /// The architecture's name in Debian's packages `gcc-…` and `libc6-dev-…-cross`.
    debian: [&'static str; 2],
}

const BIG_ENDIAN: Emulated = Emulated {
    triple: "s390x-unknown-linux-gnu",
    linker: "s390x-linux-gnu-gcc",
    emulator: "qemu-s390x",
    sysroot: "/usr/s390x-linux-gnu",
    debian: ["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
};

const BITS_32: Emulated = Emulated {
    triple: "armv7-unknown-linux-gnueabihf",
    linker: "arm-linux-gnueabihf-gcc",
    emulator: "qemu-arm",
    sysroot: "/usr/arm-linux-gnueabihf",
    debian: ["gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"],
};

/// The tests that take most of the time in an emulator: of limits, and of many names. `big-endian-fast`
/// leaves them out.
const SLOW_TESTS: [&str; 14] = [
    "search::sorted::tests::a_name_out_of_order_at_any_position_is_detected",
    "search::sorted::tests::all_sorted_types_are_found",
    "search::sorted::tests::every_name_of_many_types_is_compared_with_the_next",
    "write::dedup::tests::a_long_chain_of_references_needs_no_stack",
    "write::dedup::tests::many::graphs_that_differ_at_their_ends_only_are_kept",
    "explain::tests::explanations_report_that_the_steps_are_used_up",
    "plan::tests::fields::deeply_nested_anonymous_members_are_an_error",
    "plan::tests::sharing::a_plan_of_one_repeated_access_runs_out_of_steps",
    "plan::tests::sharing::cached_matches_take_steps",
    "plan::tests::types::comparisons_with_exponentially_many_branches_are_errors",
    "link::tests::sections::functions_that_overlap_are_bounded",
    "static_link::tests::comparing_shared_types_is_limited",
    "static_link::tests::the_variables_of_a_section_are_limited",
    "variants::tests::hostile_tables_are_read_in_proportion_to_their_size",
];

/// The rows that `cargo xtask ci` runs: all but `big-endian`, `32-bit` and `publish`, which take minutes.
pub const CI_ROWS: [&str; 10] = [
    "msrv",
    "no-std",
    "wasm",
    "unprivileged",
    "big-endian-fast",
    "minimal",
    "public-deps",
    "features",
    "package",
    "semver",
];

/// One row of the matrix.
struct Row {
    name: &'static str,
    about: &'static str,
    run: fn() -> Outcome,
}

const ROWS: [Row; 13] = [
    Row { name: "msrv", about: "check all packages with the declared Rust version", run: msrv },
    Row { name: "no-std", about: "build the engine for a target without an operating system", run: no_std },
    Row { name: "wasm", about: "check the pure crates for WebAssembly without a system", run: wasm },
    Row {
        name: "unprivileged",
        about: "run the tests of the loader and the command as an ordinary user",
        run: unprivileged::run,
    },
    Row { name: "big-endian", about: "run the engine's tests on s390x", run: || test_on(&BIG_ENDIAN, &[]) },
    Row {
        name: "big-endian-fast",
        about: "run the engine's tests on s390x, without those that take long",
        run: || test_on(&BIG_ENDIAN, &SLOW_TESTS),
    },
    Row { name: "32-bit", about: "run the engine's tests on armv7", run: || test_on(&BITS_32, &[]) },
    Row {
        name: "minimal",
        about: "check with the oldest dependencies that the manifests allow",
        run: minimal,
    },
    Row {
        name: "public-deps",
        about: "check that public APIs use no types of other projects",
        run: public_dependencies,
    },
    Row {
        name: "features",
        about: "check each crate with none, each and all of its features",
        run: features,
    },
    Row { name: "package", about: "package each crate as for a publication", run: package },
    Row { name: "publish", about: "build each crate from its package, as a publication does", run: publish },
    Row { name: "semver", about: "compare the public API with the last tagged version", run: semver },
];

pub fn run(args: &[String]) -> Outcome {
    if let Some(other) = args.iter().find(|arg| ROWS.iter().all(|row| row.name != **arg)) {
        let names = ROWS.map(|row| row.name).join(", ");
        return Err(Failure::Usage(format!("no row `{other}`, expected one of {names}")));
    }
    // `big-endian` contains `big-endian-fast`, and `publish` contains `package`.
    let is_default = |row: &&Row| args.is_empty() && !["big-endian-fast", "package"].contains(&row.name);
    for row in ROWS.iter().filter(|row| is_default(row) || args.iter().any(|arg| arg == row.name)) {
        eprintln!("matrix {}: {}", row.name, row.about);
        let start = Instant::now();
        (row.run)()?;
        eprintln!("matrix {} took {} s", row.name, start.elapsed().as_secs());
    }
    Ok(())
}

fn msrv() -> Outcome {
    let version = workspace_value("rust-version")?;
    let Some(mut command) = toolchain_cargo(&version, &format!("{version}.0")) else {
        return skip("msrv", &format!("Rust {version} is not installed and rustup cannot install it"));
    };
    // The separate directory keeps the second compiler from rebuilding everything in the shared one.
    command.args(["check", "--locked", "--target-dir", "target/msrv"]);
    check(command.args(PACKAGES.iter().flat_map(|name| ["-p", name])))
}

fn no_std() -> Outcome {
    if !add_target(BARE_METAL) {
        return skip("no-std", &format!("rustup cannot install {BARE_METAL}"));
    }
    check(cargo().args(["build", "-p", "core-relo-btf", "-p", "core-relo", "--target", BARE_METAL]))
}

fn wasm() -> Outcome {
    if !add_target(WASM) {
        return skip("wasm", &format!("rustup cannot install {WASM}"));
    }
    let command = || {
        let mut command = cargo();
        command.args(["check", "--locked", "--target", WASM]);
        command
    };
    check(command().arg("--all-features").args(PURE.iter().flat_map(|name| ["-p", name])))?;
    check(command().args(PURE_VARIANTS))?;
    check(command().args(["-p", "core-relo-web"]))
}

/// Runs the tests of the portable packages, without the `skipped` ones.
fn test_on(target: &Emulated, skipped: &[&str]) -> Outcome {
    if !target.install() {
        return skip(target.triple, "no compiler, emulator or standard library");
    }
    let portable: Vec<_> = PORTABLE.iter().flat_map(|name| ["-p", name]).collect();
    let variable = target.triple.to_uppercase().replace('-', "_");
    let runner = format!("{} -L {}", target.emulator, target.sysroot);
    for packages in [&*portable, &PURE_VARIANTS] {
        let mut command = cargo();
        command.args(["test", "--quiet", "--lib", "--tests", "--target", target.triple]).args(packages);
        command.arg("--").args(skipped.iter().flat_map(|test| ["--skip", test]));
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), target.linker);
        check(command.env(format!("CARGO_TARGET_{variable}_RUNNER"), &runner))?;
    }
    check(cargo().args(["check", "--quiet", "-p", "core-relo-loader", "--target", target.triple]))
}

impl Emulated {
    /// Installs the missing parts. Returns whether all parts are installed afterwards.
    fn install(&self) -> bool {
        let is_complete =
            || is_installed(self.linker) && is_installed(self.emulator) && Path::new(self.sysroot).is_dir();
        add_target(self.triple)
            && (is_complete() || (install::user_mode_cross(&self.debian) && is_complete()))
    }
}

/// Checks the libraries with the oldest version of each direct dependency. The command is left out: its users
/// build it with the committed lock file.
fn minimal() -> Outcome {
    let Some(mut resolve) = toolchain_cargo("nightly", "nightly") else {
        return skip("minimal", "no nightly toolchain, which resolves the oldest versions");
    };
    let copy = root().join("target/minimal");
    copy_libraries(&copy)?;
    check(resolve.current_dir(&copy).args(["update", "--quiet", "-Zdirect-minimal-versions"]))?;
    check(cargo().current_dir(&copy).args(["check", "--locked", "--workspace"]))
}

/// Checks that the libraries' public items mention only the standard library, each other and serde: the
/// compiler's lint `exported_private_dependencies`, which needs nightly. An update of another dependency then
/// never breaks a user's build.
fn public_dependencies() -> Outcome {
    let Some(mut check_lint) = toolchain_cargo("nightly", "nightly") else {
        return skip(
            "public-deps",
            "no nightly toolchain, which has the lint `exported_private_dependencies`",
        );
    };
    let copy = root().join("target/public-deps");
    copy_libraries(&copy)?;
    for library in LIBRARIES {
        let path = copy.join(library).join("Cargo.toml");
        let manifest = read(&path)?;
        // `core-relo.workspace = true` becomes a table with the key `public`, which stable Cargo does not
        // know.
        let public: String = manifest
            .lines()
            .map(|line| {
                let is_public = |name: &str| PACKAGES.contains(&name);
                match (line.strip_suffix(".workspace = true"), line.split_once(" = { workspace = true, ")) {
                    (Some(name), _) if is_public(name) => {
                        format!("{name} = {{ workspace = true, public = true }}\n")
                    }
                    (_, Some((name, rest))) if is_public(name) => {
                        format!("{name} = {{ workspace = true, public = true, {rest}\n")
                    }
                    _ => format!("{line}\n"),
                }
            })
            .collect();
        fs::write(&path, public).map_err(|why| Failure::Failed(format!("{}: {why}", path.display())))?;
    }
    // All features but `test-support`, which is no public API, and `serde`: its traits come from a private
    // dependency of serde, so that the lint reports each implementation.
    let features = [
        "loader/attach-points",
        "loader/events",
        "loader/inspection",
        "loader/loader-program",
        "loader/static-link",
    ];
    let features = features.map(|feature| format!("core-relo-{feature}")).join(",");
    check_lint.current_dir(&copy).args(["check", "--quiet", "--workspace", "--features", &features]);
    check(check_lint.arg("-Zpublic-dependency").env("RUSTFLAGS", "-Dexported_private_dependencies"))
}

/// Copies the libraries into a workspace of their own, without dev-dependencies, whose minimum versions are
/// no promise.
fn copy_libraries(to: &Path) -> Outcome {
    let io = |path: &Path, error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let members = format!("members = {LIBRARIES:?}");
    let manifest = read(&root().join("Cargo.toml"))?;
    let manifest: Vec<_> = manifest
        .lines()
        .filter(|line| !line.starts_with("default-members") && !line.starts_with("exclude"))
        .map(|line| if line.starts_with("members") { &members } else { line })
        .collect();
    fs::create_dir_all(to).map_err(|error| io(to, error))?;
    fs::write(to.join("Cargo.toml"), manifest.join("\n")).map_err(|error| io(to, error))?;
    for library in LIBRARIES {
        // A file of an earlier copy may be gone since.
        let _ = fs::remove_dir_all(to.join(library));
        for file in files_below(&root().join(library)) {
            let inside = file.strip_prefix(root()).map_err(|_| format!("{} is outside", file.display()))?;
            let target = to.join(inside);
            let dir = target.parent().unwrap_or(to);
            fs::create_dir_all(dir).map_err(|error| io(dir, error))?;
            if inside.ends_with("Cargo.toml") {
                fs::write(&target, without_dev_dependencies(&read(&file)?))
                    .map_err(|error| io(&target, error))?;
            } else {
                fs::copy(&file, &target).map_err(|error| io(&target, error))?;
            }
        }
    }
    Ok(())
}

fn without_dev_dependencies(manifest: &str) -> String {
    let mut is_kept = true;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_kept = !line.contains("dev-dependencies");
        }
        is_kept
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Checks each package of [`FEATURES`] with none, each and all of its features. A warning is an error.
fn features() -> Outcome {
    for (package, features) in FEATURES {
        let single = features.iter().map(|feature| (*feature).to_owned());
        let all = (features.len() > 1).then(|| features.join(","));
        let sets = std::iter::once(String::new()).chain(single).chain(all);
        for set in sets {
            eprintln!("{package}: features `{set}`");
            let mut command = cargo();
            command.args(["rustc", "--quiet", "--lib", "--profile", "check", "-p", package]);
            command.args(["--no-default-features", "--features", &set, "--", "-D", "warnings"]);
            check(&mut command)?;
        }
    }
    Ok(())
}

/// Packages each crate as it would be published, without a build from the packages.
fn package() -> Outcome {
    publish_dry_run(&["--no-verify"])
}

/// Builds each crate from its package, and the packages of the others.
fn publish() -> Outcome {
    // Cargo keeps the unpacked sources of a package by version, so a build could use those of an earlier run.
    let target = root().join("target/publish");
    let _ = fs::remove_dir_all(&target);
    let target = target.to_string_lossy();
    publish_dry_run(&["--target-dir", &target])
}

/// Does all of a publication but the upload. Cargo finds the order of the crates.
fn publish_dry_run(arguments: &[&str]) -> Outcome {
    let mut command = cargo();
    command.args(["publish", "--dry-run", "--quiet", "--locked", "--allow-dirty"]).args(arguments);
    check(command.args(PACKAGES.iter().flat_map(|name| ["-p", name])))
}

/// Compares the public APIs of the crates that the last tagged version has.
fn semver() -> Outcome {
    let version = workspace_value("version")?;
    let git = |words: &[&str]| output(Command::new("git").current_dir(root()).args(words));
    let tags = git(&["tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged", "HEAD"]);
    let Some(baseline) = tags.as_deref().and_then(|tags| tags.lines().next()) else {
        return skip("semver", &format!("no version is tagged yet ({version} will be the first)"));
    };
    if output(cargo().args(["semver-checks", "--version"])).is_none() {
        return skip("semver", "cargo-semver-checks is not installed (cargo install cargo-semver-checks)");
    }
    let is_in_baseline = |name: &&&str| {
        let manifest = format!("{baseline}:{}/Cargo.toml", name.strip_prefix("core-relo-").unwrap_or(name));
        git(&["cat-file", "-e", &manifest]).is_some()
    };
    // The command has no public API.
    let libraries = PACKAGES.iter().filter(|name| **name != "core-relo-cli").filter(is_in_baseline);
    let mut command = cargo();
    command.args(["semver-checks", "--baseline-rev", baseline]);
    check(command.args(libraries.flat_map(|name| ["-p", name])))
}

/// Returns the cargo of a toolchain, which rustup installs if it is missing.
fn toolchain_cargo(name: &str, exact: &str) -> Option<Command> {
    let found = |name: &str| output(Command::new("rustup").args(["which", "--toolchain", name, "cargo"]));
    let path = found(exact).or_else(|| found(name)).or_else(|| {
        let mut install = Command::new("rustup");
        check(install.args(["toolchain", "install", exact, "--profile", "minimal"])).ok()?;
        found(exact)
    })?;
    let mut command = Command::new("rustup");
    let toolchain = if path.contains(exact) { exact } else { name };
    command.args(["run", toolchain, "cargo"]).current_dir(root());
    // These variables select the toolchain that runs this task, and would override the chosen toolchain.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    Some(command)
}

fn skip(row: &str, reason: &str) -> Outcome {
    report_skip(&format!("matrix {row}"), reason);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FEATURES, PACKAGES, PORTABLE, PURE_VARIANTS, SLOW_TESTS};
    use crate::system::{read, root};
    use std::path::Path;

    /// A feature that the list lacks would be built only together with others.
    #[test]
    fn the_features_are_those_of_the_manifests() {
        for package in PACKAGES {
            let directory = package.strip_prefix("core-relo-").unwrap_or(package);
            let manifest = read(&root().join(directory).join("Cargo.toml")).unwrap();
            let table = manifest.split_once("\n[features]\n").map_or("", |(_, rest)| rest);
            let table = table.split_once("\n[").map_or(table, |(table, _)| table);
            let entries = table.lines().filter_map(|line| line.split_once(" = "));
            let names =
                entries.map(|(name, _)| name).filter(|name| !name.starts_with('#') && *name != "default");
            let listed = FEATURES.iter().find(|(listed, _)| *listed == package);
            let listed = listed.map_or(&[][..], |(_, features)| features);
            assert_eq!(names.collect::<Vec<_>>(), listed, "{package}");
        }
    }

    /// Without settings, docs.rs documents the default features only.
    #[test]
    fn every_package_has_settings_for_docs_rs() {
        for package in PACKAGES {
            let directory = package.strip_prefix("core-relo-").unwrap_or(package);
            let manifest = read(&root().join(directory).join("Cargo.toml")).unwrap();
            assert!(manifest.contains("\n[package.metadata.docs.rs]\n"), "{package}");
        }
    }

    #[test]
    fn the_slow_tests_exist() {
        let packages = PORTABLE.iter().chain([&PURE_VARIANTS[1]]);
        let dirs = packages.map(|package| root().join(package.trim_start_matches("core-relo-")).join("src"));
        let dirs = dirs.collect::<Vec<_>>();
        for test in SLOW_TESTS {
            let (module, function) = test.rsplit_once("::").unwrap();
            // The file of the innermost module that has one.
            let files = dirs.iter().flat_map(|dir| {
                dir.join(module.replace("::", "/")).ancestors().map(Path::to_owned).collect::<Vec<_>>()
            });
            let mut files = files.flat_map(|path| [path.with_extension("rs"), path.join("mod.rs")]);
            let file = files.find(|file| file.is_file()).unwrap_or_else(|| panic!("no file of {test}"));
            assert!(
                read(&file).unwrap().contains(&format!("fn {function}()")),
                "{test} in {}",
                file.display()
            );
        }
    }
}
