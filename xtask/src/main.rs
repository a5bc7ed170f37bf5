//! `cargo xtask TASK`: builds the test programs, runs the tests, fetches kernels' BTF, fuzzes and tidies.
//!
//! The package has few dependencies, so it builds quickly, on a machine with only cargo.

mod agents;
mod aya;
mod bench;
mod budgets;
mod cases;
mod ci;
mod compile;
mod compilers;
mod counts;
mod dist;
mod fuzz;
mod install;
mod json_schema;
#[path = "../../tests/src/kernel_crashes.rs"]
#[expect(dead_code, reason = "shared with the tests, which use more of it")]
mod kernel_crashes;
mod kernels;
mod matrix;
mod miri;
mod platform;
mod prebuilt;
mod progs;
mod requirements;
mod site;
mod soak;
mod static_binary;
mod system;
mod template;
mod test;
mod tidy;
mod unprivileged;
mod verdicts;
mod vm;

use std::process::ExitCode;

use system::{Outcome, exit_code};

/// One task: its name, its arguments, what it does, and the function that does it.
struct Task {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        args: "[--no-kernels] [--no-install] [--require] [--vm] [--growth] [-- TEST-ARGS]",
        about: "build the programs, fetch kernels' BTF, run every test (--vm: live tests also on the oldest and the newest kernel in QEMU; --growth: also count how the work of each command grows with its input; --require: a test fails if it is skipped although the machine has what it needs), list the skipped tests with reasons",
        run: test::run,
    },
    Task {
        name: "progs",
        args: "[--clang PATH]... [--prebuilt]",
        about: "build bpf-progs/ with every compiler that is found, for both byte orders; --prebuilt rebuilds the committed objects",
        run: progs::run,
    },
    Task {
        name: "template",
        args: "[DIR]",
        about: "create an agent in DIR from examples/agent-template, with dependencies on this checkout, and build it; without DIR, check the template and the tokio example",
        run: template::run,
    },
    Task {
        name: "static",
        args: "[x86_64] [aarch64] [riscv64] [s390x] [ppc64le]",
        about: "build the command as one static file for each architecture (default: x86_64 and aarch64), print the sizes, and fail above the limits",
        run: static_binary::run,
    },
    Task {
        name: "dist",
        args: "[--target ARCH]... [-o DIR] [--binaries DIR] [--check]",
        about: "write the files of a release: archives, .deb, .rpm, wheels, bills of materials, SHA256SUMS; --check: build twice, compare, install and run each file (see cargo xtask dist --help)",
        run: dist::run,
    },
    Task {
        name: "site",
        args: "",
        about: "build the module of the page that `core-relo site` writes (WebAssembly), print its size, and fail above the limit",
        run: site::run,
    },
    Task {
        name: "kernels",
        args: "[--list] [SERIES...]",
        about: "fetch the BTF of Debian kernels and some of their modules (default: 5.10 6.1 6.12 7.x, s390x)",
        run: kernels::run,
    },
    Task {
        name: "vm",
        args: "[--kernel 5.10|6.1|6.12|7.x|all|PATH]... [--list] [--verdicts [--arch ARCH] [--objects DIR]] [-- TEST-ARGS]",
        about: "run the live tests on distribution kernels in QEMU (see cargo xtask vm --help)",
        run: vm::run,
    },
    Task {
        name: "bless",
        args: "",
        about: "replace the golden files by the present output of the tests",
        run: test::bless,
    },
    Task {
        name: "fuzz",
        args: "[--smoke | --minimise] [--seconds N] [TARGET...]",
        about: "run the fuzz targets, 60 s each; without cargo-fuzz, run seeds and mutations of them (--smoke: the same without cargo-fuzz in any case, committed seeds and 5 s each; --minimise: renew the committed seeds)",
        run: fuzz::run,
    },
    Task {
        name: "miri",
        args: "[--minutes N] [PACKAGE...]",
        about: "run the unit tests of unsafe code, and of code that uses crates with unsafe code, under Miri, if it is installed (default: all packages with such code, 20 minutes each)",
        run: miri::run,
    },
    Task {
        name: "matrix",
        args: "[msrv] [no-std] [wasm] [unprivileged] [big-endian] [32-bit] [minimal] [public-deps] [features] [package] [publish] [semver]",
        about: "build with the oldest Rust version and the oldest dependencies, without std, for WebAssembly, on big-endian and 32-bit targets, run tests as an ordinary user, build with each feature, package them, and compare the API with the last tagged version",
        run: matrix::run,
    },
    Task {
        name: "bench",
        args: "[--instructions] [--growth] [--parts] [--ring] [--btf FILE] [--objects DIR]",
        about: "measure time, instructions and memory beside libbpf and aya-obj, and readers of rings beside libbpf and aya (see cargo xtask bench --help)",
        run: bench::run,
    },
    Task {
        name: "budgets",
        args: "",
        about: "count the instructions of hot paths with valgrind, and fail above their budgets",
        run: budgets::run,
    },
    Task {
        name: "json-schema",
        args: "",
        about: "write docs/json.schema.json from the tables of docs/json.md",
        run: json_schema::run,
    },
    Task {
        name: "soak",
        args: "[--seconds N] [--kernel 6.1|6.12|7.x|PATH]... [--append WORDS]",
        about: "run an agent that loads, attaches, pins, reads events at full rate and starts anew each second (default: 60 s), as root or in QEMU; check after each second that memory, descriptors, kernel objects and pins do not grow, and that lost events are counted (see cargo xtask soak --help)",
        run: soak::run,
    },
    Task {
        name: "tidy",
        args: "",
        about: "check conventions that the compiler does not: file lengths, forbidden dependencies, directives, committed objects",
        run: tidy::run,
    },
    Task {
        name: "ci",
        args: "",
        about: "run all checks that a change must pass: fmt, tidy, clippy, doc, test --vm --growth, fuzz --smoke, miri, matrix without 32-bit",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else { return help(2) };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        return help(0);
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("xtask: no task `{name}`");
        return help(2);
    };
    if rest.iter().take_while(|arg| *arg != "--").any(|arg| arg == "-h" || arg == "--help") {
        let text = match task.name {
            "dist" => dist::HELP,
            "vm" => vm::HELP,
            "bench" => bench::HELP,
            "soak" => soak::HELP,
            _ => return help(0),
        };
        println!("{text}");
        return ExitCode::SUCCESS;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn help(code: u8) -> ExitCode {
    println!("usage: cargo xtask TASK [ARGS]\n");
    for task in TASKS {
        println!("  {} {}\n      {}", task.name, task.args, task.about);
    }
    println!(
        "\nenvironment: CORE_RELO_PROGS (directory of test objects), CORE_RELO_KERNELS (directory of kernels' BTF), CLANG, BPF_GCC (compilers)"
    );
    ExitCode::from(code)
}
