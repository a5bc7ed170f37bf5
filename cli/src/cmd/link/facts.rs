//! `link list` and `link show`: the links in the running kernel, and what they attach to.

use crate::{
    cmd::kernel_facts::{HoldersAndTypes, KernelFacts},
    describe::short_type_name,
    error::BadInput,
    kernel_objects::{
        kind::Kind,
        link_device::OwnInterfaces,
        link_target::{LinkTarget, type_name},
        names::full_program_name,
        processes::Process,
        text,
    },
    text::{
        printer::Printer,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

/// The facts that `link list` and `link show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct LinkFacts {
    id: u32,
    link_type: String,
    prog_id: Option<u32>,
    program: Option<String>,
    target: LinkTarget,
    pinned: Vec<String>,
    pids: Vec<Process>,
}

impl LinkFacts {
    /// Returns the id and the name of the link's program.
    fn program_text(&self) -> String {
        match (self.prog_id, &self.program) {
            (Some(id), Some(name)) if !name.is_empty() => format!("{id} {name}"),
            (Some(id), _) => id.to_string(),
            (None, _) => String::new(),
        }
    }
}

impl KernelFacts for LinkFacts {
    const KIND: Kind = Kind::Link;
    const COLUMNS: &'static [&'static str] = &["ID", "TYPE", "PROGRAM", "ATTACHED TO", "HELD BY"];
    const NO_OBJECTS: &'static str = "there are no links";
    type Context = (HoldersAndTypes, OwnInterfaces);

    fn read_context() -> Result<Self::Context, BadInput> {
        Ok((HoldersAndTypes::read(), OwnInterfaces::default()))
    }

    fn read(fd: &OwnedFd, context: &mut Self::Context) -> Result<Self, Errno> {
        let (HoldersAndTypes { holders, btfs }, interfaces) = context;
        let info = sys::link_info(fd)?;
        let program = Kind::Prog.open(info.prog_id).ok().filter(|_| info.prog_id != 0).and_then(|fd| {
            let info = sys::prog_info(&fd).ok()?;
            Some(full_program_name(&fd, &info))
        });
        let mut target = LinkTarget::read(fd, &info, btfs)?;
        target.find_device(&info, interfaces)?;
        Ok(Self {
            id: info.id,
            link_type: type_name(info.link_type),
            prog_id: (info.prog_id != 0).then_some(info.prog_id),
            program,
            target,
            pinned: holders.pins(Kind::Link, info.id),
            pids: holders.processes(Kind::Link, info.id).to_vec(),
        })
    }

    fn cells(&self) -> io::Result<Vec<Cell>> {
        Ok(vec![
            right_cell(self.id),
            left_cell(short_type_name(&self.link_type)),
            left_cell(self.program_text()),
            left_cell(self.target.text()?),
            left_cell(text::holders_cell(&self.pids, &self.pinned)),
        ])
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
