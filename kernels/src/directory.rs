//! Directories of kernels and modules: every file below them, in the order of the paths.

use crate::{
    btf_file::package_kernel::is_package,
    elf_sections::{BtfSections, read_btf},
    error::{Defect, InputError, escape_path},
    file::{self, InputFile},
    file_id::Inode,
    file_kind::{
        btf_endian, is_archive_name, is_bpf_elf, is_compressed_module_name, is_elf, is_module_name,
        is_other_name,
    },
    limits::Limits,
    note::{Note, SkippedFiles},
    threads::Threads,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The maximum depth of nested directories.
const DEPTH: u32 = 64;

/// The kernels in a directory.
#[derive(Debug, Default)]
pub(crate) struct DirectoryKernels {
    /// Kernels, and files that cannot be read.
    pub(crate) kernels: Vec<PathBuf>,
    /// Packages, which may contain kernels.
    pub(crate) packages: Vec<PathBuf>,
    /// BTF of modules.
    pub(crate) modules: Vec<PathBuf>,
    /// The errors of directories that cannot be read, or that contain no kernel.
    pub(crate) errors: Vec<InputError>,
    /// Skipped files.
    pub(crate) notes: Vec<Note>,
}

/// Finds the kernels below a directory. `excluded` is a file that is no kernel.
pub(crate) fn find_kernels(
    dir: &Path,
    excluded: Option<Inode>,
    limits: Limits,
    threads: &Threads,
) -> DirectoryKernels {
    let (files, errors) = find_files(dir, excluded);
    let mut found = DirectoryKernels { errors, ..DirectoryKernels::default() };
    let (mut objects, mut empty) = (Vec::new(), Vec::new());
    let (others, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| is_other_file(dir, path));
    if let Some(first) = others.first() {
        let (dir, n, first) = (escape_path(dir), others.len(), escape_path(first));
        log::info!("{dir}: {n} files skipped, which are no kernels by their names ({first}, …)");
    }
    let kinds = threads.map(&files, |path| classify(path, limits));
    for (kind, path) in kinds.into_iter().zip(files) {
        match kind {
            ListedKind::Kernel => found.kernels.push(path),
            ListedKind::Package => found.packages.push(path),
            ListedKind::Module => found.modules.push(path),
            ListedKind::BpfObject => objects.push(path),
            ListedKind::EmptyBtf => empty.push(path),
        }
    }
    found.notes.extend(SkippedFiles::new(dir, &objects).map(Note::BpfObjects));
    found.notes.extend(SkippedFiles::new(dir, &empty).map(Note::EmptyBtf));
    if found.kernels.is_empty() && found.packages.is_empty() && found.errors.is_empty() {
        found.errors.push(InputError::new(dir, Defect::NoKernel));
    }
    found
}

/// Returns whether the name of a file below a directory excludes that it is a kernel.
fn is_other_file(dir: &Path, path: &Path) -> bool {
    is_other_name(path.strip_prefix(dir).unwrap_or(path))
}

/// Returns every file below a directory, in the order of the paths, and the directories that cannot be read.
///
/// Files without an end are skipped, and so are all names of the file `excluded`.
pub fn find_files(dir: &Path, excluded: Option<Inode>) -> (Vec<PathBuf>, Vec<InputError>) {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    walk(dir, DEPTH, &mut files, &mut errors);
    if let Some(excluded) = excluded {
        files.retain(|path| !fs::metadata(path).is_ok_and(|meta| Inode::new(&meta) == excluded));
    }
    files.sort();
    let skipped: Vec<_> = files.extract_if(.., |path| file::is_endless(path)).collect();
    if let Some(first) = skipped.first() {
        let (n, first) = (skipped.len(), escape_path(first));
        log::warn!(
            "{}: {n} devices, pipes, sockets or files without a length skipped ({first}, …)",
            escape_path(dir)
        );
    }
    (files, errors)
}

/// Follows links to files. Does not follow links to directories, which may form a cycle.
fn walk(dir: &Path, depth: u32, files: &mut Vec<PathBuf>, errors: &mut Vec<InputError>) {
    let Some(remaining_depth) = depth.checked_sub(1) else {
        let too_deep = InputError::new(dir, Defect::TooDeep { limit: DEPTH });
        return errors.push(too_deep);
    };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) => return errors.push(file::unreadable(dir, &e)),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((path, kind)) if kind.is_dir() => walk(&path, remaining_depth, files, errors),
            Ok((path, kind)) if kind.is_symlink() && path.is_dir() => {
                log::info!("{}: not followed", escape_path(&path));
            }
            Ok((path, _)) => files.push(path),
            Err(e) => errors.push(file::unreadable(dir, &e)),
        }
    }
}

/// The kind of a file in a directory of kernels.
enum ListedKind {
    /// A kernel, or a file that cannot be read or understood, which reading the whole file reports later.
    Kernel,
    /// A package.
    Package,
    /// BTF of a module.
    Module,
    /// A BPF object. Its BTF describes the object's types.
    BpfObject,
    /// Raw BTF without types and strings, which only a module has.
    EmptyBtf,
}

/// Returns the kind of a file. Reads as little of the file as possible, and ignores errors.
fn classify(path: &Path, limits: Limits) -> ListedKind {
    if is_archive_name(path) {
        return ListedKind::Kernel;
    }
    // Reading thousands of compressed modules would take as long as the whole check.
    if is_compressed_module_name(path) {
        return ListedKind::Module;
    }
    let Ok(input) = InputFile::open(path, limits.bytes) else { return ListedKind::Kernel };
    if is_package(path, &input.head) {
        return ListedKind::Package;
    }
    if is_bpf_elf(&input.head) {
        return ListedKind::BpfObject;
    }
    if is_empty_btf(&input.head) {
        return ListedKind::EmptyBtf;
    }
    if is_module(path, &input, limits) { ListedKind::Module } else { ListedKind::Kernel }
}

/// Returns whether a file is the BTF of a module.
fn is_module(path: &Path, input: &InputFile<'_>, limits: Limits) -> bool {
    let head = &input.head;
    if !is_elf(head) {
        return has_split_strings(head, |offset| input.read_part(offset, 1)?.first().copied()) == Some(true);
    }
    // Modules and BPF objects are relocatable ELF files. A vmlinux is an executable.
    if !matches!(head.get(16..18), Some([1, 0] | [0, 1])) {
        return false;
    }
    let BtfSections::Found(found) = read_btf(path, input, limits.bytes) else { return false };
    let byte = |offset| found.btf.get(usize::try_from(offset).ok()?).copied();
    found.base.is_some() || has_split_strings(&found.btf, byte) == Some(true)
}

/// Returns whether a raw BTF has neither types nor strings. The BTF of a kernel has both.
fn is_empty_btf(head: &[u8]) -> bool {
    let sizes = btf_endian(head).map(|endian| [endian.u32(head, 12), endian.u32(head, 20)]);
    sizes == Some([Some(0); 2])
}

/// Returns whether the strings of a raw BTF continue those of a base BTF: there are none, if all names are in
/// the base, or the first one is not empty as in other BTFs.
fn has_split_strings(head: &[u8], byte: impl Fn(u64) -> Option<u8>) -> Option<bool> {
    let endian = btf_endian(head)?;
    let word = |offset| endian.u32(head, offset).map(u64::from);
    let (header_len, strings_offset, strings_len) = (word(4)?, word(16)?, word(20)?);
    Some(strings_len == 0 || byte(header_len.checked_add(strings_offset)?)? != 0)
}

/// Returns the modules among files: those named `.ko`, or if there are none, all files that may be BTF.
///
/// `/lib/modules/…` also has files like `modules.builtin`, which the names exclude. A directory of BTFs has
/// no `.ko`.
pub(crate) fn retain_modules(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    if files.iter().any(|path| is_module_name(path)) {
        files.retain(|path| is_module_name(path));
    } else {
        files.retain(|path| !is_other_name(path.file_name().map_or(path, Path::new)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns raw BTF with these sizes of types and strings, and a byte where the strings begin.
    fn raw_btf(types_len: u32, strings_len: u32, first: u8) -> Vec<u8> {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types_len, types_len, strings_len] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(vec![0; usize::try_from(types_len).unwrap()]);
        bytes.push(first);
        bytes
    }

    /// All names of a module's types may be in the kernel's BTF: the module then has no strings.
    #[test]
    fn btf_of_modules_is_known_by_its_strings() {
        for (bytes, is_split) in
            [(raw_btf(12, 0, 0), true), (raw_btf(12, 5, b'x'), true), (raw_btf(12, 5, 0), false)]
        {
            let byte = |offset| bytes.get(usize::try_from(offset).ok()?).copied();
            assert_eq!(has_split_strings(&bytes, byte), Some(is_split), "{bytes:?}");
            assert!(!is_empty_btf(&bytes));
        }
        assert!(is_empty_btf(&raw_btf(0, 0, 0)));
        assert_eq!(has_split_strings(b"\x7fELF", |_| None), None);
    }
}
