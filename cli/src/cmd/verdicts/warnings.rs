//! The warnings of a verdict as lines.

use crate::text::{
    line::Line,
    style::{DIM, WARNING},
};
use core_relo_verdict::mismatch::{Mismatch, MismatchKind};

/// Returns the warnings as lines, each with the declarations of the object and of the kernel. With a limit,
/// the others are only counted.
pub(crate) fn warning_lines(warnings: &[Mismatch], limit: Option<usize>) -> Vec<Line> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    for Mismatch { kind, program, text, source, local, target, .. } in warnings.iter().take(limit) {
        let position = source.as_ref().map(|source| format!("{} ", source.position()));
        let line = Line::new().styled(WARNING, "warning: ").styled(DIM, position.as_deref().unwrap_or(""));
        lines.push(line.text(format_args!("{program}: {text}")));
        let other = if *kind == MismatchKind::Loader { "loader" } else { "kernel" };
        for (side, declaration) in [("object", local), (other, target)] {
            lines.push(Line::new().styled(DIM, format_args!("  {side}: ")).text(declaration));
        }
    }
    if let Some(more) = warnings.len().checked_sub(limit).filter(|more| *more > 0) {
        let plural = if more == 1 { "" } else { "s" };
        let more = format_args!("… and {more} more warning{plural}, see --format json");
        lines.push(Line::new().styled(DIM, more));
    }
    lines
}
