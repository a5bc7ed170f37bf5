//! `inspect`: what an object holds.

use super::inspect_globals::{self, GlobalFacts};
use crate::{
    app::App,
    args::{self, Format},
    error::BadInput,
    input::object::ObjectFile,
    json::{byte_order, text},
    line::Line,
    printer::Printer,
    render::{
        style::BOLD,
        table::{Cell, Columns, left, right},
    },
};
use core_relo::btf::Btf;
use core_relo_loader::object::{DataKind, DataSection, Extern, ExternKind, Linkage, Map, Object, Program};
use serde::Serialize;
use std::{collections::BTreeMap, io};

pub(crate) fn run(app: &mut App<'_>, args: &args::Inspect) -> io::Result<()> {
    let inspected = ObjectFile::read(&args.object).and_then(|file| {
        let object = file.parse()?;
        Inspected::new(&file, &object)
    });
    match (inspected, app.format) {
        (Err(bad), _) => app.fail(&bad),
        (Ok(inspected), Format::Json) => app.out.json(&inspected),
        (Ok(inspected), Format::Text) => inspected.write(app),
    }
}

/// What `inspect` prints, and the JSON of it.
#[derive(Serialize)]
struct Inspected {
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
    /// The kernel's name for it; `null` if the section's name says nothing.
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
struct MapFacts {
    name: String,
    map_type: Option<String>,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    error: Option<String>,
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

impl Inspected {
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
            let some = object.programs().iter().filter(move |p| p.is_subprogram == subprograms);
            some.map(|p| {
                let relocations = by_function.get(&(p.section.to_vec(), p.start));
                ProgramFacts::new(p, relocations.copied().unwrap_or_default())
            })
            .collect()
        };
        Ok(Self {
            object: file.name.clone(),
            byte_order: byte_order(object.endian()),
            license: object.license().map(text),
            kernel_version: object.kernel_version(),
            btf: object.btf().map(BtfFacts::new),
            btf_ext: object.ext().is_some(),
            programs: programs(false),
            subprograms: programs(true),
            maps: object.maps().iter().map(MapFacts::new).collect(),
            data: object.data_sections().iter().map(DataFacts::new).collect(),
            globals: inspect_globals::all(object),
            externs: object.externs().iter().map(ExternFacts::new).collect(),
            relocations: kinds,
        })
    }

    fn write(&self, app: &mut App<'_>) -> io::Result<()> {
        let out = &mut app.out;
        let license = self.license.as_deref().unwrap_or("none");
        let btf = match &self.btf {
            None => "no BTF".to_owned(),
            Some(btf) => format!("BTF of {} types ({} bytes)", btf.types, btf.bytes),
        };
        let ext = if self.btf_ext { ".BTF.ext" } else { "no .BTF.ext" };
        let facts = format!(": {}-endian, license {license}, {btf}, {ext}", self.byte_order);
        out.line(Line::new().styled(BOLD, &self.object).text(facts))?;
        section(
            out,
            "Programs",
            &["NAME", "SECTION", "TYPE", "INSNS", "CO-RE", ""],
            self.programs.iter().map(ProgramFacts::row),
        )?;
        section(
            out,
            "Subprograms",
            &["NAME", "SECTION", "TYPE", "INSNS", "CO-RE", ""],
            self.subprograms.iter().map(ProgramFacts::row),
        )?;
        section(
            out,
            "Maps",
            &["NAME", "TYPE", "KEY", "VALUE", "ENTRIES", "FLAGS"],
            self.maps.iter().map(MapFacts::row),
        )?;
        let data = self.data.iter().map(|d| vec![left(&d.section), left(&d.kind), right(d.bytes)]);
        section(out, "Data", &["SECTION", "KIND", "BYTES"], data)?;
        let head = ["NAME", "SECTION", "OFFSET", "BYTES", "TYPE"];
        section(out, "Globals", &head, self.globals.iter().map(GlobalFacts::row))?;
        let externs = self.externs.iter().map(|e| {
            let weak = if e.weak { "weak" } else { "" };
            vec![left(&e.name), left(e.kind), left(weak)]
        });
        section(out, "Externs", &["NAME", "KIND", ""], externs)?;
        let mut kinds: Vec<_> = self.relocations.iter().map(|(kind, n)| vec![left(kind), right(n)]).collect();
        let all: usize = self.relocations.values().sum();
        if kinds.len() > 1 {
            kinds.push(vec![left("all"), right(all)]);
        }
        section(out, "CO-RE relocations", &["KIND", "COUNT"], kinds.into_iter())
    }
}

/// A table with its title; nothing if it has no rows.
fn section(
    out: &mut Printer<'_>,
    title: &str,
    head: &[&str],
    rows: impl Iterator<Item = Vec<Cell>>,
) -> io::Result<()> {
    let mut columns = Columns::new();
    columns.head(head.iter().map(left));
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    rows.for_each(|row| columns.row(row));
    out.line("")?;
    out.line(Line::new().styled(BOLD, title))?;
    columns.lines().iter().try_for_each(|line| out.line(Line::new().text("  ").line(line)))
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
            name: text(p.name),
            section: text(p.section),
            program_type: def.map(|d| d.program_type.name()),
            attach_type: def.and_then(|d| d.attach_type).map(|a| a.name()),
            autoload: p.autoload(),
            start: p.start.0,
            insns: p.len,
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
            (Some(kind), Some(attach)) => format!("{} / {}", short(kind), short(attach)),
            (Some(kind), None) => short(kind).to_owned(),
            (None, _) if self.is_subprogram => format!("{} function", self.linkage),
            (None, _) => "unknown".to_owned(),
        };
        let autoload = if self.autoload { "" } else { "not loaded unless asked for" };
        vec![
            left(&self.name),
            left(&self.section),
            left(kind),
            right(self.insns),
            right(self.relocations),
            left(autoload),
        ]
    }
}

/// `TRACING` of `BPF_PROG_TYPE_TRACING`, in lower case.
pub(crate) fn short(name: &str) -> String {
    let prefixes = ["BPF_PROG_TYPE_", "BPF_MAP_TYPE_", "BPF_LINK_TYPE_"];
    let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    name.strip_prefix("BPF_").unwrap_or(name).to_lowercase()
}

impl MapFacts {
    fn new(map: &Map<'_>) -> Self {
        let name = text(map.name);
        match &map.def {
            Err(e) => Self {
                name,
                map_type: None,
                key_size: 0,
                value_size: 0,
                max_entries: 0,
                flags: 0,
                error: Some(e.to_string()),
            },
            Ok(def) => Self {
                name,
                map_type: Some(match def.known_type() {
                    Some(known) => known.name().to_owned(),
                    None => format!("unknown({})", def.map_type),
                }),
                key_size: def.key_size,
                value_size: def.value_size,
                max_entries: def.max_entries,
                flags: def.map_flags,
                error: None,
            },
        }
    }

    fn row(&self) -> Vec<Cell> {
        let Some(kind) = &self.map_type else {
            let error = self.error.as_deref().unwrap_or_default();
            return vec![left(&self.name), left(format_args!("cannot be read: {error}"))];
        };
        let flags = if self.flags == 0 { String::new() } else { format!("{:#x}", self.flags) };
        vec![
            left(&self.name),
            left(short(kind)),
            right(self.key_size),
            right(self.value_size),
            right(self.max_entries),
            left(flags),
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
        Self { section: text(section.name), kind: data_kind(section.kind), bytes: section.size }
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
        Self { name: text(e.name), kind, weak: e.is_weak }
    }
}
