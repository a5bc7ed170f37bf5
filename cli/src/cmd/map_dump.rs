//! `map dump`: a map's elements, by the types of its keys and values.

use crate::{
    app::App,
    args::Format,
    args_kernel::MapDump,
    cmd::{
        inspect::short,
        map::{key_type, type_name, value_type},
    },
    error::BadInput,
    json_value,
    kernel::{self, Kind, select, types::Types},
    line::Line,
    printer::Printer,
    render::kernel as render,
};
use core_relo::{TypeId, btf::Btf};
use core_relo_loader::{
    maps::{Entries, MapError},
    object::MapType,
    sys::{self, Errno, MapFd, MapInfo, MapShape},
};
use serde::Serialize;
use serde_json::Value;
use std::{fmt::Write as _, io, os::fd::OwnedFd, sync::Arc};

/// A line may be so long before a value is broken into several.
const LINE: usize = 100;

pub(crate) fn run(app: &mut App<'_>, args: &MapDump) -> io::Result<()> {
    let maps = match select::selected(Kind::Map, &args.which) {
        Ok(maps) => maps,
        Err(bad) => return app.fail(&bad),
    };
    let mut types = Types::default();
    for one in maps {
        let id = one.id;
        let fd = match one.open() {
            Ok(Some(fd)) => fd,
            Ok(None) => continue,
            Err(bad) => return app.fail(&bad),
        };
        let dumped = Dump::new(&fd, args, &mut types).and_then(|dump| {
            let has_types = dump.info.btf_value_type_id != 0 || dump.info.btf_vmlinux_value_type_id != 0;
            if has_types && dump.value.is_none() && !args.hex {
                app.note("the types of its elements cannot be read (-v says why): they are shown as bytes")?;
            }
            if args.format == Format::Text {
                render::title(
                    &mut app.out,
                    dump.info.id,
                    &short(&type_name(dump.info.map_type)),
                    &dump.info.name(),
                )
                .map_err(Failed::Write)?;
            }
            dump.run(app)
        });
        match dumped {
            Ok(()) => {}
            Err(Failed::Write(e)) => return Err(e),
            Err(Failed::Kernel(e)) => app.fail(&kernel::unreadable(Kind::Map, id, "its elements", e))?,
            Err(Failed::Bad(bad)) => app.fail(&bad)?,
        }
    }
    Ok(())
}

enum Failed {
    Write(io::Error),
    Kernel(Errno),
    Bad(BadInput),
}

impl From<Errno> for Failed {
    fn from(e: Errno) -> Self {
        Self::Kernel(e)
    }
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Self {
        Self::Write(e)
    }
}

type Typed = Option<(Arc<Btf<'static>>, TypeId)>;

/// A map that is being dumped.
struct Dump<'m> {
    info: MapInfo,
    shape: MapShape<'m>,
    key: Typed,
    value: Typed,
    with_types: bool,
    format: Format,
}

/// An element as JSON.
#[derive(Serialize)]
struct Element<'a> {
    map_id: u32,
    key: Option<Value>,
    value: Option<Value>,
    key_bytes: String,
    value_bytes: Option<String>,
    cpus: Option<&'a [PerCpu]>,
}

/// One processor's value of an element.
#[derive(Serialize)]
struct PerCpu {
    cpu: u32,
    value: Option<Value>,
    value_bytes: String,
}

impl<'m> Dump<'m> {
    fn new(fd: &'m OwnedFd, args: &MapDump, types: &mut Types) -> Result<Self, Failed> {
        let info = sys::map_info(fd)?;
        let shape = MapShape::of(fd)?;
        let (key, value) =
            if args.hex { (None, None) } else { (key_type(&info, types), value_type(&info, types)) };
        Ok(Self { info, shape, key, value, with_types: args.types, format: args.format })
    }

    fn run(&self, app: &mut App<'_>) -> Result<(), Failed> {
        if let Some((why, help)) = cannot_be_listed(self.info.map_type) {
            return Err(self.bad(why, help));
        }
        match self.elements(app) {
            Err(Failed::Kernel(e)) if matches!(e.name(), Some("EOPNOTSUPP" | "ENOTSUPP" | "ENOSPC")) => {
                let why = format!("the kernel does not show elements of this type of map: {e}");
                Err(self.bad(&why, "of a map of sockets it shows cookies if values have 8 bytes"))
            }
            done => done,
        }
    }

    fn bad(&self, why: &str, help: &str) -> Failed {
        let called = kernel::called(Kind::Map, self.info.id, &self.info.name());
        Failed::Bad(BadInput::new(called, why).help(help))
    }

    fn elements(&self, app: &mut App<'_>) -> Result<(), Failed> {
        let mut value = vec![0; self.shape.value_size()];
        if self.shape.key_size() == 0 {
            // A queue or stack shows the element that is to be taken next, and no other.
            return match sys::map_lookup(self.shape, &[], &mut value, 0) {
                Ok(()) => Ok(self.element(&mut app.out, &[], &value)?),
                Err(e) if e.name() == Some("ENOENT") => Ok(()),
                Err(e) => Err(e.into()),
            };
        }
        let map = self.shape.fd().try_clone_to_owned().map_err(|e| Errno::from_io_error(&e))?;
        let entries = Entries::new(MapFd::new(map)?).map_err(|e| self.failed(&e))?;
        for entry in &entries {
            match entry {
                Ok((key, value)) => self.element(&mut app.out, &key, &value)?,
                Err(MapError::Restarts { .. }) => app.note(
                    "elements are removed faster than the map can be walked through: some may be missing",
                )?,
                Err(e) => return Err(self.failed(&e)),
            }
        }
        Ok(())
    }

    fn failed(&self, e: &MapError) -> Failed {
        match e.errno() {
            Some(errno) => Failed::Kernel(errno),
            None => self.bad(&e.to_string(), "try again"),
        }
    }

    fn element(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        match self.format {
            Format::Json => self.json(out, key, value),
            Format::Text => self.text(out, key, value),
        }
    }

    /// The values of an element: one, or one for each processor.
    fn per_cpu<'v>(&self, value: &'v [u8]) -> Option<impl Iterator<Item = &'v [u8]> + use<'v>> {
        let each = usize::try_from(self.info.value_size).unwrap_or(usize::MAX);
        let is_per_cpu = matches!(
            MapType::from_number(self.info.map_type),
            Some(
                MapType::PercpuHash
                    | MapType::PercpuArray
                    | MapType::LruPercpuHash
                    | MapType::PercpuCgroupStorage
            )
        );
        let apart = each.next_multiple_of(8).max(8);
        is_per_cpu.then(|| value.chunks(apart).map(move |one| one.get(..each).unwrap_or(one)))
    }

    fn json(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        let of =
            |ty: &Typed, bytes: &[u8]| ty.as_ref().map(|(btf, id)| json_value::of(&btf.value(*id, bytes)));
        let cpus: Option<Vec<_>> = self.per_cpu(value).map(|values| {
            let one =
                |(at, bytes)| PerCpu { cpu: cpu(at), value: of(&self.value, bytes), value_bytes: hex(bytes) };
            values.enumerate().map(one).collect()
        });
        let whole = cpus.is_none();
        let element = Element {
            map_id: self.info.id,
            key: of(&self.key, key),
            value: if whole { of(&self.value, value) } else { None },
            key_bytes: hex(key),
            value_bytes: whole.then(|| hex(value)),
            cpus: cpus.as_deref(),
        };
        out.json(&element)
    }

    fn text(&self, out: &mut Printer<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
        let key = if key.is_empty() { "next".to_owned() } else { self.words(&self.key, key, 0, usize::MAX) };
        match self.per_cpu(value) {
            None => {
                let room = LINE.saturating_sub(key.len());
                print(out, &format!("[{key}] = {}", self.words(&self.value, value, 0, room)))
            }
            Some(values) => {
                print(out, &format!("[{key}] ="))?;
                values.enumerate().try_for_each(|(at, bytes)| {
                    print(out, &format!("\tcpu {}: {}", cpu(at), self.words(&self.value, bytes, 1, LINE)))
                })
            }
        }
    }

    /// Bytes by their type, on one line if there is room; as they are if there is no type.
    fn words(&self, ty: &Typed, bytes: &[u8], indent: usize, room: usize) -> String {
        match ty {
            Some((btf, id)) => {
                let text = btf.value(*id, bytes).text().types(self.with_types).indent(indent);
                let line = text.to_string();
                if line.len() <= room { line } else { format!("{text:#}") }
            }
            None => match (self.refers_to(), <[u8; 4]>::try_from(bytes)) {
                (Some(what), Ok(id)) if std::ptr::eq(ty, &raw const self.value) => {
                    format!("{what} {}", core_relo::Endian::native().word(id))
                }
                _ => spaced(bytes),
            },
        }
    }

    /// What the four bytes of a value are the id of.
    fn refers_to(&self) -> Option<&'static str> {
        match MapType::from_number(self.info.map_type)? {
            MapType::ProgArray => Some("program"),
            MapType::ArrayOfMaps | MapType::HashOfMaps => Some("map"),
            _ => None,
        }
    }
}

/// The processor whose value is in a place: numbers may be left out.
fn cpu(at: usize) -> u32 {
    let numbers = sys::possible_cpu_numbers().unwrap_or_default();
    numbers.get(at).copied().unwrap_or_else(|| u32::try_from(at).unwrap_or(u32::MAX))
}

/// Why maps of a type have no list of elements, and what to do instead.
fn cannot_be_listed(map_type: u32) -> Option<(&'static str, &'static str)> {
    Some(match MapType::from_number(map_type)? {
        MapType::Ringbuf | MapType::UserRingbuf => {
            ("a ring buffer has no elements to look at", "whoever consumes it sees what it holds")
        }
        MapType::PerfEventArray => {
            ("a perf event array holds descriptors, which cannot be read", "its owner reads it")
        }
        MapType::BloomFilter => ("a Bloom filter does not know its elements", "ask it for one"),
        MapType::SkStorage | MapType::TaskStorage | MapType::InodeStorage | MapType::CgrpStorage => (
            "local storage lies with its owners and cannot be listed",
            "an iterator program (iter/bpf_sk_storage_map) can",
        ),
        MapType::CgroupArray => ("a cgroup array cannot be read", "its owner knows what it put there"),
        MapType::Arena => ("an arena is memory, not elements", "whoever maps it sees what it holds"),
        _ => return None,
    })
}

/// Prints a text of which values make several lines. Names and strings in it are escaped by the types that print them.
fn print(out: &mut Printer<'_>, text: &str) -> io::Result<()> {
    text.lines().try_for_each(|line| out.line(Line::new().laid_out(line)))
}

/// Bytes as digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, b| {
        // Writing to a string does not fail.
        let _ = write!(all, "{b:02x}");
        all
    })
}

/// Bytes as digits for people, sixteen on a line if they are many.
fn spaced(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    if bytes.len() <= 32 {
        return line(bytes);
    }
    bytes.chunks(16).enumerate().map(|(at, bytes)| format!("\n\t{:04x}  {}", at * 16, line(bytes))).collect()
}
