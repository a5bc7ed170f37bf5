//! The paths of objects: files, and the files below directories.

use crate::{
    error::{BadInput, escape_path},
    input::limits::MAX_OBJECT_BYTES,
};
use core_relo_kernels::{directory, file::InputFile, file_kind::is_elf_of_other_machine};
use std::path::{Path, PathBuf};

/// Returns the paths of objects: those that are not directories, and for each directory the objects below it.
pub(crate) fn find_objects(paths: &[PathBuf]) -> Vec<Result<PathBuf, BadInput>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(find_objects_below(path));
        } else {
            found.push(Ok(path.clone()));
        }
    }
    found
}

/// Finds the files named `.o` below a directory. Skips those that were compiled for other machines.
fn find_objects_below(dir: &Path) -> Vec<Result<PathBuf, BadInput>> {
    let (mut files, bad) = directory::find_files(dir, None);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "o"));
    // A file that cannot be opened stays, so that reading the file reports the error.
    let is_foreign = |path: &mut PathBuf| {
        InputFile::open(path, MAX_OBJECT_BYTES).is_ok_and(|input| is_elf_of_other_machine(&input.head))
    };
    let foreign: Vec<_> = files.extract_if(.., is_foreign).collect();
    if let Some(first) = foreign.first() {
        let (dir, n, first) = (escape_path(dir), foreign.len(), escape_path(first));
        log::info!("{dir}: {n} objects skipped, which are for other machines ({first}, …)");
    }
    let mut found: Vec<_> = bad.into_iter().map(|error| Err(error.into())).collect();
    found.extend(files.into_iter().map(Ok));
    if found.is_empty() {
        let bad = BadInput::for_path(dir, "no BPF object in it");
        found.push(Err(bad.help("expected files named *.o, compiled with `clang --target=bpf`")));
    }
    found
}
