//! `btf dump`: types in the notation of `bpftool btf dump`, or as JSON.

use super::{
    header,
    read::{read_file, suggest_type},
};
use crate::{
    args::{btf::BtfDumpArgs, format::BtfDumpFormat},
    console::Console,
    error::{BadInput, CommandResult, escape_path},
    kernel_objects::select::select,
};
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use core_relo_loader::inventory::{BtfCache, ObjectKind, ObjectSelection};
use std::{fmt::Write as _, path::Path, sync::Arc};

pub(super) fn run(console: &mut Console<'_>, args: &BtfDumpArgs) -> CommandResult {
    let (btf, name) = match (args.kernel_id, &args.path) {
        (Some(id), _) => (read_from_kernel(id)?, format!("BTF {id}")),
        (None, Some(path)) => {
            let read = read_file(path, args.base.as_deref()).map_err(|bad| with_kernel_id_help(path, bad));
            (Arc::new(read?), escape_path(path))
        }
        (None, None) => return Err(BadInput::new("btf dump", "expected a path or --kernel-id").into()),
    };
    if args.format == BtfDumpFormat::C {
        return header::run(console, args, &btf, &name);
    }
    let (mut is_empty, mut text) = (true, String::new());
    for ty in selected_types(&btf, args) {
        is_empty = false;
        match args.format {
            BtfDumpFormat::Raw => {
                text.clear();
                // Writing to a string does not fail.
                let _ = write!(text, "{}", ty.raw());
                console.out.formatted_lines(&text)?;
            }
            BtfDumpFormat::Json => console.out.json(&ty)?,
            BtfDumpFormat::C => {}
        }
    }
    match (args.type_id, &args.type_name) {
        _ if !is_empty => Ok(()),
        (Some(id), Some(ty)) if btf.ty(TypeId(id)).is_some() => {
            Err(BadInput::new(name, format_args!("type [{id}] does not have the name `{ty}`")).into())
        }
        (Some(id), _) => {
            let last = btf.end_id().0.saturating_sub(1);
            Err(BadInput::new(name, format_args!("no type [{id}], expected [1] to [{last}]")).into())
        }
        (None, Some(ty)) => {
            let bad = BadInput::new(name, format_args!("no type `{ty}`"));
            Err(suggest_type(&btf, ty, |_| true, bad).into())
        }
        (None, None) => Ok(()),
    }
}

/// Returns the types to print. `--type-id` also selects types of the base BTF. Without `--type-id`, the types
/// of the base are left out.
fn selected_types<'b>(btf: &'b Btf<'_>, args: &'b BtfDumpArgs) -> Box<dyn Iterator<Item = Type<'b>> + 'b> {
    let has_name =
        |ty: &Type<'_>| args.type_name.as_ref().is_none_or(|n| ty.name().as_bytes() == n.as_bytes());
    match args.type_id {
        Some(id) => Box::new(btf.ty(TypeId(id)).into_iter().filter(has_name)),
        None => Box::new(btf.types().filter(has_name)),
    }
}

/// Adds help to the error if the path does not exist and is a number: probably the id of a BTF in the running
/// kernel.
fn with_kernel_id_help(path: &Path, bad: BadInput) -> BadInput {
    let id = path.to_str().and_then(|text| text.parse::<u32>().ok());
    match id.filter(|_| !path.exists()) {
        Some(id) => bad.help(format!("use --kernel-id {id} for the BTF with this id in the running kernel")),
        None => bad,
    }
}

/// Reads the BTF with this id from the running kernel.
fn read_from_kernel(id: u32) -> Result<Arc<Btf<'static>>, BadInput> {
    select(ObjectKind::Btf, &ObjectSelection::Id(id))?;
    BtfCache::default().get(id).ok_or_else(|| {
        BadInput::new(format!("BTF {id}"), "cannot be read").help("run the command with -v to see the reason")
    })
}
