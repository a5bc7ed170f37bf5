//! The ELF relocations of an object: all of them (`inspect --relocs`), or those of data and the numbers of
//! the others.

use super::disasm::{ReferenceLine, write_section_title};
use crate::{
    args::InspectArgs,
    console::Console,
    describe::name,
    error::{BadInput, CommandResult},
    format::Format,
    input::object::ObjectFile,
    text::{
        line::Line,
        printer::Printer,
        section::write_section,
        style::DIM,
        table::{left_cell, right_cell},
    },
};
use core_relo_loader::{
    SectionIndex,
    disassembly::{ElfRelocation, ElfRelocations, RelocPlace},
    object::Object,
};
use serde::Serialize;
use std::{collections::BTreeMap, io};

/// The relocations of data that `inspect` lists without `--relocs`. A hostile object may have millions.
const LISTED: usize = 1000;
/// The relocations of data that the text of `inspect` lists.
const LISTED_LINES: usize = 16;
/// The widths of the columns of `--relocs`. The longest type is `R_BPF_64_NODYLD32`.
const OFFSET_WIDTH: usize = 8;
const TYPE_WIDTH: usize = 17;
const SYMBOL_WIDTH: usize = 24;
const PLACE_WIDTH: usize = 28;

pub(super) fn run(console: &mut Console<'_>, args: &InspectArgs) -> CommandResult {
    let file = ObjectFile::read(&args.object)?;
    let object = file.parse()?;
    let relocations = ElfRelocations::new(&object);
    let mut section = None;
    for relocation in relocations.iter() {
        let relocation = relocation.map_err(|error| BadInput::new(&file.name, error))?;
        if console.format == Format::Json {
            console.out.json(&RelocationLine::new(&relocation))?;
            continue;
        }
        let index = relocation.reloc.section_index;
        if section != Some(index) {
            write_section_title(&mut console.out, relocation.reloc.section, section.is_none())?;
            section = Some(index);
        }
        console.out.line(RelocationLine::new(&relocation).line())?;
    }
    Ok(())
}

/// The ELF relocations in the overview of an object.
#[derive(Serialize)]
pub(super) struct RelocationFacts {
    elf_relocations: Vec<RelocationCount>,
    /// The first relocations of data.
    data_relocations: Vec<RelocationLine>,
}

/// The number of the relocations of a type in a section.
#[derive(Serialize)]
struct RelocationCount {
    section: String,
    #[serde(rename = "type")]
    kind: &'static str,
    count: usize,
    #[serde(skip)]
    is_code: bool,
}

/// A relocation. It serializes to the JSON line.
#[derive(Serialize)]
struct RelocationLine {
    section: String,
    offset: u64,
    #[serde(rename = "type")]
    kind: &'static str,
    symbol: String,
    addend: i64,
    function: Option<String>,
    insn: Option<u32>,
    variable: Option<VariablePart>,
    reference: Option<ReferenceLine>,
    applied: bool,
    #[serde(skip)]
    reference_text: String,
}

/// A place in a variable.
#[derive(Serialize)]
struct VariablePart {
    name: String,
    offset: u64,
}

impl RelocationFacts {
    pub(super) fn collect(file: &ObjectFile, object: &Object<'_>) -> Result<Self, BadInput> {
        let mut counts: BTreeMap<(SectionIndex, u32), RelocationCount> = BTreeMap::new();
        let mut data_relocations = Vec::new();
        for relocation in ElfRelocations::new(object).iter() {
            let relocation = relocation.map_err(|error| BadInput::new(&file.name, error))?;
            let (reloc, is_code) = (&relocation.reloc, matches!(relocation.place, RelocPlace::Insn { .. }));
            let count = counts.entry((reloc.section_index, reloc.kind.number())).or_insert_with(|| {
                RelocationCount { section: name(reloc.section), kind: reloc.kind.name(), count: 0, is_code }
            });
            count.count += 1;
            if !is_code && data_relocations.len() < LISTED {
                data_relocations.push(RelocationLine::new(&relocation));
            }
        }
        Ok(Self { elf_relocations: counts.into_values().collect(), data_relocations })
    }

    /// Prints the numbers, those of code together, and the first relocations of data.
    pub(super) fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        let mut code = BTreeMap::new();
        for count in self.elf_relocations.iter().filter(|count| count.is_code) {
            *code.entry(count.kind).or_insert(0) += count.count;
        }
        let data = || self.elf_relocations.iter().filter(|count| !count.is_code);
        let rows = code.into_iter().map(|(kind, count)| ("code", kind, count));
        let rows = rows.chain(data().map(|count| (&*count.section, count.kind, count.count)));
        let rows =
            rows.map(|(section, kind, count)| vec![left_cell(section), left_cell(kind), right_cell(count)]);
        write_section(out, "ELF relocations", &["SECTION", "TYPE", "COUNT"], rows)?;
        let lines = self.data_relocations.iter().take(LISTED_LINES);
        let rows = lines.map(|line| {
            let [offset, kind, symbol, place, reference] = line.cells();
            [line.section.clone(), offset, kind, symbol, place, reference].map(left_cell).into()
        });
        let column_names = ["SECTION", "OFFSET", "TYPE", "SYMBOL", "VARIABLE", "REFERS TO"];
        write_section(out, "Relocations of data", &column_names, rows)?;
        match data().map(|count| count.count).sum::<usize>().checked_sub(LISTED_LINES) {
            Some(more @ 1..) => out.line(format_args!("  {more} more: see --relocs")),
            _ => Ok(()),
        }
    }
}

impl RelocationLine {
    fn new(relocation: &ElfRelocation<'_, '_>) -> Self {
        let reloc = &relocation.reloc;
        let (function, insn, variable) = match relocation.place {
            RelocPlace::Insn { index, function } => {
                (function.map(|function| name(function.name())), Some(index.0), None)
            }
            RelocPlace::Data { variable } => (None, None, variable),
            _ => (None, None, None),
        };
        Self {
            section: name(reloc.section),
            offset: reloc.offset,
            kind: reloc.kind.name(),
            symbol: name(reloc.symbol.name),
            addend: relocation.addend,
            function,
            insn,
            variable: variable
                .map(|(name, offset)| VariablePart { name: name.shortened().to_string(), offset }),
            reference: relocation.reference.as_ref().map(ReferenceLine::new),
            applied: relocation.is_applied,
            reference_text: relocation.reference.as_ref().map_or_else(String::new, ToString::to_string),
        }
    }

    /// Returns the columns: offset, type, symbol and addend, place, reference.
    fn cells(&self) -> [String; 5] {
        let symbol = match self.addend {
            0 => self.symbol.clone(),
            addend if addend < 0 => format!("{}-{:#x}", self.symbol, addend.unsigned_abs()),
            addend => format!("{}+{addend:#x}", self.symbol),
        };
        let place = match (&self.function, self.insn, &self.variable) {
            (Some(function), Some(insn), _) => format!("{function}, insn {insn}"),
            (None, Some(insn), _) => format!("insn {insn}"),
            (_, _, Some(VariablePart { name, offset: 0 })) => name.clone(),
            (_, _, Some(VariablePart { name, offset })) => format!("{name}+{offset:#x}"),
            _ => String::new(),
        };
        let note = if self.applied { "" } else { " (loaders skip it)" };
        let reference = format!("{}{note}", self.reference_text);
        [format!("{:#x}", self.offset), self.kind.to_owned(), symbol, place, reference]
    }

    /// Returns the line of `--relocs`.
    fn line(&self) -> Line {
        let [offset, kind, symbol, place, reference] = self.cells();
        let columns =
            [(OFFSET_WIDTH, offset), (TYPE_WIDTH, kind), (SYMBOL_WIDTH, symbol), (PLACE_WIDTH, place)];
        let line = columns
            .into_iter()
            .fold(Line::new().text("  "), |line, (width, text)| line.column(width, text).text("  "));
        line.styled(DIM, reference)
    }
}
