//! `inspect --disasm`: the instructions of an object.

use crate::{
    args::InspectArgs,
    cmd::plans::check_program,
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    input::object::ObjectFile,
    text::{
        graph::{self, GraphBlock, GraphFunction},
        line::Line,
        printer::Printer,
        style::{BOLD, DIM, WARNING},
    },
};
use core_relo::{
    Name, Record,
    btf::Btf,
    ext::RelocKind,
    insn::{BasicBlock, Insn, Slot},
};
use core_relo_loader::{
    disassembly::{Disassembly, Instruction, JumpTarget, Reference, ReferenceKind, SectionDisassembly},
    object::Object,
};

use core_relo_verdict::SourceLine;
use serde::Serialize;
use std::io;

/// The width of the column of instructions, before their comments.
const TEXT_WIDTH: usize = 36;
/// The width of the column of bytes: 16 bytes in hexadecimal.
const BYTES_WIDTH: usize = 33;

pub(super) fn run(console: &mut Console<'_>, args: &InspectArgs) -> CommandResult {
    let file = ObjectFile::read(&args.object)?;
    let object = parse(&file, args.program.as_deref())?;
    let disassembly = Disassembly::new(&object);
    if let Some(error) = disassembly.relocs_error() {
        console.warn(&format!("{}: no CO-RE relocations are shown: {error}", file.name))?;
    }
    if args.graph {
        return Ok(write_graph(console, &disassembly, args.program.as_deref())?);
    }
    let mut is_first_section = true;
    for section in disassembly.sections() {
        let mut is_first = true;
        let mut last_line = None;
        for instruction in select(&section, &object, args.program.as_deref()) {
            match console.format {
                Format::Json => console.out.json(&InstructionLine::new(&instruction, object.btf()))?,
                Format::Text => {
                    if is_first {
                        write_section_title(&mut console.out, section.name(), is_first_section)?;
                        is_first_section = false;
                    }
                    write_headings(&mut console.out, &instruction, &mut last_line)?;
                    write_instruction(&mut console.out, &instruction, object.btf(), args.opcodes)?;
                }
            }
            is_first = false;
        }
    }
    Ok(())
}

/// Parses an object, which must have the program if one is selected.
fn parse<'f>(file: &'f ObjectFile, program: Option<&str>) -> Result<Object<'f>, BadInput> {
    let object = file.parse()?;
    program.map_or(Ok(()), |program| check_program(file, object.code_sections(), program))?;
    Ok(object)
}

/// Returns the instructions of the functions with a name, or all instructions.
fn select<'s, 'r: 's, 'o: 's, 'd: 'o>(
    section: &'s SectionDisassembly<'r, 'o, 'd>,
    object: &'o Object<'d>,
    program: Option<&str>,
) -> impl Iterator<Item = Instruction<'r, 'o, 'd>> + use<'s, 'r, 'o, 'd> {
    let ranges = program.map(|name| {
        let programs = object.programs().iter().filter(|p| Some(p.section_index) == section.index());
        programs.filter(|p| p.name() == name.as_bytes()).collect::<Vec<_>>()
    });
    let is_selected = move |instruction: &Instruction<'_, '_, '_>| {
        ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|p| p.contains(instruction.index.0)))
    };
    section.instructions().filter(is_selected)
}

pub(super) fn write_section_title(out: &mut Printer<'_>, section: &[u8], is_first: bool) -> io::Result<()> {
    if !is_first {
        out.line("")?;
    }
    out.line(Line::new().text("section ").styled(BOLD, Name::new(section).shortened()))
}

/// Prints the functions, the label and the source line that begin with an instruction. A source line that
/// continues is not repeated.
fn write_headings<'o>(
    out: &mut Printer<'_>,
    instruction: &Instruction<'_, 'o, '_>,
    last_line: &mut Option<(Name<'o>, u32)>,
) -> io::Result<()> {
    for function in &instruction.functions {
        *last_line = None;
        out.line("")?;
        out.line(Line::new().styled(BOLD, Name::new(function.name()).shortened()).text(":"))?;
    }
    if instruction.is_jump_target {
        out.line(format_args!("L{}:", instruction.index))?;
    }
    let Some(source) = instruction.source else { return Ok(()) };
    let line = Some((source.file, source.line));
    if *last_line == line && !instruction.is_jump_target {
        return Ok(());
    }
    *last_line = line;
    let position = format_args!("{}:{}", source.file.shortened(), source.line);
    let text = Line::new().text(format_args!("; {} @ ", source.text.shortened()));
    out.line(text.styled(DIM, position))
}

fn write_instruction(
    out: &mut Printer<'_>,
    instruction: &Instruction<'_, '_, '_>,
    btf: Option<&Btf<'_>>,
    has_bytes: bool,
) -> io::Result<()> {
    let mut line = Line::new().text(format_args!("{:>8}: ", instruction.index.0));
    if has_bytes {
        line = line.column(BYTES_WIDTH, hex(instruction.bytes));
    }
    let (text, comment) = (text_with_label(instruction), comment(instruction, btf));
    line = if comment.is_empty() && instruction.defect.is_none() {
        line.text(text)
    } else {
        line.column(TEXT_WIDTH, text)
    };
    if !comment.is_empty() {
        line = line.styled(DIM, format_args!(" // {comment}"));
    }
    if let Some(defect) = instruction.defect {
        line = line.styled(WARNING, format_args!(" // {defect}"));
        if !has_bytes {
            line = line.text(format_args!(": {}", hex(instruction.bytes)));
        }
    }
    out.line(line)
}

/// Returns an instruction with the label that it jumps to: `goto +0x2 <L7>`.
fn text_with_label(instruction: &Instruction<'_, '_, '_>) -> String {
    match instruction.jump {
        Some(JumpTarget::Instruction(target)) => format!("{} <L{target}>", instruction.text()),
        _ => instruction.text().to_string(),
    }
}

/// Returns the comment on an instruction: what it refers to, its CO-RE relocations, the defect of a jump.
fn comment(instruction: &Instruction<'_, '_, '_>, btf: Option<&Btf<'_>>) -> String {
    let jump = match instruction.jump {
        Some(JumpTarget::SecondSlot(target)) => Some(format!("jumps into the 64-bit load at {target}")),
        Some(JumpTarget::Outside(target)) => Some(format!("jumps out of the function, to {target}")),
        _ => None,
    };
    let reference = instruction.reference.map(|reference| reference.to_string());
    let relocations = instruction.relocations.iter().map(|record| {
        let access = access(record, btf);
        format!("{} {}", access.as_deref().unwrap_or("?"), relocation_words(record.relo.kind))
    });
    let parts: Vec<_> = jump.into_iter().chain(reference).chain(relocations).collect();
    parts.join(", ")
}

/// Returns the access of a CO-RE relocation in C notation.
fn access(record: &Record<'_>, btf: Option<&Btf<'_>>) -> Option<String> {
    Some(record.spec.as_ref().ok()?.access_text(btf?).to_string())
}

/// Returns the words for a kind of CO-RE relocation: `byte offset`.
fn relocation_words(kind: RelocKind) -> String {
    let name = kind.to_string();
    let bare = ["field_", "enumval_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    bare.replace('_', " ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_graph(
    console: &mut Console<'_>,
    disassembly: &Disassembly<'_, '_>,
    program: Option<&str>,
) -> io::Result<()> {
    let object = disassembly.object();
    let mut graph = graph::GraphWriter::new(console.format);
    graph.begin(&mut console.out)?;
    for section in disassembly.sections() {
        let mut function: Vec<Instruction<'_, '_, '_>> = Vec::new();
        for instruction in select(&section, object, program) {
            let begins = |i: &Instruction<'_, '_, '_>| i.function.map(|function| function.start);
            if function.first().is_some_and(|first| begins(first) != begins(&instruction)) {
                graph.write(&mut console.out, &graph_function(&function, object.btf()))?;
                function.clear();
            }
            function.push(instruction);
        }
        if !function.is_empty() {
            graph.write(&mut console.out, &graph_function(&function, object.btf()))?;
        }
    }
    graph.end(&mut console.out)
}

fn graph_function(instructions: &[Instruction<'_, '_, '_>], btf: Option<&Btf<'_>>) -> GraphFunction {
    let slot = |i: &Instruction<'_, '_, '_>| i.slot.unwrap_or(Slot::One(Insn::default()));
    let slots: Vec<_> = instructions.iter().map(|i| (i.index.0, slot(i))).collect();
    let block = |block: BasicBlock| {
        let first = instructions.partition_point(|i| i.index.0 < block.first);
        let own = instructions.iter().skip(first).take_while(|i| i.index.0 <= block.last);
        let lines = own.map(|i| match comment(i, btf) {
            comment if comment.is_empty() => format!("{}: {}", i.index, i.text()),
            comment => format!("{}: {} // {comment}", i.index, i.text()),
        });
        GraphBlock { lines: lines.collect(), first: block.first, last: block.last, edges: block.edges }
    };
    let function = instructions.first().and_then(|first| first.function);
    let section = instructions.first().map(|first| Name::new(first.section).shortened().to_string());
    GraphFunction {
        section,
        name: function.map(|function| Name::new(function.name).shortened().to_string()),
        blocks: BasicBlock::find(&slots).into_iter().map(block).collect(),
    }
}

/// The JSON line of an instruction.
#[derive(Serialize)]
struct InstructionLine {
    section: String,
    insn: u32,
    function: Option<String>,
    bytes: String,
    text: String,
    defect: Option<String>,
    is_jump_target: bool,
    jump: Option<JumpLine>,
    reference: Option<ReferenceLine>,
    relocations: Vec<RelocationLine>,
    source: Option<SourceLine>,
}

/// The target of a jump.
#[derive(Serialize)]
struct JumpLine {
    kind: &'static str,
    insn: i64,
}

/// The map, variable, function or kernel symbol that an instruction or a relocation refers to.
#[derive(Serialize)]
pub(super) struct ReferenceLine {
    kind: &'static str,
    name: Option<String>,
    section: Option<String>,
    offset: i64,
}

/// A CO-RE relocation of an instruction.
#[derive(Serialize)]
struct RelocationLine {
    relocation: u32,
    kind: String,
    access: Option<String>,
}

impl InstructionLine {
    fn new(instruction: &Instruction<'_, '_, '_>, btf: Option<&Btf<'_>>) -> Self {
        Self {
            section: Name::new(instruction.section).shortened().to_string(),
            insn: instruction.index.0,
            function: instruction.function.map(|function| Name::new(function.name).shortened().to_string()),
            bytes: hex(instruction.bytes),
            text: instruction.text().to_string(),
            defect: instruction.defect.map(|defect| defect.to_string()),
            is_jump_target: instruction.is_jump_target,
            jump: instruction.jump.and_then(JumpLine::new),
            reference: instruction.reference.map(|reference| ReferenceLine::new(&reference)),
            relocations: instruction.relocations.iter().map(|r| RelocationLine::new(r, btf)).collect(),
            source: instruction.source.map(SourceLine::from),
        }
    }
}

impl JumpLine {
    fn new(target: JumpTarget) -> Option<Self> {
        Some(match target {
            JumpTarget::Instruction(insn) => Self { kind: "instruction", insn: insn.0.into() },
            JumpTarget::SecondSlot(insn) => Self { kind: "second_slot", insn: insn.0.into() },
            JumpTarget::Outside(insn) => Self { kind: "outside", insn },
            _ => return None,
        })
    }
}

impl ReferenceLine {
    pub(super) fn new(reference: &Reference<'_>) -> Self {
        let name = reference.name.map(|name| name.shortened().to_string());
        Self {
            kind: reference.kind.word(),
            name: match reference.kind {
                ReferenceKind::Helper(_) => name.map(|name| format!("bpf_{name}")),
                _ => name,
            },
            section: match reference.kind {
                ReferenceKind::Variable(section) => Some(section.shortened().to_string()),
                _ => None,
            },
            offset: reference.offset,
        }
    }
}

impl RelocationLine {
    fn new(record: &Record<'_>, btf: Option<&Btf<'_>>) -> Self {
        Self {
            relocation: record.index_in_section,
            kind: record.relo.kind.to_string(),
            access: access(record, btf),
        }
    }
}
