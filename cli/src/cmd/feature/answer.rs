//! The answer to a question about a kernel.

use core_relo_loader::features::ProbeResult;
use core_relo_verdict::kernel::{Answer, Evidence, EvidenceSource, KconfigAnswer};
use serde::Serialize;

/// Whether a kernel has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Support {
    Yes,
    No,
    Unknown,
}

impl Support {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer to a question about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeatureAnswer {
    pub(super) answer: Answer,
    /// The value of a setting or an option.
    pub(super) value: Option<String>,
    /// The program types that may call a helper or kfunc, if types were given.
    pub(super) callers: Option<Callers>,
}

/// The program types that may call a helper or kfunc. Types that the kernel lacks are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Callers {
    pub(super) yes: Vec<String>,
    pub(super) no: Vec<String>,
    pub(super) unknown: Vec<String>,
}

impl Callers {
    /// Returns whether several program types were given, and some may call it.
    pub(super) fn has_several(&self) -> bool {
        !self.yes.is_empty() && self.yes.len() + self.no.len() + self.unknown.len() > 1
    }
}

impl FeatureAnswer {
    pub(super) const fn support(&self) -> Support {
        support(&self.answer)
    }

    /// Returns the word for the source of the evidence. `None` if nothing answers.
    pub(super) const fn source(&self) -> Option<&'static str> {
        match &self.answer {
            Answer::Present(evidence) | Answer::Absent(evidence) => Some(evidence.source.word()),
            Answer::Unknown(_) => None,
        }
    }

    /// Returns the evidence, or what is missing.
    pub(super) fn evidence(&self) -> &str {
        match &self.answer {
            Answer::Present(evidence) | Answer::Absent(evidence) => &evidence.text,
            Answer::Unknown(question) => question,
        }
    }
}

pub(super) const fn support(answer: &Answer) -> Support {
    match answer {
        Answer::Present(_) => Support::Yes,
        Answer::Absent(_) => Support::No,
        Answer::Unknown(_) => Support::Unknown,
    }
}

impl From<Answer> for FeatureAnswer {
    fn from(answer: Answer) -> Self {
        Self { answer, value: None, callers: None }
    }
}

impl From<KconfigAnswer> for FeatureAnswer {
    fn from(answer: KconfigAnswer) -> Self {
        match answer {
            KconfigAnswer::Value(value, evidence) => {
                Self { value: Some(value), ..Answer::Present(evidence).into() }
            }
            KconfigAnswer::NotSet(evidence) => Answer::Absent(evidence).into(),
            KconfigAnswer::Unknown(question) => Answer::Unknown(question).into(),
        }
    }
}

/// Returns the answer of a probe, with the source of its evidence.
pub(super) fn probed(source: EvidenceSource, result: ProbeResult) -> Answer {
    match result {
        Ok(probed) => {
            let evidence = Evidence { source, text: probed.evidence };
            if probed.is_supported { Answer::Present(evidence) } else { Answer::Absent(evidence) }
        }
        Err(error) => Answer::Unknown(error.to_string()),
    }
}
