//! The writer for the outputs of kernels: to the console, and to the results file.

use super::{
    kernel_output::KernelOutput,
    reports::Reports,
    results_file::ResultsFile,
    row::{Row, exit_status},
};
use crate::{
    console::{Console, ExitStatus},
    describe,
    error::BadInput,
    format::Format,
    text::{
        line::Line,
        style::{self, BOLD, DIM, ERROR, WARNING},
        table::{AlignedTable, left_cell},
    },
};
use core_relo_kernels::KernelId;
use core_relo_report::{
    AgreementCounts, FleetReport, KernelGroup, KernelWarning, ObjectGroups, Row as FleetRow, UnjudgedInput,
};
use std::{collections::BTreeMap, io, path::Path, sync::Arc};

/// The maximum number of rows that are aligned with each other. More rows are grouped, unless all are wanted.
const ALIGNED_ROWS: usize = 1000;

/// The maximum number of reasons of an object in a grouped text.
const GROUPED_REASONS: usize = 10;

/// The maximum number of lines on stderr with the same defect. The others are counted: a directory may have
/// many files that are no kernels. Kernels that boot are exempt, because the user names each, and waits for
/// it.
const SAME_ERRORS: usize = 10;

/// An output of the check.
pub(super) enum CheckOutput {
    /// The output for a kernel, with the identity of the kernel.
    Kernel(Option<KernelId>, Box<KernelOutput>),
    /// A note for stderr.
    Note(String),
}

/// Prints the outputs of kernels, and appends them to the results file.
pub(super) struct CheckWriter<'p, 'w> {
    console: &'p mut Console<'w>,
    results: Option<ResultsFile>,
    table: AlignedTable,
    /// For each row of the table, the lines of its reasons and its notes.
    details: Vec<[Arc<[Line]>; 2]>,
    /// The results so far, for the summary and for reports.
    fleet: FleetReport,
    /// Whether a summary or a report follows. JSON lines without a report need no memory for earlier kernels.
    needs_fleet: bool,
    /// Whether rows are printed.
    prints_lines: bool,
    /// Whether every row is printed, however many there are.
    prints_all: bool,
    /// Whether there are too many rows, so that the distinct results are printed instead.
    is_grouped: bool,
    /// The verdicts of booted kernels, compared with their real loads.
    agreement: AgreementCounts,
    /// The number of inputs with each defect.
    defects: BTreeMap<String, usize>,
}

impl<'p, 'w> CheckWriter<'p, 'w> {
    pub(super) fn new(console: &'p mut Console<'w>, results: Option<ResultsFile>, reports: &Reports) -> Self {
        let needs_fleet = Self::needs_fleet(console, reports);
        let prints_lines = console.format == Format::Text && reports.prints_lines();
        Self {
            console,
            results,
            table: AlignedTable::new(),
            details: Vec::new(),
            fleet: FleetReport::default(),
            needs_fleet,
            prints_lines,
            prints_all: false,
            is_grouped: false,
            agreement: AgreementCounts::default(),
            defects: BTreeMap::new(),
        }
    }

    /// Prints every row if `prints_all` is set.
    pub(super) fn with_all_lines(self, prints_all: bool) -> Self {
        Self { prints_all, ..self }
    }

    /// Returns whether a summary or a report follows.
    pub(super) fn needs_fleet(console: &Console<'_>, reports: &Reports) -> bool {
        console.format == Format::Text || reports.needs_reasons()
    }

    /// Prints stored results, and adds them to the reports.
    pub(super) fn write_stored(&mut self, stored: FleetReport, is_strict: bool) -> io::Result<()> {
        for row in &stored.rows {
            self.console.raise_exit(exit_status(row.conclusion(), is_strict));
            match Row::of_stored(row) {
                Some(text) if self.prints_lines => self.add_row(text)?,
                Some(_) => {}
                None => self.report_unjudged(row)?,
            }
        }
        for KernelWarning { kernel, text, .. } in &stored.kernel_warnings {
            self.warn(kernel, text)?;
        }
        for UnjudgedInput { file, problem, help, .. } in &stored.unread {
            let bad = BadInput { help: help.clone(), ..BadInput::new(&**file, problem) };
            self.report_error(&bad)?;
        }
        if let Some(counts) = stored.agreement {
            self.agreement += counts;
        }
        if self.needs_fleet {
            self.fleet.extend(stored);
        }
        Ok(())
    }

    /// Prints a warning about a kernel, and only counts it after [`SAME_ERRORS`] lines with the same text.
    fn warn(&mut self, kernel: &str, text: &str) -> io::Result<()> {
        match self.is_counted(text) {
            true => Ok(()),
            false => self.console.warn(&format!("{kernel}: {text}")),
        }
    }

    /// Counts a defect. Returns whether it has been printed often enough.
    fn is_counted(&mut self, defect: &str) -> bool {
        let count = self.defects.entry(defect.to_owned()).or_default();
        *count += 1;
        *count > SAME_ERRORS
    }

    /// Reports an object that does not fit a kernel.
    fn report_unjudged(&mut self, row: &FleetRow) -> io::Result<()> {
        match &row.outcome {
            Ok(_) => Ok(()),
            Err(UnjudgedInput { file, problem, help, .. }) => {
                let what = format_args!("{problem} ({})", row.object);
                self.report_error(&BadInput { help: help.clone(), ..BadInput::new(&**file, what) })
            }
        }
    }

    /// Adds a row to the table.
    fn add_row(&mut self, Row { verdict, cells, reasons, notes }: Row) -> io::Result<()> {
        if self.is_grouped {
            return Ok(());
        }
        if self.details.len() >= ALIGNED_ROWS {
            if !self.prints_all {
                self.is_grouped = true;
                self.table = AlignedTable::new();
                self.details = Vec::new();
                return Ok(());
            }
            self.flush_table()?;
        }
        let (style, word) = verdict;
        self.table.styled_row(style, word, cells.map(left_cell));
        self.details.push([reasons, notes]);
        Ok(())
    }

    /// Adds objects that cannot be read to the reports.
    pub(super) fn add_unread(&mut self, bad: Vec<BadInput>) {
        self.fleet.unread.extend(bad.iter().map(UnjudgedInput::from));
    }

    /// Reports bad input on stderr, and only counts it after [`SAME_ERRORS`] lines with the same defect.
    fn report_error(&mut self, bad: &BadInput) -> io::Result<()> {
        if self.is_counted(&bad.what) {
            self.console.raise_exit(ExitStatus::Error);
            return Ok(());
        }
        self.console.report_error_on_stderr(bad)
    }

    pub(super) fn write(&mut self, output: CheckOutput) -> io::Result<()> {
        let (id, output) = match output {
            CheckOutput::Kernel(id, output) => (id, output),
            CheckOutput::Note(note) => return self.console.note(&note),
        };
        if let Some(BadInput { file, what, .. }) = &output.skipped {
            return match self.is_counted(what) {
                true => Ok(()),
                false => self.console.note(&format!("{file}: skipped: {what}")),
            };
        }
        self.console.raise_exit(output.exit);
        if let (Some(results), Some(id)) = (&mut self.results, &id)
            && let Err(bad) = results.append(id, output.lines.as_bytes())
        {
            self.flush_table()?;
            self.console.report_error_on_stderr(&bad)?;
            // The error ends the command without another message.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.console.format == Format::Json {
            self.console.out.json_lines(&output.lines)?;
        }
        self.agreement += output.agreement;
        output.rows.into_iter().try_for_each(|row| self.add_row(row))?;
        for KernelWarning { kernel, text, .. } in &output.fleet.kernel_warnings {
            self.warn(kernel, text)?;
        }
        if self.needs_fleet {
            self.fleet.extend(output.fleet);
        }
        if output.is_booted {
            // A boot takes seconds, so no kernel waits for the next one.
            self.flush_table()?;
            self.flush_console()?;
            output.errors.iter().try_for_each(|bad| self.console.report_error_on_stderr(bad))?;
        } else {
            output.errors.iter().try_for_each(|bad| self.report_error(bad))?;
        }
        output.messages.into_iter().try_for_each(|line| self.console.err.line(line))
    }

    /// Records in the results file that an archive was read to its end.
    pub(super) fn end_archive(&mut self, path: &Path) {
        if let Some(results) = &mut self.results {
            results.end_archive(path);
        }
    }

    /// Prints the rows of the table.
    pub(super) fn flush_table(&mut self) -> io::Result<()> {
        let lines = std::mem::replace(&mut self.table, AlignedTable::new()).lines();
        for (line, details) in lines.into_iter().zip(self.details.drain(..)) {
            self.console.out.line(line)?;
            details
                .iter()
                .flat_map(|lines| lines.iter())
                .try_for_each(|detail| self.console.out.line(Line::new().text("    ").line(detail)))?;
        }
        Ok(())
    }

    /// Prints the rest of the table, the summary of several kernels, and the reports.
    pub(super) fn finish(mut self, reports: &Reports) -> io::Result<()> {
        self.flush_table()?;
        // The lines of the JSON format name each kernel.
        let names = if self.console.format == Format::Json { "" } else { ", see --format json" };
        for (defect, count) in &self.defects {
            if let Some(more) = count.checked_sub(SAME_ERRORS).filter(|more| *more > 0) {
                self.console.err.line(format_args!("core-relo: … and {more} more: {defect}{names}"))?;
            }
        }
        if self.is_grouped {
            self.print_groups()?;
        } else if self.prints_lines && has_several_kernels(&self.fleet) {
            self.console.out.line("")?;
            for summary in self.fleet.summaries() {
                let line = Line::new().styled(BOLD, summary.object).text(": ").text(summary.text);
                self.console.out.line(line)?;
            }
        }
        if let Some(summary) = self.fleet.baseline_summary().filter(|_| self.prints_lines) {
            self.console.out.line(summary)?;
        }
        if self.prints_lines && self.agreement != AgreementCounts::default() {
            self.console.out.line(self.agreement)?;
        }
        self.fleet.agreement = Some(self.agreement).filter(|counts| *counts != AgreementCounts::default());
        reports.write(self.console, &self.fleet)
    }

    /// Prints the distinct results of each object.
    fn print_groups(&mut self) -> io::Result<()> {
        for group in self.fleet.groups() {
            for line in group_lines(&group) {
                self.console.out.line(line)?;
            }
        }
        let rows = self.fleet.rows.len();
        self.console.note(&format!("{rows} results are grouped; --all prints a line for each"))
    }

    /// Writes out the console's buffer.
    pub(super) fn flush_console(&mut self) -> io::Result<()> {
        self.console.out.flush()
    }
}

/// Returns the lines of an object's distinct results: the summary, and each reason once.
fn group_lines(group: &ObjectGroups<'_>) -> Vec<Line> {
    let mut lines = vec![Line::new().styled(BOLD, group.object).text(": ").text(&group.summary)];
    for found in group.reasons.iter().take(GROUPED_REASONS) {
        let reason = found.reason;
        let position = reason.source.as_ref().map(|source| format!("{} ", source.position()));
        let mut line = Line::new().text("    ");
        if found.is_new == Some(true) {
            line = line.styled(WARNING, "new: ");
        }
        line = line.styled(DIM, position.as_deref().unwrap_or(""));
        if let Some(program) = found.program {
            line = line.text(program);
            if let Some(more) = found.program_count.checked_sub(1).filter(|more| *more > 0) {
                line = line.text(format_args!(" and {more} more"));
            }
            line = line.text(if found.autoload { ": " } else { " (not in the default load): " });
        }
        let word = if found.allowed.is_some() { "allowed" } else { describe::verdict(reason.verdict) };
        let style = if found.allowed.is_some() { DIM } else { style::verdict_style(reason.verdict) };
        line = line.styled(style, word).text(format_args!(": {}", reason.text));
        lines.push(line.styled(DIM, kernel_words(&found.kernels)));
    }
    if let Some(more) = group.reasons.len().checked_sub(GROUPED_REASONS).filter(|more| *more > 0) {
        lines.push(Line::new().text("    ").styled(DIM, format_args!("… and {more} more reasons")));
    }
    for (problem, kernels) in group.problems.iter().take(GROUPED_REASONS) {
        let line = Line::new().text("    ").styled(ERROR, "bad input").text(format_args!(": {problem}"));
        lines.push(line.styled(DIM, kernel_words(kernels)));
    }
    if group.warning_count > 0 {
        let count = group.warning_count;
        let plural = if count == 1 { "" } else { "s" };
        lines.push(
            Line::new().text("    ").styled(DIM, format_args!("{count} warning{plural}, see --format json")),
        );
    }
    lines
}

/// Returns the number of kernels, and the names of the first: `; on 2500 kernels: a, b, c, …`.
fn kernel_words(kernels: &KernelGroup<'_>) -> String {
    let names = kernels.first.join(", ");
    match kernels.count.checked_sub(kernels.first.len()) {
        Some(1..) => format!("; on {} kernels: {names}, …", kernels.count),
        _ => format!("; on {names}"),
    }
}

/// Returns whether the results are for more than one kernel.
fn has_several_kernels(fleet: &FleetReport) -> bool {
    let mut kernels = fleet.rows.iter().map(|row| &row.kernel);
    let first = kernels.next();
    kernels.any(|kernel| Some(kernel) != first)
}
