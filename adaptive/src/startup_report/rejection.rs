//! The reasons why an alternative, an optional program or an optional map is not used.

use core_relo_loader::load::{Poison, RefusedProgram};
use core_relo_verdict::judge::{Reason, Verdict};

/// The reason why a program or map is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Rejection {
    /// The program or map.
    pub name: String,
    /// The step that failed.
    pub stage: RejectionStage,
    /// The reasons, in one line each. The reasons of a verdict end with their evidence.
    pub reasons: Vec<String>,
    /// The last line of the verifier's log, if the kernel refused the program.
    pub log_line: Option<String>,
    /// Whether the kernel only lacks the place that the program's section names.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) is_place: bool,
}

/// The step at which a program or map failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectionStage {
    /// The verdict is that the kernel refuses the program, or lacks the map. The kernel was not asked.
    Verdict,
    /// The load cannot be planned.
    Plan,
    /// The kernel refused the program or map.
    Load,
    /// The program loads, and cannot be attached.
    Attach,
}

impl RejectionStage {
    /// Returns the word for JSON: `verdict`, `plan`, `load`, `attach`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Plan => "plan",
            Self::Load => "load",
            Self::Attach => "attach",
        }
    }

    /// Returns the stage as the start of a sentence about a program or map.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Verdict => "not tried, the verdict is refused",
            Self::Plan => "cannot be planned",
            Self::Load => "the kernel refused it",
            Self::Attach => "cannot be attached",
        }
    }
}

impl Rejection {
    /// Creates the rejection of a program or map whose verdict is `refused` or `needs_input`.
    pub(crate) fn from_verdict<'r>(name: &str, reasons: impl IntoIterator<Item = &'r Reason>) -> Self {
        let worst = |reason: &&Reason| matches!(reason.verdict, Verdict::Refused | Verdict::NeedsInput);
        let reasons = reasons.into_iter().filter(worst).map(reason_text).collect();
        Self {
            name: name.to_owned(),
            stage: RejectionStage::Verdict,
            reasons,
            log_line: None,
            is_place: false,
        }
    }

    /// Creates the rejection of a program that uses a map which cannot be created.
    pub(crate) fn from_map(program: &str, map: &Self) -> Self {
        Self { name: program.to_owned(), ..map.clone() }
    }

    /// Creates the rejection of a program that the kernel refused.
    pub(crate) fn from_refusal(refused: &RefusedProgram) -> Self {
        let mut reason = refused.errno.to_string();
        match &refused.poison {
            Some(Poison::CoreRelo { reason: cause, .. }) => {
                let cause = cause.split_once('\n').map_or(&**cause, |(first_line, _)| first_line);
                reason =
                    format!("{reason}: it reaches an access that this kernel's types do not have: {cause}");
            }
            Some(Poison::Map(map)) => reason = format!("{reason}: it uses map {map}, which is not created"),
            Some(Poison::Kfunc(name) | Poison::IncompatibleKfunc { name, .. }) => {
                reason = format!(
                    "{reason}: it calls the kernel function {name}, which this kernel lacks or has otherwise"
                );
            }
            Some(_) | None => {}
        }
        if !refused.hint.is_empty() {
            reason = format!("{reason} ({})", refused.hint);
        }
        if let Some(source) = &refused.source {
            reason = format!("{reason}, at {source}");
        }
        Self {
            name: refused.program.clone(),
            stage: RejectionStage::Load,
            reasons: vec![reason],
            log_line: refused.last_lines().last().map(|line| (*line).to_owned()),
            is_place: false,
        }
    }

    /// Creates the rejection of a program or map for one reason.
    pub(crate) fn new(name: &str, stage: RejectionStage, reason: String) -> Self {
        Self { name: name.to_owned(), stage, reasons: vec![reason], log_line: None, is_place: false }
    }
}

/// Returns a reason of a verdict in one line: the problem, the source line, the evidence.
pub(crate) fn reason_text(reason: &Reason) -> String {
    let mut text = reason.text.clone();
    if let Some(source) = &reason.source {
        text = format!("{text}, at {}:{}", source.file, source.line);
    }
    if let Some(evidence) = &reason.evidence {
        text = format!("{text} [{}: {}]", evidence.source, evidence.text);
    }
    text
}
