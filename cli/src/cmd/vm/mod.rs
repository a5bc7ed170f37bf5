//! `vm`: loads objects on other kernels, in QEMU, and prints the outcome beside the verdict.

mod json;
mod user_command;

use crate::{
    args::vm::VmArgs,
    cmd::{
        budget_gate::BudgetGate,
        check::{
            boot::{BootSettings, boot_kernels},
            booted::{BootedKernel, BootedLoad, LoadVerdict, reality_status, refusal_lines},
        },
        guest_setup::report_failure,
    },
    console::{Console, ExitStatus},
    describe,
    error::CommandResult,
    fetched::{boot_selection, module_store::ModuleStore},
    format::Format,
    guest::{boot_slots::BootSlots, load::Reality},
    policy::{Config, ProjectLoad},
    text::{
        line::Line,
        style::{self, BOLD, DIM, ERROR, GOOD},
    },
};
use core_relo_report::AgreementCounts;
use std::io;

/// The width of the column of releases. The longest ones of Debian, such as `6.12.107+deb13-cloud-amd64`,
/// fit.
const RELEASE_WIDTH: usize = 28;

pub(crate) fn run(console: &mut Console<'_>, args: &VmArgs) -> CommandResult {
    let kernels = boot_selection(args)?;
    if !args.command.is_empty() {
        return user_command::run(console, args, &kernels);
    }
    let mut budget = BudgetGate::open(&args.stats)?;
    let ProjectLoad { loader, user } =
        Config::load_of_project(&args.config, args.loader.loader, &args.settings)?;
    user.check_for_guests()?;
    let (stats, slots) = (args.stats.needs_stats(), BootSlots::new(args.jobs));
    let modules = ModuleStore::for_vm(args);
    let settings = BootSettings { guest: &args.guest, loader, stats, slots, modules };
    let mut emit = |console: &mut Console<'_>, objects: &[&str], booted: &BootedKernel| {
        booted.record(objects, &mut budget);
        report(console, objects, booted)
    };
    boot_kernels(console, &args.objects, &kernels, args.jobs, &settings, &user, &mut emit)
        .or_else(|error| console.report(error))?;
    if console.exit == ExitStatus::Error {
        budget.record_incomplete("some results are missing");
    }
    Ok(budget.finish(console)?)
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
    for (index, object) in (0..).zip(objects) {
        let loads = booted.object(index, object);
        for load in loads.all() {
            console.raise_exit(reality_status(load.reality));
            match (console.format, load.program) {
                (Format::Json, Some(program)) => {
                    let line =
                        json::ProgramOutcome::new(&booted.name, release, load, program, loads.default_load);
                    console.out.json(&line)?;
                }
                (Format::Json, None) => {}
                (Format::Text, _) => print(console, release, load)?,
            }
        }
    }
    if console.format == Format::Text && booted.unread().is_none() {
        let counts = AgreementCounts::from_iter(booted.agreements(objects));
        console.out.line(Line::new().styled(DIM, format_args!("{release}: {counts}")))?;
    }
    for line in booted.loads.diagnostics.lines() {
        console.err.line(Line::new().styled(DIM, line))?;
    }
    console.out.flush()
}

/// Prints the outcome of a load and the verdict, and a line below if the verdict is wrong.
fn print(console: &mut Console<'_>, release: &str, load: &BootedLoad<'_>) -> io::Result<()> {
    let reality = load.reality;
    let style = match reality {
        Reality::Loaded => GOOD,
        Reality::Refused(_) | Reality::Unknown(_) => ERROR,
    };
    let line = Line::new().styled(style, format_args!("{:<9}", reality.word()));
    let line = match load.verdict.map(LoadVerdict::verdict) {
        Some(verdict) => {
            let word = describe::verdict(verdict);
            line.styled(style::verdict_style(verdict), format_args!("{word:<12}"))
        }
        None => line.column(12, "-"),
    };
    let line = line.column(RELEASE_WIDTH, release).text(format_args!(" {}: ", load.object));
    console.out.line(load.add_outcome(line.styled(BOLD, load.subject())))?;
    refusal_lines(reality).try_for_each(|line| console.out.line(line))?;
    match load.wrong_verdict() {
        Some((problem, verdict)) => {
            let line = Line::new().text("    ").styled(ERROR, problem);
            console.out.line(line.text(format_args!(" `{verdict}`")))
        }
        None => Ok(()),
    }
}
