//! Settings of user space: types and targets of programs, sizes of maps, inner maps, programs and maps that
//! are left out, globals.
//!
//! | file | contents |
//! |---|---|
//! | `args` | the options |
//! | `setting` | a setting, parsed from an option or from `core-relo.toml` |
//! | `names` | the programs, maps and variables of an object that settings can name |
//! | `user` | the settings of a command: which ones apply to an object, contradictions, unknown names |
//! | `apply` | a setting in the settings of a load |
//! | `global_value` | the value of a global variable, parsed by its type |
//!
//! All commands take the same options (`args`) and turn them into the library's `Settings` here.

mod apply;
mod args;
mod global_value;
mod names;
mod setting;
mod user;

pub(crate) use args::{SETTINGS, SettingsArgs};
pub(crate) use names::{ObjectNames, check_program_name};
pub(crate) use setting::{AttachTo, InnerMap, NameKind, Setting, SettingParser, SettingValue};
pub(crate) use user::{AppliedSettings, SettingGroup, UserSettings};
