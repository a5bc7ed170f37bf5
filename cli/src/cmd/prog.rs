//! `prog list` and `prog show`: the programs in the running kernel.

use crate::{
    app::App,
    args::Format,
    args_kernel::{self, List, Show},
    cmd::inspect::short,
    error::BadInput,
    kernel::{self, Found, Holders, Kind, Owner, fdinfo, select, types::Types},
    printer::Printer,
    render::{
        kernel as render,
        table::{Columns, left, right},
    },
};
use core_relo_loader::{
    object::ProgramType,
    sys::{self, Errno},
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(crate) fn run(app: &mut App<'_>, args: &args_kernel::Prog) -> io::Result<()> {
    match args {
        args_kernel::Prog::List(args) => list(app, args),
        args_kernel::Prog::Show(args) => show(app, args),
        args_kernel::Prog::Dump(args) => super::prog_dump::run(app, args),
    }
}

fn list(app: &mut App<'_>, args: &List) -> io::Result<()> {
    let programs = match facts(app, kernel::all(Kind::Prog))? {
        Ok(programs) => programs,
        Err(bad) => return app.fail(&bad),
    };
    if args.format == Format::Json {
        return programs.iter().try_for_each(|p| app.out.json(p));
    }
    let mut table = Columns::new();
    render::head(&mut table, &["ID", "NAME", "TYPE", "INSNS", "MAPS", "LOADED", "HELD BY"]);
    for p in &programs {
        table.row([
            right(p.id),
            left(&p.name),
            left(short(&p.program_type)),
            right(p.insns),
            left(render::numbers(&p.map_ids)),
            left(p.loaded_at.map(kernel::date).unwrap_or_default()),
            left(render::held_by(&p.pids, &p.pinned)),
        ]);
    }
    render::table(&mut app.out, &mut table, programs.len(), "no programs are loaded")
}

fn show(app: &mut App<'_>, args: &Show) -> io::Result<()> {
    let programs = match facts(app, select::selected(Kind::Prog, &args.which))? {
        Ok(programs) => programs,
        Err(bad) => return app.fail(&bad),
    };
    match args.format {
        Format::Json => programs.iter().try_for_each(|p| app.out.json(p)),
        Format::Text => programs.iter().try_for_each(|p| p.write(&mut app.out)),
    }
}

/// The facts of each.
fn facts(
    app: &mut App<'_>,
    found: Result<Vec<Found>, BadInput>,
) -> io::Result<Result<Vec<Program>, BadInput>> {
    let found = match found {
        Ok(found) => found,
        Err(bad) => return Ok(Err(bad)),
    };
    let (holders, mut types) = (Holders::look(), Types::default());
    kernel::facts(app, found, |fd| Program::new(fd, &holders, &mut types))
}

/// A program, as `show` prints it and as JSON.
#[derive(Debug, Serialize)]
struct Program {
    id: u32,
    name: String,
    program_type: String,
    tag: String,
    gpl_compatible: bool,
    loaded_at: Option<u64>,
    uid: u32,
    insns: u32,
    bytes_xlated: u32,
    bytes_jited: u32,
    bytes_memlock: Option<u64>,
    verified_insns: u32,
    map_ids: Vec<u32>,
    btf_id: Option<u32>,
    attach_to: Option<AttachTo>,
    ifindex: Option<u32>,
    run_cnt: u64,
    run_time_ns: u64,
    recursion_misses: u64,
    pinned: Vec<String>,
    pids: Vec<Owner>,
}

/// What a program was loaded for.
#[derive(Debug, Serialize)]
struct AttachTo {
    btf_id: u32,
    type_id: u32,
    name: Option<String>,
}

impl Program {
    fn new(fd: &OwnedFd, holders: &Holders, types: &mut Types) -> Result<Self, Errno> {
        let info = sys::prog_info(fd)?;
        let known = ProgramType::from_number(info.prog_type);
        Ok(Self {
            id: info.id,
            name: select::full_name(fd, &info),
            program_type: known
                .map_or_else(|| format!("unknown({})", info.prog_type), |known| known.name().to_owned()),
            tag: info.tag.iter().map(|b| format!("{b:02x}")).collect(),
            gpl_compatible: info.is_gpl_compatible(),
            loaded_at: kernel::seconds_of(info.load_time),
            uid: info.created_by_uid,
            insns: info.xlated_prog_len / 8,
            bytes_xlated: info.xlated_prog_len,
            bytes_jited: info.jited_prog_len,
            bytes_memlock: fdinfo(fd, "memlock"),
            verified_insns: info.verified_insns,
            map_ids: sys::prog_map_ids(fd)?,
            btf_id: (info.btf_id != 0).then_some(info.btf_id),
            attach_to: (info.attach_btf_id != 0).then(|| AttachTo {
                btf_id: info.attach_btf_obj_id,
                type_id: info.attach_btf_id,
                name: types.name(info.attach_btf_obj_id, info.attach_btf_id),
            }),
            ifindex: (info.ifindex != 0).then_some(info.ifindex),
            run_cnt: info.run_cnt,
            run_time_ns: info.run_time_ns,
            recursion_misses: info.recursion_misses,
            pinned: holders.pinned(Kind::Prog, info.id),
            pids: holders.owners(Kind::Prog, info.id).to_vec(),
        })
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        render::title(out, self.id, &short(&self.program_type), &self.name)?;
        let license = if self.gpl_compatible { "GPL-compatible" } else { "not GPL-compatible" };
        render::field(out, "tag", format_args!("{}, {license}", self.tag))?;
        let when = self.loaded_at.map_or_else(|| "at an unknown time".to_owned(), kernel::date);
        render::field(out, "loaded", format_args!("{when} by uid {}", self.uid))?;
        let jited = match self.bytes_jited {
            0 => "not jited".to_owned(),
            bytes => format!("{bytes} bytes of machine code"),
        };
        let memlock = self.bytes_memlock.map(|bytes| format!(", memlock {bytes}")).unwrap_or_default();
        render::field(
            out,
            "size",
            format_args!("{} instructions, {jited}{memlock}; {} verified", self.insns, self.verified_insns),
        )?;
        if !self.map_ids.is_empty() {
            render::field(out, "maps", render::numbers(&self.map_ids))?;
        }
        render::optional(out, "btf", self.btf_id)?;
        if let Some(to) = &self.attach_to {
            let name = to.name.as_deref().unwrap_or("?");
            render::field(out, "for", format_args!("{name} (type {} of BTF {})", to.type_id, to.btf_id))?;
        }
        render::optional(out, "ifindex", self.ifindex)?;
        if self.run_cnt > 0 {
            let misses = self.recursion_misses;
            render::field(
                out,
                "ran",
                format_args!(
                    "{} times, {} ns in all, {misses} times not for recursion",
                    self.run_cnt, self.run_time_ns
                ),
            )?;
        }
        render::holders(out, &self.pids, &self.pinned)
    }
}

/// A program that has no instructions for us.
pub(crate) fn hidden(id: u32) -> BadInput {
    BadInput::new(format!("program {id}"), "the kernel does not show its instructions")
        .help("needs CAP_BPF and CAP_PERFMON, or of a hardened program net.core.bpf_jit_harden=0 and kernel.kptr_restrict below 2")
}
