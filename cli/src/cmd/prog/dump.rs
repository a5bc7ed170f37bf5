//! `prog dump`: the translated instructions of a program, with functions, source lines and names.

use super::jited;
use crate::{
    args::kernel_objects::ProgDumpArgs,
    cmd::kernel_facts::open_or_report,
    console::Console,
    describe::short_type_name,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::unreadable_info,
        instructions::{Call, MapRef, SourceLine},
        select::{select, select_one},
        text,
    },
    output::{self, OutputPath},
    text::{
        graph::{GraphBlock, GraphFunction, GraphWriter},
        line::Line,
        printer::Printer,
        style::BOLD,
    },
};
use core_relo::{Endian, insn::BasicBlock};
use core_relo_loader::{
    inventory::{
        self, Annotator, BtfCache, KernelSymbols, ObjectKind, ProgramInfo, ProgramInstruction,
        full_program_name,
    },
    object::ProgramType,
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(super) fn run(console: &mut Console<'_>, args: &ProgDumpArgs) -> CommandResult {
    if let Some(path) = &args.output {
        return Ok(write_file(path, args)?);
    }
    let programs = select(ObjectKind::Program, &args.selector)?;
    let mut btfs = BtfCache::default();
    let symbols = if args.raw { KernelSymbols::default() } else { KernelSymbols::read() };
    let mut graph = args.graph.then(|| GraphWriter::new(args.format));
    if let Some(graph) = &graph {
        graph.begin(&mut console.out)?;
    }
    for program in programs {
        let id = program.id();
        let Some(fd) = open_or_report(console, ObjectKind::Program, program)? else { continue };
        if args.jited {
            jited::dump(console, args, (id, &fd), &symbols, &mut btfs).or_else(|e| console.report(e))?;
            continue;
        }
        let code = match read_code(id, &fd, args.raw, &symbols, &mut btfs) {
            Ok(code) => code,
            Err(bad) => {
                console.report_error(&bad)?;
                continue;
            }
        };
        if let Some(graph) = &mut graph {
            write_graph(&mut console.out, graph, &code)?;
            continue;
        }
        match args.format {
            Format::Text => {
                text::title(&mut console.out, id, &code.program_type, &code.program)?;
                write_text(&mut console.out, &code, args)?;
            }
            Format::Json => {
                for instruction in &code.instructions {
                    console.out.json(&InstructionLine::new(id, instruction))?;
                }
            }
        }
    }
    graph.map_or(Ok(()), |graph| Ok(graph.end(&mut console.out)?))
}

/// Writes the bytes of one program to a file, as `bpftool prog dump` does with `file`.
fn write_file(path: &OutputPath, args: &ProgDumpArgs) -> Result<(), BadInput> {
    let (id, program) = select_one(ObjectKind::Program, &args.selector)?;
    let bytes = if args.jited {
        jited::read_machine_code(id, &program)?.1.code
    } else {
        let insns = inventory::translated_code(&program);
        insns.map_err(|e| unreadable_info(ObjectKind::Program, id, e))?
    };
    if bytes.is_empty() {
        return Err(hidden_instructions(id));
    }
    output::write(path, &bytes)
}

/// The instructions of a program.
struct ProgramCode {
    program: String,
    program_type: String,
    instructions: Vec<ProgramInstruction>,
}

fn read_code(
    id: u32,
    fd: &OwnedFd,
    raw: bool,
    symbols: &KernelSymbols,
    btfs: &mut BtfCache,
) -> Result<ProgramCode, BadInput> {
    let failed = |e| unreadable_info(ObjectKind::Program, id, e);
    let info = ProgramInfo::query(fd).map_err(failed)?;
    let insns = inventory::translated_code(fd).map_err(failed)?;
    if insns.is_empty() {
        return Err(hidden_instructions(id));
    }
    let program_type = ProgramType::from_number(info.prog_type)
        .map_or_else(|| format!("type {}", info.prog_type), |known| short_type_name(known.name()));
    let instructions = if raw {
        ProgramInstruction::decode(&insns)
    } else {
        Annotator::query(fd, &info, symbols, btfs).map_err(failed)?.annotate(&insns, btfs)
    };
    Ok(ProgramCode { program: full_program_name(fd, &info), program_type, instructions })
}

fn write_text(out: &mut Printer<'_>, code: &ProgramCode, args: &ProgDumpArgs) -> io::Result<()> {
    for instruction in &code.instructions {
        if let Some(signature) = &instruction.function_signature {
            out.line(Line::new().styled(BOLD, signature).text(":"))?;
        }
        if let Some(source) = &instruction.source {
            text::source_line(out, source, args.linum)?;
        }
        if args.raw || args.opcodes {
            out.line(format_args!(
                "{:>5}: {:<32}  {}",
                instruction.insn,
                instruction.slot.hex(Endian::native()).to_string(),
                instruction.text
            ))?;
        } else {
            out.line(format_args!("{:>5}: {}", instruction.insn, instruction.text))?;
        }
    }
    Ok(())
}

fn write_graph(out: &mut Printer<'_>, graph: &mut GraphWriter, code: &ProgramCode) -> io::Result<()> {
    let mut rest = &*code.instructions;
    while let Some((first, others)) = rest.split_first() {
        let len = others.iter().take_while(|i| i.function_signature.is_none()).count();
        let function;
        (function, rest) = rest.split_at(len + 1);
        let slots: Vec<_> = function.iter().map(|i| (i.insn, i.slot)).collect();
        let block = |block: BasicBlock| {
            let start = function.partition_point(|i| i.insn < block.first);
            let own = function.iter().skip(start).take_while(|i| i.insn <= block.last);
            let lines = own.map(|i| format!("{}: {}", i.insn, i.text)).collect();
            GraphBlock { lines, first: block.first, last: block.last, edges: block.edges }
        };
        let name = first.function.as_deref().unwrap_or(&code.program).to_owned();
        let blocks = BasicBlock::find(&slots).into_iter().map(block).collect();
        graph.write(out, &GraphFunction { section: None, name: Some(name), blocks })?;
    }
    Ok(())
}

/// Creates the error for a program whose instructions the kernel hides.
fn hidden_instructions(id: u32) -> BadInput {
    BadInput::new(format!("program {id}"), "the kernel does not show its instructions")
        .help("needs CAP_BPF and CAP_PERFMON; for a hardened program, also net.core.bpf_jit_harden=0 and kernel.kptr_restrict below 2")
}

/// The JSON line of an instruction.
#[derive(Serialize)]
struct InstructionLine<'a> {
    prog_id: u32,
    insn: u32,
    function: Option<&'a str>,
    bytes: String,
    text: &'a str,
    call: Option<Call<'a>>,
    map: Option<MapRef<'a>>,
    source: Option<SourceLine<'a>>,
}

impl<'a> InstructionLine<'a> {
    fn new(prog_id: u32, instruction: &'a ProgramInstruction) -> Self {
        Self {
            prog_id,
            insn: instruction.insn,
            function: instruction.function.as_deref(),
            bytes: instruction.slot.hex(Endian::native()).to_string(),
            text: &instruction.text,
            call: instruction.call.as_ref().map(Call::from),
            map: instruction.map.as_ref().map(MapRef::from),
            source: instruction.source.as_ref().map(SourceLine::from),
        }
    }
}
