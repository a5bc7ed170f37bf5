//! What the commands that look at the running kernel have in common.

use super::{
    style::{BOLD, DIM},
    table::{Columns, left, right},
};
use crate::{kernel::Owner, line::Line, printer::Printer};
use std::{fmt::Display, io};

/// The first row of a table.
pub(crate) fn head(table: &mut Columns, names: &[&str]) {
    table.head(names.iter().map(|name| match *name {
        "ID" | "INSNS" | "KEY" | "VALUE" | "ENTRIES" | "BYTES" => right(name),
        name => left(name),
    }));
}

/// The table, or words where there are no rows.
pub(crate) fn table(out: &mut Printer<'_>, table: &mut Columns, rows: usize, none: &str) -> io::Result<()> {
    if rows == 0 {
        return out.line(none);
    }
    table.lines().into_iter().try_for_each(|line| out.line(line))
}

/// The first line of what `show` prints of one.
pub(crate) fn title(out: &mut Printer<'_>, id: u32, kind: &str, name: &str) -> io::Result<()> {
    out.line(Line::new().styled(BOLD, id).text(format_args!("  {kind}  ")).styled(BOLD, name))
}

/// A line of what `show` prints of one.
pub(crate) fn field(out: &mut Printer<'_>, name: &str, text: impl Display) -> io::Result<()> {
    let name = format_args!("{name:<9}");
    out.line(Line::new().text("    ").styled(DIM, name).text(format_args!(" {text}")))
}

/// The same, if there is something to say.
pub(crate) fn optional(out: &mut Printer<'_>, name: &str, text: Option<impl Display>) -> io::Result<()> {
    text.map_or(Ok(()), |text| field(out, name, text))
}

/// Pins and processes.
pub(crate) fn holders(out: &mut Printer<'_>, owners: &[Owner], pinned: &[String]) -> io::Result<()> {
    pinned.iter().try_for_each(|path| field(out, "pinned", path))?;
    if owners.is_empty() {
        return Ok(());
    }
    let owners: Vec<_> = owners.iter().map(owner).collect();
    field(out, "held by", owners.join(", "))
}

/// Pins and processes in one cell, the first few.
pub(crate) fn held_by(owners: &[Owner], pinned: &[String]) -> String {
    const SHOWN: usize = 3;
    let all = owners.len() + pinned.len();
    let mut parts: Vec<_> = owners.iter().map(owner).chain(pinned.iter().cloned()).take(SHOWN).collect();
    if all > SHOWN {
        parts.push(format!("{} more", all - SHOWN));
    }
    parts.join(", ")
}

fn owner(owner: &Owner) -> String {
    format!("{}({})", owner.comm, owner.pid)
}

/// Ids in a cell, the first few.
pub(crate) fn numbers(ids: &[u32]) -> String {
    const SHOWN: usize = 8;
    let mut parts: Vec<_> = ids.iter().take(SHOWN).map(u32::to_string).collect();
    if ids.len() > SHOWN {
        parts.push("...".to_owned());
    }
    parts.join(",")
}
