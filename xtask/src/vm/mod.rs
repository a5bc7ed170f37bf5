//! `cargo xtask vm`: the live tests on distribution kernels, in QEMU.

mod args;
mod build;
mod guest;
mod initramfs;
mod qemu;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cases;
use crate::install;
use crate::kernels::boot::{self, Bootable, SERIES};
use crate::system::{Failure, Outcome, root};
use crate::test::Counts;

pub use args::HELP;
use args::{Choice, Request};

/// What came of the tests on one kernel or several.
#[derive(Debug, Default)]
pub struct Report {
    pub counts: Counts,
    /// `KERNEL: TEST: REASON`
    pub skips: BTreeSet<String>,
    pub problems: Vec<Failure>,
}

/// How much of the kernel's console is shown where it died.
const CONSOLE_LINES: usize = 40;

pub fn run(args: &[String]) -> Outcome {
    let request = Request::parse(args)?;
    if request.list {
        list();
        return Ok(());
    }
    prerequisites(request.may_install)?;
    let mut report = Report::default();
    let test = build::live_test()?;
    for choice in &request.kernels {
        match kernel(choice) {
            Ok(kernel) => one(&kernel, &test, &request, &mut report),
            Err(why) => report.problems.push(why),
        }
    }
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
        request.kernels.len() - report.problems.iter().filter(|why| cannot_run(why)).count(),
        request.kernels.len()
    );
    report.result()
}

/// The oldest and the newest kernel, as part of all tests: what cannot be had is a skip with its reason.
pub fn both_ends(may_install: bool) -> Outcome<Report> {
    let mut report = Report::default();
    let request = Request::new();
    if let Err(why) = prerequisites(may_install) {
        report.skips.insert(format!("live tests on other kernels: {why}"));
        return Ok(report);
    }
    let mut kernels = Vec::new();
    for choice in &request.kernels {
        match kernel(choice) {
            Ok(kernel) => kernels.push(kernel),
            Err(why) => drop(report.skips.insert(format!("live tests: {why}"))),
        }
    }
    if !kernels.is_empty() {
        let test = build::live_test()?;
        kernels.iter().for_each(|kernel| one(kernel, &test, &request, &mut report));
    }
    Ok(report)
}

impl Report {
    /// All problems as one: a test that failed weighs more than one that could not run.
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

fn cannot_run(why: &Failure) -> bool {
    matches!(why, Failure::CannotRun(_))
}

/// QEMU and busybox, installed where that is allowed.
fn prerequisites(may_install: bool) -> Outcome {
    let complete = || qemu::installed() && guest::busybox().is_some();
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(Failure::CannotRun("the live tests are built for x86-64 Linux, and not here".to_owned()));
    }
    if !complete() && may_install {
        install::emulator();
    }
    if !qemu::installed() {
        return Err(Failure::CannotRun(format!(
            "no {} (Debian, Ubuntu: apt-get install qemu-system-x86 busybox-static)",
            qemu::QEMU
        )));
    }
    guest::busybox().map(drop).ok_or_else(guest::no_busybox)
}

fn kernel(choice: &Choice) -> Outcome<Bootable> {
    match choice {
        Choice::Series(series) => boot::of(series),
        Choice::File(path) => boot::at(path),
    }
}

/// Runs the tests on one kernel and adds what came of it.
fn one(kernel: &Bootable, test: &Path, request: &Request, report: &mut Report) {
    let before = report.counts;
    let began = Instant::now();
    let result = boot_and_test(kernel, test, request, report);
    let took = began.elapsed().as_secs_f64();
    let counts = report.counts.since(&before);
    let name = &kernel.name;
    println!("{name}: {} passed, {} failed, in {took:.1} s", counts.passed, counts.failed);
    report.problems.extend(result.err());
}

fn boot_and_test(kernel: &Bootable, test: &Path, request: &Request, report: &mut Report) -> Outcome {
    let name = &kernel.name;
    let folder = root().join("target/vm").join(name);
    std::fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let progs = request.progs.clone().unwrap_or_else(|| cases::dir().join("prebuilt/el"));
    let archive = guest::pack(kernel, test, &progs, &request.for_tests)?;
    let initramfs = folder.join("initramfs");
    std::fs::write(&initramfs, archive).map_err(|why| format!("{}: {why}", initramfs.display()))?;
    println!("{name}: Linux {} by {}", kernel.release, qemu::accelerator());
    let machine = qemu::Machine {
        kernel: &kernel.vmlinux,
        initramfs: &initramfs,
        folder: &folder,
        limit: request.limit,
        cpus: request.cpus,
    };
    let mut last = String::new();
    let counts = &mut report.counts;
    let ended = machine.run(&mut |line| {
        counts.add(line);
        // The notes have these, also of tests that the kernel did not survive.
        if !line.trim_start().starts_with(guest::SKIP) {
            println!("{line}");
        }
        if line.starts_with("test ") {
            line.clone_into(&mut last);
        }
    });
    let _ = std::fs::remove_file(&initramfs);
    let ended = ended?;
    let skips = ended.notes.lines().filter_map(|line| line.trim().strip_prefix(guest::SKIP));
    report.skips.extend(skips.map(|skip| format!("{name}: {skip}")));
    judge(kernel, &folder.join("console"), request, &ended, &last)
}

/// What the end of a run means.
fn judge(kernel: &Bootable, console: &Path, request: &Request, ended: &qemu::Ended, last: &str) -> Outcome {
    let name = &kernel.name;
    let started = ended.notes.lines().any(|line| line.trim() == guest::STARTED);
    let exit =
        ended.notes.lines().find_map(|line| line.trim().strip_prefix(guest::EXITED)?.parse::<i32>().ok());
    match exit {
        Some(0) => return Ok(()),
        Some(101) => return Err(format!("{name}: tests failed").into()),
        Some(code) if code > 128 => {
            return Err(format!("{name}: the tests ended by signal {}, after `{last}`", code - 128).into());
        }
        Some(code) => return Err(format!("{name}: the tests ended with exit status {code}").into()),
        None => {}
    }
    let lines: Vec<_> = ended.console.lines().chain(ended.errors.lines()).collect();
    for line in lines.iter().skip(lines.len().saturating_sub(CONSOLE_LINES)) {
        eprintln!("  {line}");
    }
    let limit = request.limit.as_secs();
    let what = match (started, ended.timed_out) {
        (true, true) => format!("not done after {limit} s (--timeout), after `{last}`"),
        (true, false) => format!("the kernel died after `{last}`"),
        (false, true) => format!("not booted after {limit} s (--timeout)"),
        (false, false) => "did not boot".to_owned(),
    };
    let what = format!("{name}: {what}; its console: {}", console.display());
    Err(if started { Failure::Failed(what) } else { Failure::CannotRun(what) })
}

fn list() {
    for series in SERIES {
        let shown = if series.contains('.') { series.to_owned() } else { format!("{series}.x") };
        match boot::cached(series) {
            Some(kernel) => println!("{shown:<6} {} (Linux {})", kernel.name, kernel.release),
            None => println!("{shown:<6} fetched when asked for"),
        }
    }
    let own: Vec<PathBuf> = std::fs::read_dir("/boot")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinu")))
        .collect();
    for path in own {
        println!("{}", path.display());
    }
}
