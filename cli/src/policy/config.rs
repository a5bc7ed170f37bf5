//! The file `core-relo.toml`.

use super::{
    limits::{MAX_ENTRIES, MAX_FILE_BYTES},
    toml_value::{Table, TomlError, TomlFile},
};
use crate::{
    error::{BadInput, escape_path},
    policy::ConfigArgs,
    settings::{Setting, SettingGroup, SettingParser, SettingsArgs, UserSettings},
};
use core_relo_kernels::file;
use core_relo_report::policy::{AllowEntry, Glob, PATTERN_KEYS};
use core_relo_verdict::loaders::LoaderKind;
use std::{mem, path::Path};

/// The settings in `core-relo.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The accepted reasons: `[[allow]]`.
    pub(crate) allow: Vec<AllowEntry>,
    /// As `--strict`: `check.strict`.
    pub(crate) strict: bool,
    /// As `--loader`: `check.loader`.
    pub(crate) loader: Option<LoaderKind>,
    /// Settings of user space, for all objects (`check.max-entries`) and for those of a pattern
    /// (`[[settings]]`).
    pub(crate) settings: Vec<SettingGroup>,
    /// The kernels that the project supports, and mirrors: `[kernels]`, `[mirrors]`.
    pub(crate) kernels: KernelList,
}

/// The kernels that a project supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelList {
    /// The specifications: `kernels.specs`.
    pub(crate) specs: Vec<String>,
    /// The mirrors of distributions.
    pub(crate) mirrors: Vec<MirrorEntry>,
}

/// An entry of `[mirrors]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MirrorEntry {
    pub(crate) name: String,
    pub(crate) address: String,
}

/// The loader of a project's objects, and their settings of user space.
#[derive(Debug)]
pub(crate) struct ProjectLoad {
    pub(crate) loader: LoaderKind,
    pub(crate) user: UserSettings,
}

impl Config {
    /// Reads the configuration file that the arguments name, or the one of the project.
    pub(crate) fn of_project(args: &ConfigArgs) -> Result<Self, BadInput> {
        args.path()?.map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    /// Reads what the configuration file and the options of a command say about loads of some objects of the
    /// project, which need not have all names of the file. `loader` is the loader that the command asks for.
    pub(crate) fn load_of_project(
        args: &ConfigArgs,
        loader: Option<LoaderKind>,
        options: &SettingsArgs,
    ) -> Result<ProjectLoad, BadInput> {
        let mut config = Self::of_project(args)?;
        let loader = config.loader(loader);
        let user = config.take_settings(loader, options)?.for_one_of_project();
        Ok(ProjectLoad { loader, user })
    }

    /// Returns the loader that a command asks for, or else that of the file, or else libbpf.
    pub(crate) fn loader(&self, option: Option<LoaderKind>) -> LoaderKind {
        option.or(self.loader).unwrap_or(LoaderKind::Libbpf)
    }

    /// Takes the settings of user space out of the configuration, for objects that a loader loads, and adds
    /// those of the options, which take precedence.
    pub(crate) fn take_settings(
        &mut self,
        loader: LoaderKind,
        options: &SettingsArgs,
    ) -> Result<UserSettings, BadInput> {
        let mut user = UserSettings::for_loader(loader);
        mem::take(&mut self.settings).into_iter().try_for_each(|group| user.add(group))?;
        user.add_options(options)?;
        Ok(user)
    }

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
        root.check_keys(&["allow", "check", "kernels", "mirrors", "settings"])?;
        let mut config = Self::default();
        for table in root.tables("allow", MAX_ENTRIES)? {
            config.allow.push(parse_entry(name, &table)?);
        }
        if let Some(check) = root.table("check")? {
            check.check_keys(&["loader", "max-entries", "strict"])?;
            config.strict = check.boolean("strict")?.unwrap_or(false);
            config.loader = check.string("loader")?.map(|word| parse_loader(&check, word)).transpose()?;
            if let Some(maps) = check.table("max-entries")? {
                let settings = parse_values(name, &maps, &NUMBERS[0])?;
                let place = Some(format!("{name}:{}", maps.line()));
                config.settings.push(SettingGroup { place, object: None, demands_names: false, settings });
            }
        }
        if let Some(kernels) = root.table("kernels")? {
            kernels.check_keys(&["specs"])?;
            config.kernels.specs = kernels.strings("specs")?.into_iter().map(str::to_owned).collect();
        }
        if let Some(mirrors) = root.table("mirrors")? {
            for name in mirrors.keys() {
                let address = mirrors.string(name)?.map(str::to_owned);
                let entry = |address| MirrorEntry { name: name.to_owned(), address };
                config.kernels.mirrors.extend(address.map(entry));
            }
        }
        for table in root.tables("settings", MAX_ENTRIES)? {
            config.settings.push(parse_settings(name, &table)?);
        }
        Ok(config)
    }
}

/// Parses the word of a loader.
fn parse_loader(check: &Table<'_, '_>, word: &str) -> Result<LoaderKind, TomlError> {
    let words: Vec<_> = LoaderKind::ALL.iter().map(|loader| loader.word()).collect();
    let unknown = || check.error_at("loader", format!("unknown loader, expected {}", words.join(", ")));
    LoaderKind::from_word(word).ok_or_else(unknown)
}

/// A table of settings: its key, and the parser of `name=value`.
type SettingTable = (&'static str, SettingParser);

/// The tables whose values are numbers.
const NUMBERS: [SettingTable; 3] = [
    ("max-entries", Setting::parse_max_entries),
    ("key-size", Setting::parse_key_size),
    ("value-size", Setting::parse_value_size),
];

/// The tables whose values are strings.
const STRINGS: [SettingTable; 4] = [
    ("inner-map", Setting::parse_inner_map),
    ("program-type", Setting::parse_program_type),
    ("attach-target", Setting::parse_attach_target),
    ("ksym", Setting::parse_ksym),
];

/// The tables whose values are strings, numbers or booleans.
const SCALARS: [SettingTable; 1] = [("set", Setting::parse_global)];

/// The tables whose values are booleans.
const BOOLEANS: [SettingTable; 1] = [("autoload", Setting::parse_autoload)];

/// The key of a list of maps.
const WITHOUT_MAP: &str = "without-map";

/// Parses a table of settings for the objects of a pattern.
fn parse_settings(file: &str, table: &Table<'_, '_>) -> Result<SettingGroup, TomlError> {
    let tables = || NUMBERS.iter().chain(&STRINGS).chain(&SCALARS).chain(&BOOLEANS);
    let keys: Vec<_> = ["object", WITHOUT_MAP].into_iter().chain(tables().map(|(key, _)| *key)).collect();
    table.check_keys(&keys)?;
    let object = table.string("object")?.map(Glob::new).transpose();
    let object = object.map_err(|e| table.error_at("object", e))?;
    let mut settings = Vec::new();
    for kind in tables() {
        if let Some(values) = table.table(kind.0)? {
            settings.extend(parse_values(file, &values, kind)?);
        }
    }
    for map in table.strings(WITHOUT_MAP)? {
        let setting =
            Setting::parse_without_map(map).map_err(|problem| table.error_at(WITHOUT_MAP, problem))?;
        settings.push(Setting { place: Some(place(file, table, WITHOUT_MAP)), ..setting });
    }
    let place = Some(format!("{file}:{}", table.line()));
    Ok(SettingGroup { place, object, demands_names: true, settings })
}

/// Parses the settings of a table: a name and a value each.
fn parse_values(
    file: &str,
    table: &Table<'_, '_>,
    (key, parse): &SettingTable,
) -> Result<Vec<Setting>, TomlError> {
    let is_one_of = |tables: &[SettingTable]| tables.iter().any(|(known, _)| known == key);
    let read = |name: &str| {
        let value = if is_one_of(&NUMBERS) {
            table.count(name)?.map(|count| count.to_string())
        } else if is_one_of(&BOOLEANS) {
            table.boolean(name)?.map(|value| value.to_string())
        } else if is_one_of(&STRINGS) {
            table.string(name)?.map(str::to_owned)
        } else {
            table.scalar(name)?
        };
        value.ok_or_else(|| table.error(format!("no `{name}`")))
    };
    let parse = |name: &str| {
        let setting = parse(&format!("{name}={}", read(name)?)).map_err(|e| table.error_at(name, e))?;
        Ok(Setting { place: Some(place(file, table, name)), ..setting })
    };
    table.keys().map(parse).collect()
}

/// Returns the place of a key's value in a file: `core-relo.toml:3:7`.
fn place(file: &str, table: &Table<'_, '_>, key: &str) -> String {
    let TomlError { line, column, .. } = table.error_at(key, "");
    format!("{file}:{line}:{column}")
}

/// Parses an entry of the allow list.
fn parse_entry(file: &str, table: &Table<'_, '_>) -> Result<AllowEntry, TomlError> {
    let [object, program, kernel, kind] = PATTERN_KEYS;
    table.check_keys(&[object, program, kernel, kind, "reason"])?;
    let place = format!("{file}:{}", table.line());
    let mut entry = AllowEntry::new(place);
    entry.reason = table.string("reason")?.map(str::to_owned);
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
