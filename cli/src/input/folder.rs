//! Folders of kernels: every file below, in order of path.

use super::{file, unpack};
use crate::error::{BadInput, shown};
use core_relo::btf::Btf;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders within folders.
const DEPTH: u32 = 64;

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
    let (files, bad) = files(folder);
    let mut found = Found { bad, ..Found::default() };
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

/// Every file below a folder, in order of path; and what could not be read.
pub(crate) fn files(folder: &Path) -> (Vec<PathBuf>, Vec<BadInput>) {
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    walk(folder, DEPTH, &mut found, &mut bad);
    found.sort();
    (found, bad)
}

/// Whether a file's name says that it is no kernel.
pub(crate) fn is_something_else(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    hidden || ending.is_some_and(|ending| SOMETHING_ELSE.contains(&ending))
}

/// Links to files are followed, links to folders are not, for they may lead back.
fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>, bad: &mut Vec<BadInput>) {
    let Some(deeper) = depth.checked_sub(1) else {
        bad.push(BadInput::at(folder, format_args!("folders nest deeper than {DEPTH} levels")));
        return;
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => return bad.push(file::unreadable(folder, &e)),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => walk(&path, deeper, found, bad),
            Ok((path, kind)) if kind.is_symlink() && path.is_dir() => {
                log::info!("{}: not followed", shown(&path))
            }
            Ok((path, _)) => found.push(path),
            Err(e) => bad.push(file::unreadable(folder, &e)),
        }
    }
}

/// Whether a file is BTF of a module, by as little of it as tells. What is damaged is found when it is read in earnest.
fn is_module(path: &Path) -> Result<bool, BadInput> {
    let head = file::head(path)?;
    // A vmlinux is an executable: only relocatable ELF files are modules (or BPF objects).
    let is_relocatable = matches!(head.get(16..18), Some([1, 0] | [0, 1]));
    if !unpack::is_raw_or_elf(&head) || (head.starts_with(b"\x7fELF") && !is_relocatable) {
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
