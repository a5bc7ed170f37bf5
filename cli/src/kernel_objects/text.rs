//! The running kernel's programs, maps, links and BTFs as text, for `list` and `show`.

use crate::{
    error::escape_path,
    text::{
        line::Line,
        printer::Printer,
        style::{BOLD, DIM},
    },
};
use core_relo_loader::inventory::{Process, ProgramSourceLine};
use serde::{Serialize, Serializer};
use std::{fmt::Display, io, path::PathBuf};

/// Prints the first line of an object in `show`.
pub(crate) fn title(out: &mut Printer<'_>, id: u32, kind: &str, name: &str) -> io::Result<()> {
    let line = Line::new().styled(BOLD, id).text(format_args!("  {kind}"));
    out.line(if name.is_empty() { line } else { line.text("  ").styled(BOLD, name) })
}

/// Prints one property of an object in `show`.
pub(crate) fn field(out: &mut Printer<'_>, name: &str, text: impl Display) -> io::Result<()> {
    let name = format_args!("{name:<9}");
    out.line(Line::new().text("    ").styled(DIM, name).text(format_args!(" {text}")))
}

/// Prints a property, unless it is `None`.
pub(crate) fn optional_field(
    out: &mut Printer<'_>,
    name: &str,
    text: Option<impl Display>,
) -> io::Result<()> {
    text.map_or(Ok(()), |text| field(out, name, text))
}

/// Prints the source line of an instruction.
pub(crate) fn source_line(
    out: &mut Printer<'_>,
    source: &ProgramSourceLine,
    has_column: bool,
) -> io::Result<()> {
    let column = if has_column { format!(":{}", source.column) } else { String::new() };
    let position = format_args!("{}:{}{column}", source.file, source.line);
    out.line(Line::new().text(format_args!("; {}  ", source.text)).styled(DIM, position))
}

/// Returns the paths of pins, escaped.
pub(crate) fn pins(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| escape_path(path)).collect()
}

/// Serializes the processes that have an object open.
pub(crate) fn serialize_processes<S: Serializer>(
    processes: &[Process],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Json<'p> {
        pid: u32,
        comm: &'p str,
    }
    serializer.collect_seq(processes.iter().map(|process| Json { pid: process.pid, comm: &process.comm }))
}

/// Prints an object's pins, and the processes that have it open.
pub(crate) fn holders(out: &mut Printer<'_>, processes: &[Process], pins: &[String]) -> io::Result<()> {
    pins.iter().try_for_each(|path| field(out, "pinned", path))?;
    if processes.is_empty() {
        return Ok(());
    }
    let processes: Vec<_> = processes.iter().map(process_text).collect();
    field(out, "held by", processes.join(", "))
}

/// Returns the text of a table cell: the first few processes that have an object open, and pins.
pub(crate) fn holders_cell(processes: &[Process], pins: &[String]) -> String {
    const SHOWN: usize = 3;
    let count = processes.len() + pins.len();
    let mut parts: Vec<_> =
        processes.iter().map(process_text).chain(pins.iter().cloned()).take(SHOWN).collect();
    if count > SHOWN {
        parts.push(format!("{} more", count - SHOWN));
    }
    parts.join(", ")
}

fn process_text(process: &Process) -> String {
    format!("{}({})", process.comm, process.pid)
}

/// Returns the text of a table cell: the first few ids.
pub(crate) fn ids_cell(ids: &[u32]) -> String {
    const SHOWN: usize = 8;
    let mut parts: Vec<_> = ids.iter().take(SHOWN).map(u32::to_string).collect();
    if ids.len() > SHOWN {
        parts.push("...".to_owned());
    }
    parts.join(",")
}
