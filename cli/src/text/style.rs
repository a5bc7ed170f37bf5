//! The styles of text output.

use anstyle::{AnsiColor, Style};
use core_relo_verdict::judge::Verdict;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const CHANGE: Style = AnsiColor::Cyan.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
/// The style of margins and arrows in explanations.
pub(crate) const FRAME: Style = AnsiColor::Blue.on_default().bold();

/// Returns the style of an outcome or a verdict.
pub(crate) fn outcome_style(outcome: &str) -> Style {
    match outcome {
        "error" | "failed" | "bad_input" => ERROR,
        "poison" | "poisoned" => WARNING,
        "patch" => CHANGE,
        "skip" => DIM,
        _ => GOOD,
    }
}

/// Returns the style of a verdict.
pub(crate) const fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Loads => GOOD,
        Verdict::Refused => ERROR,
        Verdict::NeedsInput | Verdict::Unknown => WARNING,
    }
}
