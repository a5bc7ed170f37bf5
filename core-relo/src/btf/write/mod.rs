//! Writing BTF: from nothing, from other BTF, with each type once, or moved onto another base.

mod amend;
mod builder;
mod dedup;
mod editor;
mod import;
mod output;
mod relocate_split;
mod rewrite;

pub use builder::{Builder, BuiltMember};
pub use dedup::{DedupError, DedupResult, dedup, dedup_into};
pub use editor::Editor;
pub use import::{ImportError, Importer};
