//! `map dump`: the elements of a map.

use super::element::{MapElements, unreadable_type};
use crate::{
    args::kernel_objects::MapDumpArgs,
    cmd::kernel_facts::open_or_report,
    console::Console,
    error::{BadInput, CommandError, CommandResult},
    kernel_objects::select::select,
};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, ObjectKind},
    maps::{Entries, MapError, MapFd},
};

pub(super) fn run(console: &mut Console<'_>, args: &MapDumpArgs) -> CommandResult {
    let maps = select(ObjectKind::Map, &args.selector)?;
    let mut btfs = BtfCache::default();
    for map in maps {
        let id = map.id();
        let Some(fd) = open_or_report(console, ObjectKind::Map, map)? else { continue };
        let elements = MapElements::new(id, &fd, &args.elements, &mut btfs);
        let dumped = elements.map_err(CommandError::from).and_then(|elements| dump(console, &elements));
        dumped.or_else(|error| console.report(error))?;
    }
    Ok(())
}

fn dump(console: &mut Console<'_>, elements: &MapElements<'_>) -> CommandResult {
    elements.note_unreadable_types(console)?;
    elements.title(console)?;
    if let Some((reason, help)) = unreadable_type(elements.map_type()) {
        return Err(elements.bad_input(reason, help).into());
    }
    if elements.shape.key_size() == 0 {
        return dump_next(console, elements);
    }
    let map = elements.shape.fd().try_clone_to_owned().map_err(|e| Errno::from_io_error(&e));
    let map = map.and_then(MapFd::new).map_err(|e| elements.unreadable(e))?;
    let entries = Entries::new(map).map_err(|e| map_error(elements, &e))?;
    for entry in &entries {
        match entry {
            Ok((key, value)) => elements.write(&mut console.out, &key, Some(&value))?,
            Err(MapError::Restarts { .. }) => console.note(
                "elements are removed faster than the map can be walked through: some may be missing",
            )?,
            Err(e) => return Err(map_error(elements, &e).into()),
        }
    }
    Ok(())
}

/// Prints the next element of a queue or stack, which stays in the map. The kernel does not show the others.
fn dump_next(console: &mut Console<'_>, elements: &MapElements<'_>) -> CommandResult {
    let mut value = vec![0; elements.shape.value_size()];
    match elements.shape.lookup(&[], &mut value, 0) {
        Ok(()) => elements.write(&mut console.out, &[], Some(&value))?,
        Err(e) if e == Errno::ENOENT => return Ok(()),
        Err(e) => return Err(elements.refusal(e).into()),
    }
    console.note("a queue or stack cannot be listed: only its next element is shown, which stays in it")?;
    Ok(())
}

fn map_error(elements: &MapElements<'_>, e: &MapError) -> BadInput {
    match e.errno() {
        Some(errno) => elements.refusal(errno),
        None => elements.bad_input(&e.to_string(), "try again"),
    }
}
