//! `map peek`, `map push` and `map pop`: queues, stacks and Bloom filters.

use super::{
    changed::MapChange,
    element::MapElements,
    operand::{are_value, split_flags},
    write::change_map,
};
use crate::{
    args::{kernel_objects::MapDumpArgs, map_elements::MapPushArgs},
    console::Console,
    error::{BadInput, CommandResult},
    kernel_objects::select::select_one,
};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, ObjectKind},
    maps::{Flags, MapShape},
    object::MapType,
};

pub(super) fn peek(console: &mut Console<'_>, args: &MapDumpArgs) -> CommandResult {
    show_next(console, args, false, |shape, value| shape.lookup(&[], value, 0))
}

pub(super) fn pop(console: &mut Console<'_>, args: &MapDumpArgs) -> CommandResult {
    show_next(console, args, true, |shape, value| shape.lookup_and_delete(&[], value, 0))
}

pub(super) fn push(console: &mut Console<'_>, args: &MapPushArgs) -> CommandResult {
    change_map(console, args.map.split(), args.format, |console, elements, words| {
        if !elements.is_queue() && elements.map_type() != Some(MapType::BloomFilter) {
            return Err(not_a_queue(elements).into());
        }
        let (words, flags) = split_flags(words, are_value);
        elements.check_one_condition(flags, args.exist)?;
        let value = elements.parse_value(words)?;
        let flags = if args.exist { Flags::EXIST } else { flags.unwrap_or(Flags::ANY) };
        elements.shape.update(&[], &value.bytes, flags.0).map_err(|e| match e {
            Errno::E2BIG => {
                let most = elements.info.max_entries;
                let help = "--exist removes the oldest element";
                elements.bad_input(&format!("it is full: it has at most {most} elements"), help)
            }
            _ => elements.write_refusal(e),
        })?;
        let change = MapChange::new(elements.info.id, "pushed").value(&value);
        Ok(change.write(console, args.format, &elements.name())?)
    })
}

/// Prints the next element, which `read` reads. If `read` removes the element and it cannot be printed,
/// prints it on stderr: the map has lost it.
fn show_next(
    console: &mut Console<'_>,
    args: &MapDumpArgs,
    is_removed: bool,
    read: impl FnOnce(MapShape<'_>, &mut [u8]) -> Result<(), Errno>,
) -> CommandResult {
    let (id, fd) = select_one(ObjectKind::Map, &args.selector)?;
    let elements = MapElements::new(id, &fd, &args.elements, &mut BtfCache::default())?;
    if !elements.is_queue() {
        return Err(not_a_queue(&elements).into());
    }
    elements.note_unreadable_types(console)?;
    let mut value = vec![0; elements.shape.value_size()];
    match read(elements.shape, &mut value) {
        Ok(()) => {
            let printed = elements.write(&mut console.out, &[], Some(&value));
            let written = printed.and_then(|()| console.out.flush());
            if written.is_err() && is_removed {
                console.note("the element was removed")?;
                elements.write(&mut console.err, &[], Some(&value))?;
            }
            Ok(written?)
        }
        Err(e) if e == Errno::ENOENT => {
            elements.write(&mut console.out, &[], None)?;
            Ok(elements.report_missing(console, &[])?)
        }
        Err(e) => Err(elements.write_refusal(e).into()),
    }
}

fn not_a_queue(elements: &MapElements<'_>) -> BadInput {
    elements.bad_input(
        "is no queue or stack",
        "`map lookup`, `map update` and `map delete` take the keys of other maps",
    )
}
