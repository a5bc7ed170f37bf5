//! Lists of objects: a row for each.

use crate::{
    console::Console,
    format::Format,
    text::table::{AlignedTable, Cell, left_cell, right_cell},
};
use serde::Serialize;
use std::io;

/// The rows of a list of objects.
pub(crate) struct Rows<'r, T> {
    pub(crate) columns: &'r [&'r str],
    pub(crate) rows: &'r [T],
    /// The line for a list without rows.
    pub(crate) placeholder: &'r str,
}

impl<T: Serialize> Rows<'_, T> {
    /// Prints the rows as a table, or as lines of JSON. Columns of numbers are aligned right.
    pub(crate) fn write(
        &self,
        console: &mut Console<'_>,
        format: Format,
        cells: impl Fn(&T) -> Vec<Cell>,
    ) -> io::Result<()> {
        if format == Format::Json {
            return self.rows.iter().try_for_each(|row| console.out.json(row));
        }
        if self.rows.is_empty() {
            return console.out.line(self.placeholder);
        }
        let mut table = AlignedTable::new();
        table.header(self.columns.iter().map(|name| match *name {
            "ID" | "INSNS" | "KEY" | "VALUE" | "ENTRIES" | "BYTES" => right_cell(name),
            name => left_cell(name),
        }));
        self.rows.iter().for_each(|row| table.row(cells(row)));
        table.lines().into_iter().try_for_each(|line| console.out.line(line))
    }
}
