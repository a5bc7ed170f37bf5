//! `map dump`: the elements of a map. BTF gives the types of keys and values.

use super::facts::{MapElementType, key_type, type_name, value_type};
use crate::{
    args::{format::Format, kernel_objects::MapDumpArgs},
    console::Console,
    describe::short_type_name,
    error::BadInput,
    json::value::{UnbalancedGroups, value_to_json},
    kernel_objects::{
        btf_cache::BtfCache,
        error::{object_name, unreadable},
        kind::Kind,
        select::select,
    },
    text::{kernel_object as text, line::Line, printer::Printer},
};
use core_relo::Endian;
use core_relo_loader::{
    maps::{Entries, MapError},
    object::MapType,
    sys::{self, Errno, MapFd, MapInfo, MapShape},
};
use serde::Serialize;
use serde_json::Value;
use std::{fmt::Write as _, io, os::fd::OwnedFd};

/// The maximum length of a line, in bytes. A longer value is printed on several lines.
const LINE_BYTES: usize = 100;

pub(super) fn run(console: &mut Console<'_>, args: &MapDumpArgs) -> io::Result<()> {
    let maps = match select(Kind::Map, &args.selector) {
        Ok(maps) => maps,
        Err(bad) => return console.report_error(&bad),
    };
    let mut btfs = BtfCache::default();
    for map in maps {
        let id = map.id;
        let fd = match map.open() {
            Ok(Some(fd)) => fd,
            Ok(None) => continue,
            Err(bad) => return console.report_error(&bad),
        };
        let dumped = MapDumper::new(&fd, args, &mut btfs).and_then(|dumper| {
            let has_types = dumper.info.btf_value_type_id != 0 || dumper.info.btf_vmlinux_value_type_id != 0;
            if has_types && dumper.value_type.is_none() && !args.hex {
                console.note(
                    "the types of its elements cannot be read (-v says why): they are shown as bytes",
                )?;
            }
            if args.format == Format::Text {
                let map_type = short_type_name(&type_name(dumper.info.map_type));
                text::title(&mut console.out, dumper.info.id, &map_type, &dumper.info.name())?;
            }
            dumper.dump(console)
        });
        match dumped {
            Ok(()) => {}
            Err(DumpError::Write(e)) => return Err(e),
            Err(DumpError::Kernel(e)) => {
                console.report_error(&unreadable(Kind::Map, id, "its elements", e))?
            }
            Err(DumpError::BadInput(bad)) => console.report_error(&bad)?,
        }
    }
    Ok(())
}

enum DumpError {
    Write(io::Error),
    Kernel(Errno),
    BadInput(BadInput),
}

impl From<Errno> for DumpError {
    fn from(e: Errno) -> Self {
        Self::Kernel(e)
    }
}

impl From<io::Error> for DumpError {
    fn from(e: io::Error) -> Self {
        Self::Write(e)
    }
}

/// The state of dumping a map.
struct MapDumper<'m> {
    info: MapInfo,
    shape: MapShape<'m>,
    key_type: Option<MapElementType>,
    value_type: Option<MapElementType>,
    with_types: bool,
    format: Format,
}

/// The JSON line of an element.
#[derive(Serialize)]
struct Element<'a> {
    map_id: u32,
    key: Option<Value>,
    value: Option<Value>,
    key_bytes: String,
    value_bytes: Option<String>,
    cpus: Option<&'a [CpuValue]>,
}

/// An element's value for one CPU.
#[derive(Serialize)]
struct CpuValue {
    cpu: usize,
    value: Option<Value>,
    value_bytes: String,
}

impl<'m> MapDumper<'m> {
    fn new(fd: &'m OwnedFd, args: &MapDumpArgs, btfs: &mut BtfCache) -> Result<Self, DumpError> {
        let info = sys::map_info(fd)?;
        let shape = MapShape::query(fd)?;
        let (key_type, value_type) =
            if args.hex { (None, None) } else { (key_type(&info, btfs), value_type(&info, btfs)) };
        Ok(Self { info, shape, key_type, value_type, with_types: args.types, format: args.format })
    }

    fn dump(&self, console: &mut Console<'_>) -> Result<(), DumpError> {
        if let Some((reason, help)) = unlistable(self.info.map_type) {
            return Err(self.bad_input(reason, help));
        }
        match self.elements(console) {
            Err(DumpError::Kernel(e)) if matches!(e.name(), Some("EOPNOTSUPP" | "ENOTSUPP" | "ENOSPC")) => {
                let reason = format!("the kernel does not show elements of this type of map: {e}");
                Err(self.bad_input(&reason, "of a map of sockets it shows cookies if values have 8 bytes"))
            }
            result => result,
        }
    }

    fn bad_input(&self, what: &str, help: &str) -> DumpError {
        let name = object_name(Kind::Map, self.info.id, &self.info.name());
        DumpError::BadInput(BadInput::new(name, what).help(help))
    }

    fn elements(&self, console: &mut Console<'_>) -> Result<(), DumpError> {
        let mut value = vec![0; self.shape.value_size()];
        if self.shape.key_size() == 0 {
            // A queue or stack only shows the next element.
            return match sys::map_lookup(self.shape, &[], &mut value, 0) {
                Ok(()) => Ok(self.element(&mut console.out, &[], &value)?),
                Err(e) if e.name() == Some("ENOENT") => Ok(()),
                Err(e) => Err(e.into()),
            };
        }
        let map = self.shape.fd().try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let entries = Entries::new(MapFd::new(map)?).map_err(|e| self.map_error(&e))?;
        for entry in &entries {
            match entry {
                Ok((key, value)) => self.element(&mut console.out, &key, &value)?,
                Err(MapError::Restarts { .. }) => console.note(
                    "elements are removed faster than the map can be walked through: some may be missing",
                )?,
                Err(e) => return Err(self.map_error(&e)),
            }
        }
        Ok(())
    }

    fn map_error(&self, e: &MapError) -> DumpError {
        match e.errno() {
            Some(errno) => DumpError::Kernel(errno),
            None => self.bad_input(&e.to_string(), "try again"),
        }
    }

    fn element(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        match self.format {
            Format::Json => self.write_json(out, key, value),
            Format::Text => self.write_text(out, key, value),
        }
    }

    /// Returns the values of an element for each CPU; `None` if the map is not a per-CPU map.
    fn per_cpu<'v>(&self, value: &'v [u8]) -> Option<impl Iterator<Item = &'v [u8]> + use<'v>> {
        let value_bytes = usize::try_from(self.info.value_size).ok()?;
        let is_per_cpu = matches!(
            MapType::from_number(self.info.map_type),
            Some(
                MapType::PercpuHash
                    | MapType::PercpuArray
                    | MapType::LruPercpuHash
                    | MapType::PercpuCgroupStorage
            )
        );
        // The kernel pads each value to 8 bytes.
        let stride = value_bytes.next_multiple_of(8).max(8);
        is_per_cpu.then(|| value.chunks(stride).map(move |cpu| cpu.get(..value_bytes).unwrap_or(cpu)))
    }

    fn write_json(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        let cpus = self.per_cpu(value).map(|values| self.cpu_values(values)).transpose()?;
        let is_whole = cpus.is_none();
        let element = Element {
            map_id: self.info.id,
            key: to_json(self.key_type.as_ref(), key)?,
            value: if is_whole { to_json(self.value_type.as_ref(), value)? } else { None },
            key_bytes: hex(key),
            value_bytes: is_whole.then(|| hex(value)),
            cpus: cpus.as_deref(),
        };
        out.json(&element)
    }

    fn cpu_values<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> io::Result<Vec<CpuValue>> {
        let cpu_value = |(index, bytes)| {
            let value = to_json(self.value_type.as_ref(), bytes)?;
            Ok(CpuValue { cpu: cpu_number(index), value, value_bytes: hex(bytes) })
        };
        values.enumerate().map(cpu_value).collect()
    }

    fn write_text(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        let key = match (key, &self.key_type) {
            ([], _) => "next".to_owned(),
            (key, Some(ty)) => self.typed_text(ty, key, 0, usize::MAX),
            (key, None) => hex_lines(key),
        };
        match self.per_cpu(value) {
            None if self.is_single_value() => {
                print(out, self.value_text(value, 0, LINE_BYTES).trim_start_matches('\n'))
            }
            None => {
                let max_len = LINE_BYTES.saturating_sub(key.len());
                print(out, &format!("[{key}] = {}", self.value_text(value, 0, max_len)))
            }
            Some(values) => {
                print(out, &format!("[{key}] ="))?;
                values.enumerate().try_for_each(|(index, value)| {
                    let text = self.value_text(value, 1, LINE_BYTES);
                    print(out, &format!("\tcpu {}: {text}", cpu_number(index)))
                })
            }
        }
    }

    /// Returns whether the map has only one value and a key without meaning: an array of one element without a type for the key.
    /// The map of a data section is such an array.
    fn is_single_value(&self) -> bool {
        MapType::from_number(self.info.map_type) == Some(MapType::Array)
            && self.info.max_entries == 1
            && self.info.btf_key_type_id == 0
    }

    /// Returns the text of a value. Without a type, returns the id of an object, or the bytes.
    fn value_text(&self, value: &[u8], indent: usize, max_len: usize) -> String {
        if let Some(ty) = &self.value_type {
            return self.typed_text(ty, value, indent, max_len);
        }
        match (self.value_id_kind(), <[u8; 4]>::try_from(value)) {
            (Some(kind), Ok(id)) => format!("{kind} {}", Endian::native().word(id)),
            _ => hex_lines(value),
        }
    }

    /// Returns the text of bytes with a type, on one line if it is at most `max_len` long.
    fn typed_text(&self, ty: &MapElementType, bytes: &[u8], indent: usize, max_len: usize) -> String {
        let text = ty.btf.value(ty.id, bytes).text().types(self.with_types).indent(indent);
        let line = text.to_string();
        if line.len() <= max_len { line } else { format!("{text:#}") }
    }

    /// Returns the kind of object whose id is a value of the map.
    fn value_id_kind(&self) -> Option<&'static str> {
        match MapType::from_number(self.info.map_type)? {
            MapType::ProgArray => Some("program"),
            MapType::ArrayOfMaps | MapType::HashOfMaps => Some("map"),
            _ => None,
        }
    }
}

/// Returns the CPU number at an index of the list of possible CPUs. The numbers may have gaps.
fn cpu_number(index: usize) -> usize {
    let numbers = sys::possible_cpu_numbers().unwrap_or_default();
    numbers.get(index).and_then(|number| usize::try_from(*number).ok()).unwrap_or(index)
}

/// Converts a value; `None` if its type is not known.
fn to_json(ty: Option<&MapElementType>, bytes: &[u8]) -> io::Result<Option<Value>> {
    let json = ty.map(|ty| value_to_json(&ty.btf.value(ty.id, bytes))).transpose();
    json.map_err(|e: UnbalancedGroups| io::Error::other(e))
}

/// Returns why the elements of a map type cannot be listed, and what to do instead.
fn unlistable(map_type: u32) -> Option<(&'static str, &'static str)> {
    Some(match MapType::from_number(map_type)? {
        MapType::Ringbuf | MapType::UserRingbuf => {
            ("a ring buffer has no elements to list", "only its consumer can read its records")
        }
        MapType::PerfEventArray => (
            "a perf event array contains descriptors, which cannot be read",
            "only the process that opened the events reads them",
        ),
        MapType::BloomFilter => ("a Bloom filter does not store its elements", "look up a value instead"),
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

/// Prints text of several lines. Names and strings in it are escaped already.
fn print(out: &mut Printer<'_>, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| out.line(Line::new().formatted(line)))
}

/// Returns bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        // Writing to a string does not fail.
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// Returns bytes as hexadecimal digits with spaces, sixteen on a line if there are more than 32.
fn hex_lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    if bytes.len() <= 32 {
        return line(bytes);
    }
    bytes.chunks(16).enumerate().map(|(at, bytes)| format!("\n\t{:04x}  {}", at * 16, line(bytes))).collect()
}
