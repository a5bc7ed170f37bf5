//! The setup of a loader from the arguments that `load` and `run` share.

use super::global_value;
use crate::{
    args::load::{Assignment, MapEntries, SetupArgs},
    error::BadInput,
    input::{kernel_text, object::ObjectFile},
};
use core_relo_loader::{Loader, load_plan::TokenSource};
use std::path::Path;

/// Returns the object's name for the kernel: the file name up to the first dot, as in libbpf.
pub(crate) fn object_name(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.split_once('.').map_or(&*name, |(stem, _)| stem).to_owned()
}

/// Applies the arguments to a loader.
pub(crate) fn set_up(
    loader: &mut Loader<'_, '_>,
    file: &ObjectFile,
    args: &SetupArgs,
) -> Result<(), BadInput> {
    let bad = |what: String| BadInput::new(&*file.name, what);
    for Assignment { name, value } in &args.set {
        let global = loader.find_global(name).map_err(|e| bad(e.to_string()))?;
        // For a variable that cannot be set, `set_global_bytes` fails with a better message than the parser.
        let bytes = match global.kind.is_settable_before_load() {
            true => global_value::parse(loader.object(), &global, value)
                .map_err(|e| bad(format!("global `{name}`: {e}")))?,
            false => vec![0; global.size],
        };
        loader.set_global_bytes(name, &bytes).map_err(|e| bad(e.to_string()))?;
    }
    for MapEntries { map, count } in &args.max_entries {
        loader.map_mut(map).max_entries = Some(count.get());
    }
    for name in &args.without_map {
        loader.map_mut(name).autocreate = Some(false);
    }
    if let Some(path) = &args.kconfig {
        loader.settings_mut().kconfig = Some(kernel_text::read_kconfig_options(path)?);
    }
    if let Some(path) = &args.token {
        loader.settings_mut().token = TokenSource::Path(path.clone());
    }
    if args.verifier_log > 1 {
        loader.settings_mut().log_level = 1;
    }
    Ok(())
}
