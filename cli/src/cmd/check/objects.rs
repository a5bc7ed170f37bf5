//! The objects to check, parsed once for all kernels.

use super::kernel_output::bad_object_line;
use crate::{
    args::{format::Format, load::Assignment},
    console::Console,
    error::BadInput,
    input::{
        directory,
        object::{ObjectBudget, ObjectFile},
    },
    json::check::RecordFacts,
    process::threads::Threads,
};
use core_relo::{Endian, Relocs, plan::Objects};
use core_relo_loader::{link::LinkError, object::Object};
use core_relo_verdict::{
    kernel::NameQuery,
    requirements::{MapInput, NeedTable, ObjectNeeds},
};
use std::{
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// A function that reports an object that cannot be read.
pub(super) type ReportBadObject = fn(&mut Console<'_>, &BadInput) -> io::Result<()>;

/// The objects to check, with the table of what they need.
pub(super) struct CheckedObjects<'o> {
    pub(super) objects: Vec<CheckedObject<'o>>,
    pub(super) needs: NeedTable,
    /// The names that the needs look up in each kernel.
    pub(super) names: NameQuery,
}

/// An object to check.
pub(super) struct CheckedObject<'o> {
    pub(super) file: &'o ObjectFile,
    pub(super) object: &'o Object<'o>,
    pub(super) relocs: Relocs<'o>,
    /// The facts of each relocation record. They are computed for the first kernel on which the record does not resolve.
    pub(super) records: Vec<OnceLock<Arc<RecordFacts>>>,
    /// What the object needs of a kernel, or the reason why libbpf would not open the object.
    pub(super) needs: Result<ObjectNeeds<'o, 'o>, LinkError>,
}

/// Reads the object files, and those in directories. Bad input is reported.
pub(super) fn read_objects(
    console: &mut Console<'_>,
    paths: &[PathBuf],
    threads: &Threads,
) -> io::Result<Vec<ObjectFile>> {
    read_objects_reporting(console, paths, threads, report_bad_object)
}

/// Reads the object files, and those in directories. Reports bad input with `report_bad`.
pub(super) fn read_objects_reporting(
    console: &mut Console<'_>,
    paths: &[PathBuf],
    threads: &Threads,
    report_bad: ReportBadObject,
) -> io::Result<Vec<ObjectFile>> {
    let mut files = Vec::new();
    let paths = directory::find_objects(paths);
    let budget = ObjectBudget::default();
    let read = |path: &Result<PathBuf, BadInput>| {
        ObjectFile::read_within(path.as_ref().map_err(BadInput::clone)?, &budget)
    };
    for read in threads.map(&paths, read) {
        match read {
            Ok(file) => files.push(file),
            Err(bad) => report_bad(console, &bad)?,
        }
    }
    Ok(files)
}

/// Parses the objects, and calls `use_objects` with them. Bad input is reported.
pub(super) fn with_checked_objects(
    console: &mut Console<'_>,
    files: &[ObjectFile],
    max_entries: &[Assignment],
    threads: &Threads,
    use_objects: impl FnOnce(&mut Console<'_>, &CheckedObjects<'_>) -> io::Result<()>,
) -> io::Result<()> {
    with_checked_objects_reporting(console, files, max_entries, threads, report_bad_object, use_objects)
}

/// Parses the objects, and calls `use_objects` with them. Reports bad input with `report_bad`.
pub(super) fn with_checked_objects_reporting(
    console: &mut Console<'_>,
    files: &[ObjectFile],
    max_entries: &[Assignment],
    threads: &Threads,
    report_bad: ReportBadObject,
    use_objects: impl FnOnce(&mut Console<'_>, &CheckedObjects<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut parsed = Vec::new();
    for (file, object) in files.iter().zip(threads.map(files, ObjectFile::parse)) {
        match object {
            Ok(object) => parsed.push((file, object)),
            Err(bad) => report_bad(console, &bad)?,
        }
    }
    let (mut objects, mut table) = (Vec::new(), NeedTable::default());
    let relocs = threads.map(&parsed, |(file, object)| file.relocs(object));
    for ((file, object), relocs) in parsed.iter().zip(relocs) {
        match relocs {
            Ok(relocs) => {
                let records = relocs.records().iter().map(|_| OnceLock::new()).collect();
                let mut needs = ObjectNeeds::collect(object, &relocs, &mut table);
                if let Ok(needs) = &mut needs {
                    max_entries.iter().for_each(|map| needs.set_input(&map.name, MapInput::MaxEntries));
                }
                objects.push(CheckedObject { file, object, relocs, records, needs });
            }
            Err(bad) => report_bad(console, &bad)?,
        }
    }
    let names = table.names();
    use_objects(console, &CheckedObjects { objects, needs: table, names })
}

/// Reports an object that cannot be read, with a line of `check`.
fn report_bad_object(console: &mut Console<'_>, bad: &BadInput) -> io::Result<()> {
    if console.format == Format::Json {
        console.out.json_lines(&bad_object_line(bad)?)?;
    }
    console.report_error_on_stderr(bad)
}

/// The objects of each byte order, prepared for all kernels of that order.
pub(super) struct ObjectsByOrder<'o> {
    pub(super) all: &'o [CheckedObject<'o>],
    little: OnceLock<Objects<'o>>,
    big: OnceLock<Objects<'o>>,
}

impl<'o> ObjectsByOrder<'o> {
    pub(super) fn new(all: &'o [CheckedObject<'o>]) -> Self {
        Self { all, little: OnceLock::new(), big: OnceLock::new() }
    }

    /// Returns the objects of a byte order.
    pub(super) fn with_order(&self, order: Endian) -> &Objects<'o> {
        let prepared = if order == Endian::Little { &self.little } else { &self.big };
        prepared.get_or_init(|| {
            let with_order = self.all.iter().filter(|object| object.object.endian() == order);
            Objects::new(with_order.map(|object| &object.relocs))
        })
    }
}
