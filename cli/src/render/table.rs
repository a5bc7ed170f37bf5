//! Aligned columns without lines.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, Table};

/// Rows of aligned columns; colours in cells do not count as width.
pub(crate) struct Columns {
    table: Table,
}

impl Columns {
    pub(crate) fn new() -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        Self { table }
    }

    /// Adds a row; cells after a `>` are flushed right.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cell = |text: S| match text.as_ref().strip_prefix('>') {
            Some(number) => Cell::new(number).set_alignment(CellAlignment::Right),
            None => Cell::new(text.as_ref()),
        };
        self.table.add_row(Row::from(cells.into_iter().map(cell).collect::<Vec<_>>()));
    }

    /// The rows, each one line, as far as they have text.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        if self.table.row_count() == 0 {
            return Vec::new();
        }
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        self.table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}
