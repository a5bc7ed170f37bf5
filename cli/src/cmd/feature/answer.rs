//! The answer to a question about a kernel.

use core_relo_loader::features::{ProbeError, Probed};
use core_relo_verdict::kernel::{Answer, KconfigAnswer};
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
    pub(super) support: Support,
    /// The source of the evidence: `probe`, or a source of `check`. `None` if nothing answers.
    pub(super) source: Option<&'static str>,
    /// The evidence, or what is missing.
    pub(super) evidence: String,
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

/// The source of answers of the running kernel.
pub(super) const PROBE: &str = "probe";

impl FeatureAnswer {
    pub(super) fn new(support: Support, source: Option<&'static str>, evidence: impl Into<String>) -> Self {
        Self { support, source, evidence: evidence.into(), value: None, callers: None }
    }

    pub(super) fn unknown(question: impl Into<String>) -> Self {
        Self::new(Support::Unknown, None, question)
    }

    pub(super) fn with_value(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }
}

impl From<Answer> for FeatureAnswer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Present(evidence) => Self::new(Support::Yes, Some(evidence.source.word()), evidence.text),
            Answer::Absent(evidence) => Self::new(Support::No, Some(evidence.source.word()), evidence.text),
            Answer::Unknown(question) => Self::unknown(question),
        }
    }
}

impl From<KconfigAnswer> for FeatureAnswer {
    fn from(answer: KconfigAnswer) -> Self {
        match answer {
            KconfigAnswer::Value(value, evidence) => {
                Self::new(Support::Yes, Some(evidence.source.word()), evidence.text).with_value(value)
            }
            KconfigAnswer::NotSet(evidence) => {
                Self::new(Support::No, Some(evidence.source.word()), evidence.text)
            }
            KconfigAnswer::Unknown(question) => Self::unknown(question),
        }
    }
}

impl From<Result<Probed, ProbeError>> for FeatureAnswer {
    fn from(result: Result<Probed, ProbeError>) -> Self {
        match result {
            Ok(probed) => {
                let support = if probed.is_supported { Support::Yes } else { Support::No };
                Self::new(support, Some(PROBE), probed.evidence)
            }
            Err(error) => Self::unknown(error.to_string()),
        }
    }
}
