//! `vm`: loads objects on other kernels, in QEMU, and prints the outcome beside the verdict.

mod user_command;

use crate::{
    args::{format::Format, vm::VmArgs},
    budget::BudgetGate,
    cmd::check::{
        boot::{BootSettings, boot_kernels},
        booted::{AgreementCounts, BootedKernel, BootedProgram, reality_status, refusal_lines},
    },
    console::{Console, ExitStatus},
    describe,
    guest::{
        load::{Reality, first_line},
        setup::report_failure,
    },
    json::vm as json,
    text::{
        line::Line,
        style::{self, BOLD, DIM, ERROR, GOOD},
    },
};
use std::io;

/// The width of the column of releases. The longest ones of Debian, such as `6.12.107+deb13-cloud-amd64`, fit.
const RELEASE_WIDTH: usize = 28;

pub(crate) fn run(console: &mut Console<'_>, args: &VmArgs) -> io::Result<()> {
    if !args.command.is_empty() {
        return user_command::run(console, args);
    }
    let mut budget = match BudgetGate::open(&args.stats) {
        Ok(budget) => budget,
        Err(bad) => return console.report_error(&bad),
    };
    let settings = BootSettings {
        guest: &args.guest,
        max_entries: args.max_entries.clone(),
        stats: args.stats.needs_stats(),
    };
    let mut emit = |console: &mut Console<'_>, objects: &[&str], booted: &BootedKernel| {
        booted.record(objects, &mut budget);
        report(console, objects, booted)
    };
    boot_kernels(console, &args.objects, &args.kernel, args.jobs, &settings, &mut emit)?;
    if console.exit == ExitStatus::Error {
        budget.record_incomplete("some results are missing");
    }
    budget.finish(console)
}

/// Prints a line for each program.
fn report(console: &mut Console<'_>, objects: &[&str], booted: &BootedKernel) -> io::Result<()> {
    booted.mismatches().try_for_each(|bad| console.report_error(bad))?;
    if let Some(error) = &booted.boot_error {
        return report_failure(console, error);
    }
    if let Some(bad) = booted.unread() {
        console.note(&format!("no verdicts, only real loads: {bad}"))?;
    }
    let Some(release) = &booted.loads.release else { return Ok(()) };
    for program in booted.programs(objects) {
        console.raise_exit(reality_status(&program.load.reality));
        match console.format {
            Format::Json => console.out.json(&json::ProgramOutcome::new(&booted.path, release, &program))?,
            Format::Text => print(console, release, &program)?,
        }
    }
    if console.format == Format::Text && booted.unread().is_none() {
        let counts = AgreementCounts::new(booted.programs(objects));
        console.out.line(Line::new().styled(DIM, format_args!("{release}: {counts}")))?;
    }
    for line in booted.loads.diagnostics.lines() {
        console.err.line(Line::new().styled(DIM, line))?;
    }
    console.out.flush()
}

/// Prints the outcome of a load and the verdict, and a line below if the verdict is wrong.
fn print(console: &mut Console<'_>, release: &str, program: &BootedProgram<'_>) -> io::Result<()> {
    let style = match program.load.reality {
        Reality::Loaded => GOOD,
        Reality::Refused(_) | Reality::Unknown(_) => ERROR,
    };
    let line = Line::new().styled(style, format_args!("{:<9}", program.load.reality.word()));
    let line = match program.verdict {
        Some(verdict) => {
            let word = describe::verdict(verdict.verdict);
            line.styled(style::verdict_style(verdict.verdict), format_args!("{word:<12}"))
        }
        None => line.column(12, "-"),
    };
    let line = line.column(RELEASE_WIDTH, release).text(format_args!(" {}: ", program.object));
    let mut line = line.styled(BOLD, &program.load.program);
    if let Some(reason) = program.load.reality.reason() {
        line = line.text(": ").text(first_line(reason));
    }
    let is_loaded = matches!(program.load.reality, Reality::Loaded);
    if let Some(stats) = program.load.stats.filter(|_| is_loaded) {
        line = line.text(": ").text(stats);
    }
    console.out.line(line)?;
    refusal_lines(&program.load.reality).try_for_each(|line| console.out.line(line))?;
    match program.wrong_verdict() {
        Some((problem, verdict)) => {
            let line = Line::new().text("    ").styled(ERROR, problem);
            console.out.line(line.text(format_args!(" `{verdict}`")))
        }
        None => Ok(()),
    }
}
