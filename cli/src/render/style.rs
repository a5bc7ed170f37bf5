//! The styles of text output.

use anstyle::{AnsiColor, Style};
use core_relo::plan::{Decision, RelocError};

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const CHANGE: Style = AnsiColor::Cyan.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
/// Margins and arrows of explanations.
pub(crate) const FRAME: Style = AnsiColor::Blue.on_default().bold();

/// What became of a record, in one word, as JSON and text call it.
pub(crate) fn outcome(decision: &Result<Decision, RelocError>) -> &'static str {
    match decision {
        Ok(Decision::Keep { .. }) => "keep",
        Ok(Decision::Patch { .. }) => "patch",
        Ok(Decision::Poison { .. }) => "poison",
        Ok(Decision::Skip(_)) => "skip",
        Ok(_) => "unknown",
        Err(_) => "error",
    }
}

/// The colour of an outcome.
pub(crate) fn of_outcome(outcome: &str) -> Style {
    match outcome {
        "error" | "failed" | "bad_input" => ERROR,
        "poison" | "poisoned" => WARNING,
        "patch" => CHANGE,
        "skip" => DIM,
        _ => GOOD,
    }
}
