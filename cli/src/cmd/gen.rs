//! `gen object`: several objects linked into one.

use crate::{
    app::App,
    args::Format,
    args_gen::GenObject,
    error::{BadInput, shown},
    input::object::ObjectFile,
    json,
    line::Line,
    output,
    render::style,
};
use core_relo_loader::{
    object::{ExternKind, Object},
    static_link::{LinkError, Linker},
};
use serde::Serialize;
use std::{fs, io, path::Path};

#[derive(Serialize)]
struct Linked {
    output: String,
    objects: Vec<String>,
    bytes: usize,
    programs: usize,
    subprograms: usize,
    maps: usize,
    types: u32,
    unresolved: Vec<String>,
}

pub(crate) fn object(app: &mut App<'_>, args: &GenObject) -> io::Result<()> {
    match link(args) {
        Ok(linked) => report(app, &linked),
        Err(bad) => app.fail(&bad),
    }
}

fn link(args: &GenObject) -> Result<Linked, BadInput> {
    let files = args.objects.iter().map(|path| ObjectFile::read(path)).collect::<Result<Vec<_>, _>>()?;
    let name = shown(&args.output);
    let place = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if args.objects.iter().any(|input| place(input) == place(&args.output)) {
        let bad = BadInput::new(&*name, "is an input and the output, expected another output");
        return Err(bad.help("the first file named is the one that is made"));
    }
    let bad = |error: LinkError| {
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
    // What was just linked is an object: if it were none, nothing should be written.
    let object = Object::parse(&bytes).map_err(|e| BadInput::new(&*name, e))?;
    let count = |is_subprogram| object.programs().iter().filter(|p| p.is_subprogram == is_subprogram).count();
    let unresolved = object.externs().iter().filter(|e| e.kind == ExternKind::Unknown);
    let linked = Linked {
        objects: files.iter().map(|file| file.name.clone()).collect(),
        bytes: bytes.len(),
        programs: count(false),
        subprograms: count(true),
        maps: object.maps().len(),
        types: object.btf().map_or(0, |btf| btf.end_id().0.saturating_sub(1)),
        unresolved: unresolved.map(|e| json::text(e.name)).collect(),
        output: name,
    };
    output::write(&args.output, &bytes)?;
    Ok(linked)
}

fn report(app: &mut App<'_>, linked: &Linked) -> io::Result<()> {
    if app.format == Format::Json {
        return app.out.json(linked);
    }
    let Linked { output, objects, bytes, programs, subprograms, maps, types, unresolved } = linked;
    if !unresolved.is_empty() {
        let names = unresolved.join("`, `");
        app.note(&format!("{output}: still to be defined by an object it is linked with: `{names}`"))?;
    }
    let n = objects.len();
    app.out.line(Line::new().styled(style::GOOD, "written").text(format_args!(
        ": {output}: {n} objects, {programs} programs, {subprograms} subprograms, {maps} maps, {types} types, {bytes} bytes"
    )))
}
