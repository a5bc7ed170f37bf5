//! `map list` and `map show`: the maps in the running kernel.

use crate::{
    cmd::kernel_facts::{HoldersAndTypes, KernelFacts},
    describe::{known_name, short_type_name},
    error::BadInput,
    kernel_objects::text,
    long_double,
    text::{
        printer::Printer,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo::{
    TypeId,
    btf::{Btf, CType, Value, ValueText},
};
use core_relo_loader::{
    inventory::{BtfCache, FdInfo, InfoError, MapInfo, ObjectKind, Process},
    object::{MapType, ProgramType},
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd, sync::Arc};

/// The facts that `map list` and `map show` print. They serialize to the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct MapFacts {
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
    /// Of a map that only programs of one type may use, that type.
    owner_program_type: Option<String>,
    owner_jited: Option<bool>,
    pinned: Vec<String>,
    #[serde(serialize_with = "text::serialize_processes")]
    pids: Vec<Process>,
}

impl KernelFacts for MapFacts {
    const KIND: ObjectKind = ObjectKind::Map;
    const COLUMNS: &'static [&'static str] =
        &["ID", "NAME", "TYPE", "KEY", "VALUE", "ENTRIES", "FLAGS", "HELD BY"];
    const NO_OBJECTS: &'static str = "there are no maps";
    type Context = HoldersAndTypes;

    fn read_context() -> Result<HoldersAndTypes, BadInput> {
        Ok(HoldersAndTypes::read())
    }

    fn read(
        fd: &OwnedFd,
        HoldersAndTypes { holders, btfs }: &mut HoldersAndTypes,
    ) -> Result<Self, InfoError> {
        let info = MapInfo::query(fd)?;
        let (key, value) = (key_type(&info, btfs), value_type(&info, btfs));
        let fdinfo = FdInfo::read(fd);
        let fdinfo = |key| fdinfo.as_ref()?.get(key);
        let c_type = |ty: Option<MapElementType>| ty.map(|ty| CType::new(&ty.btf, ty.id).to_string());
        Ok(Self {
            id: info.id,
            name: info.name(),
            map_type: type_name(info.map_type),
            key_size: info.key_size,
            value_size: info.value_size,
            max_entries: info.max_entries,
            flags: info.map_flags,
            map_extra: info.map_extra,
            bytes_memlock: fdinfo("memlock"),
            frozen: fdinfo("frozen").map(|frozen| frozen != 0),
            btf_id: (info.btf_id != 0).then_some(info.btf_id),
            key_type: c_type(key),
            value_type: c_type(value),
            ifindex: (info.ifindex != 0).then_some(info.ifindex),
            owner_program_type: fdinfo("owner_prog_type").map(program_type_name),
            owner_jited: fdinfo("owner_jited").map(|jited| jited != 0),
            pinned: text::pins(holders.pins(ObjectKind::Map, info.id)),
            pids: holders.processes(ObjectKind::Map, info.id).to_vec(),
        })
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            right_cell(self.id),
            left_cell(&self.name),
            left_cell(short_type_name(&self.map_type)),
            right_cell(self.key_size),
            right_cell(self.value_size),
            right_cell(self.max_entries),
            left_cell(if self.flags == 0 { String::new() } else { format!("{:#x}", self.flags) }),
            left_cell(text::holders_cell(&self.pids, &self.pinned)),
        ]
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        text::title(out, self.id, &short_type_name(&self.map_type), &self.name)?;
        let with_type = |size: u32, ty: &Option<String>| match ty {
            Some(ty) => format!("{size} bytes, {ty}"),
            None => format!("{size} bytes"),
        };
        text::field(out, "key", with_type(self.key_size, &self.key_type))?;
        text::field(out, "value", with_type(self.value_size, &self.value_type))?;
        text::field(out, "entries", format_args!("{} at most", self.max_entries))?;
        if self.flags != 0 {
            text::field(out, "flags", format_args!("{:#x}", self.flags))?;
        }
        if self.map_extra != 0 {
            text::field(out, "extra", format_args!("{:#x}", self.map_extra))?;
        }
        if self.frozen == Some(true) {
            text::field(out, "frozen", "user space cannot write to it")?;
        }
        text::optional_field(out, "memlock", self.bytes_memlock)?;
        text::optional_field(out, "btf", self.btf_id)?;
        text::optional_field(out, "ifindex", self.ifindex)?;
        if let Some(program_type) = &self.owner_program_type {
            let jited = if self.owner_jited == Some(true) { ", jited" } else { "" };
            text::field(
                out,
                "owner",
                format_args!("programs of type {}{jited}", short_type_name(program_type)),
            )?;
        }
        text::holders(out, &self.pids, &self.pinned)
    }
}

fn program_type_name(number: u64) -> String {
    let known = u32::try_from(number).ok().and_then(ProgramType::from_number);
    known_name(known.map(ProgramType::name), number)
}

/// Returns the kernel's name of a map type.
pub(super) fn type_name(number: u32) -> String {
    known_name(MapType::from_number(number).map(MapType::name), number)
}

/// The type of a map's keys or values, and the BTF that has it.
pub(crate) struct MapElementType {
    pub(crate) btf: Arc<Btf<'static>>,
    pub(crate) id: TypeId,
}

impl MapElementType {
    /// Returns bytes as a value of the type.
    pub(crate) fn value<'v>(&'v self, bytes: &'v [u8]) -> Value<'v> {
        self.btf.value(self.id, bytes).long_double(long_double::NATIVE)
    }

    /// Converts a value to JSON.
    pub(crate) fn json(&self, bytes: &[u8]) -> io::Result<serde_json::Value> {
        serde_json::to_value(self.value(bytes)).map_err(io::Error::other)
    }
}

/// Returns the text of a value, on one line if it is at most `max_len` long.
pub(crate) fn short_text(text: &ValueText<'_>, max_len: usize) -> String {
    let line = text.to_string();
    if line.len() <= max_len { line } else { format!("{text:#}") }
}

/// Returns the type of a map's keys.
pub(super) fn key_type(info: &MapInfo, btfs: &mut BtfCache) -> Option<MapElementType> {
    element_type(info.btf_id, info.btf_key_type_id, btfs)
}

fn element_type(btf_id: u32, type_id: u32, btfs: &mut BtfCache) -> Option<MapElementType> {
    let (btf, id) = (btfs.get(btf_id)?, TypeId(type_id));
    (id != TypeId::VOID).then_some(MapElementType { btf, id })
}

/// Returns the type of a map's values. The value of a struct_ops map has a type of the kernel.
pub(crate) fn value_type(info: &MapInfo, btfs: &mut BtfCache) -> Option<MapElementType> {
    if info.btf_vmlinux_value_type_id != 0 {
        let btf = match info.btf_vmlinux_id {
            0 => btfs.kernel(),
            id => btfs.get(id),
        };
        return btf.map(|btf| MapElementType { btf, id: TypeId(info.btf_vmlinux_value_type_id) });
    }
    element_type(info.btf_id, info.btf_value_type_id, btfs)
}
