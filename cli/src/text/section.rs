//! Titled tables.

use crate::text::{
    line::Line,
    printer::Printer,
    style::BOLD,
    table::{AlignedTable, Cell, left_cell},
};
use std::io;

/// Prints a table with a title, unless it has no rows.
pub(crate) fn write_section(
    out: &mut Printer<'_>,
    title: &str,
    column_names: &[&str],
    mut rows: impl Iterator<Item = Vec<Cell>>,
) -> io::Result<()> {
    write_rows(out, title, column_names, &mut rows)
}

fn write_rows(
    out: &mut Printer<'_>,
    title: &str,
    column_names: &[&str],
    rows: &mut dyn Iterator<Item = Vec<Cell>>,
) -> io::Result<()> {
    let mut table = AlignedTable::new();
    table.header(column_names.iter().map(left_cell));
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    rows.for_each(|row| table.row(row));
    out.line("")?;
    out.line(Line::new().styled(BOLD, title))?;
    table.lines().iter().try_for_each(|line| out.line(Line::new().text("  ").line(line)))
}
