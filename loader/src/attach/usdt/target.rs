//! Where in a binary's file the probes of a name are.

use super::{
    super::{binary::Binary, elf_file::Segment, error::AttachError},
    args::{Arch, Arg, parse},
    note::{Note, notes},
};
use core_relo::Endian;
use std::{
    fs,
    path::{Path, PathBuf},
};

const NOTES: &[u8] = b".note.stapsdt";
const BASE: &[u8] = b".stapsdt.base";
const SHT_NOTE: u32 = 7;

/// One probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Where it is in the file.
    pub(super) offset: u64,
    /// Its address in memory; of a shared library, in the memory of the one process.
    pub(super) address: u64,
    /// Where its semaphore is in the file, 0 for none.
    pub(super) semaphore: u64,
    pub(super) args: Vec<Arg>,
}

/// What the kernel can do, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Cookies: otherwise a program knows a probe by its address.
    pub(super) cookies: bool,
    /// One link for many places.
    pub(super) uprobe_multi: bool,
    /// The system call that makes uprobes on a five-byte nop fast.
    pub(super) fast_nop5: bool,
}

/// Finds the probes (libbpf: `collect_usdt_targets`).
pub(super) fn probes(
    path: &Path,
    provider: &str,
    name: &str,
    pid: Option<u32>,
    can: Abilities,
) -> Result<Vec<Probe>, AttachError> {
    let binary = Binary::open(path)?;
    let kind = binary.kind();
    let arch =
        Arch::native().ok_or_else(|| binary.error("USDT arguments of this architecture are not known"))?;
    if kind.is_64 != cfg!(target_pointer_width = "64") || kind.endian != Endian::native() || !kind.is_linked {
        return Err(binary.error("is not a program or library of this machine's word size and byte order"));
    }
    let section = binary.section(NOTES)?.filter(|s| s.sh_type == SHT_NOTE);
    let section = section.ok_or_else(|| binary.error("has no USDT probes (no notes in .note.stapsdt)"))?;
    let base = binary.section(BASE)?.map_or(0, |s| s.address);
    let segments = binary.segments()?;
    let mut mapped = None;
    let mut found = Vec::new();
    for note in notes(&section.data, kind.endian, kind.is_64) {
        let note = note.map_err(|_damaged| binary.error("a note in .note.stapsdt is damaged"))?;
        if note.provider != provider.as_bytes() || note.name != name.as_bytes() {
            continue;
        }
        let shift = if base != 0 && note.base != 0 { base.wrapping_sub(note.base) } else { 0 };
        let place = Place::of(&note, shift, &segments);
        let mut place =
            place.map_err(|problem| binary.error(format!("probe {provider}:{name}: {problem}")))?;
        if kind.is_shared && !can.cookies {
            if mapped.is_none() {
                mapped = Some(mappings(path, pid, &binary)?);
            }
            let address = mapped.as_deref().and_then(|m| address_of(place.offset, m));
            let unmapped = || binary.error(format!("probe {provider}:{name} is not mapped by the process"));
            place.address = address.ok_or_else(unmapped)?;
        }
        if can.fast_nop5 && is_nop_combo(&binary, place.offset) {
            place.address = place.address.saturating_add(1);
            place.offset = place.offset.saturating_add(1);
        }
        let args = parse(arch, note.args)
            .map_err(|problem| binary.error(format!("probe {provider}:{name}: {problem}")))?;
        let Place { offset, address, semaphore } = place;
        found.push(Probe { offset, address, semaphore, args });
    }
    if found.is_empty() {
        return Err(binary.error(format!("has no USDT probe {provider}:{name}")));
    }
    Ok(found)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: u64,
    address: u64,
    semaphore: u64,
}

impl Place {
    fn of(note: &Note<'_>, shift: u64, segments: &[Segment]) -> Result<Self, &'static str> {
        let address = note.location.wrapping_add(shift);
        let (code, offset) = file_offset(address, segments).ok_or("its address is in no segment")?;
        if !code.is_code {
            return Err("its address is not in a segment of code");
        }
        let semaphore = match note.semaphore {
            0 => 0,
            at => match file_offset(at, segments) {
                Some((data, offset)) if !data.is_code => offset,
                Some(_) => return Err("its semaphore is in a segment of code"),
                None => return Err("its semaphore is in no segment"),
            },
        };
        Ok(Self { offset, address, semaphore })
    }
}

fn file_offset(address: u64, segments: &[Segment]) -> Option<(Segment, u64)> {
    let segment = *segments.iter().find(|s| (s.start..s.end).contains(&address))?;
    Some((segment, address.checked_sub(segment.start)?.checked_add(segment.offset)?))
}

/// Whether a probe is a nop and a nop of five bytes (libbpf: `has_nop_combo`).
fn is_nop_combo(binary: &Binary, offset: u64) -> bool {
    let mut bytes = [0; 6];
    binary.read_at(offset, &mut bytes) && bytes == [0x90, 0x0f, 0x1f, 0x44, 0, 0]
}

/// The parts of a library that a process maps as code (libbpf: `parse_vma_segs`).
fn mappings(path: &Path, pid: Option<u32>, binary: &Binary) -> Result<Vec<Segment>, AttachError> {
    let Some(pid) = pid else {
        let problem =
            "this kernel has no cookies (5.15): probes of a shared library or PIE need a process to be named";
        return Err(binary.error(problem));
    };
    // A process in a container names its files from its own root.
    let inside = path.strip_prefix(format!("/proc/{pid}/root")).map(|inside| Path::new("/").join(inside));
    let path = inside.or_else(|_outside| fs::canonicalize(path)).unwrap_or_else(|_e| PathBuf::from(path));
    let maps = fs::read(format!("/proc/{pid}/maps"));
    let maps = maps.map_err(|e| binary.error(format!("memory of process {pid} cannot be looked at: {e}")))?;
    let found = code_mappings(&String::from_utf8_lossy(&maps), &path.to_string_lossy());
    if found.is_empty() {
        return Err(binary.error(format!("is not mapped by process {pid}")));
    }
    Ok(found)
}

fn code_mappings(maps: &str, path: &str) -> Vec<Segment> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let of_line = |line: &str| {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (mode, offset) = (fields.next()?, fields.next()?);
        let mapped = fields.nth(2)?.trim_start();
        let is_code = mode.as_bytes().get(2) == Some(&b'x');
        (is_code && mapped == path).then_some(Segment {
            start: hex(start)?,
            end: hex(end)?,
            offset: hex(offset)?,
            is_code,
        })
    };
    maps.lines().filter_map(of_line).collect()
}

fn address_of(offset: u64, mapped: &[Segment]) -> Option<u64> {
    let within = |s: &&Segment| {
        let len = s.end.saturating_sub(s.start);
        offset.checked_sub(s.offset).is_some_and(|at| at < len)
    };
    let segment = mapped.iter().find(within)?;
    offset.checked_sub(segment.offset)?.checked_add(segment.start)
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::testing_elf::{F1, TempFile, TestElf},
        *,
    };

    const CAN: Abilities = Abilities { cookies: true, uprobe_multi: true, fast_nop5: false };

    #[test]
    fn probes_of_a_binary_are_found_by_provider_and_name() {
        if !cfg!(target_arch = "x86_64") {
            return println!("SKIP: a binary of x86-64");
        }
        let bytes = TestElf::with_notes(&[
            ("p", "a", "8@%rax"),
            ("p", "b", ""),
            ("p", "a", "4@%xmm0"),
            ("q", "a", ""),
        ]);
        let file = TempFile::new("usdt", &bytes);
        let found = probes(file.path(), "p", "b", None, CAN).unwrap();
        let probe =
            Probe { offset: F1, address: 0x40_0000 + F1, semaphore: TestElf::SEMAPHORE, args: vec![] };
        assert_eq!(found, [probe]);
        let fast = probes(file.path(), "p", "b", None, Abilities { fast_nop5: true, ..CAN }).unwrap();
        assert_eq!((fast[0].offset, fast[0].semaphore), (F1.saturating_add(1), TestElf::SEMAPHORE));
        let text = |provider, name| probes(file.path(), provider, name, None, CAN).unwrap_err().to_string();
        assert!(text("p", "c").ends_with("has no USDT probe p:c"));
        assert!(text("p", "a").ends_with("probe p:a: argument 0 at `4@%xmm0` cannot be read"));
        let place = probes(file.path(), "q", "a", None, CAN).unwrap();
        assert_eq!(place.len(), 1);
    }

    #[test]
    fn a_binary_without_notes_says_so() {
        let e = probes(Path::new("/proc/self/status"), "p", "n", None, CAN).unwrap_err();
        assert_eq!(e.to_string(), "/proc/self/status: is not an ELF file");
        let mut bytes = TestElf::bytes();
        let at = bytes.windows(9).position(|w| w == b".note.sta").unwrap();
        bytes[at] = b'x';
        let file = TempFile::new("nonotes", &bytes);
        let e = probes(file.path(), "p", "n", None, CAN).unwrap_err();
        assert!(e.to_string().contains("has no USDT probes"), "{e}");
    }

    #[test]
    fn prelink_moves_a_probe_and_not_its_note() {
        let segments = [
            Segment { start: 0x1000, end: 0x2000, offset: 0x400, is_code: true },
            Segment { start: 0x3000, end: 0x4000, offset: 0x1400, is_code: false },
        ];
        let note =
            Note { location: 0x500, base: 0x100, semaphore: 0x3010, provider: b"p", name: b"n", args: b"" };
        let place = Place::of(&note, 0xb00, &segments);
        assert_eq!(place, Ok(Place { offset: 0x400, address: 0x1000, semaphore: 0x1410 }));
        assert!(Place::of(&note, 0, &segments).is_err());
        assert!(Place::of(&Note { location: 0x3000, ..note }, 0, &segments).is_err());
        assert!(Place::of(&Note { semaphore: 0x1000, ..note }, 0xb00, &segments).is_err());
        assert!(Place::of(&Note { semaphore: 0x9000, ..note }, 0xb00, &segments).is_err());
    }

    #[test]
    fn where_a_process_maps_a_librarys_code() {
        let maps = "7f0000001000-7f0000003000 r-xp 00001000 08:04 21238613      /usr/lib/my lib.so\n\
            7f0000003000-7f0000004000 rw-p 00003000 08:04 21238613      /usr/lib/my lib.so\n\
            7f0000008000-7f0000009000 rw-p 00000000 00:00 0\n\
            7f000000a000-7f000000b000 r-xp 00000000 08:04 1 /usr/lib/other.so\n";
        let found = code_mappings(maps, "/usr/lib/my lib.so");
        assert_eq!(found.len(), 1);
        assert_eq!(address_of(0x1234, &found), Some(0x7f00_0000_1234));
        assert_eq!(address_of(0x3000, &found), None);
        assert_eq!(address_of(0x10, &found), None);
    }
}
