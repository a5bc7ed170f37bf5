//! Reports of `check` on a fleet of kernels, for people and for CI: pure functions from a [`FleetReport`] to
//! text.
//!
//! | module | contents |
//! |---|---|
//! | `model` | the results that a report shows |
//! | `matrix` | the results by object and kernel, sorted |
//! | `findings` | the distinct reasons of an object, each with its programs and kernels |
//! | `warnings` | the distinct silent mismatches of objects, each with its kernels |
//! | `real_loads` | the distinct real loads of an object's programs, each with its verdict and kernels |
//! | `summary` | the verdicts on an object in a few words: "loads from 5.15 on" |
//! | `html`, `sarif`, `junit`, `markdown`, `text` | the formats |
//!
//! Names and messages may contain anything. Each format escapes them where it writes them (`escape`).

mod escape;
mod findings;
mod html;
mod junit;
mod labels;
mod limits;
mod markdown;
mod matrix;
mod model;
#[cfg(test)]
mod real_load_tests;
mod real_loads;
mod rules;
mod sarif;
mod shared_verdicts;
mod summary;
#[cfg(test)]
mod test_fleet;
#[cfg(test)]
mod tests;
mod text;
mod warnings;

use matrix::Matrix;
use std::io::{self, Write};

pub(crate) use model::{FleetReport, KernelWarning, RealLoad, Row};
pub(crate) use text::summary_lines;

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// A page that needs no other file.
    Html,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit XML, for test reports.
    Junit,
    /// Markdown, for a comment on a pull request.
    Markdown,
}

/// Writes a report.
pub(crate) fn write_report(
    format: ReportFormat,
    report: &FleetReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    let matrix = Matrix::new(report);
    match format {
        ReportFormat::Html => html::write(&matrix, out),
        ReportFormat::Sarif => sarif::write(&matrix, out),
        ReportFormat::Junit => junit::write(&matrix, out),
        ReportFormat::Markdown => markdown::write(&matrix, out),
    }
}
