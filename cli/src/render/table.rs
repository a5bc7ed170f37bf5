//! Aligned columns without lines.

use super::style::{DIM, painted};
use anstyle::Style;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, Table};

/// Rows of aligned columns. Cells are plain text, which is coloured after it was laid out.
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

    /// Adds a row; cells after a `>` are flushed right.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.add(cells, Colour::Nothing);
    }

    /// Adds a row of the columns' names.
    pub(crate) fn head<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) {
        self.add(names, Colour::All(DIM));
    }

    /// Adds a row whose first cell, which is not flushed right, is of this style.
    pub(crate) fn row_with(&mut self, style: Style, first: &str, rest: impl IntoIterator<Item = String>) {
        let colour = Colour::Beginning(style, first.len());
        self.add([first.to_owned()].into_iter().chain(rest), colour);
    }

    fn add<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>, colour: Colour) {
        let cell = |text: S| match text.as_ref().strip_prefix('>') {
            Some(number) => Cell::new(number).set_alignment(CellAlignment::Right),
            None => Cell::new(text.as_ref()),
        };
        self.table.add_row(Row::from(cells.into_iter().map(cell).collect::<Vec<_>>()));
        self.colours.push(colour);
    }

    /// The rows, each one line, as far as they have text.
    pub(crate) fn lines(&mut self) -> Vec<String> {
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
    fn of(&self, line: &str) -> String {
        let (style, (first, rest)) = match self {
            Self::Nothing => return line.to_owned(),
            Self::All(style) => (style, (line, "")),
            Self::Beginning(style, len) => (style, line.split_at_checked(*len).unwrap_or((line, ""))),
        };
        if first.is_empty() { line.to_owned() } else { format!("{}{rest}", painted(*style, first)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::style::GOOD;

    #[test]
    fn colours_take_no_room() {
        let mut columns = Columns::new();
        columns.head(["VERDICT", ">N"]);
        columns.row_with(GOOD, "ok", [">100".to_owned()]);
        columns.row(["", ">1"]);
        let plain = ["VERDICT    N", "ok       100", "           1"];
        let lines: Vec<_> =
            columns.lines().iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect();
        assert_eq!(lines, plain);
        assert_eq!(columns.lines()[0], painted(DIM, plain[0]));
        assert_eq!(columns.lines()[1], format!("{}       100", painted(GOOD, "ok")));
    }
}
