//! `link list` and `link show`: the links in the running kernel, and what they attach to.

use crate::{
    cmd::kernel_facts::{HoldersAndTypes, KernelFacts},
    describe::short_type_name,
    error::BadInput,
    kernel_objects::{
        link_text::{self, type_name},
        text,
    },
    text::{
        printer::Printer,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo_loader::inventory::{
    InfoError, LinkInfo, LinkTarget, ObjectKind, OwnInterfaces, Process, ProgramInfo, full_program_name,
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

/// The facts that `link list` and `link show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct LinkFacts {
    id: u32,
    link_type: String,
    prog_id: Option<u32>,
    program: Option<String>,
    #[serde(serialize_with = "link_text::serialize_target")]
    target: LinkTarget,
    pinned: Vec<String>,
    #[serde(serialize_with = "text::serialize_processes")]
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
    const KIND: ObjectKind = ObjectKind::Link;
    const COLUMNS: &'static [&'static str] = &["ID", "TYPE", "PROGRAM", "ATTACHED TO", "HELD BY"];
    const NO_OBJECTS: &'static str = "there are no links";
    type Context = (HoldersAndTypes, OwnInterfaces);

    fn read_context() -> Result<Self::Context, BadInput> {
        Ok((HoldersAndTypes::read(), OwnInterfaces::default()))
    }

    fn read(fd: &OwnedFd, context: &mut Self::Context) -> Result<Self, InfoError> {
        let (HoldersAndTypes { holders, btfs }, interfaces) = context;
        let info = LinkInfo::query(fd)?;
        let program =
            ObjectKind::Program.open(info.prog_id).ok().filter(|_| info.prog_id != 0).and_then(|fd| {
                let info = ProgramInfo::query(&fd).ok()?;
                Some(full_program_name(&fd, &info))
            });
        let mut target = LinkTarget::read(fd, &info, btfs)?;
        interfaces.find_device(&info, &mut target);
        Ok(Self {
            id: info.id,
            link_type: type_name(info.link_type),
            prog_id: (info.prog_id != 0).then_some(info.prog_id),
            program,
            target,
            pinned: text::pins(holders.pins(ObjectKind::Link, info.id)),
            pids: holders.processes(ObjectKind::Link, info.id).to_vec(),
        })
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            right_cell(self.id),
            left_cell(short_type_name(&self.link_type)),
            left_cell(self.program_text()),
            left_cell(self.target.to_string()),
            left_cell(text::holders_cell(&self.pids, &self.pinned)),
        ]
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        text::title(out, self.id, &short_type_name(&self.link_type), "")?;
        if self.prog_id.is_some() {
            text::field(out, "program", self.program_text())?;
        }
        let target = self.target.to_string();
        if !target.is_empty() {
            text::field(out, "to", target)?;
        }
        text::holders(out, &self.pids, &self.pinned)
    }
}
