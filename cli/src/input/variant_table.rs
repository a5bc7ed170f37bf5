//! Tables of variants in files.

use super::kernel_text;
use crate::error::{BadInput, escape_path};
use core_relo_loader::variants::VariantTable;
use std::path::Path;

/// Reads a table of variants. A table without entries is an error.
pub(crate) fn read_variants(path: &Path) -> Result<VariantTable, BadInput> {
    let name = escape_path(path);
    let table = VariantTable::parse(&kernel_text::read(path)?).map_err(|e| BadInput::new(&*name, e))?;
    if table.is_empty() {
        let bad = BadInput::new(&*name, "has no entry, expected at least one");
        return Err(bad.help("write a line such as `group NAME = BEST > NEXT`, see docs/adaptive.md"));
    }
    Ok(table.named(&name))
}
