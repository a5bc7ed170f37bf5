//! Fuzz targets that parse their input as files.

use crate::{
    properties::{
        binaries, btf_ids as ids, debug_info, kernels, linking, loader_files, loading, packages, planning,
        repositories, skeletons, types, verdict,
    },
    scratch::Scratch,
};
use core_relo::{btf::Btf, ext::BtfExt};
use core_relo_loader::{
    object::{CoreRecords, Object},
    target,
};
use std::{fmt::Write as _, sync::Arc};

/// Checks a BTF, an ELF file with BTF, or a BTF and a split BTF on it:
/// `[length of the first; 4][first][second]`.
pub fn btf(data: &[u8]) {
    if let Ok(elf) = target::extract(data) {
        types::check(elf.btf, None);
    }
    types::check(data, None);
    let Some((first, second)) = split_length(data) else { return };
    let Ok(base) = Btf::parse(first.to_vec()) else { return };
    let base = Arc::new(base);
    types::check(second, Some(&base));
    if let Ok(relocated) = Btf::relocate_split(second.to_vec(), first.to_vec(), base) {
        types::walk(&relocated);
    }
}

/// Checks a `.BTF.ext` section, alone or in an object.
pub fn ext(data: &[u8]) {
    if let Some(ext) = Object::parse(data).ok().as_ref().and_then(Object::ext) {
        count_records(ext, data.len());
    }
    if let Ok(ext) = BtfExt::parse(data) {
        count_records(&ext, data.len());
    }
}

/// Counts all records, which cannot exceed the bytes.
fn count_records(ext: &BtfExt<'_>, len: usize) {
    let records = ext.core_relos().map(|s| s.records().count()).sum::<usize>()
        + ext.line_infos().map(|s| s.records().count()).sum::<usize>()
        + ext.func_infos().map(|s| s.records().count()).sum::<usize>();
    assert!(records <= len);
}

/// Checks an ELF object, or any file that can contain a target.
pub fn object(data: &[u8]) {
    let _image = target::find_btf_in_image(data);
    let _extracted = target::extract(data).is_ok();
    let Ok(object) = Object::parse(data) else { return };
    let _relocs = object.elf_relocs().filter(Result::is_ok).count();
    let _symbols = object.symbols().count();
    let mut text = String::new();
    let _ = write!(text, "{:?}{:?}{:?}", object.programs(), object.maps(), object.externs());
    let sections = object.code_sections();
    let _written = object.rewrite(sections.iter().map(|s| (s.name, s.code)), CoreRecords::Remove);
}

/// Plans an object for a target: `[length of the object; 4][object][target]`, or for its own types.
pub fn plan(data: &[u8]) {
    if let Ok(own) = target::extract(data) {
        planning::check(data, own.btf);
    }
    if let Some((object, target)) = split_length(data) {
        planning::check(object, target);
    }
}

/// Judges an object on a kernel: `[length of the object; 4][object][BTF of the kernel]`, or on a kernel with
/// its own types.
pub fn verdict(data: &[u8]) {
    if let Ok(own) = target::extract(data) {
        verdict::check(data, own.btf);
    }
    if let Some((object, types)) = split_length(data) {
        verdict::check(object, types);
    }
}

/// Links objects: `[length of the first; 4][first][second]`, where the second may contain two objects in the
/// same format. Also links the input alone and with itself.
pub fn link(data: &[u8]) {
    linking::check(&[data]);
    linking::check(&[data, data]);
    if let Some((first, second)) = split_length(data) {
        linking::check(&[first, second]);
        linking::check(&[second, first]);
        if let Some((second, third)) = split_length(second) {
            linking::check(&[first, second, third]);
            linking::check(&[third, first, second]);
        }
    }
}

/// Plans the load of an object.
pub fn load_plan(data: &[u8]) {
    loading::check(data);
}

/// Reads and shows a loader file.
pub fn loader_file(data: &[u8]) {
    loader_files::check(data);
}

/// Reads a file as a kernel of `--btf` and, under another name, as an archive.
pub fn image(data: &[u8]) {
    for name in ["vmlinuz", "kernels.tar"] {
        let file = Scratch::new(name, data);
        kernels::check(file.path(), 64 << 10);
    }
}

/// Reads a file as a package, and as a kernel of `--btf`.
pub fn package(data: &[u8]) {
    packages::check(data);
    // Packages of pacman are also known by their name.
    for name in ["linux.deb", "linux.pkg.tar.zst"] {
        let file = Scratch::new(name, data);
        kernels::check(file.path(), 64 << 10);
    }
}

/// Reads indexes of package repositories, lock files and specifications of kernels.
pub fn repository(data: &[u8]) {
    repositories::check(data);
}

/// Checks an ELF file with `.BTF_ids`.
pub fn btf_ids(data: &[u8]) {
    ids::check(data);
}

/// Converts the debug information of an ELF file.
pub fn dwarf(data: &[u8]) {
    debug_info::check(data);
}

/// Generates skeletons of an object.
pub fn skeleton(data: &[u8]) {
    skeletons::check(data);
}

/// Checks a user-space binary, a ZIP archive with a member `m`, or the arguments of a USDT probe.
pub fn binary(data: &[u8]) {
    binaries::check(data);
}

/// Splits `[length of the first; 4][first][second]`.
fn split_length(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
}
