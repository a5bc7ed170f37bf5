//! The elements of a map as text and as JSON. BTF gives the types of keys and values.

use super::facts::{MapElementType, key_type, short_text, type_name, value_type};
use crate::{
    args::{map_elements::CpuChoice, object_selector::ElementArgs},
    console::Console,
    describe::short_type_name,
    error::BadInput,
    format::Format,
    kernel_objects::{
        error::{object_name, unreadable, unreadable_info},
        text,
    },
    text::{
        hex,
        printer::{LINE_BYTES, Printer},
    },
};
use core_relo::{Endian, btf::Value};
use core_relo_loader::{
    Errno,
    inventory::{BtfCache, MapInfo, ObjectKind, ProgramInfo, full_program_name},
    maps::{self, MapShape},
    object::MapType,
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

/// A map whose elements are printed.
pub(super) struct MapElements<'m> {
    pub(super) info: MapInfo,
    pub(super) shape: MapShape<'m>,
    pub(super) key_type: Option<MapElementType>,
    pub(super) value_type: Option<MapElementType>,
    is_hex: bool,
    with_types: bool,
    format: Format,
    /// The numbers of the possible CPUs, in the order of the values of a per-CPU map. The numbers may have
    /// gaps.
    pub(super) cpus: &'static [u32],
    /// The only CPU whose values are printed.
    only_cpu: Option<u32>,
}

/// The JSON line of an element. `value`, `value_bytes` and `cpus` are `null` if `map lookup` does not find
/// the key.
#[derive(Serialize)]
struct Element<'a> {
    map_id: u32,
    key: Option<Value<'a>>,
    value: Option<Value<'a>>,
    key_bytes: String,
    value_bytes: Option<String>,
    cpus: Option<Vec<CpuValue<'a>>>,
}

/// An element's value for one CPU.
#[derive(Serialize)]
struct CpuValue<'a> {
    cpu: u32,
    value: Option<Value<'a>>,
    value_bytes: String,
}

impl<'m> MapElements<'m> {
    pub(super) fn new(
        id: u32,
        fd: &'m OwnedFd,
        args: &ElementArgs,
        btfs: &mut BtfCache,
    ) -> Result<Self, BadInput> {
        let failed = |e| unreadable(ObjectKind::Map, id, "its elements", e);
        let info = MapInfo::query(fd).map_err(|e| unreadable_info(ObjectKind::Map, id, e))?;
        let shape = MapShape::query(fd).map_err(failed)?;
        let cpus = match shape.is_per_cpu() {
            true => maps::possible_cpu_numbers().map_err(|e| failed(Errno::from_io_error(&e)))?,
            false => &[],
        };
        Ok(Self {
            shape,
            key_type: key_type(&info, btfs),
            value_type: value_type(&info, btfs),
            is_hex: args.hex,
            with_types: args.types,
            format: args.format,
            cpus,
            only_cpu: None,
            info,
        })
    }

    /// Selects the CPU that an option names; `None` for all CPUs. Returns an error for another kind of map,
    /// or if there is no such CPU.
    pub(super) fn select_cpu(&mut self, choice: Option<CpuChoice>) -> Result<Option<u32>, BadInput> {
        let Some(choice) = choice else { return Ok(None) };
        if !self.shape.is_per_cpu() {
            return Err(self.bad_input("has one value for all CPUs", "--cpu is for per-CPU maps"));
        }
        let CpuChoice::One(cpu) = choice else { return Ok(None) };
        if !self.cpus.contains(&cpu) {
            let range = self.cpus.first().zip(self.cpus.last());
            let range =
                range.map_or(String::new(), |(first, last)| format!(", expected one from {first} to {last}"));
            return Err(self.bad_input(&format!("no such CPU: {cpu}{range}"), ""));
        }
        self.only_cpu = Some(cpu);
        Ok(Some(cpu))
    }

    /// Prints a note if the map's types cannot be read.
    pub(super) fn note_unreadable_types(&self, console: &mut Console<'_>) -> io::Result<()> {
        let has_types = self.info.btf_value_type_id != 0 || self.info.btf_vmlinux_value_type_id != 0;
        if has_types && self.value_type.is_none() && !self.is_hex {
            console
                .note("the types of its elements cannot be read (-v says why): they are shown as bytes")?;
        }
        Ok(())
    }

    /// Prints the map's id, type and name.
    pub(super) fn title(&self, console: &mut Console<'_>) -> io::Result<()> {
        if self.format == Format::Text {
            let map_type = short_type_name(&type_name(self.info.map_type));
            text::title(&mut console.out, self.info.id, &map_type, &self.info.name())?;
        }
        Ok(())
    }

    /// Returns the kind of map, if this library knows it.
    pub(super) fn map_type(&self) -> Option<MapType> {
        MapType::from_number(self.info.map_type)
    }

    /// Returns the map's id and name, for messages.
    pub(super) fn name(&self) -> String {
        object_name(ObjectKind::Map, self.info.id, &self.info.name())
    }

    /// Returns an error about the map. An empty `help` is left out.
    pub(super) fn bad_input(&self, what: &str, help: &str) -> BadInput {
        BadInput::new(self.name(), what).help(help)
    }

    /// Returns the error of a map whose elements cannot be read.
    pub(super) fn unreadable(&self, e: Errno) -> BadInput {
        unreadable(ObjectKind::Map, self.info.id, "its elements", e)
    }

    /// Returns the error of a map whose elements the kernel refuses to show. Explains errors that a property
    /// of the map causes.
    pub(super) fn refusal(&self, e: Errno) -> BadInput {
        match e {
            Errno::EOPNOTSUPP | Errno::ENOTSUPP | Errno::ENOSPC => {
                let reason = format!("the kernel does not show elements of this type of map: {e}");
                self.bad_input(&reason, "of a map of sockets it shows cookies if values have 8 bytes")
            }
            _ => self.unreadable(e),
        }
    }

    /// Prints an element, or a key without an element as JSON.
    pub(super) fn write(&self, out: &mut Printer<'_>, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        match (self.format, value) {
            (Format::Json, _) => self.write_json(out, key, value),
            (Format::Text, Some(value)) => self.write_text(out, key, value),
            (Format::Text, None) => Ok(()),
        }
    }

    /// Returns the text of a key.
    pub(super) fn key_text(&self, key: &[u8]) -> String {
        match (key, self.typed(&self.key_type)) {
            ([], _) => "next".to_owned(),
            (key, Some(ty)) => self.typed_text(ty, key, 0, usize::MAX),
            (key, None) => hex::lines(key),
        }
    }

    /// Returns a key as a value of its type; `None` if the type is not known.
    pub(super) fn typed_key<'v>(&'v self, key: &'v [u8]) -> Option<Value<'v>> {
        self.typed(&self.key_type).map(|ty| ty.value(key))
    }

    fn typed_value<'v>(&'v self, value: &'v [u8]) -> Option<Value<'v>> {
        self.typed(&self.value_type).map(|ty| ty.value(value))
    }

    fn typed<'t>(&self, ty: &'t Option<MapElementType>) -> Option<&'t MapElementType> {
        ty.as_ref().filter(|_| !self.is_hex)
    }

    /// Returns the values of an element for each CPU, with the CPU; `None` if the map is not a per-CPU map.
    fn per_cpu<'v>(&self, value: &'v [u8]) -> Option<impl Iterator<Item = (u32, &'v [u8])>> {
        let values = self.shape.cpu_values(value).zip(self.cpus).map(|(value, cpu)| (*cpu, value));
        let values = values.filter(|(cpu, _)| self.only_cpu.is_none_or(|only| only == *cpu));
        self.shape.is_per_cpu().then_some(values)
    }

    fn write_json(&self, out: &mut Printer<'_>, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        let cpus = value.and_then(|value| self.per_cpu(value));
        let cpu_value =
            |(cpu, bytes)| CpuValue { cpu, value: self.typed_value(bytes), value_bytes: hex::digits(bytes) };
        let cpus: Option<Vec<_>> = cpus.map(|values| values.map(cpu_value).collect());
        let whole = value.filter(|_| cpus.is_none());
        out.json(&Element {
            map_id: self.info.id,
            key: self.typed_key(key),
            value: whole.and_then(|value| self.typed_value(value)),
            key_bytes: hex::digits(key),
            value_bytes: whole.map(hex::digits),
            cpus,
        })
    }

    fn write_text(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        let key = self.key_text(key);
        match self.per_cpu(value) {
            None if self.is_single_value() => {
                out.formatted_lines(self.value_text(value, 0, LINE_BYTES).trim_start_matches('\n'))
            }
            None => {
                let max_len = LINE_BYTES.saturating_sub(key.len());
                out.formatted_lines(&format!("[{key}] = {}", self.value_text(value, 0, max_len)))
            }
            Some(values) => {
                out.formatted_lines(&format!("[{key}] ="))?;
                values.into_iter().try_for_each(|(cpu, value)| {
                    let text = self.value_text(value, 1, LINE_BYTES);
                    out.formatted_lines(&format!("\tcpu {cpu}: {text}"))
                })
            }
        }
    }

    /// Returns whether the map has only one value and a key without meaning: an array of one element without
    /// a type for the key. The map of a data section is such an array.
    fn is_single_value(&self) -> bool {
        self.map_type() == Some(MapType::Array)
            && self.info.max_entries == 1
            && self.info.btf_key_type_id == 0
    }

    /// Returns the text of a value. Without a type, returns the id and name of an object, or the bytes.
    fn value_text(&self, value: &[u8], indent: usize, max_len: usize) -> String {
        if let (Some(kind), Ok(id)) = (self.value_kind(), <[u8; 4]>::try_from(value))
            && !self.is_hex
        {
            return object_text(kind, Endian::native().word(id));
        }
        match self.typed(&self.value_type) {
            Some(ty) => self.typed_text(ty, value, indent, max_len),
            None => hex::lines(value),
        }
    }

    /// Returns the text of bytes with a type, on one line if it is at most `max_len` long.
    fn typed_text(&self, ty: &MapElementType, bytes: &[u8], indent: usize, max_len: usize) -> String {
        short_text(&ty.value(bytes).text().types(self.with_types).indent(indent), max_len)
    }

    /// Returns the kind of object whose id is a value of the map.
    pub(super) fn value_kind(&self) -> Option<ObjectKind> {
        match self.map_type()? {
            MapType::ProgArray => Some(ObjectKind::Program),
            MapType::ArrayOfMaps | MapType::HashOfMaps => Some(ObjectKind::Map),
            _ => None,
        }
    }
}

/// Returns the text of a program or map in another map: its kind, id and name.
fn object_text(kind: ObjectKind, id: u32) -> String {
    let name = kind.open(id).ok().and_then(|fd| match kind {
        ObjectKind::Program => ProgramInfo::query(&fd).ok().map(|info| full_program_name(&fd, &info)),
        _ => MapInfo::query(&fd).ok().map(|info| info.name()),
    });
    object_name(kind, id, name.as_deref().unwrap_or(""))
}

/// Returns why the elements of a map type cannot be read, and what to do instead.
pub(super) fn unreadable_type(map_type: Option<MapType>) -> Option<(&'static str, &'static str)> {
    Some(match map_type? {
        MapType::Ringbuf => (
            "a ring buffer has no elements to list",
            "`core-relo map events` prints its records as they arrive",
        ),
        MapType::UserRingbuf => {
            ("a ring buffer of user space has no elements to list", "a program reads its records")
        }
        MapType::PerfEventArray => (
            "a perf event array contains descriptors, which cannot be read",
            "`core-relo map events` prints the events as they arrive",
        ),
        MapType::BloomFilter => {
            ("a Bloom filter does not store its elements", "only a program or bpf(2) can ask it for a value")
        }
        MapType::SkStorage | MapType::TaskStorage | MapType::InodeStorage | MapType::CgrpStorage => (
            "local storage is stored with its sockets, tasks, inodes or cgroups, and cannot be listed",
            "use an iterator program (iter/bpf_sk_storage_map)",
        ),
        MapType::CgroupArray => {
            ("a cgroup array cannot be read", "only the process that filled it knows its elements")
        }
        MapType::Arena => ("an arena is memory and has no elements", "a process that maps it can read it"),
        _ => return None,
    })
}
