//! `requires`: all that objects ask of a kernel.

use crate::{
    args::requires::RequiresArgs,
    cmd::verdicts::objects::with_needs,
    console::Console,
    describe::short_type_name,
    error::{BadInput, CommandResult},
    format::Format,
    input::{object::ObjectFile, object_paths},
    policy::{Config, ProjectLoad},
    settings::UserSettings,
    text::{
        line::Line,
        printer::Printer,
        section::write_section,
        style::BOLD,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo_loader::load_plan::Settings;
use core_relo_verdict::{
    SourceLine,
    listing::{
        AccessUse, AttachPointListing, AttachTargetListing, ExternListing, ExternUse, HelperUse,
        InstructionSetUse, MapListing, MapSizes, ObjectListing, ProgramListing, Use,
    },
    loaders::LoaderKind,
};
use serde::Serialize;
use std::{io, path::PathBuf};

pub(crate) fn run(console: &mut Console<'_>, args: &RequiresArgs) -> CommandResult {
    let paths = object_paths::find_objects(&args.objects);
    let readable: Vec<_> = paths.iter().filter_map(|path| path.as_ref().ok().cloned()).collect();
    let ProjectLoad { loader, user } =
        Config::load_of_project(&args.config, args.loader.loader, &args.settings)?;
    let settings = if readable.len() == 1 { user } else { user.check_files(&readable)? };
    let (mut is_first, mut warnings) = (true, Vec::new());
    for path in paths {
        let collected = path.and_then(|path| collect(path, loader, &settings, &mut warnings));
        warnings.drain(..).try_for_each(|warning| console.warn(&warning))?;
        match (collected, console.format) {
            (Err(bad), _) => console.report_error(&bad)?,
            (Ok(requirements), Format::Json) => console.out.json(&requirements)?,
            (Ok(requirements), Format::Text) => {
                if !is_first {
                    console.out.line("")?;
                }
                is_first = false;
                write(&requirements, &mut console.out)?;
            }
        }
    }
    Ok(())
}

/// The requirements of an object. They serialize to the JSON line.
#[derive(Serialize)]
struct Requirements {
    object: String,
    #[serde(flatten)]
    listing: ObjectListing,
}

/// Collects the requirements of an object for a loader, with settings of user space.
fn collect(
    path: PathBuf,
    loader: LoaderKind,
    user: &UserSettings,
    warnings: &mut Vec<String>,
) -> Result<Requirements, BadInput> {
    let file = ObjectFile::read(&path)?;
    let mut settings = Settings::default();
    if !user.is_empty() {
        warnings.extend(user.apply_to_object(&file, &file.parse()?, &mut settings)?);
    }
    let settings = Some(&settings).filter(|_| !user.is_empty());
    let listing = with_needs(loader, &file, settings, |needs, table, relocs| {
        ObjectListing::new(needs, table, Some(relocs))
    })?;
    Ok(Requirements { object: file.name.clone(), listing })
}

/// Prints the requirements for people.
fn write(requirements: &Requirements, out: &mut Printer<'_>) -> io::Result<()> {
    let Requirements { object, listing } = requirements;
    let ObjectListing { license, btf_kinds, maps, externs, programs, loader_reasons, .. } = listing;
    let counts = [count(programs.len(), "program"), count(maps.len(), "map"), count(externs.len(), "extern")];
    out.line(Line::new().styled(BOLD, object).text(format_args!(": {}", counts.join(", "))))?;
    let license = license.as_deref().unwrap_or("none");
    out.line(Line::new().text(format_args!("  license: {license}")))?;
    if !btf_kinds.is_empty() {
        let kinds: Vec<_> = btf_kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        out.line(Line::new().text(format_args!("  BTF: {}", kinds.join(", "))))?;
    }
    for reason in loader_reasons {
        out.line(Line::new().text("  ").text(reason))?;
    }
    let map_columns = ["NAME", "TYPE", "KEY", "VALUE", "ENTRIES", "FLAGS", ""];
    write_section(out, "Maps", &map_columns, maps.iter().map(map_row))?;
    write_section(out, "Externs", &["NAME", "KIND", ""], externs.iter().map(extern_row))?;
    programs.iter().try_for_each(|program| write_program(program, out))
}

/// Prints a program's requirements.
fn write_program(program: &ProgramListing, out: &mut Printer<'_>) -> io::Result<()> {
    out.line("")?;
    out.line(Line::new().styled(BOLD, "Program ").styled(BOLD, &program.name).text(summary(program)))?;
    let line = |text: String| Line::new().text("  ").text(text);
    if let Some(AttachTargetListing { kind, module, name, .. }) = &program.attach_target {
        let module = module.as_ref().map_or_else(String::new, |module| format!(" in module {module}"));
        out.line(line(format!("attaches to the {kind} {name}{module}")))?;
    }
    if let Some(point) = &program.attach_point {
        out.line(line(attach_point(point)))?;
    }
    match program.needs_input {
        Some("program_type") => out.line("  user space must set the program type")?,
        Some(_) => out.line("  user space must set the attach target")?,
        None => {}
    }
    if let Some(error) = &program.error {
        out.line(line(format!("cannot be linked: {error}")))?;
    }
    if !program.relocations.is_empty() {
        let kinds: Vec<_> = program.relocations.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        out.line(line(format!("CO-RE relocations: {}", kinds.join(", "))))?;
    }
    let uses = |title, uses: &[Use], out: &mut Printer<'_>| {
        write_section(out, title, &["NAME", "USES", "FIRST USE"], uses.iter().map(use_row))
    };
    let columns = ["NAME", "USES", "FIRST USE", "PROGRAM TYPES"];
    write_section(out, "Helpers", &columns, program.helpers.iter().map(helper_row))?;
    uses("Kfuncs", &program.kfuncs, out)?;
    let columns = ["NAME", "USES", "FIRST USE", "KIND", "COMPARED"];
    write_section(out, "Externs in use", &columns, program.externs.iter().map(extern_use_row))?;
    uses("Maps in use", &program.maps, out)?;
    let columns = ["NAME", "USES", "FIRST USE", "SINCE"];
    write_section(out, "Instruction sets", &columns, program.instruction_sets.iter().map(set_row))?;
    let columns = ["ACCESS", "KIND", "USES", "FIRST USE", "CHECKED BY"];
    write_section(out, "Accesses", &columns, program.accesses.iter().map(access_row))?;
    let columns = ["ACCESS", "KIND", "USES", "FIRST USE"];
    let checks = program.checks.iter().map(|check| {
        let mut row = access_row(check);
        row.truncate(columns.len());
        row
    });
    write_section(out, "Existence checks", &columns, checks)
}

/// Returns the type and the size of a program.
fn summary(program: &ProgramListing) -> String {
    let mut parts = Vec::new();
    parts.push(match (program.program_type, program.attach_type) {
        (Some(kind), Some(attach)) => format!("{} / {}", short_type_name(kind), short_type_name(attach)),
        (Some(kind), None) => short_type_name(kind),
        (None, _) => "unknown type".to_owned(),
    });
    parts.extend(program.insns.map(|insns| count(insns, "instruction")));
    for (n, noun) in [(program.subprograms, "subprogram"), (program.callbacks, "callback")] {
        parts.extend(n.filter(|n| *n > 0).map(|n| count(n, noun)));
    }
    parts.extend(program.stack_bytes.map(|bytes| format!("{bytes} bytes of stack")));
    if !program.autoload {
        parts.push("not loaded unless asked for".to_owned());
    }
    format!(": {}", parts.join(", "))
}

/// Returns a number with its noun: `1 map`, `2 maps`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn map_row(map: &MapListing) -> Vec<Cell> {
    let mut kind = map.map_type.as_deref().map_or_else(|| "unknown".to_owned(), short_type_name);
    if let Some(inner) = &map.inner_map_type {
        kind = format!("{kind} of {}", short_type_name(inner));
    }
    if let Some(name) = &map.struct_ops {
        kind = format!("{kind} {name}");
    }
    let input = match &*map.needs_input {
        [] => String::new(),
        attributes => format!("user space must set {}", attributes.join(", ")),
    };
    let [key, value, entries, flags] = sizes(&map.sizes, map.inner_map.as_ref());
    let mut row = vec![left_cell(&map.name), left_cell(kind)];
    row.extend([key, value, entries].map(right_cell));
    row.extend([left_cell(flags), left_cell(input)]);
    row
}

/// Returns the sizes and flags of a map: `4 of 8` for a map of maps. Empty if the object does not set them.
fn sizes(outer: &MapSizes, inner: Option<&MapSizes>) -> [String; 4] {
    let size = |outer: Option<u64>, inner: Option<u64>| match (outer, inner) {
        (Some(outer), Some(inner)) => format!("{outer} of {inner}"),
        (outer, _) => outer.map_or_else(String::new, |outer| outer.to_string()),
    };
    let flags = outer.flags.filter(|flags| *flags != 0);
    let flags = flags.map_or_else(String::new, |flags| format!("{flags:#x}"));
    let both = |get: fn(&MapSizes) -> Option<u64>| size(get(outer), inner.and_then(get));
    [
        both(|sizes| sizes.key_size.map(u64::from)),
        both(|sizes| sizes.value_size),
        both(|sizes| sizes.max_entries.map(u64::from)),
        flags,
    ]
}

/// Returns the place that a loader attaches a program to after the load, and how a kernel's BTF shows it.
fn attach_point(point: &AttachPointListing) -> String {
    let AttachPointListing { kind, name, binary, declarations, .. } = point;
    let binary = binary.as_ref().map_or_else(String::new, |binary| format!(" in {binary}"));
    let evidence = match &**declarations {
        [] => String::new(),
        declarations => format!(", which BTF shows by {}", declarations.join(" or ")),
    };
    format!("attaches after the load to the {kind} {name}{binary}{evidence}")
}

fn helper_row(helper: &HelperUse) -> Vec<Cell> {
    /// The number of program types in a row. Helpers that more types may call are of general use.
    const LISTED_TYPES: usize = 3;
    let mut row = use_row(&helper.uses);
    let types: Vec<_> = helper.program_types.iter().map(|name| short_type_name(name)).collect();
    row.push(left_cell(match types.len() {
        0 => "unknown".to_owned(),
        1..=LISTED_TYPES => types.join(", "),
        n => format!("{n} types"),
    }));
    row
}

fn set_row(set: &InstructionSetUse) -> Vec<Cell> {
    let mut row = use_row(&set.uses);
    row.push(left_cell(set.since.as_deref().unwrap_or("")));
    row
}

fn extern_use_row(row: &ExternUse) -> Vec<Cell> {
    let mut cells = use_row(&row.uses);
    let comparisons: Vec<_> = row
        .comparisons
        .iter()
        .map(|comparison| match &comparison.version {
            Some(version) => format!("{} {version}", comparison.operator),
            None => format!("{} {}", comparison.operator, comparison.value),
        })
        .collect();
    let kind = if row.weak { format!("weak {}", row.kind) } else { row.kind.to_owned() };
    cells.extend([left_cell(kind), left_cell(comparisons.join(", "))]);
    cells
}

fn extern_row(row: &ExternListing) -> Vec<Cell> {
    vec![left_cell(&row.name), left_cell(row.kind), left_cell(if row.weak { "weak" } else { "" })]
}

fn use_row(row: &Use) -> Vec<Cell> {
    vec![left_cell(&row.name), right_cell(row.count), left_cell(place(row.insn, row.source.as_ref()))]
}

fn access_row(row: &AccessUse) -> Vec<Cell> {
    let place = place(row.insn, row.source.as_ref());
    vec![
        left_cell(&row.access),
        left_cell(&row.kind),
        right_cell(row.count),
        left_cell(place),
        left_cell(row.check.as_deref().unwrap_or("")),
    ]
}

/// Returns the source position of an instruction, or the instruction if the position is unknown.
fn place(insn: u32, source: Option<&SourceLine>) -> String {
    match source {
        None => format!("insn {insn}"),
        Some(SourceLine { file, line, column: 0, .. }) => format!("{file}:{line}"),
        Some(SourceLine { file, line, column, .. }) => format!("{file}:{line}:{column}"),
    }
}
