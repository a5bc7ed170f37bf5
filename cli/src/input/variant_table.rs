//! Tables of variants in files.

use super::kernel_text;
use crate::error::{BadInput, escape_path};
use core_relo_loader::variants::{VariantError, VariantTable};
use std::path::{Path, PathBuf};

/// A table of variants from a file.
#[derive(Debug)]
pub(crate) struct VariantFile {
    pub(crate) path: PathBuf,
    pub(crate) table: VariantTable,
}

impl VariantFile {
    /// Reads a table of variants. A table without entries is an error.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let name = || escape_path(path);
        let table = VariantTable::parse(&kernel_text::read(path)?).map_err(|e| BadInput::new(name(), e))?;
        if table.is_empty() {
            let bad = BadInput::new(name(), "the table has no entries, expected at least one");
            return Err(bad.help("for example `group unlink = unlink_fentry > unlink_kprobe`"));
        }
        Ok(Self { path: path.to_owned(), table })
    }
}

/// Returns the error of an object's variants. It names the file of the table if it is about one of the file's lines, else the object.
pub(crate) fn variant_error(object: &str, file: Option<&Path>, error: &VariantError) -> BadInput {
    match file.filter(|_| error.is_of_text()) {
        Some(path) => BadInput::new(escape_path(path), format_args!("{error}; the object is {object}")),
        None => BadInput::new(object, error),
    }
}
