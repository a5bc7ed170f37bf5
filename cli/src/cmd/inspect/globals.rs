//! The global variables of an object.

use crate::text::table::{Cell, left_cell, right_cell};
use core_relo::explain::CType;
use core_relo_loader::{Global, GlobalKind, object::Object};
use serde::Serialize;

/// Returns all global variables.
pub(super) fn list_globals(object: &Object<'_>) -> Vec<GlobalFacts> {
    Global::collect(object).into_iter().map(|global| GlobalFacts::new(object, global)).collect()
}

/// The facts about a global variable. They serialize to JSON.
#[derive(Serialize)]
pub(super) struct GlobalFacts {
    name: String,
    kind: &'static str,
    section: String,
    map: String,
    offset: usize,
    size: usize,
    /// The type in C notation; `null` if BTF does not have it.
    c_type: Option<String>,
}

impl GlobalFacts {
    fn new(object: &Object<'_>, global: Global) -> Self {
        let ty = object.btf().zip(global.ty);
        Self {
            kind: match global.kind {
                GlobalKind::Variable => "variable",
                GlobalKind::Constant => "constant",
                GlobalKind::Arena => "arena",
                GlobalKind::Config => "config",
                GlobalKind::StructOps => "struct_ops",
                _ => "other",
            },
            name: global.name,
            section: global.section.to_string(),
            map: global.map.to_string(),
            offset: global.offset,
            size: global.size,
            c_type: ty.map(|(btf, ty)| CType::new(btf, ty).to_string()),
        }
    }

    pub(super) fn row(&self) -> Vec<Cell> {
        vec![
            left_cell(&self.name),
            left_cell(&self.section),
            right_cell(self.offset),
            right_cell(self.size),
            left_cell(self.c_type.as_deref().unwrap_or("?")),
        ]
    }
}
