//! `prog dump`: a program's instructions as the kernel runs them, with functions, source lines and names.

use crate::{
    app::App,
    args::Format,
    args_kernel::ProgDump,
    cmd::{inspect::short, prog::hidden},
    error::BadInput,
    kernel::{
        self, Kind,
        code::{self, Call, Code},
        select,
        symbols::Symbols,
        types::Types,
    },
    line::Line,
    printer::Printer,
    render::{
        kernel as render,
        style::{BOLD, DIM},
    },
};
use core_relo_loader::{object::ProgramType, sys};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(crate) fn run(app: &mut App<'_>, args: &ProgDump) -> io::Result<()> {
    let programs = match select::selected(Kind::Prog, &args.which) {
        Ok(programs) => programs,
        Err(bad) => return app.fail(&bad),
    };
    let mut types = Types::default();
    let symbols = if args.raw { Symbols::default() } else { Symbols::read() };
    for one in programs {
        let id = one.id;
        let fd = match one.open() {
            Ok(Some(fd)) => fd,
            Ok(None) => continue,
            Err(bad) => return app.fail(&bad),
        };
        let (code, kind) = match read(id, &fd, args.raw, &symbols, &mut types) {
            Ok(read) => read,
            Err(bad) => {
                app.fail(&bad)?;
                continue;
            }
        };
        match args.format {
            Format::Text => {
                render::title(&mut app.out, id, &kind, &code.name)?;
                text(&mut app.out, &code, args.raw)?;
            }
            Format::Json => {
                code.lines.iter().try_for_each(|line| app.out.json(&Instruction::new(id, line)))?;
            }
        }
    }
    Ok(())
}

fn read(
    id: u32,
    fd: &OwnedFd,
    raw: bool,
    symbols: &Symbols,
    types: &mut Types,
) -> Result<(Code, String), BadInput> {
    let failed = |e| kernel::unreadable(Kind::Prog, id, "its instructions", e);
    let info = sys::prog_info(fd).map_err(failed)?;
    let insns = sys::prog_translated(fd).map_err(failed)?;
    if insns.is_empty() {
        return Err(hidden(id));
    }
    let kind = ProgramType::from_number(info.prog_type)
        .map_or_else(|| format!("type {}", info.prog_type), |known| short(known.name()));
    let mut code = Code { name: select::full_name(fd, &info), lines: Vec::new() };
    if raw {
        code.lines = kernel::code::raw(&insns);
    } else {
        let btf = types.get(info.btf_id);
        let records =
            if btf.is_some() { sys::prog_lines(fd).map_err(failed)? } else { sys::ProgLines::default() };
        code.lines = kernel::code::Names { btf, records, jited: info.jited_prog_len != 0, symbols }
            .apply(&insns, types);
    }
    Ok((code, kind))
}

fn text(out: &mut Printer<'_>, code: &Code, raw: bool) -> io::Result<()> {
    for line in &code.lines {
        if let Some(function) = &line.begins {
            out.line(Line::new().styled(BOLD, function).text(":"))?;
        }
        if let Some(source) = &line.source {
            let place = format_args!("{}:{}", source.file, source.line);
            out.line(Line::new().text(format_args!("; {}  ", source.text)).styled(DIM, place))?;
        }
        if raw {
            out.line(format_args!("{:>5}: {:<32}  {}", line.insn, line.bytes, line.text))?;
        } else {
            out.line(format_args!("{:>5}: {}", line.insn, line.text))?;
        }
    }
    Ok(())
}

/// An instruction as JSON.
#[derive(Serialize)]
struct Instruction<'a> {
    prog_id: u32,
    insn: usize,
    function: Option<&'a str>,
    bytes: &'a str,
    text: &'a str,
    call: Option<&'a Call>,
    map: Option<&'a kernel::code::MapRef>,
    source: Option<&'a kernel::code::Source>,
}

impl<'a> Instruction<'a> {
    fn new(prog_id: u32, line: &'a code::Line) -> Self {
        Self {
            prog_id,
            insn: line.insn,
            function: line.function.as_deref(),
            bytes: &line.bytes,
            text: &line.text,
            call: line.call.as_ref(),
            map: line.map.as_ref(),
            source: line.source.as_ref(),
        }
    }
}
