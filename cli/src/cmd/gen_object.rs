//! `gen object`: links several objects into one.

use crate::{
    args::gen_object::GenObjectArgs,
    console::Console,
    describe,
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    input::object::{ObjectBudget, ObjectFile},
    output,
    text::{line::Line, style},
};
use core_relo_loader::{
    object::{ExternKind, Object},
    static_link::{Linker, StaticLinkError},
};
use serde::Serialize;
use std::{io, path::PathBuf};

/// The report on the linked object, and its JSON line.
#[derive(Serialize)]
struct LinkReport {
    output: String,
    objects: Vec<String>,
    bytes: usize,
    programs: usize,
    subprograms: usize,
    maps: usize,
    types: u32,
    unresolved: Vec<String>,
}

pub(crate) fn run(console: &mut Console<'_>, args: &GenObjectArgs) -> CommandResult {
    let report = link(args)?;
    Ok(print_report(console, &report)?)
}

fn link(args: &GenObjectArgs) -> Result<LinkReport, BadInput> {
    let budget = ObjectBudget::default();
    let read = |path: &PathBuf| ObjectFile::read_within(path, &budget);
    let files = args.objects.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let name = escape_path(&args.output);
    let bad = |error: StaticLinkError| {
        let text = error.to_string();
        let file = error.file().unwrap_or(&name);
        let what = text.strip_prefix(file).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
        BadInput::new(file, what)
    };
    let mut linker = Linker::new();
    for file in &files {
        linker = linker.add(&file.name, file.bytes()).map_err(bad)?;
    }
    let bytes = linker.finish().map_err(bad)?;
    // The output must parse, or nothing is written.
    let object = Object::parse(&bytes).map_err(|e| BadInput::new(&*name, e))?;
    let count = |is_subprogram| object.programs().iter().filter(|p| p.is_subprogram == is_subprogram).count();
    let unresolved = object.externs().iter().filter(|e| e.kind == ExternKind::Unknown);
    let report = LinkReport {
        objects: files.iter().map(|file| file.name.clone()).collect(),
        bytes: bytes.len(),
        programs: count(false),
        subprograms: count(true),
        maps: object.maps().len(),
        types: object.btf().map_or(0, |btf| btf.end_id().0.saturating_sub(1)),
        unresolved: unresolved.map(|e| describe::name(e.name)).collect(),
        output: name,
    };
    output::write(&args.output, &bytes)?;
    Ok(report)
}

fn print_report(console: &mut Console<'_>, report: &LinkReport) -> io::Result<()> {
    if console.format == Format::Json {
        return console.out.json(report);
    }
    let LinkReport { output, objects, bytes, programs, subprograms, maps, types, unresolved } = report;
    if !unresolved.is_empty() {
        let names = unresolved.join("`, `");
        console.note(&format!("{output}: still to be defined by an object it is linked with: `{names}`"))?;
    }
    let n = objects.len();
    console.out.line(Line::new().styled(style::GOOD, "written").text(format_args!(
        ": {output}: {n} objects, {programs} programs, {subprograms} subprograms, {maps} maps, {types} types, {bytes} bytes"
    )))
}
