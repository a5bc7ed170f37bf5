//! The debug file of an ELF without BTF, which `.gnu_debuglink` or the build id names ("Separate Debug Files"
//! in the manual of GDB).

use super::{BtfAndFacts, no_btf, read_input};
use crate::{
    elf_sections::{SHT_NOTE, Sections},
    error::{Defect, InputError},
    file::InputFile,
    limits::Limits,
};
use core_relo_loader::target::archive::build_id;
use core_relo_verdict::kernel::WantedFacts;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// The directory of debug files.
const DEBUG_DIR: &str = "/usr/lib/debug";

/// The largest section that is read, in bytes.
const SECTION_BYTES: u64 = 64 << 10;

/// The sections with the build id: of a vmlinux, and of other files.
const NOTE_SECTIONS: [&[u8]; 2] = [b".notes", b".note.gnu.build-id"];

/// The debug file that an ELF names.
struct DebugLink {
    name: String,
    checksum: u32,
}

/// Reads the BTF in the debug file of an ELF without BTF. Without a link, the error is that of the ELF.
pub(super) fn read(
    input: &InputFile<'_>,
    limits: Limits,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    let path = input.path;
    let Some(sections) = Sections::read_file(input) else { return Err(no_btf(path)) };
    let link = read_link(&sections, input);
    for candidate in candidates(path, link.as_ref(), read_build_id(&sections, input).as_deref()) {
        if !candidate.path.is_file() {
            continue;
        }
        let found = InputFile::open(&candidate.path, limits.bytes)?;
        if candidate.has_checksum() {
            log::info!("{}: its debug file is {}", path.display(), candidate.path.display());
            let is_itself = fs::canonicalize(&candidate.path).ok() == fs::canonicalize(path).ok();
            return if is_itself { Err(no_btf(path)) } else { read_debug_file(found, limits, wanted) };
        }
        log::warn!("{}: is not the debug file of {}", candidate.path.display(), path.display());
    }
    Err(match link {
        Some(link) => InputError::new(path, Defect::MissingDebugFile { debug_file: link.name }),
        None => no_btf(path),
    })
}

/// Reads a debug file. Its own link is not followed.
fn read_debug_file(
    input: InputFile<'_>,
    limits: Limits,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    let has_link = Sections::read_file(&input).is_some_and(|sections| read_link(&sections, &input).is_some());
    if has_link {
        return Err(no_btf(input.path));
    }
    read_input(input, limits, wanted)
}

/// A path that may be that of the debug file.
struct Candidate {
    path: PathBuf,
    /// The checksum that the file must have; `None` for a path that the build id names.
    checksum: Option<u32>,
}

impl Candidate {
    /// Returns whether the file has the checksum.
    fn has_checksum(&self) -> bool {
        let Some(expected) = self.checksum else { return true };
        checksum(&self.path).is_ok_and(|found| found == expected)
    }
}

fn candidates(path: &Path, link: Option<&DebugLink>, build_id: Option<&str>) -> Vec<Candidate> {
    let mut found = Vec::new();
    if let Some((first, rest)) = build_id.and_then(|id| id.split_at_checked(2)) {
        let path = Path::new(DEBUG_DIR).join(".build-id").join(first).join(format!("{rest}.debug"));
        found.push(Candidate { path, checksum: None });
    }
    let dir = path.parent().and_then(|dir| {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        fs::canonicalize(dir).ok()
    });
    if let (Some(DebugLink { name, checksum }), Some(dir)) = (link, dir) {
        let global = Path::new(DEBUG_DIR).join(dir.strip_prefix("/").unwrap_or(&dir));
        for dir in [dir.clone(), dir.join(".debug"), global] {
            found.push(Candidate { path: dir.join(name), checksum: Some(*checksum) });
        }
    }
    found
}

fn read_link(sections: &Sections<'_>, input: &InputFile<'_>) -> Option<DebugLink> {
    let section = sections.find_data(b".gnu_debuglink", SECTION_BYTES)??;
    let bytes = input.read_part(section.offset, section.len)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(bytes.get(..end)?).ok()?;
    // The name is that of a file, never a path.
    let is_name = !name.is_empty() && !name.contains('/') && name != "..";
    let checksum = sections.endian().u32(&bytes, end.checked_add(1)?.checked_next_multiple_of(4)?)?;
    is_name.then(|| DebugLink { name: name.to_owned(), checksum })
}

fn read_build_id(sections: &Sections<'_>, input: &InputFile<'_>) -> Option<String> {
    NOTE_SECTIONS.iter().find_map(|name| {
        let notes = sections.find_kind(name, SHT_NOTE, SECTION_BYTES).flatten()?;
        build_id(&input.read_part(notes.offset, notes.len)?, sections.endian())
    })
}

/// Returns the CRC-32 of a file, which `.gnu_debuglink` has.
fn checksum(path: &Path) -> io::Result<u32> {
    let mut file = fs::File::open(path)?;
    let (mut crc, mut buffer) = (flate2::Crc::new(), vec![0; 1 << 16]);
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(crc.sum());
        }
        crc.update(buffer.get(..n).ok_or(io::ErrorKind::InvalidInput)?);
    }
}
