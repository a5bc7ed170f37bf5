//! Writing BTF: from nothing or from other BTF, deduplicated, sorted, converted, or moved onto another base.

mod amend;
mod builder;
#[cfg(feature = "transform")]
mod convert;
#[cfg(feature = "transform")]
mod dedup;
#[cfg(feature = "transform")]
mod distil;
mod editor;
#[cfg(feature = "transform")]
mod import;
mod output;
mod relocate_split;
mod rewrite;
#[cfg(feature = "transform")]
mod sort;
#[cfg(test)]
#[cfg(feature = "transform")]
mod tests;

pub use builder::{Builder, BuiltMember, BuiltRecord};
#[cfg(feature = "transform")]
pub use convert::{ConvertError, LayoutChange, convert};
#[cfg(feature = "transform")]
pub use dedup::{DedupError, DedupResult, dedup, dedup_into};
#[cfg(feature = "transform")]
pub use distil::{DistilError, DistilledBtf, distil_base};
pub use editor::Editor;
#[cfg(feature = "transform")]
pub use import::{ImportError, Importer};
#[cfg(feature = "transform")]
pub use sort::{SortResult, sort};
