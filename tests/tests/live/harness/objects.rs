//! The compiled objects of `bpf-progs/live/`.

use core_relo_tests::{artifacts, kernel_crashes};
use object::{File, Object as _, ObjectSection as _, ObjectSymbol as _};
use std::{fs, path::PathBuf};

/// Reads the object of `bpf-progs/live/<name>.bpf.c` in the host's byte order.
pub fn object(name: &str) -> Vec<u8> {
    let file = format!("{name}.bpf.o");
    let found = all().into_iter().find(|path| path.file_name().is_some_and(|found| found == file.as_str()));
    let path = found.unwrap_or_else(|| panic!("no live/{file} below {}", artifacts::progs().display()));
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Replaces the last instruction of a program, an exit, by an instruction that no kernel knows.
pub fn with_invalid_insn(mut object: Vec<u8>, program: &str) -> Vec<u8> {
    let file = File::parse(&*object).unwrap();
    let symbol = file.symbol_by_name(program).unwrap();
    let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
    let (section_start, _) = section.file_range().unwrap();
    let end = usize::try_from(section_start + symbol.address() + symbol.size()).unwrap();
    object[end - 8..end].fill(0xff);
    object
}

/// Returns the names of all live objects.
pub fn names() -> Vec<String> {
    let name = |path: &PathBuf| path.file_name()?.to_str()?.strip_suffix(".bpf.o").map(str::to_owned);
    all().iter().filter_map(name).collect()
}

/// Returns the paths of all live objects: those of the newest compiler, and the committed objects for the
/// rest.
fn all() -> Vec<PathBuf> {
    let order = if cfg!(target_endian = "little") { "el" } else { "eb" };
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in [artifacts::progs(), artifacts::root().join("bpf-progs/prebuilt")] {
        let mut by_compiler: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
        let files = artifacts::files(&dir, ".bpf.o").into_iter();
        for path in files.filter(|path| kernel_crashes::on_running_kernel(path, None).is_none()) {
            let live = path.parent().filter(|live| live.ends_with("live"));
            let Some(compiler) = live.and_then(|live| live.parent()).filter(|dir| dir.ends_with(order))
            else {
                continue;
            };
            match by_compiler.last_mut() {
                Some((last, paths)) if *last == compiler => paths.push(path),
                _ => by_compiler.push((compiler.to_path_buf(), vec![path])),
            }
        }
        let is_missing =
            |path: &PathBuf| found.iter().all(|known: &PathBuf| known.file_name() != path.file_name());
        let newest = by_compiler.pop().map(|(_, paths)| paths).unwrap_or_default();
        let missing: Vec<_> = newest.into_iter().filter(is_missing).collect();
        found.extend(missing);
    }
    found
}
