//! ELF executables for the guest, with the dynamic loader and the shared libraries that they need.
//!
//! All shared libraries go into [`LIBRARY_DIR`], so that the guest needs no cache of the dynamic loader. The
//! dynamic loader keeps its path, because executables name it by path.

use crate::{arch::Arch, error::VmError, initramfs::Initramfs};
use object::{
    Endianness,
    elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DynamicTag, FileHeader64},
    read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _},
};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// The guest's directory of shared libraries, for `LD_LIBRARY_PATH`.
pub const LIBRARY_DIR: &str = "/vm/lib";

/// The configuration of the dynamic loader: a directory a line, and `include` lines.
const LD_SO_CONF: &str = "/etc/ld.so.conf";
/// The deepest nesting of `include` lines to follow.
const INCLUDE_DEPTH: usize = 8;

/// The parts of an ELF file that matter to the dynamic loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Dynamic {
    interpreter: Option<PathBuf>,
    /// `DT_NEEDED`: the names of shared libraries.
    needed: Vec<String>,
    /// `DT_RUNPATH` and `DT_RPATH`: directories of shared libraries.
    library_path: Vec<PathBuf>,
    /// The end of the last segment. Sections after it, such as debug information, are not loaded.
    loaded_bytes: usize,
}

/// The part of executables and shared libraries that the guest gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a file is packed whole or as loaded")]
pub enum ExecutableParts {
    /// What is loaded into memory.
    Loaded,
    /// Everything, with the symbols to which uprobes attach.
    All,
}

/// Adds an executable to the guest as `guest_path`, with its dynamic loader and its shared libraries.
pub fn add_executable(
    files: &mut Initramfs,
    executable: &Path,
    guest_path: &str,
    arch: Arch,
    parts: ExecutableParts,
) -> Result<(), VmError> {
    let select = |data: Vec<u8>, loaded_bytes: usize| match parts {
        ExecutableParts::Loaded => without_sections(data, loaded_bytes),
        ExecutableParts::All => data,
    };
    let (data, dynamic) = read_elf(executable, arch)?;
    files.add_file(guest_path, &select(data, dynamic.loaded_bytes));
    if let Some(interpreter) = &dynamic.interpreter {
        files.copy(interpreter, &interpreter.to_string_lossy())?;
    }
    let mut waiting = vec![(executable.to_path_buf(), dynamic)];
    let mut added = BTreeSet::new();
    let mut default_dirs = None;
    while let Some((path, dynamic)) = waiting.pop() {
        for name in &dynamic.needed {
            if !added.insert(name.clone()) {
                continue;
            }
            let dirs: &Vec<PathBuf> = default_dirs.get_or_insert_with(default_library_dirs);
            let library = dynamic
                .library_path
                .iter()
                .chain(dirs)
                .map(|dir| dir.join(name))
                // A library of another architecture is skipped, as the dynamic loader does.
                .find_map(|file| read_elf(&file, arch).ok().map(|library| (file, library)));
            let Some(((file, (data, library)), file_name)) = library.zip(Path::new(name).file_name()) else {
                return Err(VmError::MissingLibrary { path, library: name.clone() });
            };
            let file_name = file_name.to_string_lossy();
            files.add_file(&format!("{LIBRARY_DIR}/{file_name}"), &select(data, library.loaded_bytes));
            waiting.push((file, library));
        }
    }
    Ok(())
}

/// Returns whether the file is an ELF executable with a dynamic loader.
pub(crate) fn is_dynamic(path: &Path) -> Result<bool, VmError> {
    let data = fs::read(path).map_err(|error| VmError::file(path, &error))?;
    Ok(parse(&data, path).is_ok_and(|(_, dynamic)| dynamic.interpreter.is_some()))
}

/// Returns whether the file is an ELF file without a dynamic loader.
pub fn is_static(data: &[u8]) -> bool {
    parse(data, Path::new("/")).is_ok_and(|(_, dynamic)| dynamic.interpreter.is_none())
}

/// Returns the architecture of an ELF file, or an error if guests cannot have the architecture.
pub fn executable_arch(path: &Path) -> Result<Arch, VmError> {
    let data = fs::read(path).map_err(|error| VmError::file(path, &error))?;
    let (machine, _) = parse(&data, path).map_err(|reason| VmError::executable(path, reason))?;
    let arch = Arch::ALL.into_iter().find(|arch| arch.elf_machine() == machine);
    arch.ok_or_else(|| VmError::executable(path, format_args!("for ELF machine {machine}")))
}

fn read_elf(path: &Path, arch: Arch) -> Result<(Vec<u8>, Dynamic), VmError> {
    let data = fs::read(path).map_err(|error| VmError::file(path, &error))?;
    let (machine, dynamic) = parse(&data, path).map_err(|reason| VmError::executable(path, reason))?;
    if machine != arch.elf_machine() {
        return Err(VmError::ForeignExecutable { path: path.to_path_buf(), machine, expected: arch });
    }
    Ok((data, dynamic))
}

/// Parses an ELF file. Returns its `e_machine` and the parts for the dynamic loader.
fn parse(data: &[u8], path: &Path) -> Result<(u16, Dynamic), String> {
    let error = |error: object::read::Error| format!("not a 64-bit ELF executable: {error}");
    let header = FileHeader64::<Endianness>::parse(data).map_err(error)?;
    let endian = header.endian().map_err(error)?;
    let mut dynamic = Dynamic::default();
    let segments = header.program_headers(endian, data).map_err(error)?;
    for segment in segments {
        let (start, size) = segment.file_range(endian);
        let end = start.checked_add(size).and_then(|end| usize::try_from(end).ok());
        let end = end.filter(|end| *end <= data.len()).ok_or("a segment lies outside of the file")?;
        dynamic.loaded_bytes = dynamic.loaded_bytes.max(end);
        if let Some(interpreter) = segment.interpreter(endian, data).map_err(error)? {
            dynamic.interpreter = Some(PathBuf::from(OsStr::from_bytes(interpreter)));
        }
    }
    // Headers and the table of segments come first in every executable, but no rule says so.
    let table_end = header.e_phoff(endian) + segments.len() as u64 * u64::from(header.e_phentsize(endian));
    dynamic.loaded_bytes = dynamic.loaded_bytes.max(usize::try_from(table_end).unwrap_or(data.len()));
    if segments.iter().any(|segment| segment.dynamic(endian, data).is_ok_and(|table| table.is_some())) {
        read_dynamic_table(data, path, &mut dynamic).map_err(error)?;
    }
    Ok((header.e_machine(endian).0, dynamic))
}

fn read_dynamic_table(data: &[u8], path: &Path, dynamic: &mut Dynamic) -> object::read::Result<()> {
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let table = ElfFile64::<Endianness>::parse(data)?.elf_dynamic_table()?;
    for entry in &table {
        let tag: DynamicTag = entry.tag;
        if ![DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(&tag) {
            continue;
        }
        let text = String::from_utf8_lossy(table.string(entry)?).into_owned();
        if tag == DT_NEEDED {
            dynamic.needed.push(text);
        } else {
            let expanded = text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
            dynamic.library_path.extend(expanded.split(':').map(PathBuf::from));
        }
    }
    Ok(())
}

/// Cuts off everything that is not loaded, such as debug information: it would double the size of most
/// guests. The header then names no table of sections.
fn without_sections(mut data: Vec<u8>, loaded_bytes: usize) -> Vec<u8> {
    data.truncate(loaded_bytes);
    // e_shoff, and e_shentsize, e_shnum and e_shstrndx.
    for range in [0x28..0x30, 0x3a..0x40] {
        if let Some(field) = data.get_mut(range) {
            field.fill(0);
        }
    }
    data
}

/// Returns the directories in which the dynamic loader of this machine searches.
fn default_library_dirs() -> Vec<PathBuf> {
    let variable = std::env::var_os("LD_LIBRARY_PATH");
    let dirs = variable.iter().flat_map(std::env::split_paths);
    let mut dirs: Vec<_> = dirs.filter(|path| path.is_absolute()).collect();
    read_ld_so_conf(Path::new(LD_SO_CONF), INCLUDE_DEPTH, &mut dirs);
    for dir in ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"] {
        dirs.push(PathBuf::from(dir));
        // Debian's directories of one architecture.
        dirs.push(Path::new(dir).join(format!("{}-linux-gnu", std::env::consts::ARCH)));
    }
    dirs
}

/// Adds the directories in a file of the dynamic loader's configuration.
fn read_ld_so_conf(file: &Path, depth: usize, dirs: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    // Not every system has the file.
    let Ok(text) = fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            // The pattern of every distribution is DIR/*.conf.
            let dir = Path::new(pattern.trim()).parent().unwrap_or(Path::new("/"));
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            let mut included: Vec<_> = entries.map(|entry| entry.path()).collect();
            included.retain(|path| path.extension().is_some_and(|extension| extension == "conf"));
            included.sort();
            included.iter().for_each(|path| read_ld_so_conf(path, depth, dirs));
        } else if !line.is_empty() {
            dirs.push(PathBuf::from(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_executable() -> PathBuf {
        std::env::current_exe().unwrap()
    }

    #[test]
    fn this_test_brings_its_libraries() {
        let Some(arch) = Arch::host() else { return };
        let mut files = Initramfs::new();
        add_executable(&mut files, &own_executable(), "/init", arch, ExecutableParts::Loaded).unwrap();
        assert!(files.contains("/init"));
        let data = fs::read(own_executable()).unwrap();
        let (_, dynamic) = parse(&data, &own_executable()).unwrap();
        for needed in &dynamic.needed {
            assert!(files.contains(&format!("{LIBRARY_DIR}/{needed}")), "{needed}");
        }
        if let Some(interpreter) = &dynamic.interpreter {
            assert!(files.contains(&interpreter.to_string_lossy()));
            assert!(!is_static(&data));
        }
        assert_eq!(is_dynamic(&own_executable()), Ok(dynamic.interpreter.is_some()));
        assert!(dynamic.loaded_bytes < data.len());
    }

    #[test]
    fn files_that_are_no_executables_are_refused_by_name() {
        let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let error =
            add_executable(&mut Initramfs::new(), file, "/init", Arch::X86_64, ExecutableParts::Loaded)
                .unwrap_err();
        assert!(error.to_string().contains("Cargo.toml: not a 64-bit ELF executable"), "{error}");
        assert!(!is_static(b"#!/bin/sh\n"));
    }

    #[test]
    fn an_executable_of_another_architecture_is_refused() {
        let other = if Arch::host() == Some(Arch::X86_64) { Arch::Aarch64 } else { Arch::X86_64 };
        let error =
            add_executable(&mut Initramfs::new(), &own_executable(), "/init", other, ExecutableParts::Loaded)
                .unwrap_err();
        assert!(matches!(error, VmError::ForeignExecutable { .. }), "{error}");
    }

    #[test]
    fn directories_come_from_the_configuration_of_the_dynamic_loader() {
        let dir = std::env::temp_dir().join(format!("core-relo-vm-{}", std::process::id()));
        fs::create_dir_all(dir.join("conf.d")).unwrap();
        let own = dir.join("ld.so.conf");
        fs::write(&own, format!("include {}/conf.d/*.conf\n/last\n", dir.display())).unwrap();
        fs::write(dir.join("conf.d/a.conf"), "# a comment\n/first\n").unwrap();
        let mut dirs = Vec::new();
        read_ld_so_conf(&own, INCLUDE_DEPTH, &mut dirs);
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(dirs, [PathBuf::from("/first"), PathBuf::from("/last")]);
    }
}
