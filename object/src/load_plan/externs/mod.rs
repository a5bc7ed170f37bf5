//! The values of externs: the kernel's configuration, variables and functions.

mod comparer;
mod kconfig;
mod ksyms;
mod modules;
mod refused;
mod replacement;
mod resolution;

pub use comparer::ExternComparer;
pub use kconfig::{ConfigValueError, write_config_value};
pub(super) use kconfig::{contents_size, read_values};
pub(super) use ksyms::resolve;
pub use modules::ModulePlan;
pub(super) use modules::Modules;
pub(super) use refused::RefusedExterns;
pub use replacement::KfuncReplacement;
pub(super) use replacement::find_replacements;
pub use resolution::IncompatibleKfunc;
pub(super) use resolution::{ResolvedExtern, find_incompatible};
