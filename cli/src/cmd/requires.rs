//! `requires`: all that objects ask of a kernel.

use crate::{
    args::{format::Format, requires::RequiresArgs},
    cmd::verdicts::objects::with_needs,
    console::Console,
    describe::short_type_name,
    error::BadInput,
    input::{directory, object::ObjectFile},
    json::{
        record::SourceLine,
        requires::{
            AccessJson, AttachTargetJson, ExternJson, MapJson, ProgramJson, RequirementsJson, UseJson,
        },
    },
    text::{
        line::Line,
        printer::Printer,
        section::write_section,
        style::BOLD,
        table::{Cell, left_cell, right_cell},
    },
};
use std::{io, path::PathBuf};

pub(crate) fn run(console: &mut Console<'_>, args: &RequiresArgs) -> io::Result<()> {
    let mut is_first = true;
    for path in directory::find_objects(&args.objects) {
        match (path.and_then(collect), console.format) {
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

/// Collects the requirements of an object.
fn collect(path: PathBuf) -> Result<RequirementsJson, BadInput> {
    let file = ObjectFile::read(&path)?;
    with_needs(&file, |needs, table, relocs| RequirementsJson::new(&file.name, needs, table, Some(relocs)))
}

/// Prints the requirements for people.
fn write(requirements: &RequirementsJson, out: &mut Printer<'_>) -> io::Result<()> {
    let RequirementsJson { object, maps, externs, programs } = requirements;
    let counts = [count(programs.len(), "program"), count(maps.len(), "map"), count(externs.len(), "extern")];
    out.line(Line::new().styled(BOLD, object).text(format_args!(": {}", counts.join(", "))))?;
    write_section(out, "Maps", &["NAME", "TYPE", ""], maps.iter().map(map_row))?;
    write_section(out, "Externs", &["NAME", "KIND", ""], externs.iter().map(extern_row))?;
    programs.iter().try_for_each(|program| write_program(program, out))
}

/// Prints a program's requirements.
fn write_program(program: &ProgramJson, out: &mut Printer<'_>) -> io::Result<()> {
    out.line("")?;
    out.line(Line::new().styled(BOLD, "Program ").styled(BOLD, &program.name).text(summary(program)))?;
    let line = |text: String| Line::new().text("  ").text(text);
    if let Some(AttachTargetJson { kind, module, name }) = &program.attach_target {
        let module = module.as_ref().map(|module| format!(" in module {module}")).unwrap_or_default();
        out.line(line(format!("attaches to the {kind} {name}{module}")))?;
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
    let uses = |title, uses: &[UseJson], out: &mut Printer<'_>| {
        write_section(out, title, &["NAME", "USES", "FIRST USE"], uses.iter().map(use_row))
    };
    uses("Helpers", &program.helpers, out)?;
    uses("Kfuncs", &program.kfuncs, out)?;
    uses("Instruction sets", &program.instruction_sets, out)?;
    let accesses = |title, accesses: &[AccessJson], out: &mut Printer<'_>| {
        let column_names = ["ACCESS", "KIND", "USES", "FIRST USE"];
        write_section(out, title, &column_names, accesses.iter().map(access_row))
    };
    accesses("Accesses", &program.accesses, out)?;
    accesses("Existence checks", &program.checks, out)
}

/// Returns the type and the size of a program.
fn summary(program: &ProgramJson) -> String {
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
    if !program.autoload {
        parts.push("not loaded unless asked for".to_owned());
    }
    format!(": {}", parts.join(", "))
}

/// Returns a number with its noun: `1 map`, `2 maps`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn map_row(map: &MapJson) -> Vec<Cell> {
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
    vec![left_cell(&map.name), left_cell(kind), left_cell(input)]
}

fn extern_row(row: &ExternJson) -> Vec<Cell> {
    vec![left_cell(&row.name), left_cell(row.kind), left_cell(if row.weak { "weak" } else { "" })]
}

fn use_row(row: &UseJson) -> Vec<Cell> {
    vec![left_cell(&row.name), right_cell(row.count), left_cell(place(row.insn, row.source.as_ref()))]
}

fn access_row(row: &AccessJson) -> Vec<Cell> {
    let place = place(row.insn, row.source.as_ref());
    vec![left_cell(&row.access), left_cell(&row.kind), right_cell(row.count), left_cell(place)]
}

/// Returns the source position of an instruction, or the instruction if the position is unknown.
fn place(insn: u32, source: Option<&SourceLine>) -> String {
    match source {
        None => format!("insn {insn}"),
        Some(SourceLine { file, line, column: 0, .. }) => format!("{file}:{line}"),
        Some(SourceLine { file, line, column, .. }) => format!("{file}:{line}:{column}"),
    }
}
