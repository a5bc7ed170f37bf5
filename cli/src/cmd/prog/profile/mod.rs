//! `prog profile`: perf counters, read before and after each run of a program.
//!
//! | file | contents |
//! |---|---|
//! | `metric` | the metrics and their perf counters |
//! | `profiler` | the two programs that read the counters, in the kernel |
//! | `report` | the output |

mod metric;
mod profiler;
mod report;

use super::stats::wait;
use crate::{
    args::prog_profile::ProgProfileArgs,
    cmd::prog::profile::{metric::parse_metrics, profiler::Profiler},
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult},
    kernel_objects::select::select_one,
    output::is_stdout_closed,
    process::signals::TerminationSignals,
};
use core_relo_loader::inventory::ObjectKind;
use report::Report;
use std::time::Duration;

pub(super) fn run(console: &mut Console<'_>, args: &ProgProfileArgs) -> CommandResult {
    let report = measure(args)?;
    report.write(console, args.format)?;
    if report.profile.run_count == 0 {
        console.raise_exit(ExitStatus::Incompatible);
        console.note("the program did not run during the measurement")?;
    }
    if report.profile.unreadable_count > 0 {
        let count = report.profile.unreadable_count;
        console
            .note(&format!("{count} runs are not counted, because the kernel could not read the counters"))?;
    }
    Ok(())
}

fn measure(args: &ProgProfileArgs) -> Result<Report, BadInput> {
    let (selector, words) = args.program.split()?;
    let metrics = parse_metrics(words)?;
    let (prog_id, program) = select_one(ObjectKind::Program, &selector)?;
    let mut termination = TerminationSignals::catch()?;
    let profiler = Profiler::attach(prog_id, program, &metrics)?;
    wait(args.duration.unwrap_or(Duration::MAX), &mut || termination.has_arrived() || is_stdout_closed());
    let name = profiler.program_name.clone();
    let profile = profiler.finish()?;
    // Another signal must not hide what was counted.
    termination.ignore_until_exit();
    Ok(Report { prog_id, name, metrics, profile })
}
