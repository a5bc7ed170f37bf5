//! `btf list` and `btf show`: the BTF in the running kernel.

use crate::{
    app::App,
    args::Format,
    args_kernel::{BtfShow, List, Which},
    error::BadInput,
    kernel::{self, Found, Holders, Kind, Owner, select},
    printer::Printer,
    render::{
        kernel as render,
        table::{Columns, left, right},
    },
};
use core_relo_loader::sys::{self, Errno};
use serde::Serialize;
use std::{collections::BTreeMap, io, os::fd::OwnedFd};

pub(crate) fn list(app: &mut App<'_>, args: &List) -> io::Result<()> {
    let found = match facts(app, kernel::all(Kind::Btf))? {
        Ok(found) => found,
        Err(bad) => return app.fail(&bad),
    };
    if args.format == Format::Json {
        return found.iter().try_for_each(|b| app.out.json(b));
    }
    let mut table = Columns::new();
    render::head(&mut table, &["ID", "NAME", "BYTES", "PROGRAMS", "MAPS", "HELD BY"]);
    for b in &found {
        table.row([
            right(b.id),
            left(b.name_words()),
            right(b.bytes),
            left(render::numbers(&b.prog_ids)),
            left(render::numbers(&b.map_ids)),
            left(render::held_by(&b.pids, &[])),
        ]);
    }
    render::table(&mut app.out, &mut table, found.len(), "there is no BTF")
}

pub(crate) fn show(app: &mut App<'_>, args: &BtfShow) -> io::Result<()> {
    let found = match facts(app, select::selected(Kind::Btf, &Which::from(&args.which)))? {
        Ok(found) => found,
        Err(bad) => return app.fail(&bad),
    };
    match args.format {
        Format::Json => found.iter().try_for_each(|b| app.out.json(b)),
        Format::Text => found.iter().try_for_each(|b| b.write(&mut app.out)),
    }
}

/// The facts of each.
fn facts(
    app: &mut App<'_>,
    found: Result<Vec<Found>, BadInput>,
) -> io::Result<Result<Vec<BtfFacts>, BadInput>> {
    let (found, users) = match found.and_then(|found| Ok((found, Users::look()?))) {
        Ok(known) => known,
        Err(bad) => return Ok(Err(bad)),
    };
    let holders = Holders::look();
    kernel::facts(app, found, |fd| BtfFacts::new(fd, &holders, &users))
}

/// Programs and maps by the BTF they refer to.
#[derive(Default)]
struct Users {
    programs: BTreeMap<u32, Vec<u32>>,
    maps: BTreeMap<u32, Vec<u32>>,
}

impl Users {
    fn look() -> Result<Self, BadInput> {
        let mut users = Self::default();
        for one in kernel::all(Kind::Prog)? {
            let id = one.id;
            if let Some(info) = one.open()?.and_then(|fd| sys::prog_info(&fd).ok()) {
                users.programs.entry(info.btf_id).or_default().push(id);
            }
        }
        for one in kernel::all(Kind::Map)? {
            let id = one.id;
            if let Some(info) = one.open()?.and_then(|fd| sys::map_info(&fd).ok()) {
                users.maps.entry(info.btf_id).or_default().push(id);
            }
        }
        Ok(users)
    }
}

/// A BTF, as `show` prints it and as JSON.
#[derive(Debug, Serialize)]
struct BtfFacts {
    id: u32,
    name: Option<String>,
    kernel: bool,
    bytes: u32,
    prog_ids: Vec<u32>,
    map_ids: Vec<u32>,
    pids: Vec<Owner>,
}

impl BtfFacts {
    fn new(fd: &OwnedFd, holders: &Holders, users: &Users) -> Result<Self, Errno> {
        let info = sys::btf_info(fd)?;
        let of = |users: &BTreeMap<u32, Vec<u32>>| users.get(&info.id).cloned().unwrap_or_default();
        Ok(Self {
            id: info.id,
            name: Some(sys::btf_name(fd)?).filter(|name| !name.is_empty()),
            kernel: info.kernel_btf != 0,
            bytes: info.btf_size,
            prog_ids: of(&users.programs),
            map_ids: of(&users.maps),
            pids: holders.owners(Kind::Btf, info.id).to_vec(),
        })
    }

    fn name_words(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        match (self.kernel, name) {
            (true, "vmlinux") => "vmlinux (kernel)".to_owned(),
            (true, name) => format!("{name} (module)"),
            (false, _) => name.to_owned(),
        }
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        render::title(out, self.id, "btf", &self.name_words())?;
        render::field(out, "size", format_args!("{} bytes", self.bytes))?;
        if !self.prog_ids.is_empty() {
            render::field(out, "programs", render::numbers(&self.prog_ids))?;
        }
        if !self.map_ids.is_empty() {
            render::field(out, "maps", render::numbers(&self.map_ids))?;
        }
        render::holders(out, &self.pids, &[])
    }
}
