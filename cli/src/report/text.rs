//! The summary of each object as a line of text.

use super::{matrix::Matrix, model::FleetReport, summary::summarize};
use crate::text::{line::Line, style::BOLD};

/// Returns a line per object: its name, and the kernels that load it.
pub(crate) fn summary_lines(report: &FleetReport) -> Vec<Line> {
    let matrix = Matrix::new(report);
    let line = |object: &super::matrix::ObjectLine<'_>| {
        let text = summarize(&matrix.kernels, &object.outcomes()).text(&str::to_owned);
        Line::new().styled(BOLD, object.name).text(": ").text(text)
    };
    matrix.objects.iter().map(line).collect()
}
