//! `cargo xtask vm`: the live tests on distribution kernels, in QEMU.

mod args;
mod build;
mod guest;
mod results;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use core_relo_vm::{Arch, KernelImage, Machine, RunOutput, accelerator, find_qemu};

use crate::cases;
use crate::counts::Counts;
use crate::install;
use crate::kernels::boot::{self, Bootable};
use crate::platform::{PLATFORMS, Platform};
use crate::system::{Failure, Outcome, root};
use crate::verdicts::Comparison;

use args::Request;
pub use args::{Choice, HELP, choices, default_platform, number};
use guest::GuestFiles;
use results::KernelResults;

/// The results of the tests on one or more kernels.
#[derive(Debug, Default)]
pub struct Report {
    pub counts: Counts,
    /// `KERNEL: TEST: REASON`
    pub skips: BTreeSet<String>,
    pub problems: Vec<Failure>,
}

/// The memory of the machine in MiB.
const MEMORY_MIB: u64 = 1024;
/// The number of console lines to show after a kernel crash.
const CONSOLE_LINES: usize = 40;

pub fn run(args: &[String]) -> Outcome {
    let request = Request::parse(args)?;
    if request.list {
        list();
        return Ok(());
    }
    if request.table {
        return results::write_table();
    }
    let (kernels, missing) = kernels(&request.kernels, request.platform);
    if request.verdicts {
        prerequisites(request.platform, request.may_install)?;
        missing.iter().for_each(|error| println!("SKIP {error}"));
        let limit = request.limit(request.platform);
        let guest_binary = match Some(request.platform.arch) == Arch::host() || request.reuse {
            true => None,
            false => Some(build::command(request.platform, request.may_install)?),
        };
        let comparison = Comparison { platform: request.platform, guest_binary, reuse: request.reuse, limit };
        return comparison.run(&kernels, request.objects.as_deref());
    }
    let mut report = Report { problems: missing, ..Report::default() };
    on_all(&kernels, &request, &mut report);
    println!();
    for skip in &report.skips {
        println!("SKIP {skip}");
    }
    let counts = &report.counts;
    let skipped = report.skips.len() as u64 + counts.ignored;
    println!(
        "{} passed, {} failed, {skipped} skipped, on {} of {} kernels",
        counts.passed,
        counts.failed,
        request
            .kernels
            .len()
            .saturating_sub(report.problems.iter().filter(|error| cannot_run(error)).count()),
        request.kernels.len()
    );
    report.result()
}

/// Runs the tests on the oldest and the newest kernel. A kernel that is not available is a skip with its
/// reason.
pub fn oldest_and_newest(may_install: bool) -> Report {
    let mut report = Report::default();
    let request = Request { may_install, ..Request::new(default_platform()) };
    if let Err(error) = prerequisites(request.platform, may_install) {
        report.skips.insert(format!("live tests on other kernels: {error}"));
        return report;
    }
    let (kernels, missing) = kernels(&request.kernels, request.platform);
    report.skips.extend(missing.iter().map(|error| format!("live tests: {error}")));
    on_all(&kernels, &request, &mut report);
    report
}

impl Report {
    /// Combines all problems into one result. A failed test outweighs one that could not run.
    pub fn result(self) -> Outcome {
        let lines =
            |problems: &[Failure]| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let (cannot, failed): (Vec<_>, Vec<_>) = self.problems.into_iter().partition(cannot_run);
        match (failed.is_empty(), cannot.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(Failure::CannotRun(lines(&cannot))),
            (false, _) => Err(Failure::Failed(lines(&[failed, cannot].concat()))),
        }
    }
}

fn cannot_run(error: &Failure) -> bool {
    matches!(error, Failure::CannotRun(_))
}

/// Finds QEMU, or installs it if `may_install` is set.
pub fn prerequisites(platform: &Platform, may_install: bool) -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(Failure::CannotRun("the live tests in QEMU need an x86-64 Linux host".to_owned()));
    }
    if find_qemu(platform.arch).is_err() && may_install {
        install::emulator(platform.emulator);
    }
    Ok(find_qemu(platform.arch).map(drop)?)
}

/// Returns the requested kernels, and the reasons why others are not available.
pub fn kernels(choices: &[Choice], platform: &'static Platform) -> (Vec<Bootable>, Vec<Failure>) {
    let (mut kernels, mut missing) = (Vec::new(), Vec::new());
    for choice in choices {
        let found = match choice {
            Choice::Series(series) => boot::newest(platform, series),
            Choice::File(path) => boot::from_image(path),
        };
        match found {
            Ok(kernel) => kernels.push(kernel),
            Err(error) => missing.push(error),
        }
    }
    (kernels, missing)
}

/// Builds the tests for each architecture of the kernels and runs them on each kernel.
fn on_all(kernels: &[Bootable], request: &Request, report: &mut Report) {
    for platform in &PLATFORMS {
        let kernels: Vec<_> = kernels.iter().filter(|kernel| kernel.platform.arch == platform.arch).collect();
        if kernels.is_empty() {
            continue;
        }
        let files = prerequisites(platform, request.may_install)
            .and_then(|()| GuestFiles::new(platform, request.may_install));
        match files {
            Ok(files) => kernels.iter().for_each(|kernel| test_kernel(kernel, &files, request, report)),
            Err(error) => report.problems.push(error),
        }
    }
}

/// Runs the tests on one kernel and adds the results to the report.
fn test_kernel(kernel: &Bootable, files: &GuestFiles, request: &Request, report: &mut Report) {
    let before = report.counts;
    let began = Instant::now();
    let result = boot_and_test(kernel, files, request, report);
    let took = began.elapsed().as_secs_f64();
    let counts = report.counts.difference(&before);
    let name = &kernel.name;
    println!("{name}: {} passed, {} failed, in {took:.1} s", counts.passed, counts.failed);
    report.problems.extend(result.err());
}

fn boot_and_test(kernel: &Bootable, files: &GuestFiles, request: &Request, report: &mut Report) -> Outcome {
    let name = &kernel.name;
    let dir = root().join("target/vm").join(name);
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let progs = request.progs.clone();
    let progs = progs.unwrap_or_else(|| cases::dir().join("prebuilt").join(kernel.platform.objects));
    let archive = guest::pack(kernel, files, &progs, &request.test_args)?;
    let initramfs = dir.join("initramfs");
    std::fs::write(&initramfs, archive).map_err(|error| format!("{}: {error}", initramfs.display()))?;
    println!("{name}: Linux {} by {}", kernel.release, accelerator(kernel.platform.arch));
    let image = KernelImage::open(&kernel.image)?;
    let machine = Machine {
        kernel: &image,
        initramfs: &initramfs,
        time_limit: request.limit(kernel.platform),
        cpus: request.cpus,
        memory_mib: MEMORY_MIB,
        kernel_arguments: &[],
    };
    let (mut last, mut passed) = (String::new(), 0);
    let mut counts = Counts::default();
    let mut results = KernelResults::default();
    let mut line = |line: &str| {
        counts.add_line(line);
        results.add_line(line);
        passed += u64::from(line.starts_with("test ") && line.ends_with("... ok"));
        // The guest's notes contain the skipped tests as well, even after a kernel crash.
        if !line.trim_start().starts_with(guest::SKIP) {
            println!("{line}");
        }
        if line.starts_with("test ") && !line.starts_with("test result") {
            line.clone_into(&mut last);
        }
    };
    let mut ended = machine.run(&mut line)?;
    if !is_started(&ended) && !ended.timed_out {
        // Emulation rarely fails like this, before the tests start.
        show_console(&ended);
        eprintln!("{name}: did not boot; once more");
        ended = machine.run(&mut line)?;
    }
    let _ = std::fs::remove_file(&initramfs);
    let console = dir.join("console");
    std::fs::write(&console, &ended.console).map_err(|error| format!("{}: {error}", console.display()))?;
    let started = is_started(&ended);
    if counts.is_empty() && started && !last.is_empty() {
        // The kernel crashed in a test, so the tests did not print their counts.
        counts = Counts { passed, failed: 1, ignored: 0 };
    }
    report.counts.add_counts(counts);
    for skip in ended.notes.lines().filter_map(|line| line.trim().strip_prefix(guest::SKIP)) {
        results.add_skip(skip);
        report.skips.insert(format!("{name}: {skip}"));
    }
    if started {
        // The results of a selection of tests replace only theirs.
        let is_selection = !request.test_args.is_empty();
        results.store(&dir, is_selection)?;
    }
    if !started {
        return Err(no_boot(kernel, request, &ended, &console));
    }
    check_end(kernel, request, &ended, &last, &console)?;
    let listing = request.test_args.iter().any(|arg| arg == "--list");
    if counts.is_empty() && !listing {
        return Err(Failure::CannotRun(format!("{name}: no test matches: {}", request.test_args.join(" "))));
    }
    Ok(())
}

/// Checks how a run ended: the tests' exit status, the time limit, or a crash of the kernel.
fn check_end(kernel: &Bootable, request: &Request, ended: &RunOutput, last: &str, console: &Path) -> Outcome {
    let name = &kernel.name;
    let limit = request.limit(kernel.platform);
    let exit =
        ended.notes.lines().find_map(|line| line.trim().strip_prefix(guest::EXITED)?.parse::<i32>().ok());
    let what = match exit {
        Some(0) => return Ok(()),
        Some(101) => "tests failed".to_owned(),
        Some(code) if code > 128 => format!("the tests ended by signal {}; last: `{last}`", code - 128),
        Some(code) => format!("the tests ended with exit status {code}"),
        None if ended.timed_out => {
            format!("not done after {} s (--timeout); last: `{last}`", limit.as_secs())
        }
        None => {
            show_console(ended);
            format!("the kernel crashed; last: `{last}`; its console: {}", console.display())
        }
    };
    Err(format!("{name}: {what}").into())
}

fn no_boot(kernel: &Bootable, request: &Request, ended: &RunOutput, console: &Path) -> Failure {
    show_console(ended);
    let after = match ended.timed_out {
        true => format!(" within {} s (--timeout)", request.limit(kernel.platform).as_secs()),
        false => String::new(),
    };
    Failure::CannotRun(format!("{}: did not boot{after}; its console: {}", kernel.name, console.display()))
}

/// Returns whether the guest started the tests.
fn is_started(ended: &RunOutput) -> bool {
    ended.notes.lines().any(|line| line.trim() == guest::STARTED)
}

/// Prints the kernel's console from the first sign of a crash, or its end.
fn show_console(ended: &RunOutput) {
    for line in ended.console_end(CONSOLE_LINES).lines() {
        eprintln!("  {line}");
    }
}

fn list() {
    for platform in &PLATFORMS {
        for series in platform.series {
            let shown = if series.contains('.') { (*series).to_owned() } else { format!("{series}.x") };
            let fetched = boot::cached(platform, series).map_or_else(
                || "not fetched yet".to_owned(),
                |kernel| format!("{} (Linux {})", kernel.name, kernel.release),
            );
            println!("{:<8} {shown:<6} {fetched}", platform.debian);
        }
    }
    let installed: Vec<PathBuf> = std::fs::read_dir("/boot")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinu")))
        .collect();
    for path in installed {
        println!("{}", path.display());
    }
}
