//! `map list` and `map show`: the maps in the running kernel.

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
use core_relo::{TypeId, btf::Btf, explain::CType};
use core_relo_loader::{
    object::MapType,
    sys::{self, Errno, MapInfo},
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd, sync::Arc};

pub(crate) fn run(app: &mut App<'_>, args: &args_kernel::Map) -> io::Result<()> {
    match args {
        args_kernel::Map::List(args) => list(app, args),
        args_kernel::Map::Show(args) => show(app, args),
        args_kernel::Map::Dump(args) => super::map_dump::run(app, args),
    }
}

fn list(app: &mut App<'_>, args: &List) -> io::Result<()> {
    let maps = match facts(app, kernel::all(Kind::Map))? {
        Ok(maps) => maps,
        Err(bad) => return app.fail(&bad),
    };
    if args.format == Format::Json {
        return maps.iter().try_for_each(|m| app.out.json(m));
    }
    let mut table = Columns::new();
    render::head(&mut table, &["ID", "NAME", "TYPE", "KEY", "VALUE", "ENTRIES", "FLAGS", "HELD BY"]);
    for m in &maps {
        table.row([
            right(m.id),
            left(&m.name),
            left(short(&m.map_type)),
            right(m.key_size),
            right(m.value_size),
            right(m.max_entries),
            left(if m.flags == 0 { String::new() } else { format!("{:#x}", m.flags) }),
            left(render::held_by(&m.pids, &m.pinned)),
        ]);
    }
    render::table(&mut app.out, &mut table, maps.len(), "there are no maps")
}

fn show(app: &mut App<'_>, args: &Show) -> io::Result<()> {
    let maps = match facts(app, select::selected(Kind::Map, &args.which))? {
        Ok(maps) => maps,
        Err(bad) => return app.fail(&bad),
    };
    match args.format {
        Format::Json => maps.iter().try_for_each(|m| app.out.json(m)),
        Format::Text => maps.iter().try_for_each(|m| m.write(&mut app.out)),
    }
}

/// The facts of each.
fn facts(app: &mut App<'_>, found: Result<Vec<Found>, BadInput>) -> io::Result<Result<Vec<Map>, BadInput>> {
    let found = match found {
        Ok(found) => found,
        Err(bad) => return Ok(Err(bad)),
    };
    let (holders, mut types) = (Holders::look(), Types::default());
    kernel::facts(app, found, |fd| Map::new(fd, &holders, &mut types))
}

/// A map, as `show` prints it and as JSON.
#[derive(Debug, Serialize)]
struct Map {
    id: u32,
    name: String,
    map_type: String,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    map_extra: u64,
    bytes_memlock: Option<u64>,
    frozen: Option<bool>,
    btf_id: Option<u32>,
    key_type: Option<String>,
    value_type: Option<String>,
    ifindex: Option<u32>,
    pinned: Vec<String>,
    pids: Vec<Owner>,
}

impl Map {
    fn new(fd: &OwnedFd, holders: &Holders, types: &mut Types) -> Result<Self, Errno> {
        let info = sys::map_info(fd)?;
        let (key, value) = (key_type(&info, types), value_type(&info, types));
        let text =
            |of: Option<(Arc<Btf<'static>>, TypeId)>| of.map(|(btf, id)| CType::new(&btf, id).to_string());
        Ok(Self {
            id: info.id,
            name: info.name(),
            map_type: type_name(info.map_type),
            key_size: info.key_size,
            value_size: info.value_size,
            max_entries: info.max_entries,
            flags: info.map_flags,
            map_extra: info.map_extra,
            bytes_memlock: fdinfo(fd, "memlock"),
            frozen: fdinfo(fd, "frozen").map(|frozen| frozen != 0),
            btf_id: (info.btf_id != 0).then_some(info.btf_id),
            key_type: text(key),
            value_type: text(value),
            ifindex: (info.ifindex != 0).then_some(info.ifindex),
            pinned: holders.pinned(Kind::Map, info.id),
            pids: holders.owners(Kind::Map, info.id).to_vec(),
        })
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        render::title(out, self.id, &short(&self.map_type), &self.name)?;
        let typed = |size: u32, ty: &Option<String>| match ty {
            Some(ty) => format!("{size} bytes, {ty}"),
            None => format!("{size} bytes"),
        };
        render::field(out, "key", typed(self.key_size, &self.key_type))?;
        render::field(out, "value", typed(self.value_size, &self.value_type))?;
        render::field(out, "entries", format_args!("{} at most", self.max_entries))?;
        if self.flags != 0 {
            render::field(out, "flags", format_args!("{:#x}", self.flags))?;
        }
        if self.map_extra != 0 {
            render::field(out, "extra", format_args!("{:#x}", self.map_extra))?;
        }
        if self.frozen == Some(true) {
            render::field(out, "frozen", "user space cannot write to it")?;
        }
        render::optional(out, "memlock", self.bytes_memlock)?;
        render::optional(out, "btf", self.btf_id)?;
        render::optional(out, "ifindex", self.ifindex)?;
        render::holders(out, &self.pids, &self.pinned)
    }
}

/// A type's name, as the kernel has it.
pub(crate) fn type_name(number: u32) -> String {
    MapType::from_number(number).map_or_else(|| format!("unknown({number})"), |known| known.name().to_owned())
}

/// The type of a map's keys, and the BTF that it is of.
pub(crate) fn key_type(info: &MapInfo, types: &mut Types) -> Option<(Arc<Btf<'static>>, TypeId)> {
    let id = TypeId(info.btf_key_type_id);
    types.get(info.btf_id).filter(|_| id != TypeId::VOID).map(|btf| (btf, id))
}

/// The type of a map's values: of a struct_ops map the kernel's.
pub(crate) fn value_type(info: &MapInfo, types: &mut Types) -> Option<(Arc<Btf<'static>>, TypeId)> {
    if info.btf_vmlinux_value_type_id != 0 {
        let btf = match info.btf_vmlinux_id {
            0 => types.kernel(),
            id => types.get(id),
        };
        return btf.map(|btf| (btf, TypeId(info.btf_vmlinux_value_type_id)));
    }
    let id = TypeId(info.btf_value_type_id);
    types.get(info.btf_id).filter(|_| id != TypeId::VOID).map(|btf| (btf, id))
}
