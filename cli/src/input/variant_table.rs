//! Tables of variants: those that objects declare, and those in files.

use super::object::ObjectFile;
use crate::error::{BadInput, escape_path};
use core_relo_adaptive::variants::VariantTable;
use core_relo_kernels::kernel_text;
use core_relo_loader::object::Object;
use std::path::Path;

/// Returns the table of an object: its declarations, and the entries of `given`. The table is empty for an
/// object without variants.
pub(crate) fn object_variants(
    file: &ObjectFile,
    object: &Object<'_>,
    given: Option<&VariantTable>,
) -> Result<VariantTable, BadInput> {
    let bad = |error| BadInput::new(&*file.name, error);
    let declared = VariantTable::from_object(object).map_err(bad)?;
    match given {
        Some(given) => declared.merge(given.clone()).map_err(bad),
        None => Ok(declared),
    }
}

/// Returns the note of a command that does not choose among the variants of an object: `note` for an object
/// with variants, the error for an object whose declarations cannot be read. Returns `None` for an object
/// without variants.
pub(crate) fn unchosen_note(file: &ObjectFile, object: &Object<'_>, note: &str) -> Option<String> {
    match object_variants(file, object, None) {
        Ok(table) if table.is_empty() => None,
        Ok(_) => Some(format!("{}: {note}", file.name)),
        Err(bad) => Some(format!(
            "{bad}: the declarations of variants have no effect here, `check` and `load --adaptive` refuse the object"
        )),
    }
}

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
