//! Writing BTF: from nothing or from other BTF, deduplicated, sorted, converted, or moved onto another base.

mod amend;
mod builder;
mod convert;
mod dedup;
mod distil;
mod editor;
mod import;
mod output;
mod relocate_split;
mod rewrite;
mod sort;
#[cfg(test)]
mod tests;

pub use builder::{Builder, BuiltMember};
pub use convert::{ConvertError, LayoutChange, convert};
pub use dedup::{DedupError, DedupResult, dedup, dedup_into};
pub use distil::{DistilError, DistilledBtf, distil_base};
pub use editor::Editor;
pub use import::{ImportError, Importer};
pub use sort::{SortResult, sort};
