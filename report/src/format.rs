//! The formats of reports, and the summary of each object.

use crate::{html, junit, markdown, matrix::Matrix, model::FleetReport, sarif, summary::summarize};
use std::io::{self, Write};

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportFormat {
    /// A page that needs no other file.
    Html,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// Markdown, for a comment on a pull request.
    Markdown,
}

/// The kernels that load an object, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectSummary<'r> {
    /// The object's name. Not escaped.
    pub object: &'r str,
    /// The outcomes and their kernels: `loads from 5.15 on, refused before 5.15`. The names of kernels are
    /// not escaped.
    pub text: String,
}

impl FleetReport {
    /// Writes the report in a format.
    pub fn write(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        let matrix = Matrix::new(self);
        match format {
            ReportFormat::Html => html::write(&matrix, out),
            ReportFormat::Sarif => sarif::write(&matrix, out),
            ReportFormat::Junit => junit::write(&matrix, out),
            ReportFormat::Markdown => markdown::write(&matrix, out),
        }
    }

    /// Returns the summary of each object, sorted by the objects' names.
    pub fn summaries(&self) -> Vec<ObjectSummary<'_>> {
        let matrix = Matrix::new(self);
        let objects = matrix.objects.iter().map(|object| {
            let text = summarize(&matrix.kernels, &object.outcomes()).text(&str::to_owned);
            ObjectSummary { object: object.name, text }
        });
        objects.collect()
    }
}
