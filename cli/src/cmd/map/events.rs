//! `map events`: the records of a ring buffer or perf event array, as they arrive.

use crate::{
    args::map_elements::MapEventsArgs,
    console::Console,
    error::{BadInput, CommandResult},
    events::{EventLimits, EventReaders, EventSource, print_events},
    kernel_objects::{
        error::{object_name, unreadable_info},
        select::select_one,
    },
    process::signals::TerminationSignals,
};
use core_relo::btf::Btf;
use core_relo_loader::inventory::{self, BtfCache, Holders, MapInfo, ObjectKind, ProgramInfo};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub(super) fn run(console: &mut Console<'_>, args: &MapEventsArgs) -> CommandResult {
    let mut termination = TerminationSignals::catch()?;
    let mut readers = open(args)?;
    let limits = EventLimits::new(args.count, args.timeout);
    Ok(print_events(console, &mut readers, limits, &mut || termination.has_arrived())?)
}

fn open(args: &MapEventsArgs) -> Result<EventReaders, BadInput> {
    let (id, map) = select_one(ObjectKind::Map, &args.selector)?;
    let info = MapInfo::query(&map).map_err(|e| unreadable_info(ObjectKind::Map, id, e))?;
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
        let failed = |e| unreadable_info(ObjectKind::Program, id, e);
        if inventory::program_map_ids(&program).map_err(failed)?.contains(&map.id) {
            let btf_id = ProgramInfo::query(&program).map_err(failed)?.btf_id;
            if let Some(btf) = btfs.get(btf_id) {
                return Ok(Some(btf));
            }
        }
    }
    Ok(None)
}

/// Returns an error if another process holds the map, because it may read the records, or if `/proc` shows no
/// processes. Warns of processes whose descriptors cannot be read.
fn check_unread(id: u32, name: &str) -> Result<(), BadInput> {
    let holders = Holders::find_processes();
    let processes = holders.processes(ObjectKind::Map, id);
    if !processes.is_empty() {
        let processes = processes.iter().map(|process| format!("{}({})", process.comm, process.pid));
        let names = processes.collect::<Vec<_>>().join(", ");
        let bad = BadInput::new(name, format_args!("{names} may read its records"));
        return Err(bad.help("--force reads them instead"));
    }
    if let Some(unseen) = unseen_readers(holders.unreadable()) {
        let problem = format!("another process may read its records: {unseen}");
        if holders.unreadable().iter().any(|path| path == Path::new("/proc")) {
            return Err(BadInput::new(name, problem).help("--force reads them nevertheless"));
        }
        // In sandboxes, even root cannot read some descriptors.
        log::warn!("{name}: {problem}");
    }
    Ok(())
}

/// Returns what hides the processes that may hold the map.
fn unseen_readers(unreadable: &[PathBuf]) -> Option<String> {
    let first = unreadable.first()?.display();
    Some(match unreadable.len() {
        1 => format!("{first} cannot be read"),
        count => format!("{first} and {} more cannot be read", count - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user without `CAP_SYS_PTRACE` does not see the readers of other users: they are not absent.
    #[test]
    fn processes_that_cannot_be_seen_may_read_the_records() {
        assert_eq!(unseen_readers(&[]), None);
        let paths = ["/proc/1/fd", "/proc/2/fd", "/proc/3/fd"].map(PathBuf::from);
        assert_eq!(unseen_readers(&paths[..1]).as_deref(), Some("/proc/1/fd cannot be read"));
        assert_eq!(unseen_readers(&paths).as_deref(), Some("/proc/1/fd and 2 more cannot be read"));
    }
}
