//! `link`: the links in the running kernel, and what they attach to.

use super::kernel_facts;
use crate::{
    args::{
        format::Format,
        kernel_objects::{LinkCommand, ListArgs, ShowArgs},
    },
    console::Console,
    describe::short_type_name,
    error::BadInput,
    kernel_objects::{
        btf_cache::BtfCache,
        holders::Holders,
        kind::Kind,
        link_target::{LinkTarget, type_name},
        object::{self, KernelObject},
        processes::Process,
        select::{full_program_name, select},
    },
    text::{
        kernel_object as text,
        printer::Printer,
        table::{AlignedTable, left, right},
    },
};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(crate) fn run(console: &mut Console<'_>, command: &LinkCommand) -> io::Result<()> {
    match command {
        LinkCommand::List(args) => list(console, args),
        LinkCommand::Show(args) => show(console, args),
    }
}

fn list(console: &mut Console<'_>, args: &ListArgs) -> io::Result<()> {
    let links = match read_facts(console, object::list(Kind::Link))? {
        Ok(links) => links,
        Err(bad) => return console.fail(&bad),
    };
    if args.format == Format::Json {
        return links.iter().try_for_each(|l| console.out.json(l));
    }
    let mut table = AlignedTable::new();
    text::header(&mut table, &["ID", "TYPE", "PROGRAM", "ATTACHED TO", "HELD BY"]);
    for l in &links {
        table.row([
            right(l.id),
            left(short_type_name(&l.link_type)),
            left(l.program_text()),
            left(l.target.text()?),
            left(text::holders_cell(&l.pids, &l.pinned)),
        ]);
    }
    text::write_table(&mut console.out, &mut table, links.len(), "there are no links")
}

fn show(console: &mut Console<'_>, args: &ShowArgs) -> io::Result<()> {
    let links = match read_facts(console, select(Kind::Link, &args.selector))? {
        Ok(links) => links,
        Err(bad) => return console.fail(&bad),
    };
    match args.format {
        Format::Json => links.iter().try_for_each(|l| console.out.json(l)),
        Format::Text => links.iter().try_for_each(|l| l.write(&mut console.out)),
    }
}

/// Reads the facts of links.
fn read_facts(
    console: &mut Console<'_>,
    links: Result<Vec<KernelObject>, BadInput>,
) -> io::Result<Result<Vec<LinkFacts>, BadInput>> {
    let links = match links {
        Ok(links) => links,
        Err(bad) => return Ok(Err(bad)),
    };
    let (holders, mut btfs) = (Holders::find(), BtfCache::default());
    kernel_facts::read_all(console, links, |fd| LinkFacts::new(fd, &holders, &mut btfs))
}

/// The facts that `link list` and `link show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
struct LinkFacts {
    id: u32,
    link_type: String,
    prog_id: Option<u32>,
    program: Option<String>,
    target: LinkTarget,
    pinned: Vec<String>,
    pids: Vec<Process>,
}

impl LinkFacts {
    fn new(fd: &OwnedFd, holders: &Holders, btfs: &mut BtfCache) -> Result<Self, Errno> {
        let info = sys::link_info(fd)?;
        let program = Kind::Prog.open(info.prog_id).ok().filter(|_| info.prog_id != 0).and_then(|fd| {
            let info = sys::prog_info(&fd).ok()?;
            Some(full_program_name(&fd, &info))
        });
        Ok(Self {
            id: info.id,
            link_type: type_name(info.link_type),
            prog_id: (info.prog_id != 0).then_some(info.prog_id),
            program,
            target: LinkTarget::read(fd, &info, btfs)?,
            pinned: holders.pins(Kind::Link, info.id),
            pids: holders.processes(Kind::Link, info.id).to_vec(),
        })
    }

    /// Returns the id and the name of the link's program.
    fn program_text(&self) -> String {
        match (self.prog_id, &self.program) {
            (Some(id), Some(name)) if !name.is_empty() => format!("{id} {name}"),
            (Some(id), _) => id.to_string(),
            (None, _) => String::new(),
        }
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        text::title(out, self.id, &short_type_name(&self.link_type), "")?;
        if self.prog_id.is_some() {
            text::field(out, "program", self.program_text())?;
        }
        let target = self.target.text()?;
        if !target.is_empty() {
            text::field(out, "to", target)?;
        }
        text::holders(out, &self.pids, &self.pinned)
    }
}
