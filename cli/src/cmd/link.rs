//! `link list` and `link show`: what is attached where in the running kernel.

use crate::{
    app::App,
    args::Format,
    args_kernel::{self, List, Show},
    cmd::inspect::short,
    error::BadInput,
    kernel::{self, Found, Holders, Kind, Owner, link, select, types::Types},
    printer::Printer,
    render::{
        kernel as render,
        table::{Columns, left, right},
    },
};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

pub(crate) fn run(app: &mut App<'_>, args: &args_kernel::Link) -> io::Result<()> {
    match args {
        args_kernel::Link::List(args) => list(app, args),
        args_kernel::Link::Show(args) => show(app, args),
    }
}

fn list(app: &mut App<'_>, args: &List) -> io::Result<()> {
    let links = match facts(app, kernel::all(Kind::Link))? {
        Ok(links) => links,
        Err(bad) => return app.fail(&bad),
    };
    if args.format == Format::Json {
        return links.iter().try_for_each(|l| app.out.json(l));
    }
    let mut table = Columns::new();
    render::head(&mut table, &["ID", "TYPE", "PROGRAM", "ATTACHED TO", "HELD BY"]);
    for l in &links {
        table.row([
            right(l.id),
            left(short(&l.link_type)),
            left(l.program_words()),
            left(link::words(&l.target)),
            left(render::held_by(&l.pids, &l.pinned)),
        ]);
    }
    render::table(&mut app.out, &mut table, links.len(), "there are no links")
}

fn show(app: &mut App<'_>, args: &Show) -> io::Result<()> {
    let links = match facts(app, select::selected(Kind::Link, &args.which))? {
        Ok(links) => links,
        Err(bad) => return app.fail(&bad),
    };
    match args.format {
        Format::Json => links.iter().try_for_each(|l| app.out.json(l)),
        Format::Text => links.iter().try_for_each(|l| l.write(&mut app.out)),
    }
}

/// The facts of each.
fn facts(app: &mut App<'_>, found: Result<Vec<Found>, BadInput>) -> io::Result<Result<Vec<Link>, BadInput>> {
    let found = match found {
        Ok(found) => found,
        Err(bad) => return Ok(Err(bad)),
    };
    let (holders, mut types) = (Holders::look(), Types::default());
    kernel::facts(app, found, |fd| Link::new(fd, &holders, &mut types))
}

/// A link, as `show` prints it and as JSON.
#[derive(Debug, Serialize)]
struct Link {
    id: u32,
    link_type: String,
    prog_id: Option<u32>,
    program: Option<String>,
    target: serde_json::Map<String, serde_json::Value>,
    pinned: Vec<String>,
    pids: Vec<Owner>,
}

impl Link {
    fn new(fd: &OwnedFd, holders: &Holders, types: &mut Types) -> Result<Self, Errno> {
        let info = sys::link_info(fd)?;
        let program = Kind::Prog.open(info.prog_id).ok().filter(|_| info.prog_id != 0).and_then(|fd| {
            let info = sys::prog_info(&fd).ok()?;
            Some(select::full_name(&fd, &info))
        });
        Ok(Self {
            id: info.id,
            link_type: link::type_name(info.link_type),
            prog_id: (info.prog_id != 0).then_some(info.prog_id),
            program,
            target: link::target(fd, &info, types),
            pinned: holders.pinned(Kind::Link, info.id),
            pids: holders.owners(Kind::Link, info.id).to_vec(),
        })
    }

    fn program_words(&self) -> String {
        match (self.prog_id, &self.program) {
            (Some(id), Some(name)) if !name.is_empty() => format!("{id} {name}"),
            (Some(id), _) => id.to_string(),
            (None, _) => String::new(),
        }
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        render::title(out, self.id, &short(&self.link_type), "")?;
        if self.prog_id.is_some() {
            render::field(out, "program", self.program_words())?;
        }
        if !self.target.is_empty() {
            render::field(out, "to", link::words(&self.target))?;
        }
        render::holders(out, &self.pids, &self.pinned)
    }
}
