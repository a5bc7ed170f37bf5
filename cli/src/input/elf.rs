//! The BTF of an ELF without the rest of it: a vmlinux with debug information is a hundred times as large.

use super::file::Opened;
use core_relo::Endian;
use core_relo_loader::target::{Class, Form, TargetFile};
use std::path::Path;

const PROGBITS: u32 = 1;
const COMPRESSED: u64 = 0x800;

/// Sections of a file that is looked at this way. Kernels have less than a hundred, modules a few hundred.
const SECTIONS: u64 = 0x1000;

/// What looking at the sections that count came to.
pub(super) enum Looked {
    /// Its types.
    Types(TargetFile),
    /// It has none.
    NoTypes,
    /// Anything about the file is out of the ordinary: whoever reads all of it has the word.
    Unusual,
}

/// Reads the sections that count.
pub(super) fn types_of(path: &Path, opened: &Opened<'_>, limit: u64) -> Looked {
    look(path, opened, limit).unwrap_or(Looked::Unusual)
}

fn look(path: &Path, opened: &Opened<'_>, limit: u64) -> Option<Looked> {
    let header = Header::of(&opened.head)?;
    let table = opened.part(header.table, header.count.checked_mul(header.entry)?)?;
    let sections = || {
        let entry = usize::try_from(header.entry).ok();
        entry.into_iter().flat_map(|entry| table.chunks_exact(entry)).filter_map(|raw| header.section(raw))
    };
    let names = sections().nth(header.names)?;
    let names = opened.part(names.offset, names.len.min(SECTIONS << 8))?;
    let name = |s: &Section| usize::try_from(s.name).ok().and_then(|at| names.get(at..));
    if sections().any(|s| name(&s).is_none()) {
        return None;
    }
    let named = |wanted: &[u8]| {
        let is_named =
            |s: &Section| name(s).is_some_and(|name| matches!(name.strip_prefix(wanted), Some([0, ..])));
        let mut found = sections().filter(is_named);
        let first = found.next();
        // Two of a name, or one that is no plain bytes, is for others to complain of.
        let plain =
            |s: &Section| s.kind == PROGBITS && s.flags & COMPRESSED == 0 && s.len > 0 && s.len <= limit;
        match (first, found.next()) {
            (None, _) => Some(None),
            (Some(one), None) if plain(&one) => Some(Some(one)),
            _ => None,
        }
    };
    let Some(btf) = named(b".BTF")? else { return Some(Looked::NoTypes) };
    let base = named(b".BTF.base")?;
    if base.as_ref().is_some_and(|base| base.len > limit.saturating_sub(btf.len)) {
        return None;
    }
    let base = match base {
        Some(base) => Some(opened.part(base.offset, base.len)?),
        None => None,
    };
    let mut found = TargetFile::from_bytes(path, opened.part(btf.offset, btf.len)?).ok()?;
    if found.form != Form::Raw {
        return None;
    }
    found.base = base;
    found.form = Form::Elf { class: header.class, endian: header.endian, machine: header.machine };
    Some(Looked::Types(found))
}

/// What an ELF header says.
struct Header {
    class: Class,
    endian: Endian,
    machine: u16,
    table: u64,
    entry: u64,
    count: u64,
    names: usize,
}

/// What a section header says.
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    offset: u64,
    len: u64,
}

impl Header {
    fn of(head: &[u8]) -> Option<Self> {
        let (class, endian) = match head.get(4..6)? {
            [1, order] => (Class::Elf32, *order),
            [2, order] => (Class::Elf64, *order),
            _ => return None,
        };
        let endian = match endian {
            1 => Endian::Little,
            2 => Endian::Big,
            _ => return None,
        };
        let (table, sizes, least) = match class {
            Class::Elf32 => (u64::from(endian.u32(head, 0x20)?), 0x2e, 40),
            _ => (endian.u64(head, 0x28)?, 0x3a, 64),
        };
        let half = |at: usize| endian.u16(head, at);
        let (entry, count, names) =
            (half(sizes)?, half(sizes.checked_add(2)?)?, half(sizes.checked_add(4)?)?);
        let (entry, count) = (u64::from(entry), u64::from(count));
        if entry != least || count == 0 || count > SECTIONS {
            return None;
        }
        Some(Self { class, endian, machine: half(18)?, table, entry, count, names: names.into() })
    }

    fn section(&self, raw: &[u8]) -> Option<Section> {
        let e = self.endian;
        let (name, kind) = (e.u32(raw, 0)?, e.u32(raw, 4)?);
        let word = |at| e.u32(raw, at).map(u64::from);
        let (flags, offset, len) = match self.class {
            Class::Elf32 => (word(8)?, word(16)?, word(20)?),
            _ => (e.u64(raw, 8)?, e.u64(raw, 24)?, e.u64(raw, 32)?),
        };
        Some(Section { name, kind, flags, offset, len })
    }
}
