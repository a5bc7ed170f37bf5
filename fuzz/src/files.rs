//! Targets that read their input as a file.

use crate::{
    properties::{binaries, kernels, linking, loading, planning, types},
    scratch::Scratch,
};
use core_relo::{btf::Btf, ext::BtfExt};
use core_relo_loader::{object::Object, target};
use std::{fmt::Write as _, sync::Arc};

/// A BTF, then a second one split from it: `[length of the first; 4][first][second]`, or one alone, or an ELF that holds one.
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

/// A `.BTF.ext`, alone or in an object.
pub fn ext(data: &[u8]) {
    if let Some(ext) = Object::parse(data).ok().as_ref().and_then(Object::ext) {
        count_records(ext, data.len());
    }
    if let Ok(ext) = BtfExt::parse(data) {
        count_records(&ext, data.len());
    }
}

fn count_records(ext: &BtfExt<'_>, len: usize) {
    let records = ext.core_relos().map(|s| s.records().count()).sum::<usize>()
        + ext.line_infos().map(|s| s.records().count()).sum::<usize>()
        + ext.func_infos().map(|s| s.records().count()).sum::<usize>();
    assert!(records <= len);
}

/// An ELF object, or anything a target may be read from.
pub fn object(data: &[u8]) {
    let _image = target::find_btf_in_image(data);
    let _extracted = target::extract(data).is_ok();
    let Ok(object) = Object::parse(data) else { return };
    let _relocs = object.elf_relocs().filter(Result::is_ok).count();
    let _symbols = object.symbols().count();
    let mut text = String::new();
    let _ = write!(text, "{:?}{:?}{:?}", object.programs(), object.maps(), object.externs());
    let sections = object.code_sections();
    let _written = object.rewrite(sections.iter().map(|s| (s.name, s.code)));
}

/// An object and a target: `[length of the object; 4][object][target]`, or an object that is its own target.
pub fn plan(data: &[u8]) {
    if let Ok(own) = target::extract(data) {
        planning::check(data, own.btf);
    }
    if let Some((object, target)) = split_length(data) {
        planning::check(object, target);
    }
}

/// Objects to link: `[length of the first; 4][first][second]`, where the second may be two in turn, or one alone and with
/// itself.
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

/// An object to plan a load of.
pub fn load_plan(data: &[u8]) {
    loading::check(data);
}

/// A file that `--btf` names: a kernel, and, by another name, an archive.
pub fn image(data: &[u8]) {
    for name in ["vmlinuz", "kernels.tar"] {
        let file = Scratch::new(name, data);
        kernels::check(file.path(), 64 << 10);
    }
}

/// A user-space binary, or a ZIP archive with a member `m`, or a USDT probe's arguments.
pub fn binary(data: &[u8]) {
    binaries::check(data);
}

fn split_length(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
}
