//! The reports that `check` prints or writes to files.

use crate::{
    console::Console,
    error::BadInput,
    output::{self, OutputPath},
};
use core_relo_report::{FleetReport, ReportFormat};
use std::{io, path::Path};

/// The reports to print and to write.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The report on stdout, instead of lines.
    stdout: Option<ReportFormat>,
    files: Vec<(OutputPath, ReportFormat)>,
}

impl Reports {
    /// Chooses the format of each file by its extension.
    pub(super) fn new(stdout: Option<ReportFormat>, files: &[OutputPath]) -> Result<Self, BadInput> {
        let with_format = |path: &OutputPath| format_of(path).map(|format| (path.clone(), format));
        Ok(Self { stdout, files: files.iter().map(with_format).collect::<Result<_, _>>()? })
    }

    /// Returns whether lines are printed on stdout, and no report.
    pub(super) const fn prints_lines(&self) -> bool {
        self.stdout.is_none()
    }

    /// Returns whether there is a report, which needs every reason.
    pub(super) const fn needs_reasons(&self) -> bool {
        self.stdout.is_some() || !self.files.is_empty()
    }

    /// Prints and writes the reports.
    pub(super) fn write(&self, console: &mut Console<'_>, fleet: &FleetReport) -> io::Result<()> {
        if let Some(format) = self.stdout {
            fleet.write(format, console.out.unescaped_writer())?;
        }
        for (path, format) in &self.files {
            if let Err(bad) = output::write_with(path, &|out| fleet.write(*format, out)) {
                console.report_error_on_stderr(&bad)?;
            }
        }
        Ok(())
    }
}

fn format_of(path: &Path) -> Result<ReportFormat, BadInput> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("html" | "htm") => Ok(ReportFormat::Html),
        Some("sarif") => Ok(ReportFormat::Sarif),
        Some("xml") => Ok(ReportFormat::Junit),
        Some("md") => Ok(ReportFormat::Markdown),
        _ => Err(BadInput::for_path(
            path,
            "the extension names no format, expected .html, .sarif, .xml or .md",
        )),
    }
}
