//! The setup of a loader from the arguments that `load` and `run` share.

use crate::{
    args::load::{LoadArgs, LoadingArgs, ReusedMap},
    error::{BadInput, escape_path},
    input::object::{ObjectFile, object_name},
    kernel_objects::select::{select_one, selection_from_word},
    settings::UserSettings,
};
use core_relo_kernels::kernel_text;
use core_relo_loader::{Loader, inventory::ObjectKind, load_plan::TokenSource};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Returns the directory in which each object is pinned: that of `--pin`, or with several objects one below
/// it with the name of the object, because most objects have names in common, such as `maps/_bss`.
pub(super) fn pin_dirs(args: &LoadArgs) -> Result<Vec<Option<PathBuf>>, BadInput> {
    let objects = &args.objects;
    let Some(dir) = args.pin.as_ref().filter(|_| objects.len() > 1) else {
        return Ok(vec![args.pin.clone(); objects.len()]);
    };
    let mut names = HashMap::new();
    let pin_dir = |path: &PathBuf| {
        let name = object_name(path);
        if name.is_empty() {
            let bad = BadInput::for_path(path, "has no name for a directory of pins");
            return Err(bad.help("load it by itself"));
        }
        let dir = dir.join(&name);
        match names.insert(name, path.clone()) {
            None => Ok(Some(dir)),
            Some(other) if other == *path => Err(BadInput::for_path(path, "is given twice")),
            Some(other) => {
                let what = format!("would be pinned in {}, as {}", escape_path(&dir), escape_path(&other));
                Err(BadInput::for_path(path, what).help("load each with its own --pin"))
            }
        }
    };
    objects.iter().map(pin_dir).collect()
}

/// Applies the arguments to a loader. Returns warnings about settings that change nothing.
pub(crate) fn set_up(
    loader: &mut Loader<'_, '_>,
    file: &ObjectFile,
    kconfig: Option<&Path>,
    settings: &UserSettings,
) -> Result<Vec<String>, BadInput> {
    set_kconfig(loader, kconfig)?;
    let object = loader.object();
    settings.apply_to_object(file, object, loader.settings_mut())
}

/// Gives a loader the options of a file that take precedence over the kernel's configuration.
pub(crate) fn set_kconfig(loader: &mut Loader<'_, '_>, file: Option<&Path>) -> Result<(), BadInput> {
    if let Some(path) = file {
        loader.settings_mut().kconfig = Some(kernel_text::read_kconfig(path)?);
    }
    Ok(())
}

/// Returns the source of the BPF token that `--token` names.
pub(crate) fn token_source(bpffs: Option<&Path>) -> TokenSource {
    bpffs.map_or(TokenSource::Environment, |bpffs| TokenSource::Path(bpffs.to_path_buf()))
}

/// Applies the arguments of the load itself to a loader.
pub(crate) fn set_up_loading(loader: &mut Loader<'_, '_>, args: &LoadingArgs) -> Result<(), BadInput> {
    for ReusedMap { map, reused } in &args.reuse_map {
        let (_, fd) = select_one(ObjectKind::Map, &selection_from_word(reused))?;
        let settings = loader.map_mut(map);
        if settings.reuse.is_some() {
            return Err(BadInput::new("--reuse-map", format_args!("map `{map}` is given twice")));
        }
        let sizes = [settings.max_entries, settings.key_size, settings.value_size];
        if sizes.iter().any(Option::is_some) || settings.autocreate == Some(false) {
            let what = format!("map `{map}` is reused as it is");
            let help = "leave out --max-entries, --key-size, --value-size and --without-map for it";
            return Err(BadInput::new("--reuse-map", what).help(help));
        }
        settings.reuse = Some(Arc::new(fd).into());
        // As in libbpf, a map that is pinned at the object's path would be used instead of the user's.
        settings.pin = Some(None);
    }
    loader.settings_mut().token = token_source(args.token.as_deref());
    if args.verifier_log > 1 {
        loader.settings_mut().log_level = 1;
    }
    Ok(())
}
