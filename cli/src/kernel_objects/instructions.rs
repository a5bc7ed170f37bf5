//! The annotations of instructions in JSON.

use core_relo_loader::inventory::{CallTarget, LoadedMapRef, ProgramSourceLine};
use serde::Serialize;

/// The target of a call.
#[derive(Serialize)]
pub(crate) struct Call<'a> {
    kind: &'static str,
    name: Option<&'a str>,
}

impl<'a> From<&'a CallTarget> for Call<'a> {
    fn from(call: &'a CallTarget) -> Self {
        Self { kind: call.kind, name: call.name.as_deref() }
    }
}

/// The map whose address an instruction loads.
#[derive(Serialize)]
pub(crate) struct MapRef<'a> {
    id: u32,
    name: Option<&'a str>,
    offset: Option<u32>,
}

impl<'a> From<&'a LoadedMapRef> for MapRef<'a> {
    fn from(map: &'a LoadedMapRef) -> Self {
        Self { id: map.id, name: map.name.as_deref(), offset: map.offset }
    }
}

/// A source line.
#[derive(Serialize)]
pub(crate) struct SourceLine<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    text: &'a str,
}

impl<'a> From<&'a ProgramSourceLine> for SourceLine<'a> {
    fn from(source: &'a ProgramSourceLine) -> Self {
        Self { file: &source.file, line: source.line, column: source.column, text: &source.text }
    }
}
