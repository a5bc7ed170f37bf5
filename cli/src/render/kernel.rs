//! What the commands that look at the running kernel have in common.

use super::{
    style::{BOLD, DIM},
    table::Columns,
};
use crate::{kernel::Owner, plain::plain};
use std::{
    fmt::Display,
    io::{self, Write},
};

/// The first row of a table.
pub(crate) fn head(table: &mut Columns, names: &[&str]) {
    table.head(names.iter().map(|name| match *name {
        "ID" | "INSNS" | "KEY" | "VALUE" | "ENTRIES" | "BYTES" => format!(">{name}"),
        name => name.to_owned(),
    }));
}

/// The table, or words where there are no rows.
pub(crate) fn table(out: &mut dyn Write, table: &mut Columns, rows: usize, none: &str) -> io::Result<()> {
    if rows == 0 {
        return writeln!(out, "{none}");
    }
    table.lines().iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The first line of what `show` prints of one.
pub(crate) fn title(out: &mut dyn Write, id: u32, kind: &str, name: &str) -> io::Result<()> {
    writeln!(out, "{BOLD}{id}{BOLD:#}  {kind}  {BOLD}{}{BOLD:#}", plain(name))
}

/// A line of what `show` prints of one.
pub(crate) fn field(out: &mut dyn Write, name: &str, text: impl Display) -> io::Result<()> {
    writeln!(out, "    {DIM}{name:<9}{DIM:#} {}", plain(&text.to_string()))
}

/// The same, if there is something to say.
pub(crate) fn optional(out: &mut dyn Write, name: &str, text: Option<impl Display>) -> io::Result<()> {
    text.map_or(Ok(()), |text| field(out, name, text))
}

/// Pins and processes.
pub(crate) fn holders(out: &mut dyn Write, owners: &[Owner], pinned: &[String]) -> io::Result<()> {
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
    format!("{}({})", plain(&owner.comm), owner.pid)
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
