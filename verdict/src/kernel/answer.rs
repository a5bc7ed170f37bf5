//! Answers about a kernel, each with its evidence.

use core::fmt;
use core_relo_object::lockdown::Lockdown;
#[cfg(feature = "serde")]
use serde::ser::SerializeStruct as _;

/// The answer to a question about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each answer")]
pub enum Answer {
    /// The kernel has it.
    Present(Evidence),
    /// The kernel lacks it.
    Absent(Evidence),
    /// No evidence answers the question. The text is a clause that says why, or what to give: "the kernel's
    /// BTF has no enum bpf_func_id", "give the kernel's configuration (--kconfig)".
    Unknown(String),
}

/// The evidence for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[expect(clippy::exhaustive_structs, reason = "evidence is a source and its text")]
pub struct Evidence {
    /// The source of the evidence.
    pub source: EvidenceSource,
    /// The evidence, such as "enum bpf_func_id ends with BPF_FUNC_get_socket_cookie".
    pub text: String,
}

impl Evidence {
    /// Returns the evidence that lockdown is active on the machine.
    pub(super) fn of_lockdown(mode: Lockdown) -> Self {
        let text = format!("{} is `{}`", Lockdown::FILE, mode.word());
        Self { source: EvidenceSource::System, text }
    }
}

/// The source of evidence, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EvidenceSource {
    /// The kernel's BTF.
    Btf,
    /// The kernel's configuration.
    Kconfig,
    /// The kernel's symbols.
    Kallsyms,
    /// A setting of the running system.
    System,
    /// The kernel's version. Weak, because distributions backport features.
    Version,
    /// The object itself: every kernel answers the same.
    Object,
    /// A request to the running kernel.
    Probe,
}

impl EvidenceSource {
    /// All sources, strongest first.
    pub const ALL: &'static [Self] =
        &[Self::Btf, Self::Kconfig, Self::Kallsyms, Self::System, Self::Version, Self::Object, Self::Probe];

    /// Returns the source with a [word](Self::word).
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|source| source.word() == word)
    }

    /// Returns the word for JSON and text.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Btf => "btf",
            Self::Kconfig => "kconfig",
            Self::Kallsyms => "kallsyms",
            Self::System => "system",
            Self::Version => "version",
            Self::Object => "object",
            Self::Probe => "probe",
        }
    }
}

impl fmt::Display for EvidenceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Serializes to `present`, `evidence` and `question`; a value that the answer does not have is `null`.
#[cfg(feature = "serde")]
impl serde::Serialize for Answer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (is_present, evidence, question) = match self {
            Self::Present(evidence) => (Some(true), Some(evidence), None),
            Self::Absent(evidence) => (Some(false), Some(evidence), None),
            Self::Unknown(question) => (None, None, Some(question)),
        };
        let mut keys = serializer.serialize_struct("Answer", 3)?;
        keys.serialize_field("present", &is_present)?;
        keys.serialize_field("evidence", &evidence)?;
        keys.serialize_field("question", &question)?;
        keys.end()
    }
}

impl Answer {
    /// Returns the answer that the kernel has it, with what its BTF shows.
    pub fn present_in_btf(text: impl Into<String>) -> Self {
        Self::Present(Evidence { source: EvidenceSource::Btf, text: text.into() })
    }

    /// Returns the answer that the kernel lacks it, with what its BTF shows.
    pub fn absent_from_btf(text: impl Into<String>) -> Self {
        Self::Absent(Evidence { source: EvidenceSource::Btf, text: text.into() })
    }

    /// Returns the evidence that the kernel lacks it.
    pub(crate) fn into_absence(self) -> Option<Evidence> {
        match self {
            Self::Absent(evidence) => Some(evidence),
            Self::Present(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns whether the kernel has it for certain.
    pub const fn is_present(&self) -> bool {
        matches!(self, Self::Present(_))
    }
}
