//! Tables with aligned columns and no borders.

use crate::text::{line::Line, style::DIM};
use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table};
use core_relo::Escaped;
use std::fmt;

/// A cell of a table. Its text is escaped when the cell is created, so that escapes count in the column width.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    is_right_aligned: bool,
}

/// Creates a cell that is aligned left.
pub(crate) fn left_cell(text: impl fmt::Display) -> Cell {
    Cell { text: Escaped(text).to_string(), is_right_aligned: false }
}

/// Creates a cell that is aligned right.
pub(crate) fn right_cell(text: impl fmt::Display) -> Cell {
    Cell { text: Escaped(text).to_string(), is_right_aligned: true }
}

/// A table of aligned columns.
pub(crate) struct AlignedTable {
    table: Table,
    /// The coloured part of each row.
    colours: Vec<RowColour>,
}

/// The coloured part of a row.
enum RowColour {
    Plain,
    /// The style, and the number of bytes from the start of the row.
    FirstBytes(Style, usize),
    All(Style),
}

impl AlignedTable {
    pub(crate) fn new() -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        Self { table, colours: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.add(cells, RowColour::Plain);
    }

    /// Adds the row of column names.
    pub(crate) fn header(&mut self, names: impl IntoIterator<Item = Cell>) {
        self.add(names, RowColour::All(DIM));
    }

    /// Adds a row with a style for its first cell.
    pub(crate) fn styled_row(&mut self, style: Style, first: &str, rest: impl IntoIterator<Item = Cell>) {
        let first = left_cell(first);
        let colour = RowColour::FirstBytes(style, first.text.len());
        self.add([first].into_iter().chain(rest), colour);
    }

    fn add(&mut self, cells: impl IntoIterator<Item = Cell>, colour: RowColour) {
        let cell = |Cell { text, is_right_aligned }| {
            let alignment = if is_right_aligned { CellAlignment::Right } else { CellAlignment::Left };
            comfy_table::Cell::new(text).set_alignment(alignment)
        };
        self.table.add_row(Row::from(cells.into_iter().map(cell).collect::<Vec<_>>()));
        self.colours.push(colour);
    }

    /// Returns the rows as lines, without trailing spaces.
    pub(crate) fn lines(&mut self) -> Vec<Line> {
        if self.table.row_count() == 0 {
            return Vec::new();
        }
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines = self.table.lines().zip(&self.colours);
        lines.map(|(line, colour)| colour.apply(line.trim_end())).collect()
    }
}

impl RowColour {
    fn apply(&self, line: &str) -> Line {
        match self {
            Self::Plain => line.into(),
            Self::All(style) => Line::new().styled(*style, line),
            Self::FirstBytes(style, len) => {
                let (first, rest) = line.split_at_checked(*len).unwrap_or((line, ""));
                Line::new().styled(*style, first).text(rest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::GOOD;

    #[test]
    fn colours_do_not_change_the_layout() {
        let mut columns = AlignedTable::new();
        columns.header([left_cell("VERDICT"), right_cell("N")]);
        columns.styled_row(GOOD, "ok", [right_cell(100)]);
        columns.row([left_cell(""), right_cell(1)]);
        columns.row([left_cell(">a\nb\x1b"), right_cell("")]);
        let expected = [
            Line::new().styled(DIM, "VERDICT        N"),
            Line::new().styled(GOOD, "ok").text("           100"),
            "               1".into(),
            ">a\\nb\\u{1b}".into(),
        ];
        let lines = columns.lines();
        assert_eq!(lines, expected);
    }
}
