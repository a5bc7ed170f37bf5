//! The budget of a command: collects statistics, compares them with a file, and writes a new file.

use crate::{
    args::stats::StatsArgs,
    budget::{
        comparison::{Comparison, Finding, Measurements, Problem},
        file::{self, Budget, ProgramKey, Usage},
        stats::ProgramStats,
    },
    console::{Console, ExitStatus},
    error::{BadInput, CommandError, escape_path},
    format::Format,
    json::budget::FindingJson,
    output::OutputPath,
    text::{
        line::Line,
        style::{BOLD, ERROR, GOOD},
    },
};
use std::{collections::BTreeMap, io, path::PathBuf};

/// The budget of a command.
#[derive(Debug, Default)]
pub(crate) struct BudgetGate {
    /// The file of the budget, and its content.
    budget: Option<(PathBuf, Budget)>,
    tolerance: u32,
    /// The file for the new budget.
    output: Option<OutputPath>,
    run: Measurements,
    /// The reason why the run is not complete, and cannot become a budget.
    incomplete: Option<String>,
}

/// A program in the load of an object on a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedProgram<'p> {
    /// The release of the kernel.
    pub(crate) kernel: &'p str,
    /// The name of the object's file.
    pub(crate) object: &'p str,
    pub(crate) program: &'p str,
}

impl BudgetGate {
    /// Reads the budget that the arguments name.
    pub(crate) fn open(args: &StatsArgs) -> Result<Self, BadInput> {
        let read = |path: &PathBuf| file::read(path).map(|budget| (path.clone(), budget));
        Ok(Self {
            budget: args.budget.as_ref().map(read).transpose()?,
            tolerance: args.budget_tolerance,
            output: args.write_budget.clone(),
            run: Measurements::default(),
            incomplete: None,
        })
    }

    /// Records a program that was loaded.
    pub(crate) fn record(&mut self, program: LoadedProgram<'_>, stats: &ProgramStats) {
        self.run.programs.insert(program.key(), Usage::from(stats));
    }

    /// Records a program that does not load, and has no statistics.
    pub(crate) fn record_refused(&mut self, program: LoadedProgram<'_>) {
        let reason = "the program does not load".to_owned();
        self.run.unmeasured.insert(program.key(), reason);
    }

    /// Records a program that the user left out.
    pub(crate) fn record_excluded(&mut self, program: LoadedProgram<'_>) {
        self.run.excluded.insert(program.key());
    }

    /// Records that results are missing, for example because a kernel did not boot.
    pub(crate) fn record_incomplete(&mut self, reason: impl Into<String>) {
        self.incomplete.get_or_insert_with(|| reason.into());
    }

    /// Prints the comparison, raises the exit status, and writes the new budget.
    pub(crate) fn finish(self, console: &mut Console<'_>) -> io::Result<()> {
        if let Some((path, budget)) = &self.budget {
            let name = escape_path(path);
            let comparison = Comparison::new(budget, &self.run, self.tolerance);
            if !comparison.findings.is_empty() {
                console.raise_exit(ExitStatus::Incompatible);
            }
            match console.format {
                Format::Json => {
                    for finding in &comparison.findings {
                        console.out.json(&FindingJson::new(&name, finding))?;
                    }
                }
                Format::Text => print(console, &name, &comparison)?,
            }
            if comparison.skipped_count > 0 {
                let count = comparison.skipped_count;
                console.note(&format!(
                    "{name}: {count} entries of other kernels, objects or programs were not compared"
                ))?;
            }
            if let Some(reason) = &self.incomplete {
                console.note(&format!("{name}: the comparison is not complete: {reason}"))?;
            }
        }
        let Some(path) = &self.output else { return Ok(()) };
        if let Some(reason) = self.incomplete {
            let bad = BadInput::for_path(path, format_args!("was not written: {reason}"));
            return console.report_error_on_stderr(&bad);
        }
        match file::write(path, &self.run.programs) {
            Ok(()) => {
                let count = self.run.programs.len();
                console.note(&format!("{}: budget of {count} programs written", escape_path(path)))
            }
            Err(CommandError::BadInput(bad)) => console.report_error_on_stderr(&bad),
            Err(CommandError::Output(e)) => Err(e),
        }
    }
}

impl LoadedProgram<'_> {
    fn key(self) -> ProgramKey {
        let Self { kernel, object, program } = self;
        ProgramKey { kernel: kernel.to_owned(), object: object.to_owned(), program: program.to_owned() }
    }
}

fn print(console: &mut Console<'_>, name: &str, comparison: &Comparison) -> io::Result<()> {
    comparison.findings.iter().try_for_each(|finding| console.out.line(finding_line(finding)))?;
    let mut counts = BTreeMap::<_, usize>::new();
    for finding in &comparison.findings {
        *counts.entry(finding.problem.words()).or_default() += 1;
    }
    let Comparison { within_count, below_count, .. } = comparison;
    let mut summary = format!("{within_count} programs within the budget, {below_count} of them below it");
    counts.iter().for_each(|(words, count)| summary.push_str(&format!(", {count} {words}")));
    let is_kept = comparison.findings.is_empty();
    let (style, word) = if is_kept { (GOOD, "kept") } else { (ERROR, "exceeded") };
    let line = Line::new().text("budget ").text(name).text(" ").styled(style, word);
    console.out.line(line.text(format_args!(": {summary}")))?;
    match is_kept {
        true => Ok(()),
        false => console.out.line(format_args!("  help: --write-budget {name} accepts the new values")),
    }
}

fn finding_line(finding: &Finding) -> Line {
    let ProgramKey { kernel, object, program } = &finding.key;
    let line =
        Line::new().styled(ERROR, finding.problem.words()).text(format_args!("  {kernel}  {object}: "));
    let line = line.styled(BOLD, program).text(": ");
    let value = |value: &Option<u64>| value.map_or("unknown".to_owned(), |value| value.to_string());
    match &finding.problem {
        Problem::Grew { metric, budget, measured } => {
            let growth = percentage(*budget, *measured);
            line.text(format_args!("{}: {measured}, expected at most {budget}{growth}", metric.words()))
        }
        Problem::MissingValue { metric, budget, measured } => {
            line.text(format_args!("{}: {}, expected {}", metric.words(), value(measured), value(budget)))
        }
        Problem::NotInBudget => line.text("the budget has no entry"),
        Problem::NotLoaded(reason) => line.text(reason),
    }
}

/// Returns the growth in tenths of a percent, rounded up: ` (+0.9 %)`. Growth from 0 has no percentage.
fn percentage(budget: u64, measured: u64) -> String {
    let growth = u128::from(measured.saturating_sub(budget)) * 1000;
    match u128::from(budget) {
        0 => String::new(),
        budget => {
            let tenths = growth.div_ceil(budget);
            format!(" (+{}.{} %)", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_rounded_up() {
        assert_eq!(percentage(1000, 1001), " (+0.1 %)");
        assert_eq!(percentage(1_000_000, 1_000_001), " (+0.1 %)");
        assert_eq!(percentage(100, 250), " (+150.0 %)");
        assert_eq!(percentage(0, 5), "");
    }
}
