//! `btf list` and `btf show`: the BTF in the running kernel.

use crate::{
    args::{
        btf::BtfShowArgs,
        format::Format,
        kernel_objects::{ListArgs, ObjectSelector},
    },
    cmd::kernel_facts,
    console::Console,
    error::BadInput,
    kernel_objects::{
        holders::Holders,
        kind::Kind,
        object::{self, KernelObject},
        processes::Process,
        select::select,
    },
    text::{
        kernel_object as text,
        printer::Printer,
        table::{AlignedTable, left, right},
    },
};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{collections::BTreeMap, io, os::fd::OwnedFd};

pub(super) fn list(console: &mut Console<'_>, args: &ListArgs) -> io::Result<()> {
    let btfs = match read_facts(console, object::list(Kind::Btf))? {
        Ok(btfs) => btfs,
        Err(bad) => return console.fail(&bad),
    };
    if args.format == Format::Json {
        return btfs.iter().try_for_each(|b| console.out.json(b));
    }
    let mut table = AlignedTable::new();
    text::header(&mut table, &["ID", "NAME", "BYTES", "PROGRAMS", "MAPS", "HELD BY"]);
    for b in &btfs {
        table.row([
            right(b.id),
            left(b.name_text()),
            right(b.bytes),
            left(text::ids_cell(&b.prog_ids)),
            left(text::ids_cell(&b.map_ids)),
            left(text::holders_cell(&b.pids, &[])),
        ]);
    }
    text::write_table(&mut console.out, &mut table, btfs.len(), "there is no BTF")
}

pub(super) fn show(console: &mut Console<'_>, args: &BtfShowArgs) -> io::Result<()> {
    let selector = ObjectSelector::from(&args.selector);
    let btfs = match read_facts(console, select(Kind::Btf, &selector))? {
        Ok(btfs) => btfs,
        Err(bad) => return console.fail(&bad),
    };
    match args.format {
        Format::Json => btfs.iter().try_for_each(|b| console.out.json(b)),
        Format::Text => btfs.iter().try_for_each(|b| b.write(&mut console.out)),
    }
}

/// Reads the facts of BTFs.
fn read_facts(
    console: &mut Console<'_>,
    btfs: Result<Vec<KernelObject>, BadInput>,
) -> io::Result<Result<Vec<BtfFacts>, BadInput>> {
    let (btfs, users) = match btfs.and_then(|btfs| Ok((btfs, BtfUsers::find()?))) {
        Ok(btfs_and_users) => btfs_and_users,
        Err(bad) => return Ok(Err(bad)),
    };
    let holders = Holders::find();
    kernel_facts::read_all(console, btfs, |fd| BtfFacts::new(fd, &holders, &users))
}

/// The ids of the programs and maps that refer to each BTF, by the id of the BTF.
#[derive(Default)]
struct BtfUsers {
    programs: BTreeMap<u32, Vec<u32>>,
    maps: BTreeMap<u32, Vec<u32>>,
}

impl BtfUsers {
    fn find() -> Result<Self, BadInput> {
        let mut users = Self::default();
        for program in object::list(Kind::Prog)? {
            let id = program.id;
            if let Some(info) = program.open()?.and_then(|fd| sys::prog_info(&fd).ok()) {
                users.programs.entry(info.btf_id).or_default().push(id);
            }
        }
        for map in object::list(Kind::Map)? {
            let id = map.id;
            if let Some(info) = map.open()?.and_then(|fd| sys::map_info(&fd).ok()) {
                users.maps.entry(info.btf_id).or_default().push(id);
            }
        }
        Ok(users)
    }
}

/// The facts that `btf list` and `btf show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
struct BtfFacts {
    id: u32,
    name: Option<String>,
    kernel: bool,
    bytes: u32,
    prog_ids: Vec<u32>,
    map_ids: Vec<u32>,
    pids: Vec<Process>,
}

impl BtfFacts {
    fn new(fd: &OwnedFd, holders: &Holders, users: &BtfUsers) -> Result<Self, Errno> {
        let info = sys::btf_info(fd)?;
        let ids = |users: &BTreeMap<u32, Vec<u32>>| users.get(&info.id).cloned().unwrap_or_default();
        Ok(Self {
            id: info.id,
            name: Some(sys::btf_name(fd)?).filter(|name| !name.is_empty()),
            kernel: info.kernel_btf != 0,
            bytes: info.btf_size,
            prog_ids: ids(&users.programs),
            map_ids: ids(&users.maps),
            pids: holders.processes(Kind::Btf, info.id).to_vec(),
        })
    }

    /// Returns the name, with a note if the BTF is that of the kernel or of a module.
    fn name_text(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        match (self.kernel, name) {
            (true, "vmlinux") => "vmlinux (kernel)".to_owned(),
            (true, name) => format!("{name} (module)"),
            (false, _) => name.to_owned(),
        }
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
