//! Searches for types by name and kind.

mod find;
mod flavour_filter;
mod module_filter;
mod name_index;
mod sorted;
mod type_query;
mod visit;

pub use flavour_filter::FlavourFilter;
pub use module_filter::ModuleFilter;
pub use name_index::NameIndex;
pub use type_query::TypeQuery;
