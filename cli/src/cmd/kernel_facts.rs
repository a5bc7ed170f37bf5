//! `list` and `show` of the programs, maps, links and BTFs in the running kernel.

use crate::{
    cmd::rows::Rows,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::unreadable_info,
        select::{Selector, command, select_or_all},
    },
    text::{printer::Printer, table::Cell},
};
use core_relo_loader::inventory::{self, BtfCache, Holders, InfoError, KernelObject, ObjectKind};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

/// The facts that `list` and `show` print of a kernel object. Their serialization is the JSON line.
pub(super) trait KernelFacts: Serialize + Sized {
    /// The kind of the objects.
    const KIND: ObjectKind;
    /// The names of the table's columns.
    const COLUMNS: &'static [&'static str];
    /// The line that `list` prints if there are no objects.
    const NO_OBJECTS: &'static str;
    /// What the facts need of other kernel objects.
    type Context;

    /// Reads the context once for all objects.
    fn read_context() -> Result<Self::Context, BadInput>;

    /// Reads the facts of an object.
    fn read(fd: &OwnedFd, context: &mut Self::Context) -> Result<Self, InfoError>;

    /// Returns the cells of the object's row.
    fn cells(&self) -> Vec<Cell>;

    /// Prints all facts.
    fn write(&self, out: &mut Printer<'_>) -> io::Result<()>;
}

/// The processes and pins that hold programs, maps and links, and the BTF of their types.
pub(super) struct HoldersAndTypes {
    pub(super) holders: Holders,
    pub(super) btfs: BtfCache,
}

impl HoldersAndTypes {
    pub(super) fn read() -> Self {
        Self { holders: Holders::find(), btfs: BtfCache::default() }
    }
}

/// Prints every object, one per line.
pub(super) fn list<F: KernelFacts>(console: &mut Console<'_>, format: Format) -> CommandResult {
    let all: Vec<F> = read_all(console, inventory::list(F::KIND)?)?;
    let rows = Rows { columns: F::COLUMNS, rows: &all, placeholder: F::NO_OBJECTS };
    Ok(rows.write(console, format, F::cells)?)
}

/// Prints all facts of the selected objects, or of all objects.
pub(super) fn show<F: KernelFacts>(
    console: &mut Console<'_>,
    selector: &dyn Selector,
    format: Format,
) -> CommandResult {
    let selected: Vec<F> = read_all(console, select_or_all(F::KIND, selector)?)?;
    Ok(selected.iter().try_for_each(|facts| match format {
        Format::Json => console.out.json(facts),
        Format::Text => facts.write(&mut console.out),
    })?)
}

/// Reads the facts of each object. Skips objects that no longer exist, and reports those whose facts cannot
/// be read. An object that cannot be opened is an error: other objects would fail for the same reason.
fn read_all<F: KernelFacts>(console: &mut Console<'_>, objects: Vec<KernelObject>) -> CommandResult<Vec<F>> {
    if objects.is_empty() {
        // The context costs a walk through all processes.
        return Ok(Vec::new());
    }
    let mut context = F::read_context()?;
    let mut all = Vec::new();
    for object in objects {
        let (kind, id) = (object.kind(), object.id());
        let Some(fd) = object.open()? else { continue };
        match F::read(&fd, &mut context) {
            Ok(facts) => all.push(facts),
            Err(error) => console.report_error(&unreadable_info(kind, id, error))?,
        }
    }
    Ok(all)
}

/// Opens a selected object. Reports the error if it cannot be opened, or if it was removed since it was
/// selected.
pub(crate) fn open_or_report(
    console: &mut Console<'_>,
    kind: ObjectKind,
    object: KernelObject,
) -> io::Result<Option<OwnedFd>> {
    let id = object.id();
    let bad = match object.open() {
        Ok(Some(fd)) => return Ok(Some(fd)),
        Ok(None) => BadInput::new(format!("{kind} {id}"), "was removed before it could be read")
            .help(format!("`core-relo {} list` lists those that exist", command(kind))),
        Err(error) => error.into(),
    };
    console.report_error(&bad)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::console::ExitStatus;

    use core_relo_test_support::skip;

    /// An object may end between its selection and its use. Silence and success would mean that there is
    /// nothing to print.
    #[test]
    fn an_object_that_was_removed_is_reported() {
        if ObjectKind::Program.next_id(0).is_err() {
            return skip!("this user cannot list programs");
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut console = Console {
            out: Printer::new(&mut out, false),
            err: Printer::new(&mut err, false),
            format: Format::Text,
            exit: ExitStatus::Success,
            batch_line: None,
        };
        // Ids are given in order, so that nobody has the last one.
        let object = KernelObject::new(ObjectKind::Program, i32::MAX.cast_unsigned());
        assert!(open_or_report(&mut console, ObjectKind::Program, object).unwrap().is_none());
        assert_eq!(console.exit, ExitStatus::Error);
        let text = String::from_utf8(err).unwrap();
        assert!(text.contains("program 2147483647: was removed before it could be read"), "{text}");
        assert!(text.contains("`core-relo prog list` lists those that exist"), "{text}");
    }
}
