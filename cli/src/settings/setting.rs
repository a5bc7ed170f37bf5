//! A setting, parsed from the argument of an option.

use crate::error::BadInput;
use core_relo_loader::{
    load_plan::{SymbolAddress, SymbolAddressSyntax},
    object::MapType,
};
use std::{fmt, num::NonZeroU32};

/// The form of the definition of an inner map.
const INNER_MAP: &str = "TYPE:KEY:VALUE:ENTRIES[:FLAGS]";

/// A setting of user space for a program, a map or a variable: an option with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The name of the program, map or variable.
    pub(crate) name: String,
    pub(crate) value: SettingValue,
    /// The argument of the option.
    pub(crate) argument: String,
    /// The place in `core-relo.toml`: file, line and column. `None` for an option of the command.
    pub(crate) place: Option<String>,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingValue {
    /// The value of a variable, as text.
    Global(String),
    /// A section name, or the kernel's name of a program type.
    ProgramType(String),
    AttachTarget(AttachTo),
    /// Whether the program is loaded.
    Autoload(bool),
    MaxEntries(u32),
    KeySize(u32),
    ValueSize(u32),
    InnerMap(InnerMap),
    /// The map is not created.
    WithoutMap,
    /// The address of a kernel symbol without a type.
    SymbolAddress(SymbolAddress),
    /// A definition of an inner map with this defect, which the command reports in one line.
    BadInnerMap(String),
}

/// The function that a program is loaded for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttachTo {
    pub(crate) function: String,
    /// The loaded program that has the function: its id, name or pin.
    pub(crate) of_program: Option<String>,
}

/// The definition of an inner map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InnerMap {
    pub(crate) map_type: MapType,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
}

/// A kind of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Program,
    Map,
    Global,
    /// A kernel symbol without a type.
    Symbol,
}

impl NameKind {
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Map => "map",
            Self::Global => "global",
            Self::Symbol => "kernel symbol without a type",
        }
    }
}

/// The properties of a kind of settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingKind {
    pub(super) option: &'static str,
    /// The kind of what the settings name.
    pub(super) names: NameKind,
    /// The place in the order of application: the size of a section decides on the variables in it.
    pub(super) rank: u8,
}

impl SettingValue {
    pub(super) const fn kind(&self) -> SettingKind {
        use NameKind as N;
        let (option, names, rank) = match self {
            Self::WithoutMap => ("--without-map", N::Map, 0),
            Self::InnerMap(_) | Self::BadInnerMap(_) => ("--inner-map", N::Map, 1),
            Self::MaxEntries(_) => ("--max-entries", N::Map, 2),
            Self::KeySize(_) => ("--key-size", N::Map, 2),
            Self::ValueSize(_) => ("--value-size", N::Map, 2),
            Self::ProgramType(_) => ("--program-type", N::Program, 3),
            Self::AttachTarget(_) => ("--attach-target", N::Program, 4),
            Self::Autoload(_) => ("--autoload", N::Program, 5),
            Self::Global(_) => ("--set", N::Global, 6),
            Self::SymbolAddress(_) => ("--ksym", N::Symbol, 7),
        };
        SettingKind { option, names, rank }
    }

    /// Returns the option.
    pub(crate) const fn option(&self) -> &'static str {
        self.kind().option
    }
}

/// Prints the option with its argument: `--max-entries events=4096`.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value.option(), self.argument)
    }
}

/// A parser of the argument of an option.
pub(crate) type SettingParser = fn(&str) -> Result<Setting, String>;

impl Setting {
    /// Parses `NAME=VALUE` of `--set`.
    pub(crate) fn parse_global(text: &str) -> Result<Self, String> {
        let (name, value) = split(text, "expected NAME=VALUE")?;
        Ok(Self::new(text, name, SettingValue::Global(value.to_owned())))
    }

    /// Parses `PROG=TYPE`.
    pub(crate) fn parse_program_type(text: &str) -> Result<Self, String> {
        let (name, word) = split(text, "expected PROG=TYPE")?;
        Ok(Self::new(text, name, SettingValue::ProgramType(word.to_owned())))
    }

    /// Parses `PROG=FUNC` or `PROG=FUNC@PROGRAM`.
    pub(crate) fn parse_attach_target(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected PROG=FUNC or PROG=FUNC@PROGRAM";
        let (name, target) = split(text, EXPECTED)?;
        let (function, of_program) =
            target.split_once('@').map_or((target, None), |(function, of)| (function, Some(of)));
        if function.is_empty() || of_program == Some("") {
            return Err(EXPECTED.to_owned());
        }
        let target = AttachTo { function: function.to_owned(), of_program: of_program.map(str::to_owned) };
        Ok(Self::new(text, name, SettingValue::AttachTarget(target)))
    }

    /// Parses `PROG`, `PROG=yes` or `PROG=no`.
    pub(crate) fn parse_autoload(text: &str) -> Result<Self, String> {
        let (name, word) = text.split_once('=').unwrap_or((text, "yes"));
        let is_loaded = match word {
            "yes" | "true" => true,
            "no" | "false" => false,
            _ => return Err("expected PROG, PROG=yes or PROG=no".to_owned()),
        };
        if name.is_empty() {
            return Err("expected a name".to_owned());
        }
        Ok(Self::new(text, name, SettingValue::Autoload(is_loaded)))
    }

    /// Parses `MAP=N` of `--max-entries`.
    pub(crate) fn parse_max_entries(text: &str) -> Result<Self, String> {
        Self::parse_number(text, SettingValue::MaxEntries)
    }

    /// Parses `MAP=N` of `--key-size`.
    pub(crate) fn parse_key_size(text: &str) -> Result<Self, String> {
        Self::parse_number(text, SettingValue::KeySize)
    }

    /// Parses `MAP=N` of `--value-size`.
    pub(crate) fn parse_value_size(text: &str) -> Result<Self, String> {
        Self::parse_number(text, SettingValue::ValueSize)
    }

    fn parse_number(text: &str, value: fn(u32) -> SettingValue) -> Result<Self, String> {
        let (name, number) = split(text, "expected MAP=N")?;
        let number: NonZeroU32 =
            number.parse().map_err(|_no_number| "expected MAP=N with a number from 1 to 4294967295")?;
        Ok(Self::new(text, name, value(number.get())))
    }

    /// Parses `MAP=TYPE:KEY:VALUE:ENTRIES[:FLAGS]`.
    pub(crate) fn parse_inner_map(text: &str) -> Result<Self, String> {
        let (name, definition) = split(text, &format!("expected MAP={INNER_MAP}"))?;
        Ok(Self::new(text, name, SettingValue::InnerMap(InnerMap::parse(definition)?)))
    }

    /// Parses the argument of `--inner-map`. The defect of a definition is kept for the command.
    pub(crate) fn parse_inner_map_option(text: &str) -> Result<Self, String> {
        let (name, definition) = split(text, &format!("expected MAP={INNER_MAP}"))?;
        let value =
            InnerMap::parse(definition).map_or_else(SettingValue::BadInnerMap, SettingValue::InnerMap);
        Ok(Self::new(text, name, value))
    }

    /// Parses the name of `--without-map`.
    pub(crate) fn parse_without_map(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected a name".to_owned());
        }
        Ok(Self::new(text, text, SettingValue::WithoutMap))
    }

    /// Parses `NAME=ADDRESS` of `--ksym`.
    pub(crate) fn parse_ksym(text: &str) -> Result<Self, String> {
        let (name, address) = split(text, "expected NAME=ADDRESS or NAME=SYMBOL+OFFSET")?;
        let address = address.parse().map_err(|e: SymbolAddressSyntax| e.to_string())?;
        Ok(Self::new(text, name, SettingValue::SymbolAddress(address)))
    }

    fn new(argument: &str, name: &str, value: SettingValue) -> Self {
        Self { name: name.to_owned(), value, argument: argument.to_owned(), place: None }
    }

    /// Adds the place in `core-relo.toml` to an error of the setting.
    pub(super) fn locate(&self, bad: BadInput) -> BadInput {
        match &self.place {
            None => bad,
            Some(place) => {
                BadInput { file: place.clone(), what: format!("{}: {}", bad.file, bad.what), ..bad }
            }
        }
    }

    /// Returns the warning about a setting that changes nothing in an object.
    pub(super) fn ineffective(&self, object: &str, reason: &str) -> String {
        let place = self.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
        format!("{place}{object}: {self}: changes nothing: {reason}")
    }
}

/// Splits `name=value`. The name is not empty.
fn split<'t>(text: &'t str, expected: &str) -> Result<(&'t str, &'t str), String> {
    text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| expected.to_owned())
}

impl InnerMap {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("expected {INNER_MAP}, such as hash:4:8:64");
        let parts: Vec<_> = text.split(':').collect();
        let (map_type, key, value, entries, flags) = match *parts {
            [map_type, key, value, entries] => (map_type, key, value, entries, "0"),
            [map_type, key, value, entries, flags] => (map_type, key, value, entries, flags),
            _ => return Err(expected()),
        };
        let map_type = parse_map_type(map_type)?;
        if matches!(map_type, MapType::ArrayOfMaps | MapType::HashOfMaps) {
            return Err(format!("{map_type}: an inner map holds no maps, expected another type"));
        }
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).map_err(|_no_number| expected()),
            None => word.parse().map_err(|_no_number| expected()),
        };
        Ok(Self {
            map_type,
            key_size: number(key)?,
            value_size: number(value)?,
            max_entries: number(entries)?,
            flags: number(flags)?,
        })
    }
}

/// Parses the kernel's name of a map type, with or without its prefix, in any case.
fn parse_map_type(word: &str) -> Result<MapType, String> {
    MapType::from_name(word).ok_or_else(|| {
        let known: Vec<_> = MapType::offered().map(MapType::short_name).collect();
        let lower = word.to_ascii_lowercase();
        let short = lower.strip_prefix("bpf_map_type_").unwrap_or(&lower);
        let near = core_relo::explain::suggest_word(short, known.iter().map(String::as_str));
        format!("unknown map type `{word}`, expected one such as `hash` or `lru_hash`{near}")
    })
}
