//! The report on a changed element.

use super::{element::MapElements, operand::ValueOperand};
use crate::{
    console::Console,
    format::Format,
    text::{hex, line::Line, style},
};
use serde::Serialize;
use std::io;

/// A change of an element, and its JSON line.
#[derive(Serialize)]
pub(super) struct MapChange {
    map_id: u32,
    /// The change: `updated`, `deleted` or `pushed`.
    change: &'static str,
    key_bytes: Option<String>,
    value_bytes: Option<String>,
    /// The part of the text after the map's name.
    #[serde(skip)]
    text: String,
}

impl MapChange {
    pub(super) fn new(map_id: u32, change: &'static str) -> Self {
        Self { map_id, change, key_bytes: None, value_bytes: None, text: String::new() }
    }

    pub(super) fn key(mut self, elements: &MapElements<'_>, key: &[u8]) -> Self {
        if !key.is_empty() {
            self.key_bytes = Some(hex::digits(key));
            self.text = format!("[{}]", elements.key_text(key).trim_start());
        }
        self
    }

    pub(super) fn value(mut self, value: &ValueOperand) -> Self {
        self.value_bytes = value.content().map(hex::digits);
        self
    }

    /// Prints the change. `map` is the map's id and name.
    pub(super) fn write(&self, console: &mut Console<'_>, format: Format, map: &str) -> io::Result<()> {
        let separator = if self.text.is_empty() { "" } else { ": " };
        let line = Line::new().styled(style::GOOD, self.change);
        let line = line.text(format_args!(": {map}{separator}{}", self.text));
        console.report_change(format, self, &line)
    }
}
