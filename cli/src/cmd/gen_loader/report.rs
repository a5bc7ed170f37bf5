//! The report on a loader file that was written or read.

use crate::{
    args::gen_loader::GenLoaderArgs,
    console::Console,
    format::Format,
    text::{
        line::Line,
        style::{self, BOLD, DIM},
    },
};
use core_relo::insn::{INSN_BYTES, Slots};
use core_relo_loader::loader_program::LoaderFile;
use serde::Serialize;
use std::io;

/// A loader file as a JSON line.
#[derive(Serialize)]
struct LoaderJson<'f> {
    file: String,
    object: &'f str,
    bytes: usize,
    instructions: usize,
    data_bytes: usize,
    kernel: Option<&'f str>,
    checks_data: bool,
    signature_bytes: Option<usize>,
    maps: Vec<MapJson<'f>>,
    programs: Vec<ProgramJson<'f>>,
    insns: Vec<String>,
}

#[derive(Serialize)]
struct MapJson<'f> {
    name: &'f str,
    map_type: String,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    entry_per_cpu: bool,
}

#[derive(Serialize)]
struct ProgramJson<'f> {
    name: &'f str,
    program_type: &'static str,
    section: &'f str,
}

/// Reports a file that was written or read.
pub(super) fn report(
    console: &mut Console<'_>,
    args: &GenLoaderArgs,
    name: String,
    file: &LoaderFile,
    bytes: usize,
) -> io::Result<()> {
    let insns = if args.insns { disassemble(file) } else { Vec::new() };
    if console.format == Format::Json {
        return console.out.json(&json(name, file, bytes, insns));
    }
    let count = file.instructions().len() / INSN_BYTES;
    let summary = format!(
        "{} maps, {} programs, {count} instructions, {} bytes of data",
        file.maps().len(),
        file.programs().len(),
        file.data().len()
    );
    if !args.show {
        let line = Line::new().styled(style::GOOD, "written");
        return console.out.line(line.text(format_args!(": {name}: {summary}, {bytes} bytes")));
    }
    console.out.line(
        Line::new().styled(BOLD, name).text(format_args!(": loader program of `{}`: {summary}", file.name())),
    )?;
    let kernel = file
        .relocated_for()
        .map_or_else(|| "by the kernel that executes it".to_owned(), |kernel| format!("for {kernel}"));
    console.out.line(format_args!("  relocated  {kernel}"))?;
    let checks = if file.checks_data() { "checks the hash of its data" } else { "does not check its data" };
    let signature = file.signatures().map_or("unsigned".to_owned(), |signatures| {
        format!("signature of {} bytes, not verified here", signatures.instructions.len())
    });
    console.out.line(format_args!("  signature  {signature}; {checks}"))?;
    for map in file.maps() {
        let kind = map.known_type().map_or("?".into(), |kind| kind.short_name());
        let line = Line::new().text("  map      ").column(24, &map.name).text(" ").column(16, kind);
        let attributes = &map.attributes;
        let entries = if map.entry_per_cpu {
            "one for each CPU".to_owned()
        } else {
            attributes.max_entries.to_string()
        };
        let (key, value) = (attributes.key_size, attributes.value_size);
        console.out.line(line.text(format_args!(" key {key}, value {value}, entries {entries}")))?;
    }
    for program in file.programs() {
        let kind = program.program_type.short_name();
        let line = Line::new().text("  program  ").column(24, &program.name).text(" ").column(16, kind);
        console.out.line(line.text(format_args!(" section {}", program.section)))?;
    }
    insns.iter().try_for_each(|insn| console.out.line(Line::new().styled(DIM, "  ").text(insn)))
}

/// Returns the lines of the instructions.
fn disassemble(file: &LoaderFile) -> Vec<String> {
    let slots = Slots::new(file.endian(), file.instructions());
    slots.map(|(index, slot)| format!("{:5}: {slot}", index.0)).collect()
}

fn json(name: String, file: &LoaderFile, bytes: usize, insns: Vec<String>) -> LoaderJson<'_> {
    let maps = file.maps().iter().map(|map| MapJson {
        name: &map.name,
        map_type: map
            .known_type()
            .map_or_else(|| map.attributes.map_type.to_string(), |kind| kind.name().to_owned()),
        key_size: map.attributes.key_size,
        value_size: map.attributes.value_size,
        max_entries: map.attributes.max_entries,
        map_flags: map.attributes.map_flags,
        entry_per_cpu: map.entry_per_cpu,
    });
    let programs = file.programs().iter().map(|program| ProgramJson {
        name: &program.name,
        program_type: program.program_type.name(),
        section: &program.section,
    });
    LoaderJson {
        file: name,
        object: file.name(),
        bytes,
        instructions: file.instructions().len() / INSN_BYTES,
        data_bytes: file.data().len(),
        kernel: file.relocated_for(),
        checks_data: file.checks_data(),
        signature_bytes: file.signatures().map(|signatures| signatures.instructions.len()),
        maps: maps.collect(),
        programs: programs.collect(),
        insns,
    }
}
