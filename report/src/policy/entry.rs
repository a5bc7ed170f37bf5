//! An entry of the allow list.

use super::glob::{Glob, GlobError};
use core_relo::explain::{list_words, suggest_word};
use core_relo_verdict::judge::ReasonKind;
use std::{fmt, str::FromStr, sync::Arc};

/// The keys of a pattern, in the order in which they are printed.
pub const PATTERN_KEYS: [&str; 4] = ["object", "program", "kernel", "kind"];

/// An entry of the allow list: the reasons to accept. A missing pattern matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllowEntry {
    pub(super) object: Option<Glob>,
    pub(super) program: Option<Glob>,
    pub(super) kernel: Option<Glob>,
    pub(super) kind: Option<ReasonKind>,
    /// Why the project accepts the reasons.
    pub reason: Option<String>,
    /// The place of the entry: `core-relo.toml:3`, or `--allow`.
    pub(super) place: String,
}

/// The error of a pattern.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A pair without a value.
    #[error("expected KEY=PATTERN: `{0}` has no `=`")]
    NoValue(String),
    /// A key that is not one of [`PATTERN_KEYS`].
    #[error("unknown key `{key}`, expected {}{}", list_words(PATTERN_KEYS), suggest_word(key, PATTERN_KEYS))]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key that has a pattern already.
    #[error("the key `{0}` is given twice")]
    RepeatedKey(&'static str),
    /// The value is no pattern.
    #[error("{0}")]
    Glob(GlobError),
    /// The value of `kind` is no [word](ReasonKind::word) of a kind.
    #[error(
        "unknown kind `{kind}`, expected {}{}",
        list_words(kind_words()),
        suggest_word(kind, kind_words())
    )]
    UnknownKind {
        /// The value.
        kind: String,
    },
}

core_relo::debug_as_message!(PatternError);

impl AllowEntry {
    /// Creates an entry without patterns, which accepts everything. `place` is where the entry is written:
    /// `core-relo.toml:3`.
    pub fn new(place: impl Into<String>) -> Self {
        Self { place: place.into(), ..Self::default() }
    }

    /// Creates the entry that accepts objects for another architecture.
    pub(super) fn for_other_architectures() -> Self {
        let reason = "no program runs on another architecture".to_owned();
        Self { kind: Some(ReasonKind::Architecture), reason: Some(reason), ..Self::default() }
    }

    /// Sets the pattern of a key.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PatternError> {
        let glob = || Glob::new(value).map_err(PatternError::Glob);
        match key {
            "object" => set_once(&mut self.object, "object", glob()?),
            "program" => set_once(&mut self.program, "program", glob()?),
            "kernel" => set_once(&mut self.kernel, "kernel", glob()?),
            "kind" => {
                let unknown = || PatternError::UnknownKind { kind: value.to_owned() };
                set_once(&mut self.kind, "kind", ReasonKind::from_word(value).ok_or_else(unknown)?)
            }
            _ => Err(PatternError::UnknownKey { key: key.to_owned() }),
        }
    }

    /// Returns whether the entry has a pattern.
    pub fn has_pattern(&self) -> bool {
        self.object.is_some() || self.program.is_some() || self.kernel.is_some() || self.kind.is_some()
    }

    /// Returns the words for people: `allowed: REASON`, or without a reason `allowed by PLACE`.
    pub fn words(&self) -> String {
        match &self.reason {
            Some(reason) => format!("allowed: {reason}"),
            None => format!("allowed by {}", self.place),
        }
    }

    /// Returns the patterns in the notation of `--allow`.
    pub fn pattern(&self) -> String {
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
        let mut entry = Self::new("--allow");
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
    ReasonKind::ALL.iter().map(|kind| kind.word())
}
