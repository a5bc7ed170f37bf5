//! An entry of the allow list.

use super::glob::{Glob, GlobError};
use core_relo::explain::{list_words, suggest_word};
use core_relo_verdict::judge::ReasonKind;
use std::{collections::HashMap, fmt, str::FromStr, sync::Arc};

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

    /// Creates the entry with the patterns that [`pattern`](Self::pattern) returns. A glob may contain
    /// commas.
    fn from_pattern(text: &str, place: &str) -> Result<Self, PatternError> {
        let mut entry = Self::new(place);
        let is_pair = |part: &str| part.split_once('=').is_some_and(|(key, _)| PATTERN_KEYS.contains(&key));
        let mut pairs = Vec::<String>::new();
        for part in text.split(',') {
            match pairs.last_mut() {
                Some(pair) if !is_pair(part) => *pair += &format!(",{part}"),
                _ => pairs.push(part.to_owned()),
            }
        }
        for pair in pairs {
            let (key, value) = pair.split_once('=').ok_or_else(|| PatternError::NoValue(pair.clone()))?;
            entry.set(key, value)?;
        }
        Ok(entry)
    }

    /// Returns the place of the entry: `core-relo.toml:3`, or `--allow`; empty for the rule about other
    /// architectures.
    pub fn place(&self) -> &str {
        &self.place
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
pub(crate) type SharedEntry = Arc<AllowEntry>;

/// The entries of stored results, each in memory once.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedEntries {
    by_texts: HashMap<[String; 3], SharedEntry>,
}

impl SharedEntries {
    /// Returns the entry with a pattern, a reason and a place.
    pub(crate) fn entry(
        &mut self,
        pattern: &str,
        reason: Option<&str>,
        place: &str,
    ) -> Result<SharedEntry, PatternError> {
        let key = [pattern, reason.unwrap_or(""), place].map(str::to_owned);
        if let Some(known) = self.by_texts.get(&key).filter(|known| known.reason.as_deref() == reason) {
            return Ok(Arc::clone(known));
        }
        let mut entry = AllowEntry::from_pattern(pattern, place)?;
        entry.reason = reason.map(str::to_owned);
        let entry = Arc::new(entry);
        self.by_texts.insert(key, Arc::clone(&entry));
        Ok(entry)
    }
}

fn kind_words() -> impl Iterator<Item = &'static str> + Clone {
    ReasonKind::ALL.iter().map(|kind| kind.word())
}
