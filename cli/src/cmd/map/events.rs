//! `map events`: the records of a ring buffer or perf event array, as they arrive.

use crate::{
    args::map_elements::MapEventsArgs,
    console::Console,
    error::{BadInput, CommandResult},
    events::{EventLimits, EventReaders, EventSource, print_events},
    kernel_objects::{
        error::{object_name, unreadable},
        select::select_one,
    },
    process::signals::TerminationSignals,
};
use core_relo::btf::Btf;
use core_relo_loader::inventory::{self, BtfCache, Holders, MapInfo, ObjectKind, ProgramInfo};
use std::sync::Arc;

pub(super) fn run(console: &mut Console<'_>, args: &MapEventsArgs) -> CommandResult {
    let mut termination = TerminationSignals::catch()?;
    let mut readers = open(args)?;
    let limits = EventLimits::new(args.count, args.timeout);
    Ok(print_events(console, &mut readers, limits, &mut || termination.has_arrived())?)
}

fn open(args: &MapEventsArgs) -> Result<EventReaders, BadInput> {
    let (id, map) = select_one(ObjectKind::Map, &args.selector)?;
    let info = MapInfo::query(&map).map_err(|e| unreadable(ObjectKind::Map, id, "its info", e))?;
    let name = object_name(ObjectKind::Map, id, &info.name());
    let btf = record_btf(&info)?;
    let source = EventSource::of_kernel_map(&info, btf.as_ref(), args.type_name.as_deref())
        .map_err(|(what, help)| BadInput::new(&*name, what).help(help))?;
    if !args.force {
        check_unread(id, &name)?;
    }
    EventReaders::open_map(map, source).map_err(|e| BadInput::new(name, e))
}

/// Returns the BTF of the map, or else of a program that uses it.
fn record_btf(map: &MapInfo) -> Result<Option<Arc<Btf<'static>>>, BadInput> {
    let mut btfs = BtfCache::default();
    if let Some(btf) = btfs.get(map.btf_id) {
        return Ok(Some(btf));
    }
    for program in inventory::list(ObjectKind::Program)? {
        let id = program.id();
        let Some(program) = program.open()? else { continue };
        let failed = |e| unreadable(ObjectKind::Program, id, "its maps", e);
        if inventory::program_map_ids(&program).map_err(failed)?.contains(&map.id) {
            let btf_id = ProgramInfo::query(&program).map_err(failed)?.btf_id;
            if let Some(btf) = btfs.get(btf_id) {
                return Ok(Some(btf));
            }
        }
    }
    Ok(None)
}

/// Returns an error if another process holds the map, because it may read the records.
fn check_unread(id: u32, name: &str) -> Result<(), BadInput> {
    if !inventory::are_processes_visible() {
        let bad =
            BadInput::new(name, "another process may read its records: /proc does not show the processes");
        return Err(bad.help("--force reads them nevertheless"));
    }
    let holders = Holders::find_processes();
    let holders = holders.processes(ObjectKind::Map, id);
    if holders.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = holders.iter().map(|process| format!("{}({})", process.comm, process.pid)).collect();
    let bad = BadInput::new(name, format_args!("{} may read its records", names.join(", ")));
    Err(bad.help("--force reads them instead"))
}
