//! Text output: lines, tables, reports.

pub(crate) mod explanation;
pub(crate) mod graph;
pub(crate) mod hex;
pub(crate) mod line;
pub(crate) mod log_command;
pub(crate) mod plan;
pub(crate) mod printer;
pub(crate) mod section;
pub(crate) mod style;
pub(crate) mod table;
