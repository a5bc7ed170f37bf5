//! Folders of kernels: every file below, in order of path.

use super::{file, unpack};
use crate::error::{BadInput, shown};
use core_relo::btf::Btf;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders within folders. Links are followed, so there could be no end.
const DEPTH: u32 = 16;

/// Endings of files that nobody means when naming a folder of kernels.
const SOMETHING_ELSE: [&str; 14] =
    ["json", "txt", "md", "toml", "yaml", "yml", "html", "py", "sh", "c", "h", "log", "sha256", "gitignore"];

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) kernels: Vec<PathBuf>,
    pub(crate) bad: Vec<BadInput>,
    pub(crate) note: Option<String>,
}

/// Looks which files below a folder are kernels.
pub(crate) fn look_through(folder: &Path) -> Found {
    let mut found = Found::default();
    let files = match files(folder) {
        Ok(files) => files,
        Err(bad) => return Found { bad: vec![bad], ..found },
    };
    let mut modules = Vec::new();
    for path in files.into_iter().filter(|path| !is_something_else(path)) {
        match is_module(&path) {
            Ok(true) => modules.push(path),
            Ok(false) => found.kernels.push(path),
            Err(bad) => found.bad.push(bad),
        }
    }
    if let Some(first) = modules.first() {
        let (n, first) = (modules.len(), shown(first));
        found.note = Some(format!(
            "{}: {n} BTFs of modules passed over ({first}, …); to add them to their kernel: --btf KERNEL --module PATH",
            shown(folder)
        ));
    }
    if found.kernels.is_empty() && found.bad.is_empty() {
        let bad = BadInput::at(folder, "holds no kernel with BTF");
        found.bad.push(bad.help("expected raw BTF, vmlinux or vmlinuz files in it"));
    }
    found
}

/// Every file below a folder, in order of path.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, BadInput> {
    let mut found = Vec::new();
    walk(folder, DEPTH, &mut found)?;
    found.sort();
    Ok(found)
}

/// Whether a file's name says that it is no kernel.
pub(crate) fn is_something_else(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    hidden || ending.is_some_and(|ending| SOMETHING_ELSE.contains(&ending))
}

fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) -> Result<(), BadInput> {
    let Some(deeper) = depth.checked_sub(1) else {
        return Err(BadInput::at(folder, format_args!("folders nest deeper than {DEPTH} levels")));
    };
    let entries = fs::read_dir(folder).map_err(|e| file::unreadable(folder, &e))?;
    for entry in entries {
        let path = entry.map_err(|e| file::unreadable(folder, &e))?.path();
        match path.is_dir() {
            true => walk(&path, deeper, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

/// Whether a file is BTF of a module, by as little of it as tells. What is damaged is found when it is read in earnest.
fn is_module(path: &Path) -> Result<bool, BadInput> {
    let head = file::head(path)?;
    if !unpack::is_raw_or_elf(&head) {
        return Ok(false);
    }
    let opened = unpack::open(path)?;
    if opened.base.is_some() {
        return Ok(true);
    }
    use core_relo::btf::BtfError;
    let alone = Btf::parse(opened.btf);
    Ok(matches!(alone, Err(BtfError::Strings { split_without_base: true, .. })))
}
