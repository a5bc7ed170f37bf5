//! `inspect`: the contents of an object.

mod disasm;
mod globals;
mod maps;
mod relocations;

use crate::{
    args::InspectArgs,
    console::Console,
    describe::{byte_order, name, short_type_name},
    error::{BadInput, CommandResult},
    format::Format,
    input::object::ObjectFile,
    text::{
        line::Line,
        printer::Printer,
        section::write_section,
        style::BOLD,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo::btf::Btf;
use core_relo_loader::object::{DataKind, DataSection, Extern, ExternKind, Linkage, Object, Program};
use globals::GlobalFacts;
use maps::MapFacts;
use relocations::RelocationFacts;
use serde::Serialize;
use std::{collections::BTreeMap, io};

pub(crate) fn run(console: &mut Console<'_>, args: &InspectArgs) -> CommandResult {
    if args.disasm {
        return disasm::run(console, args);
    }
    if args.relocs {
        return relocations::run(console, args);
    }
    let file = ObjectFile::read(&args.object)?;
    let facts = ObjectFacts::new(&file, &file.parse()?)?;
    Ok(match console.format {
        Format::Json => console.out.json(&facts),
        Format::Text => facts.write(&mut console.out),
    }?)
}

/// The facts that `inspect` prints about an object. They serialize to the JSON line.
#[derive(Serialize)]
struct ObjectFacts {
    object: String,
    byte_order: &'static str,
    license: Option<String>,
    kernel_version: Option<u32>,
    btf: Option<BtfFacts>,
    btf_ext: bool,
    programs: Vec<ProgramFacts>,
    subprograms: Vec<ProgramFacts>,
    maps: Vec<MapFacts>,
    data: Vec<DataFacts>,
    globals: Vec<GlobalFacts>,
    externs: Vec<ExternFacts>,
    relocations: BTreeMap<String, usize>,
    #[serde(flatten)]
    elf_relocations: RelocationFacts,
}

#[derive(Serialize)]
struct BtfFacts {
    bytes: usize,
    types: u32,
}

#[derive(Serialize)]
struct ProgramFacts {
    name: String,
    section: String,
    /// The kernel's name of the type; `null` if the section name has no known type.
    program_type: Option<&'static str>,
    attach_type: Option<&'static str>,
    autoload: bool,
    start: u32,
    insns: u32,
    linkage: &'static str,
    relocations: usize,
    #[serde(skip)]
    is_subprogram: bool,
}

#[derive(Serialize)]
struct DataFacts {
    section: String,
    kind: String,
    bytes: u64,
}

#[derive(Serialize)]
struct ExternFacts {
    name: String,
    kind: &'static str,
    weak: bool,
}

impl ObjectFacts {
    fn new(file: &ObjectFile, object: &Object<'_>) -> Result<Self, BadInput> {
        let mut kinds = BTreeMap::new();
        let mut by_function = BTreeMap::new();
        if object.btf().is_some() {
            let relocs = file.relocs(object)?;
            for record in relocs.records() {
                *kinds.entry(record.relo.kind.to_string()).or_insert(0usize) += 1;
                if let Some(function) = relocs.function(record) {
                    *by_function
                        .entry((record.section.as_bytes().to_vec(), function.start))
                        .or_insert(0usize) += 1;
                }
            }
        }
        let programs = |subprograms: bool| {
            let programs = object.programs().iter().filter(move |p| p.is_subprogram == subprograms);
            let facts = programs.map(|p| {
                let relocations = by_function.get(&(p.section.to_vec(), p.start()));
                ProgramFacts::new(p, relocations.copied().unwrap_or(0))
            });
            facts.collect()
        };
        Ok(Self {
            object: file.name.clone(),
            byte_order: byte_order(object.endian()),
            license: object.license().map(name),
            kernel_version: object.kernel_version(),
            btf: object.btf().map(BtfFacts::new),
            btf_ext: object.ext().is_some(),
            programs: programs(false),
            subprograms: programs(true),
            maps: maps::list_maps(object),
            data: object.data_sections().iter().map(DataFacts::new).collect(),
            globals: globals::list_globals(object),
            externs: object.externs().iter().map(ExternFacts::new).collect(),
            relocations: kinds,
            elf_relocations: RelocationFacts::collect(file, object)?,
        })
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        let license = self.license.as_deref().unwrap_or("none");
        let btf = match &self.btf {
            None => "no BTF".to_owned(),
            Some(btf) => format!("BTF of {} types ({} bytes)", btf.types, btf.bytes),
        };
        let ext = if self.btf_ext { ".BTF.ext" } else { "no .BTF.ext" };
        let facts = format!(": {}-endian, license {license}, {btf}, {ext}", self.byte_order);
        out.line(Line::new().styled(BOLD, &self.object).text(facts))?;
        write_section(
            out,
            "Programs",
            &["NAME", "SECTION", "TYPE", "INSNS", "CO-RE", ""],
            self.programs.iter().map(ProgramFacts::row),
        )?;
        write_section(
            out,
            "Subprograms",
            &["NAME", "SECTION", "TYPE", "INSNS", "CO-RE", ""],
            self.subprograms.iter().map(ProgramFacts::row),
        )?;
        write_section(
            out,
            "Maps",
            &["NAME", "TYPE", "KEY", "VALUE", "ENTRIES", "FLAGS", "C TYPES"],
            self.maps.iter().map(MapFacts::row),
        )?;
        let data =
            self.data.iter().map(|d| vec![left_cell(&d.section), left_cell(&d.kind), right_cell(d.bytes)]);
        write_section(out, "Data", &["SECTION", "KIND", "BYTES"], data)?;
        let column_names = ["NAME", "SECTION", "OFFSET", "BYTES", "TYPE"];
        write_section(out, "Globals", &column_names, self.globals.iter().map(GlobalFacts::row))?;
        let externs = self.externs.iter().map(|e| {
            let weak = if e.weak { "weak" } else { "" };
            vec![left_cell(&e.name), left_cell(e.kind), left_cell(weak)]
        });
        write_section(out, "Externs", &["NAME", "KIND", ""], externs)?;
        let mut kinds: Vec<_> =
            self.relocations.iter().map(|(kind, n)| vec![left_cell(kind), right_cell(n)]).collect();
        let total: usize = self.relocations.values().sum();
        if kinds.len() > 1 {
            kinds.push(vec![left_cell("all"), right_cell(total)]);
        }
        write_section(out, "CO-RE relocations", &["KIND", "COUNT"], kinds.into_iter())?;
        self.elf_relocations.write(out)
    }
}

impl BtfFacts {
    fn new(btf: &Btf<'_>) -> Self {
        Self { bytes: btf.as_bytes().len(), types: btf.end_id().0.saturating_sub(1) }
    }
}

impl ProgramFacts {
    fn new(p: &Program<'_>, relocations: usize) -> Self {
        let def = p.sec_def();
        Self {
            name: name(p.name()),
            section: name(p.section),
            program_type: def.map(|d| d.program_type.name()),
            attach_type: def.and_then(|d| d.attach_type).map(|a| a.name()),
            autoload: p.autoload(),
            start: p.start().0,
            insns: p.insn_count(),
            linkage: match p.linkage {
                Linkage::Static => "static",
                Linkage::Weak => "weak",
                _ => "global",
            },
            relocations,
            is_subprogram: p.is_subprogram,
        }
    }

    fn row(&self) -> Vec<Cell> {
        let kind = match (self.program_type, self.attach_type) {
            (Some(kind), Some(attach)) => format!("{} / {}", short_type_name(kind), short_type_name(attach)),
            (Some(kind), None) => short_type_name(kind).to_owned(),
            (None, _) if self.is_subprogram => format!("{} function", self.linkage),
            (None, _) => "unknown".to_owned(),
        };
        let autoload = if self.autoload { "" } else { "not loaded unless asked for" };
        vec![
            left_cell(&self.name),
            left_cell(&self.section),
            left_cell(kind),
            right_cell(self.insns),
            right_cell(self.relocations),
            left_cell(autoload),
        ]
    }
}

fn data_kind(kind: DataKind) -> String {
    match kind {
        DataKind::Data => "globals",
        DataKind::Rodata => "constants",
        DataKind::Bss => "zeroed globals",
        DataKind::StructOps { optional: true, .. } => "struct_ops, optional",
        DataKind::StructOps { .. } => "struct_ops",
        DataKind::Arena => "arena globals",
        DataKind::JumpTables => "jump tables",
        _ => "other",
    }
    .to_owned()
}

impl DataFacts {
    fn new(section: &DataSection<'_>) -> Self {
        Self { section: name(section.name), kind: data_kind(section.kind), bytes: section.size }
    }
}

impl ExternFacts {
    fn new(e: &Extern<'_>) -> Self {
        let kind = match e.kind {
            ExternKind::Kconfig => "kconfig",
            ExternKind::Ksym => "ksym",
            ExternKind::Kfunc => "kfunc",
            _ => "unknown",
        };
        Self { name: name(e.name), kind, weak: e.is_weak }
    }
}
