//! The search for the probes of a provider and name in a binary.

use super::{
    super::{
        binary::Binary,
        elf_file::Segment,
        error::AttachError,
        process_maps::{ProcessMaps, find_address},
    },
    args::{Arch, Arg, parse},
    note::{Note, notes},
};
use core_relo::{Endian, Escaped, explain::nearest_names};
use std::path::Path;

const NOTES: &[u8] = b".note.stapsdt";
const BASE: &[u8] = b".stapsdt.base";
const SHT_NOTE: u32 = 7;

/// The number of probes whose names are compared with the name of a missing one, which limits the memory.
const COMPARED: usize = 4096;

/// A probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// The file offset.
    pub(super) offset: u64,
    /// The address in memory. For a shared library, the address in the memory of the one process.
    pub(super) address: u64,
    /// The file offset of the semaphore, 0 for none.
    pub(super) semaphore: u64,
    pub(super) args: Vec<Arg>,
}

/// The kernel features that decide how a USDT probe is attached.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsdtFeatures {
    /// Cookies. Without them, a program recognises a probe by its address.
    pub(super) cookies: bool,
    /// One link for many locations.
    pub(super) uprobe_multi: bool,
    /// The `uprobe` system call, which makes probes on a five-byte nop fast.
    pub(super) fast_nop5: bool,
}

/// Returns the probes with a provider and name (libbpf: `collect_usdt_targets`).
pub(super) fn find_probes(
    path: &Path,
    provider: &str,
    name: &str,
    pid: Option<u32>,
    features: UsdtFeatures,
) -> Result<Vec<Probe>, AttachError> {
    let binary = Binary::open(path)?;
    let kind = binary.kind();
    let arch = Arch::native()
        .ok_or_else(|| binary.error("USDT arguments of this architecture are not supported"))?;
    if kind.is_64 != cfg!(target_pointer_width = "64") || kind.endian != Endian::native() || !kind.is_linked {
        return Err(binary.error("is not a program or library of this machine's word size and byte order"));
    }
    let section = binary.section(NOTES)?.filter(|s| s.sh_type == SHT_NOTE);
    let section = section.ok_or_else(|| binary.error("has no USDT probes (no notes in .note.stapsdt)"))?;
    let base = binary.section(BASE)?.map_or(0, |s| s.address);
    let segments = binary.segments()?;
    let mut mapped: Option<Vec<Segment>> = None;
    let (mut found, mut first_unreadable) = (Vec::new(), None);
    for note in notes(&section.data, kind.endian, kind.is_64) {
        let note = note.map_err(|_damaged| binary.error("a note in .note.stapsdt is damaged"))?;
        if note.provider != provider.as_bytes() || note.name != name.as_bytes() {
            continue;
        }
        let invalid = |problem: &str| binary.error(format!("probe {provider}:{name}: {problem}"));
        let shift = if base != 0 && note.base != 0 { base.wrapping_sub(note.base) } else { 0 };
        let mut location = ProbeLocation::resolve(&note, shift, &segments).map_err(invalid)?;
        if kind.is_shared && !features.cookies {
            if mapped.is_none() {
                mapped = Some(code_mappings(pid, &binary)?);
            }
            let address = mapped.as_deref().and_then(|mappings| find_address(location.offset, mappings));
            location.address = address.ok_or_else(|| invalid("the process does not map it"))?;
        }
        if features.fast_nop5 && is_nop_combo(&binary, location.offset) {
            let skipped = location.skip_nop().ok_or_else(|| invalid("its address is too large"))?;
            location = skipped;
        }
        let args = parse(arch, note.args).map_err(|problem| invalid(&problem))?;
        first_unreadable = first_unreadable.or(args.first_unreadable);
        let ProbeLocation { offset, address, semaphore } = location;
        found.push(Probe { offset, address, semaphore, args: args.list });
    }
    if found.is_empty() {
        let known = notes(&section.data, kind.endian, kind.is_64).filter_map(Result::ok);
        let similar = similar_probes(&format!("{provider}:{name}"), known);
        return Err(binary.error(format!("has no USDT probe {provider}:{name}{similar}")));
    }
    if let Some(arg) = first_unreadable {
        let path = path.display();
        log::warn!(
            "{path}: probe {provider}:{name}: argument {arg} cannot be read: programs get EINVAL for it"
        );
    }
    Ok(found)
}

/// Returns the probes with names that are similar to `provider:name`, as the end of a message.
fn similar_probes<'n>(wanted: &str, notes: impl Iterator<Item = Note<'n>>) -> String {
    let names: Vec<_> = notes.take(COMPARED).map(|note| [note.provider, b":", note.name].concat()).collect();
    let similar = nearest_names(wanted.as_bytes(), names.iter().map(Vec::as_slice));
    match similar.iter().map(|name| format!("`{}`", Escaped(name))).collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        similar => format!(", similar: {}", similar.join(", ")),
    }
}

/// The location of a probe and its semaphore, as in [`Probe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProbeLocation {
    offset: u64,
    address: u64,
    semaphore: u64,
}

impl ProbeLocation {
    /// Converts the addresses of a note to file offsets. `shift` is the distance by which prelink moved the
    /// binary.
    fn resolve(note: &Note<'_>, shift: u64, segments: &[Segment]) -> Result<Self, &'static str> {
        let address = note.location.wrapping_add(shift);
        let (code, offset) = file_offset(address, segments).ok_or("its address is in no segment")?;
        if !code.is_code {
            return Err("its address is not in a segment of code");
        }
        let semaphore = match note.semaphore {
            0 => 0,
            address => match file_offset(address, segments) {
                Some((data, offset)) if !data.is_code => offset,
                Some(_) => return Err("its semaphore is in a segment of code"),
                None => return Err("its semaphore is in no segment"),
            },
        };
        Ok(Self { offset, address, semaphore })
    }

    /// Skips the one-byte nop before a five-byte nop.
    fn skip_nop(self) -> Option<Self> {
        Some(Self { offset: self.offset.checked_add(1)?, address: self.address.checked_add(1)?, ..self })
    }
}

fn file_offset(address: u64, segments: &[Segment]) -> Option<(Segment, u64)> {
    let segment = *segments.iter().find(|s| (s.start..s.end).contains(&address))?;
    Some((segment, address.checked_sub(segment.start)?.checked_add(segment.offset)?))
}

/// Returns whether a probe is a one-byte nop followed by a five-byte nop (libbpf: `has_nop_combo`).
fn is_nop_combo(binary: &Binary, offset: u64) -> bool {
    let mut bytes = [0; 6];
    binary.read_at(offset, &mut bytes) && bytes == [0x90, 0x0f, 0x1f, 0x44, 0, 0]
}

/// Returns the parts of a library that a process maps as code (libbpf: `parse_vma_segs`).
fn code_mappings(pid: Option<u32>, binary: &Binary) -> Result<Vec<Segment>, AttachError> {
    let Some(pid) = pid else {
        let problem =
            "this kernel has no cookies (needs 5.15): name a process to probe a shared library or PIE";
        return Err(binary.error(problem));
    };
    let mut found = ProcessMaps::read(binary, pid)?.of_binary(binary);
    found.retain(|mapping| mapping.is_code);
    if found.is_empty() {
        return Err(binary.error(format!("is not mapped by process {pid}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::test_support::elf::{F1, TempFile, TestElf},
            args::ArgLocation,
        },
        *,
    };
    use core_relo_test_support::skip;

    const FEATURES: UsdtFeatures = UsdtFeatures { cookies: true, uprobe_multi: true, fast_nop5: false };

    #[test]
    fn probes_of_a_binary_are_found_by_provider_and_name() {
        if !cfg!(target_arch = "x86_64") {
            return skip!("a binary of x86-64");
        }
        let bytes = TestElf::with_notes(&[
            ("p", "a", "8@%rax"),
            ("p", "b", ""),
            ("p", "a", "4@%xmm0"),
            ("q", "a", ""),
        ]);
        let file = TempFile::new("usdt", &bytes);
        let found = find_probes(file.path(), "p", "b", None, FEATURES).unwrap();
        let probe =
            Probe { offset: F1, address: 0x40_0000 + F1, semaphore: TestElf::SEMAPHORE, args: vec![] };
        assert_eq!(found, [probe]);
        let fast =
            find_probes(file.path(), "p", "b", None, UsdtFeatures { fast_nop5: true, ..FEATURES }).unwrap();
        assert_eq!((fast[0].offset, fast[0].semaphore), (F1.saturating_add(1), TestElf::SEMAPHORE));
        let text = |provider, name| {
            find_probes(file.path(), provider, name, None, FEATURES).unwrap_err().to_string()
        };
        assert!(text("provider", "name").ends_with("has no USDT probe provider:name"));
        let misspelt = [("conn", "request__start", ""), ("conn", "request__start", ""), ("conn", "x", "")];
        let misspelt = TempFile::new("usdt", &TestElf::with_notes(&misspelt));
        let error = find_probes(misspelt.path(), "conn", "request_start", None, FEATURES).unwrap_err();
        let error = error.to_string();
        let expected = "has no USDT probe conn:request_start, similar: `conn:request__start`";
        assert!(error.ends_with(expected), "{error}");
        // An argument in a floating-point register makes no probe unusable.
        let found = find_probes(file.path(), "p", "a", None, FEATURES).unwrap();
        let locations: Vec<_> = found.iter().map(|probe| probe.args[0].location).collect();
        assert_eq!(locations, [ArgLocation::Register(80), ArgLocation::Unreadable]);
        let found = find_probes(file.path(), "q", "a", None, FEATURES).unwrap();
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_binary_without_notes_is_named() {
        let text_file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let e = find_probes(Path::new(text_file), "p", "n", None, FEATURES).unwrap_err();
        assert_eq!(e.to_string(), format!("{text_file}: is not an ELF file"));
        let mut bytes = TestElf::bytes();
        let at = bytes.windows(9).position(|w| w == b".note.sta").unwrap();
        bytes[at] = b'x';
        let file = TempFile::new("nonotes", &bytes);
        let e = find_probes(file.path(), "p", "n", None, FEATURES).unwrap_err();
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
        let location = ProbeLocation::resolve(&note, 0xb00, &segments);
        assert_eq!(location, Ok(ProbeLocation { offset: 0x400, address: 0x1000, semaphore: 0x1410 }));
        assert!(ProbeLocation::resolve(&note, 0, &segments).is_err());
        assert!(ProbeLocation::resolve(&Note { location: 0x3000, ..note }, 0, &segments).is_err());
        assert!(ProbeLocation::resolve(&Note { semaphore: 0x1000, ..note }, 0xb00, &segments).is_err());
        assert!(ProbeLocation::resolve(&Note { semaphore: 0x9000, ..note }, 0xb00, &segments).is_err());
    }
}
