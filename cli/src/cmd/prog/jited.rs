//! `prog dump --jited`: the machine code of a program.

use crate::{
    args::kernel_objects::ProgDumpArgs,
    console::Console,
    describe::short_type_name,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::unreadable_info,
        instructions::SourceLine,
        machine_code::{MachineInsn, disassembler},
        text,
    },
    text::{line::Line, printer::Printer, style::BOLD},
};
use core_relo::TypeId;
use core_relo_loader::{
    inventory::{
        Annotator, BtfCache, KernelSymbols, MachineCode, ObjectKind, ProgramInfo, ProgramSourceLine,
        full_program_name,
    },
    object::ProgramType,
};
use serde::Serialize;
use std::{collections::HashMap, env, fs, io, os::fd::OwnedFd};

/// The number of bytes in a line of `--raw`.
const RAW_BYTES: usize = 16;
/// The width of the column of bytes: 10 bytes, as the longest instructions of programs have.
const BYTES_WIDTH: usize = 21;

/// The machine code of a function.
struct MachineFunction<'c> {
    /// The signature, or else the name; `None` without BTF.
    signature: Option<String>,
    name: Option<String>,
    /// The address in the kernel; `None` if the kernel hides it.
    address: Option<u64>,
    code: &'c [u8],
}

/// Reads the machine code of a program, which is not empty.
pub(super) fn read_machine_code(id: u32, fd: &OwnedFd) -> Result<(ProgramInfo, MachineCode), BadInput> {
    let failed = |e| unreadable_info(ObjectKind::Program, id, e);
    let info = ProgramInfo::query(fd).map_err(failed)?;
    let machine_code = MachineCode::query(fd).map_err(failed)?;
    if machine_code.code.is_empty() {
        return Err(no_machine_code(id, &info));
    }
    Ok((info, machine_code))
}

/// Prints the machine code of a program.
pub(super) fn dump(
    console: &mut Console<'_>,
    args: &ProgDumpArgs,
    (id, fd): (u32, &OwnedFd),
    symbols: &KernelSymbols,
    btfs: &mut BtfCache,
) -> CommandResult {
    let disassemble = if args.raw { None } else { disassembler() };
    if disassemble.is_none() && !args.raw {
        return Err(no_disassembler(id).into());
    }
    let failed = |e| unreadable_info(ObjectKind::Program, id, e);
    let (info, machine_code) = read_machine_code(id, fd)?;
    let annotator = Annotator::query(fd, &info, symbols, btfs).map_err(failed)?;
    if args.format == Format::Text {
        let program_type = ProgramType::from_number(info.prog_type)
            .map_or_else(|| format!("type {}", info.prog_type), |known| short_type_name(known.name()));
        text::title(&mut console.out, id, &program_type, &full_program_name(fd, &info))?;
    }
    let sources = if args.raw { HashMap::new() } else { source_lines(&machine_code, &annotator) };
    let functions = functions(&machine_code, &annotator);
    let names: HashMap<u64, &str> = functions
        .iter()
        .filter_map(|function| Some((function.address?, function.name.as_deref()?)))
        .collect();
    for function in &functions {
        let instructions = match disassemble {
            Some(disassemble) => disassemble(function.code, function.address.unwrap_or(0)),
            None => raw_lines(function.code),
        };
        if args.format == Format::Text {
            write_title(&mut console.out, function)?;
        }
        for instruction in &instructions {
            let target = instruction.target.filter(|_| function.address.is_some());
            let target = target.and_then(|to| names.get(&to).copied().or_else(|| symbols.name_at(to)));
            let address = function.address_of(instruction.offset);
            let source = address.and_then(|address| sources.get(&address));
            match args.format {
                Format::Text => {
                    if let Some(source) = source {
                        text::source_line(&mut console.out, source, args.linum)?;
                    }
                    write_instruction(&mut console.out, args, function, (instruction, target))?;
                }
                Format::Json => console.out.json(&MachineInsnLine {
                    prog_id: id,
                    function: function.name.as_deref(),
                    offset: instruction.offset,
                    address,
                    bytes: hex(function.bytes(instruction)),
                    text: disassemble.map(|_| instruction.text.as_str()),
                    target,
                    source: source.map(SourceLine::from),
                })?,
            }
        }
    }
    Ok(())
}

impl MachineFunction<'_> {
    fn bytes(&self, instruction: &MachineInsn) -> &[u8] {
        let rest = self.code.get(instruction.offset..);
        rest.map_or(&[], |rest| rest.get(..instruction.len).unwrap_or(rest))
    }

    fn address_of(&self, offset: usize) -> Option<u64> {
        self.address?.checked_add(u64::try_from(offset).ok()?)
    }

    /// Returns the offset of an address in the function.
    fn offset_of(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address.unwrap_or(0))?).ok()?;
        (offset < self.code.len()).then_some(offset)
    }
}

/// Divides the machine code into functions. The order of functions is that of the function records.
fn functions<'c>(machine_code: &'c MachineCode, annotator: &Annotator<'_>) -> Vec<MachineFunction<'c>> {
    let mut rest = &*machine_code.code;
    let lens = &machine_code.function_lens;
    // Without lengths, all code is one function.
    let lens = if lens.is_empty() {
        vec![rest.len()]
    } else {
        lens.iter().map(|len| usize::try_from(*len).unwrap_or(usize::MAX)).collect()
    };
    let mut functions = Vec::new();
    for (position, len) in lens.into_iter().enumerate() {
        let (code, others) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = others;
        let record = annotator.records().functions.get(position).map(|[_, ty]| TypeId(*ty));
        let address = machine_code.function_addresses.get(position).copied();
        functions.push(MachineFunction {
            signature: record.and_then(|record| annotator.signature(record)),
            name: record.and_then(|record| annotator.function_name(record)),
            address: address.filter(|address| *address != 0),
            code,
        });
    }
    functions
}

/// Returns the source lines by the addresses at which their code begins. Of several lines at one address, the
/// last counts.
fn source_lines(machine_code: &MachineCode, annotator: &Annotator<'_>) -> HashMap<u64, ProgramSourceLine> {
    let records = machine_code.line_addresses.iter().zip(&annotator.records().lines);
    records.filter_map(|(address, record)| Some((*address, annotator.source_line(record)?))).collect()
}

fn write_title(out: &mut Printer<'_>, function: &MachineFunction<'_>) -> io::Result<()> {
    let title = function.signature.as_deref().unwrap_or("no function record");
    let address = function.address.map_or_else(String::new, |address| format!("  {address:#x}"));
    out.line(Line::new().styled(BOLD, title).text(format_args!(":{address}")))
}

fn write_instruction(
    out: &mut Printer<'_>,
    args: &ProgDumpArgs,
    function: &MachineFunction<'_>,
    (instruction, target): (&MachineInsn, Option<&str>),
) -> io::Result<()> {
    let mut line = Line::new().text(format_args!("{:>6x}: ", instruction.offset));
    if args.raw || args.opcodes {
        line = line.column(BYTES_WIDTH, hex(function.bytes(instruction)));
    }
    line = line.text(&instruction.text);
    let offset = instruction.target.and_then(|target| function.offset_of(target));
    match (offset, target) {
        (_, Some(target)) => line = line.text(format_args!(" <{target}>")),
        (Some(offset), None) => line = line.text(format_args!(" <+{offset:x}>")),
        (None, None) => {}
    }
    out.line(line)
}

/// Divides code into lines without text.
fn raw_lines(code: &[u8]) -> Vec<MachineInsn> {
    let chunk = |(index, chunk): (usize, &[u8])| MachineInsn {
        offset: index.saturating_mul(RAW_BYTES),
        len: chunk.len(),
        text: String::new(),
        target: None,
    };
    code.chunks(RAW_BYTES).enumerate().map(chunk).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates the error for machine code that this build cannot disassemble.
fn no_disassembler(id: u32) -> BadInput {
    let program = format!("program {id}");
    if cfg!(feature = "jit-disassembly") {
        let what = format!("no disassembler for the machine code of {}", env::consts::ARCH);
        return BadInput::new(program, what).help("--raw prints its bytes");
    }
    let what =
        "this build of core-relo cannot disassemble machine code: it lacks the feature `jit-disassembly`";
    let bad = BadInput::new(program, what);
    bad.help("--raw prints its bytes; a build with `--features jit-disassembly` prints instructions")
}

/// Creates the error for a program without visible machine code, with the setting that is the reason.
fn no_machine_code(id: u32, info: &ProgramInfo) -> BadInput {
    let setting = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let program = format!("program {id}");
    if info.jited_prog_len == 0 {
        let bad = BadInput::new(
            program,
            "it has no machine code: the kernel interprets it, or hides it from this user",
        );
        return match setting("/proc/sys/net/core/bpf_jit_enable") {
            Some(value) if value == "0" => {
                bad.help("net.core.bpf_jit_enable is 0: set it to 1, and load the program again")
            }
            _ => bad.help("needs CAP_BPF"),
        };
    }
    let bad = BadInput::new(program, "the kernel hides its machine code");
    match setting("/proc/sys/kernel/kptr_restrict").as_deref() {
        Some("2") => {
            bad.help("kernel.kptr_restrict is 2, which hides addresses from every user: set it to 1")
        }
        Some("1") => bad.help("kernel.kptr_restrict is 1: needs CAP_SYSLOG"),
        _ => bad.help("needs CAP_SYSLOG, and kernel.kptr_restrict below 2"),
    }
}

/// The JSON line of a machine instruction.
#[derive(Serialize)]
struct MachineInsnLine<'a> {
    prog_id: u32,
    function: Option<&'a str>,
    offset: usize,
    address: Option<u64>,
    bytes: String,
    text: Option<&'a str>,
    target: Option<&'a str>,
    source: Option<SourceLine<'a>>,
}
