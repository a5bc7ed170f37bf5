//! An entry of the allow list.

use crate::{
    glob::{Glob, GlobError},
    words::{list, suggestion},
};
use core_relo_verdict::judge::ReasonKind;
use std::{fmt, str::FromStr, sync::Arc};

/// The keys of a pattern, in the order in which they are printed.
pub(super) const PATTERN_KEYS: [&str; 4] = ["object", "program", "kernel", "kind"];

/// All kinds of reasons.
const KINDS: [ReasonKind; 20] = [
    ReasonKind::Loader,
    ReasonKind::Architecture,
    ReasonKind::Relocation,
    ReasonKind::Helper,
    ReasonKind::Kfunc,
    ReasonKind::Ksym,
    ReasonKind::MapType,
    ReasonKind::MapSize,
    ReasonKind::MapFlag,
    ReasonKind::ProgramType,
    ReasonKind::AttachType,
    ReasonKind::AttachTarget,
    ReasonKind::StructOps,
    ReasonKind::Context,
    ReasonKind::ReturnValue,
    ReasonKind::Kconfig,
    ReasonKind::Instruction,
    ReasonKind::Btf,
    ReasonKind::Object,
    ReasonKind::Budget,
];

/// An entry of the allow list: the reasons to accept. A missing pattern matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowEntry {
    pub(super) object: Option<Glob>,
    pub(super) program: Option<Glob>,
    pub(super) kernel: Option<Glob>,
    pub(super) kind: Option<ReasonKind>,
    /// Why the project accepts the reasons.
    pub(crate) reason: Option<String>,
    /// The place of the entry: `core-relo.toml:3`, or `--allow`.
    pub(super) place: String,
}

/// The error of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("expected KEY=PATTERN: `{0}` has no `=`")]
    NoValue(String),
    #[error("unknown key `{key}`, expected {}{}", list(PATTERN_KEYS), suggestion(key, PATTERN_KEYS))]
    UnknownKey { key: String },
    #[error("the key `{0}` is given twice")]
    RepeatedKey(&'static str),
    #[error("{0}")]
    Glob(GlobError),
    #[error("unknown kind `{kind}`, expected {}{}", list(kind_words()), suggestion(kind, kind_words()))]
    UnknownKind { kind: String },
}

impl AllowEntry {
    /// Creates the entry that accepts objects for another architecture.
    pub(super) fn for_other_architectures() -> Self {
        let reason = "no program runs on another architecture".to_owned();
        Self { kind: Some(ReasonKind::Architecture), reason: Some(reason), ..Self::default() }
    }

    /// Sets the pattern of a key.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), PatternError> {
        let glob = || Glob::new(value).map_err(PatternError::Glob);
        match key {
            "object" => set_once(&mut self.object, "object", glob()?),
            "program" => set_once(&mut self.program, "program", glob()?),
            "kernel" => set_once(&mut self.kernel, "kernel", glob()?),
            "kind" => {
                let kind = KINDS.into_iter().find(|kind| kind.word() == value);
                let unknown = || PatternError::UnknownKind { kind: value.to_owned() };
                set_once(&mut self.kind, "kind", kind.ok_or_else(unknown)?)
            }
            _ => Err(PatternError::UnknownKey { key: key.to_owned() }),
        }
    }

    /// Returns whether the entry has a pattern.
    pub(super) fn has_pattern(&self) -> bool {
        self.object.is_some() || self.program.is_some() || self.kernel.is_some() || self.kind.is_some()
    }

    /// Returns the words for people: `allowed: REASON`, or without a reason `allowed by PLACE`.
    pub(crate) fn words(&self) -> String {
        match &self.reason {
            Some(reason) => format!("allowed: {reason}"),
            None => format!("allowed by {}", self.place),
        }
    }

    /// Returns the patterns in the notation of `--allow`.
    pub(crate) fn pattern(&self) -> String {
        let kind = self.kind.map(|kind| kind.word().to_owned());
        let globs =
            [&self.object, &self.program, &self.kernel].map(|glob| glob.as_ref().map(Glob::to_string));
        let values = globs.into_iter().chain([kind]).zip(PATTERN_KEYS);
        let pairs = values.filter_map(|(value, key)| Some(format!("{key}={}", value?)));
        pairs.collect::<Vec<_>>().join(",")
    }
}

fn set_once<T>(slot: &mut Option<T>, key: &'static str, value: T) -> Result<(), PatternError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(PatternError::RepeatedKey(key)),
    }
}

/// Parses the value of `--allow`: `KEY=PATTERN`, several of them separated by commas.
impl FromStr for AllowEntry {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut entry = Self { place: "--allow".to_owned(), ..Self::default() };
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(|| PatternError::NoValue(pair.to_owned()))?;
            entry.set(key, value)?;
        }
        Ok(entry)
    }
}

/// The patterns, and the place of the entry.
impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.pattern())
    }
}

/// An entry that several results share.
pub(super) type SharedEntry = Arc<AllowEntry>;

fn kind_words() -> impl Iterator<Item = &'static str> + Clone {
    KINDS.iter().map(|kind| kind.word())
}
