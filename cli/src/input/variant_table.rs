//! Tables of variants in files.

use super::kernel_text;
use crate::error::{BadInput, escape_path};
use core_relo_loader::variants::VariantTable;
use std::path::Path;

/// Reads a table of variants.
pub(crate) fn read_variants(path: &Path) -> Result<VariantTable, BadInput> {
    VariantTable::parse(&kernel_text::read(path)?).map_err(|e| BadInput::new(escape_path(path), e))
}
