//! `map lookup`: one element of a map.

use super::element::{MapElements, unreadable_type};
use crate::{
    args::map_elements::MapLookupArgs,
    cmd::kernel_facts::open_or_report,
    console::Console,
    error::{CommandError, CommandResult},
    kernel_objects::select::select,
};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, ObjectKind},
};

pub(super) fn run(console: &mut Console<'_>, args: &MapLookupArgs) -> CommandResult {
    let (selector, key) = args.map.split()?;
    let maps = select(ObjectKind::Map, &selector)?;
    let is_only_map = maps.len() == 1;
    let mut btfs = BtfCache::default();
    for map in maps {
        let id = map.id();
        let Some(fd) = open_or_report(console, ObjectKind::Map, map)? else { continue };
        let elements = MapElements::new(id, &fd, &args.elements, &mut btfs);
        let looked_up = elements.map_err(CommandError::from).and_then(|mut elements| {
            elements.select_cpu(args.cpu)?;
            elements.note_unreadable_types(console)?;
            if !is_only_map {
                elements.title(console)?;
            }
            look_up(console, &elements, key)
        });
        looked_up.or_else(|error| console.report(error))?;
    }
    Ok(())
}

fn look_up(console: &mut Console<'_>, elements: &MapElements<'_>, words: &[String]) -> CommandResult {
    if let Some((reason, help)) = unreadable_type(elements.map_type()) {
        return Err(elements.bad_input(reason, help).into());
    }
    let key = elements.parse_key(words)?;
    let mut value = vec![0; elements.shape.value_size()];
    match elements.shape.lookup(&key, &mut value, 0) {
        Ok(()) => Ok(elements.write(&mut console.out, &key, Some(&value))?),
        Err(e) if e == Errno::ENOENT => {
            elements.write(&mut console.out, &key, None)?;
            Ok(elements.report_missing(console, &key)?)
        }
        Err(e) => Err(elements.refusal(e).into()),
    }
}
