//! Tables with aligned columns and no borders.

use crate::text::{line::Line, style::DIM};
use anstyle::Style;
use core_relo::Escaped;
use std::fmt;
use unicode_width::UnicodeWidthStr as _;

/// The space between two columns.
const GAP: &str = "  ";

/// A cell of a table. Its text is escaped when the cell is created, so that escapes count in the column
/// width.
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

impl Cell {
    /// Returns the width of the cell on a terminal.
    fn width(&self) -> usize {
        self.text.width()
    }
}

/// A table of aligned columns.
#[derive(Debug, Default)]
pub(crate) struct AlignedTable {
    rows: Vec<(Vec<Cell>, RowColour)>,
}

/// The coloured part of a row.
#[derive(Debug)]
enum RowColour {
    Plain,
    /// The style, and the number of bytes from the start of the row.
    FirstBytes(Style, usize),
    All(Style),
}

impl AlignedTable {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push((cells.into_iter().collect(), RowColour::Plain));
    }

    /// Adds the row of column names.
    pub(crate) fn header(&mut self, names: impl IntoIterator<Item = Cell>) {
        self.rows.push((names.into_iter().collect(), RowColour::All(DIM)));
    }

    /// Adds a row with a style for its first cell.
    pub(crate) fn styled_row(&mut self, style: Style, first: &str, rest: impl IntoIterator<Item = Cell>) {
        let first = left_cell(first);
        let colour = RowColour::FirstBytes(style, first.text.len());
        self.rows.push(([first].into_iter().chain(rest).collect(), colour));
    }

    /// Returns the rows as lines, without trailing spaces.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let mut widths: Vec<usize> = Vec::new();
        for (cells, _) in &self.rows {
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.width().max(*width);
            }
        }
        self.rows.iter().map(|(cells, colour)| colour.apply(aligned(cells, &widths).trim_end())).collect()
    }
}

/// Joins the cells of a row, each with the width of its column.
fn aligned(cells: &[Cell], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        // A column is as wide as its widest cell.
        let spaces = " ".repeat(width.saturating_sub(cell.width()));
        let (before, after) = if cell.is_right_aligned { (&*spaces, "") } else { ("", &*spaces) };
        line.extend([before, &cell.text, after, GAP]);
    }
    line
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
