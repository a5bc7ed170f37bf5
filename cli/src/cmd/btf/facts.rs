//! `btf list` and `btf show`: the BTF in the running kernel.

use crate::{
    cmd::kernel_facts::KernelFacts,
    error::BadInput,
    kernel_objects::text,
    text::{
        printer::Printer,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo_loader::inventory::{
    self, BtfInfo, Holders, InfoError, MapInfo, ObjectKind, Process, ProgramInfo,
};
use serde::Serialize;
use std::{collections::BTreeMap, io, os::fd::OwnedFd};

/// The ids of the programs and maps that refer to each BTF, by the id of the BTF.
#[derive(Default)]
pub(super) struct BtfUsers {
    programs: BTreeMap<u32, Vec<u32>>,
    maps: BTreeMap<u32, Vec<u32>>,
}

impl BtfUsers {
    fn find() -> Result<Self, BadInput> {
        let mut users = Self::default();
        for program in inventory::list(ObjectKind::Program)? {
            let id = program.id();
            if let Some(info) = program.open()?.and_then(|fd| ProgramInfo::query(&fd).ok()) {
                users.programs.entry(info.btf_id).or_default().push(id);
            }
        }
        for map in inventory::list(ObjectKind::Map)? {
            let id = map.id();
            if let Some(info) = map.open()?.and_then(|fd| MapInfo::query(&fd).ok()) {
                users.maps.entry(info.btf_id).or_default().push(id);
            }
        }
        Ok(users)
    }
}

/// The facts that `btf list` and `btf show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct BtfFacts {
    id: u32,
    name: Option<String>,
    kernel: bool,
    bytes: u32,
    prog_ids: Vec<u32>,
    map_ids: Vec<u32>,
    #[serde(serialize_with = "text::serialize_processes")]
    pids: Vec<Process>,
}

impl BtfFacts {
    /// Returns the name, with a note if the BTF is that of the kernel or of a module.
    fn name_text(&self) -> String {
        let name = self.name.as_deref().unwrap_or("");
        match (self.kernel, name) {
            (true, "vmlinux") => "vmlinux (kernel)".to_owned(),
            (true, name) => format!("{name} (module)"),
            (false, _) => name.to_owned(),
        }
    }
}

impl KernelFacts for BtfFacts {
    const KIND: ObjectKind = ObjectKind::Btf;
    const COLUMNS: &'static [&'static str] = &["ID", "NAME", "BYTES", "PROGRAMS", "MAPS", "HELD BY"];
    const NO_OBJECTS: &'static str = "there is no BTF";
    type Context = (BtfUsers, Holders);

    fn read_context() -> Result<(BtfUsers, Holders), BadInput> {
        Ok((BtfUsers::find()?, Holders::find()))
    }

    fn read(fd: &OwnedFd, (users, holders): &mut (BtfUsers, Holders)) -> Result<Self, InfoError> {
        let info = BtfInfo::query(fd)?;
        let ids =
            |users: &BTreeMap<u32, Vec<u32>>| users.get(&info.id).into_iter().flatten().copied().collect();
        Ok(Self {
            id: info.id,
            name: Some(inventory::btf_name(fd)?).filter(|name| !name.is_empty()),
            kernel: info.kernel_btf != 0,
            bytes: info.btf_size,
            prog_ids: ids(&users.programs),
            map_ids: ids(&users.maps),
            pids: holders.processes(ObjectKind::Btf, info.id).to_vec(),
        })
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            right_cell(self.id),
            left_cell(self.name_text()),
            right_cell(self.bytes),
            left_cell(text::ids_cell(&self.prog_ids)),
            left_cell(text::ids_cell(&self.map_ids)),
            left_cell(text::holders_cell(&self.pids, &[])),
        ]
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        text::title(out, self.id, "btf", &self.name_text())?;
        text::field(out, "size", format_args!("{} bytes", self.bytes))?;
        if !self.prog_ids.is_empty() {
            text::field(out, "programs", text::ids_cell(&self.prog_ids))?;
        }
        if !self.map_ids.is_empty() {
            text::field(out, "maps", text::ids_cell(&self.map_ids))?;
        }
        text::holders(out, &self.pids, &[])
    }
}
