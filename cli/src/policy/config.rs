//! The file `core-relo.toml`.

use super::{
    entry::{AllowEntry, PATTERN_KEYS},
    limits::{MAX_ENTRIES, MAX_FILE_BYTES},
    toml_value::{Table, TomlError, TomlFile},
};
use crate::{
    args::load::MapNumber,
    error::{BadInput, escape_path},
    input::file,
};
use core_relo_verdict::loaders::Loader;
use std::path::Path;

/// The settings in `core-relo.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The accepted reasons: `[[allow]]`.
    pub(crate) allow: Vec<AllowEntry>,
    /// As `--strict`: `check.strict`.
    pub(crate) strict: bool,
    /// As `--loader`: `check.loader`.
    pub(crate) loader: Option<Loader>,
    /// As `--max-entries`: `check.max-entries`.
    pub(crate) max_entries: Vec<MapNumber>,
}

impl Config {
    /// Reads a configuration file.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let bytes = file::read(path, MAX_FILE_BYTES)?;
        let text = str::from_utf8(&bytes).map_err(|e| {
            BadInput::for_path(path, format_args!("is no UTF-8 from byte {} on", e.valid_up_to()))
        })?;
        Self::parse(&escape_path(path), text).map_err(|e| {
            let bad = BadInput::new(format!("{}:{}:{}", escape_path(path), e.line, e.column), e.problem);
            match e.help {
                Some(help) => bad.help(help),
                None => bad,
            }
        })
    }

    /// Parses a configuration. `name` is the file's name in messages.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, TomlError> {
        let file = TomlFile::parse(text)?;
        let root = file.root();
        root.check_keys(&["allow", "check"])?;
        let mut config = Self::default();
        for table in root.tables("allow", MAX_ENTRIES)? {
            config.allow.push(parse_entry(name, &table)?);
        }
        if let Some(check) = root.table("check")? {
            check.check_keys(&["loader", "max-entries", "strict"])?;
            config.strict = check.boolean("strict")?.unwrap_or_default();
            config.loader = check.string("loader")?.map(|word| parse_loader(&check, word)).transpose()?;
            if let Some(maps) = check.table("max-entries")? {
                let entries = maps.counts()?.into_iter();
                config.max_entries = entries.map(|(map, count)| MapNumber { map, number: count }).collect();
            }
        }
        Ok(config)
    }
}

/// Parses the word of a loader.
fn parse_loader(check: &Table<'_, '_>, word: &str) -> Result<Loader, TomlError> {
    let words: Vec<_> = Loader::ALL.iter().map(|loader| loader.word()).collect();
    let unknown = || check.error_at("loader", format!("unknown loader, expected {}", words.join(", ")));
    Loader::from_word(word).ok_or_else(unknown)
}

/// Parses an entry of the allow list.
fn parse_entry(file: &str, table: &Table<'_, '_>) -> Result<AllowEntry, TomlError> {
    let [object, program, kernel, kind] = PATTERN_KEYS;
    table.check_keys(&[object, program, kernel, kind, "reason"])?;
    let place = format!("{file}:{}", table.line());
    let mut entry =
        AllowEntry { reason: table.string("reason")?.map(str::to_owned), place, ..AllowEntry::default() };
    for key in PATTERN_KEYS {
        if let Some(value) = table.string(key)? {
            entry.set(key, value).map_err(|e| table.error_at(key, e))?;
        }
    }
    if entry.has_pattern() {
        return Ok(entry);
    }
    let problem = "the entry has no pattern, and would accept everything";
    Err(table.error(problem).help("add `object`, `program`, `kernel` or `kind`"))
}
