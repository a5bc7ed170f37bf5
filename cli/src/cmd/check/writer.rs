//! The writer for the outputs of kernels: to the console, and to the results file.

use super::{
    kernel_output::{KernelOutput, Row},
    reports::Reports,
    results_file::ResultsFile,
};
use crate::{
    console::{Console, ExitStatus},
    error::BadInput,
    format::Format,
    text::{
        line::Line,
        style::BOLD,
        table::{AlignedTable, left_cell},
    },
};
use core_relo_kernels::KernelId;
use core_relo_report::{AgreementCounts, FleetReport, UnjudgedInput};
use std::{collections::BTreeMap, io, path::Path, sync::Arc};

/// The maximum number of rows that are aligned with each other.
const ALIGNED_ROWS: usize = 1000;

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
    /// The verdicts of booted kernels, compared with their real loads.
    agreement: AgreementCounts,
    /// The number of inputs with each defect.
    defects: BTreeMap<String, usize>,
}

impl<'p, 'w> CheckWriter<'p, 'w> {
    pub(super) fn new(console: &'p mut Console<'w>, results: Option<ResultsFile>, reports: &Reports) -> Self {
        let needs_fleet = console.format == Format::Text || reports.needs_reasons();
        Self {
            console,
            results,
            table: AlignedTable::new(),
            details: Vec::new(),
            fleet: FleetReport::default(),
            needs_fleet,
            agreement: AgreementCounts::default(),
            defects: BTreeMap::new(),
        }
    }

    /// Adds objects that cannot be read to the reports.
    pub(super) fn add_unread(&mut self, bad: Vec<BadInput>) {
        self.fleet.unread.extend(bad.iter().map(UnjudgedInput::from));
    }

    /// Reports bad input on stderr, and only counts it after [`SAME_ERRORS`] lines with the same defect.
    fn report_error(&mut self, bad: &BadInput) -> io::Result<()> {
        let count = self.defects.entry(bad.what.clone()).or_default();
        *count += 1;
        if *count <= SAME_ERRORS {
            return self.console.report_error_on_stderr(bad);
        }
        self.console.raise_exit(ExitStatus::Error);
        Ok(())
    }

    pub(super) fn write(&mut self, output: CheckOutput) -> io::Result<()> {
        let (id, output) = match output {
            CheckOutput::Kernel(id, output) => (id, output),
            CheckOutput::Note(note) => return self.console.note(&note),
        };
        if let Some(BadInput { file, what, .. }) = &output.skipped {
            return self.console.note(&format!("{file}: skipped: {what}"));
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
        if self.needs_fleet {
            self.fleet.extend(output.fleet);
        }
        self.agreement += output.agreement;
        for Row { verdict, cells, reasons, notes } in output.rows {
            let (style, word) = verdict;
            self.table.styled_row(style, word, cells.map(left_cell));
            self.details.push([reasons, notes]);
        }
        if self.details.len() >= ALIGNED_ROWS {
            self.flush_table()?;
        }
        output.warnings.iter().try_for_each(|warning| self.console.warn(warning))?;
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
        if reports.prints_lines() && self.console.format == Format::Text && has_several_kernels(&self.fleet) {
            self.console.out.line("")?;
            for summary in self.fleet.summaries() {
                let line = Line::new().styled(BOLD, summary.object).text(": ").text(summary.text);
                self.console.out.line(line)?;
            }
        }
        let is_text = reports.prints_lines() && self.console.format == Format::Text;
        if is_text && self.agreement != AgreementCounts::default() {
            self.console.out.line(self.agreement)?;
        }
        self.fleet.agreement = Some(self.agreement).filter(|counts| *counts != AgreementCounts::default());
        reports.write(self.console, &self.fleet)
    }

    /// Writes out the console's buffer.
    pub(super) fn flush_console(&mut self) -> io::Result<()> {
        self.console.out.flush()
    }
}

/// Returns whether the results are for more than one kernel.
fn has_several_kernels(fleet: &FleetReport) -> bool {
    let mut kernels = fleet.rows.iter().map(|row| &row.kernel);
    let first = kernels.next();
    kernels.any(|kernel| Some(kernel) != first)
}
