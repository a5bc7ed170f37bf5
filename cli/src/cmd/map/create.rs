//! `map create`: a new map, which a pin keeps.

use crate::{
    args::map_elements::MapCreateArgs,
    cmd::object_change::{ObjectChange, pin_refusal},
    console::Console,
    describe::short_type_name,
    error::{BadInput, CommandResult},
    kernel_objects::select::{select_one, selection_from_word},
};
use core_relo_loader::{
    Errno, Hint,
    inventory::{self, OBJ_NAME_LEN, ObjectKind},
    load::{Kernel as _, MapCreate, RunningKernel},
    memory_shortage,
    object::MapType,
};
use std::os::fd::AsFd;

pub(super) fn run(console: &mut Console<'_>, args: &MapCreateArgs) -> CommandResult {
    let id = create(args)?;
    let change = ObjectChange::new(ObjectKind::Map, id, "created").named(ObjectKind::Map, &args.name);
    Ok(change.pin(&args.path).write(console, args.format)?)
}

/// Creates and pins a map. Without the pin, the kernel removes the map when the descriptor is closed.
fn create(args: &MapCreateArgs) -> Result<u32, BadInput> {
    if args.name.len() >= OBJ_NAME_LEN {
        let what = format!("a name of {} bytes, expected at most {}", args.name.len(), OBJ_NAME_LEN - 1);
        return Err(BadInput::new("--name", what));
    }
    // The kernel's rule (`bpf_obj_name_cpy`).
    if let Some(other) = args.name.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.')) {
        let what =
            format!("`{}` is not allowed, expected letters, digits, `_` and `.`", other.escape_default());
        return Err(BadInput::new("--name", what));
    }
    let inner = args.inner_map.as_ref().map(|word| select_one(ObjectKind::Map, &selection_from_word(word)));
    let inner = inner.transpose()?.map(|(_, map)| map);
    let map = RunningKernel.map_create(&MapCreate {
        map_type: args.map_type,
        name: args.name.as_bytes(),
        key_size: args.key_size,
        value_size: args.value_size,
        max_entries: args.max_entries,
        map_flags: args.flags,
        inner: inner.as_ref().map(AsFd::as_fd),
        ..MapCreate::default()
    });
    let map = map.map_err(|e| refusal(args, e))?;
    let id = ObjectKind::Map.id(&map).map_err(|e| BadInput::new("map create", e.problem()))?;
    inventory::pin_in_new_directory(&map, &args.path).map_err(|e| pin_refusal(&args.path, e))?;
    Ok(id)
}

fn refusal(args: &MapCreateArgs, e: Errno) -> BadInput {
    let name = MapType::from_number(args.map_type).map_or_else(String::new, |ty| short_type_name(ty.name()));
    let bad = BadInput::new("map create", format_args!("the kernel refuses this {name}: {e}"));
    match e {
        Errno::EINVAL => bad.help(
            "are --key-size, --value-size, --max-entries, --flags and --inner-map right for the type, and does this kernel know it?",
        ),
        Errno::E2BIG => bad.help("keys, values or --max-entries are larger than the kernel allows for this type"),
        Errno::ENOMEM => bad.help(memory_shortage()),
        _ => bad.help(Hint::for_errno(e).0),
    }
}
