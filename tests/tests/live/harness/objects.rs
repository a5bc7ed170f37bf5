//! The compiled programs of `bpf-progs/live/`.

use core_relo_tests::{artifacts, kernel_crashes};
use std::{fs, path::PathBuf};

/// The object of `bpf-progs/live/<name>.bpf.c`, in this machine's byte order.
pub fn object(name: &str) -> Vec<u8> {
    let file = format!("{name}.bpf.o");
    let found = all().into_iter().find(|path| path.file_name().is_some_and(|found| found == file.as_str()));
    let path = found.unwrap_or_else(|| panic!("no live/{file} below {}", artifacts::progs().display()));
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The names of all of them.
pub fn names() -> Vec<String> {
    let name = |path: &PathBuf| path.file_name()?.to_str()?.strip_suffix(".bpf.o").map(str::to_owned);
    all().iter().filter_map(name).collect()
}

/// The objects of the newest compiler; those that it cannot compile are the committed ones.
fn all() -> Vec<PathBuf> {
    let order = if cfg!(target_endian = "little") { "el" } else { "eb" };
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in [artifacts::progs(), artifacts::root().join("bpf-progs/prebuilt")] {
        let mut of_compilers: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
        let files = artifacts::files(&folder, ".bpf.o").into_iter();
        for path in files.filter(|path| kernel_crashes::on_running_kernel(path, None).is_none()) {
            let live = path.parent().filter(|live| live.ends_with("live"));
            let Some(one) = live.and_then(|live| live.parent()).filter(|one| one.ends_with(order)) else {
                continue;
            };
            match of_compilers.last_mut() {
                Some((last, paths)) if *last == one => paths.push(path),
                _ => of_compilers.push((one.to_path_buf(), vec![path])),
            }
        }
        let is_missing =
            |path: &PathBuf| found.iter().all(|known: &PathBuf| known.file_name() != path.file_name());
        let newest = of_compilers.pop().map(|(_, paths)| paths).unwrap_or_default();
        let missing: Vec<_> = newest.into_iter().filter(is_missing).collect();
        found.extend(missing);
    }
    found
}
