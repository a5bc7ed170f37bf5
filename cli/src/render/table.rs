//! Aligned columns without lines.

use super::style::DIM;
use crate::line::Line;
use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table};
use core_relo::Escaped;
use std::fmt;

/// A cell of a table, escaped before it is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    is_flushed_right: bool,
}

/// A cell flushed left.
pub(crate) fn left(text: impl fmt::Display) -> Cell {
    Cell { text: Escaped(text).to_string(), is_flushed_right: false }
}

/// A cell flushed right.
pub(crate) fn right(text: impl fmt::Display) -> Cell {
    Cell { text: Escaped(text).to_string(), is_flushed_right: true }
}

/// Rows of aligned columns.
pub(crate) struct Columns {
    table: Table,
    /// Of each row.
    colours: Vec<Colour>,
}

/// What of a row is coloured.
enum Colour {
    Nothing,
    /// So many bytes at its beginning.
    Beginning(Style, usize),
    All(Style),
}

impl Columns {
    pub(crate) fn new() -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        Self { table, colours: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.add(cells, Colour::Nothing);
    }

    /// Adds a row of the columns' names.
    pub(crate) fn head(&mut self, names: impl IntoIterator<Item = Cell>) {
        self.add(names, Colour::All(DIM));
    }

    /// Adds a row whose first cell is of this style.
    pub(crate) fn row_with(&mut self, style: Style, first: &str, rest: impl IntoIterator<Item = Cell>) {
        let first = left(first);
        let colour = Colour::Beginning(style, first.text.len());
        self.add([first].into_iter().chain(rest), colour);
    }

    fn add(&mut self, cells: impl IntoIterator<Item = Cell>, colour: Colour) {
        let cell = |Cell { text, is_flushed_right }| {
            let alignment = if is_flushed_right { CellAlignment::Right } else { CellAlignment::Left };
            comfy_table::Cell::new(text).set_alignment(alignment)
        };
        self.table.add_row(Row::from(cells.into_iter().map(cell).collect::<Vec<_>>()));
        self.colours.push(colour);
    }

    /// The rows, each one line, as far as they have text.
    pub(crate) fn lines(&mut self) -> Vec<Line> {
        if self.table.row_count() == 0 {
            return Vec::new();
        }
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines = self.table.lines().zip(&self.colours);
        lines.map(|(line, colour)| colour.of(line.trim_end())).collect()
    }
}

impl Colour {
    fn of(&self, line: &str) -> Line {
        match self {
            Self::Nothing => line.into(),
            Self::All(style) => Line::new().styled(*style, line),
            Self::Beginning(style, len) => {
                let (first, rest) = line.split_at_checked(*len).unwrap_or((line, ""));
                Line::new().styled(*style, first).text(rest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::style::GOOD;

    #[test]
    fn colours_take_no_room() {
        let mut columns = Columns::new();
        columns.head([left("VERDICT"), right("N")]);
        columns.row_with(GOOD, "ok", [right(100)]);
        columns.row([left(""), right(1)]);
        columns.row([left(">a\nb\x1b"), right("")]);
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
