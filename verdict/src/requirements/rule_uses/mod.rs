//! The parts of an object to which rules of loaders apply.

mod find;
mod map_fields;
mod model;

pub(super) use find::{find_rule_uses, find_unloaded_values};
pub use model::{ManagedVariable, RuleUse};
