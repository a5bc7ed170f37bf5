//! `prog dump`: the translated instructions of a program, with functions, source lines and names.

use crate::{
    args::{format::Format, kernel_objects::ProgDumpArgs},
    console::Console,
    describe::short_type_name,
    error::BadInput,
    kernel_objects::{
        btf_cache::BtfCache,
        error::unreadable,
        instructions::{Annotator, Call, Instruction, MapRef, SourceLine, decode_raw},
        kind::Kind,
        select::{full_program_name, select},
        symbols::Symbols,
    },
    text::{
        kernel_object as text,
        line::Line,
        printer::Printer,
        style::{BOLD, DIM},
    },
};
use core_relo_loader::{
    object::ProgramType,
    sys::{self, ProgLines},
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(super) fn run(console: &mut Console<'_>, args: &ProgDumpArgs) -> io::Result<()> {
    let programs = match select(Kind::Prog, &args.selector) {
        Ok(programs) => programs,
        Err(bad) => return console.report_error(&bad),
    };
    let mut btfs = BtfCache::default();
    let symbols = if args.raw { Symbols::default() } else { Symbols::read() };
    for program in programs {
        let id = program.id;
        let fd = match program.open() {
            Ok(Some(fd)) => fd,
            Ok(None) => continue,
            Err(bad) => return console.report_error(&bad),
        };
        let code = match read_code(id, &fd, args.raw, &symbols, &mut btfs) {
            Ok(code) => code,
            Err(bad) => {
                console.report_error(&bad)?;
                continue;
            }
        };
        match args.format {
            Format::Text => {
                text::title(&mut console.out, id, &code.program_type, &code.program)?;
                write_text(&mut console.out, &code, args.raw)?;
            }
            Format::Json => {
                for instruction in &code.instructions {
                    console.out.json(&InstructionLine::new(id, instruction))?;
                }
            }
        }
    }
    Ok(())
}

/// The instructions of a program.
struct ProgramCode {
    program: String,
    program_type: String,
    instructions: Vec<Instruction>,
}

fn read_code(
    id: u32,
    fd: &OwnedFd,
    raw: bool,
    symbols: &Symbols,
    btfs: &mut BtfCache,
) -> Result<ProgramCode, BadInput> {
    let failed = |e| unreadable(Kind::Prog, id, "its instructions", e);
    let info = sys::prog_info(fd).map_err(failed)?;
    let insns = sys::prog_translated(fd).map_err(failed)?;
    if insns.is_empty() {
        return Err(hidden_instructions(id));
    }
    let program_type = ProgramType::from_number(info.prog_type)
        .map_or_else(|| format!("type {}", info.prog_type), |known| short_type_name(known.name()));
    let instructions = if raw {
        decode_raw(&insns)
    } else {
        let btf = btfs.get(info.btf_id);
        let records = if btf.is_some() { sys::prog_lines(fd).map_err(failed)? } else { ProgLines::default() };
        Annotator { btf, records, jited: info.jited_prog_len != 0, symbols }.annotate(&insns, btfs)
    };
    Ok(ProgramCode { program: full_program_name(fd, &info), program_type, instructions })
}

fn write_text(out: &mut Printer<'_>, code: &ProgramCode, raw: bool) -> io::Result<()> {
    for instruction in &code.instructions {
        if let Some(signature) = &instruction.function_signature {
            out.line(Line::new().styled(BOLD, signature).text(":"))?;
        }
        if let Some(source) = &instruction.source {
            let position = format_args!("{}:{}", source.file, source.line);
            out.line(Line::new().text(format_args!("; {}  ", source.text)).styled(DIM, position))?;
        }
        if raw {
            out.line(format_args!(
                "{:>5}: {:<32}  {}",
                instruction.insn, instruction.bytes, instruction.text
            ))?;
        } else {
            out.line(format_args!("{:>5}: {}", instruction.insn, instruction.text))?;
        }
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
    bytes: &'a str,
    text: &'a str,
    call: Option<&'a Call>,
    map: Option<&'a MapRef>,
    source: Option<&'a SourceLine>,
}

impl<'a> InstructionLine<'a> {
    fn new(prog_id: u32, instruction: &'a Instruction) -> Self {
        Self {
            prog_id,
            insn: instruction.insn,
            function: instruction.function.as_deref(),
            bytes: &instruction.bytes,
            text: &instruction.text,
            call: instruction.call.as_ref(),
            map: instruction.map.as_ref(),
            source: instruction.source.as_ref(),
        }
    }
}
