//! Folders of kernels: every file below, in order of path.

use super::{
    archive,
    elf::{self, Looked},
    file::{self, Limits, Opened},
    unpack,
};
use crate::{
    error::{BadInput, shown},
    threads::Threads,
};
use core_relo::Endian;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders within folders.
const DEPTH: u32 = 64;

/// Endings of files that nobody means when naming a folder of kernels.
const SOMETHING_ELSE: [&str; 16] = [
    "json",
    "jsonl",
    "ndjson",
    "txt",
    "md",
    "toml",
    "yaml",
    "yml",
    "html",
    "py",
    "sh",
    "c",
    "h",
    "log",
    "sha256",
    "gitignore",
];

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) kernels: Vec<PathBuf>,
    pub(crate) bad: Vec<BadFolder>,
    pub(crate) note: Option<String>,
}

/// A folder that cannot be read, or has no kernel in it.
#[derive(Debug)]
pub(crate) struct BadFolder {
    pub(crate) path: PathBuf,
    pub(crate) bad: BadInput,
}

impl BadFolder {
    fn new(path: &Path, bad: BadInput) -> Self {
        Self { path: path.to_path_buf(), bad }
    }
}

/// Looks which files below a folder are kernels.
pub(crate) fn look_through(folder: &Path, limits: Limits, threads: &Threads) -> Found {
    let (files, bad) = files(folder);
    let mut found = Found { bad, ..Found::default() };
    let mut modules = Vec::new();
    let files: Vec<_> = files.into_iter().filter(|path| !is_something_else(path)).collect();
    let are_modules = threads.map(&files, |path| is_module(path, limits));
    for (is_module, path) in are_modules.into_iter().zip(files) {
        if is_module { modules.push(path) } else { found.kernels.push(path) }
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
        let bad = bad.help("expected raw BTF, vmlinux or vmlinuz files in it, or tar archives of them");
        found.bad.push(BadFolder::new(folder, bad));
    }
    found
}

/// Every file below a folder, in order of path; and what could not be read. Files that cannot be read to their end are skipped.
pub(crate) fn files(folder: &Path) -> (Vec<PathBuf>, Vec<BadFolder>) {
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    walk(folder, DEPTH, &mut found, &mut bad);
    found.sort();
    let is_endless = |path: &mut PathBuf| file::is_endless(path);
    let skipped: Vec<_> = found.extract_if(.., is_endless).collect();
    if let Some(first) = skipped.first() {
        let (n, first) = (skipped.len(), shown(first));
        log::warn!(
            "{}: {n} devices, pipes, sockets or files without a length skipped ({first}, …)",
            shown(folder)
        );
    }
    (found, bad)
}

/// Whether a file's name says that it is no kernel.
pub(crate) fn is_something_else(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    hidden || ending.is_some_and(|ending| SOMETHING_ELSE.contains(&ending))
}

/// Links to files are followed, links to folders are not, for they may lead back.
fn walk(folder: &Path, depth: u32, found: &mut Vec<PathBuf>, bad: &mut Vec<BadFolder>) {
    let Some(deeper) = depth.checked_sub(1) else {
        let what = format_args!("folders nest deeper than {DEPTH} levels");
        return bad.push(BadFolder::new(folder, BadInput::at(folder, what)));
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => return bad.push(BadFolder::new(folder, file::unreadable(folder, &e))),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => walk(&path, deeper, found, bad),
            Ok((path, kind)) if kind.is_symlink() && path.is_dir() => {
                log::info!("{}: not followed", shown(&path))
            }
            Ok((path, _)) => found.push(path),
            Err(e) => bad.push(BadFolder::new(folder, file::unreadable(folder, &e))),
        }
    }
}

/// Whether a file is BTF of a module, by as little of it as tells. What is bad is found when it is read in earnest.
fn is_module(path: &Path, limits: Limits) -> bool {
    if archive::is_archive(path) {
        return false;
    }
    if is_packed_module(path) {
        return true;
    }
    let Ok(opened) = Opened::new(path) else { return false };
    let head = &opened.head;
    if !head.starts_with(b"\x7fELF") {
        return unpack::is_raw_or_elf(head)
            && begins_within_strings(head, |at| opened.part(at, 1)?.first().copied()).unwrap_or(false);
    }
    // A vmlinux is an executable: only relocatable ELF files are modules (or BPF objects).
    if !matches!(head.get(16..18), Some([1, 0] | [0, 1])) {
        return false;
    }
    let Looked::Types(found) = elf::types_of(path, &opened, limits.bytes) else { return false };
    let byte = |at| found.btf.get(usize::try_from(at).ok()?).copied();
    found.base.is_some() || begins_within_strings(&found.btf, byte).unwrap_or(false)
}

/// The modules among files: those called `.ko`, and if there are none, as in a folder of BTFs, all that may be some. What else
/// lies in `/lib/modules/…` (`modules.builtin`) does not count.
pub(crate) fn modules_among(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_module = |path: &Path| is_packed_module(path) || path.extension().is_some_and(|e| e == "ko");
    if files.iter().any(|path| is_module(path)) {
        files.retain(|path| is_module(path));
    } else {
        files.retain(|path| !is_something_else(path));
    }
    files
}

/// `nf_conntrack.ko.xz`, as distributions ship them: to look into thousands of them would take as long as all else.
fn is_packed_module(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new);
    let ending = path.extension().and_then(|e| e.to_str());
    matches!(ending, Some("gz" | "xz" | "zst")) && stem.and_then(Path::extension).is_some_and(|e| e == "ko")
}

/// Whether a BTF's strings go on from another's: its own begin with an empty one.
fn begins_within_strings(head: &[u8], byte: impl Fn(u64) -> Option<u8>) -> Option<bool> {
    let e = [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(head, 0) == Some(0xeb9f))?;
    let (header, strings, len) = (e.u32(head, 4)?, e.u32(head, 16)?, e.u32(head, 20)?);
    Some(len > 0 && byte(u64::from(header).saturating_add(strings.into()))? != 0)
}
