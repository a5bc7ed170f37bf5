//! What is done with hostile bytes. Each function must return, whatever it is given: no panic, no hang.

use core_relo::{
    Plan, Target, TypeId,
    btf::{Btf, Type, dedup},
    explain::{CType, explain},
    ext::BtfExt,
};
use core_relo_loader::{object::Object, static_link::Linker, target};
use std::{fmt::Write as _, sync::Arc};

/// A check, by its name.
pub type Check = (&'static str, fn(&[u8]));

/// Every check there is.
pub const CHECKS: [Check; 5] =
    [("btf", btf), ("ext", ext), ("object", object), ("plan", plan), ("link", link)];

/// A BTF, then a second one split from it: `[length of the first; 4][first][second]`, or one alone, or an ELF that holds one.
pub fn btf(data: &[u8]) {
    if let Ok(elf) = target::extract(data)
        && let Ok(btf) = Btf::parse(elf.btf)
    {
        walk(&btf);
    }
    if let Ok(one) = Btf::parse(data) {
        walk(&one);
    }
    let Some((first, second)) = two(data) else { return };
    let Ok(base) = Btf::parse(first.to_vec()) else { return };
    let base = Arc::new(base);
    if let Ok(split) = Btf::parse_split(second.to_vec(), Arc::clone(&base)) {
        walk(&split);
    }
    if let Ok(moved) = Btf::relocate_split(second.to_vec(), first.to_vec(), base) {
        walk(&moved);
    }
}

/// A `.BTF.ext`, alone or in an object.
pub fn ext(data: &[u8]) {
    if let Some(ext) = Object::parse(data).ok().as_ref().and_then(Object::ext) {
        records(ext, data.len());
    }
    if let Ok(ext) = BtfExt::parse(data) {
        records(&ext, data.len());
    }
}

fn records(ext: &BtfExt<'_>, len: usize) {
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
        relocate(data, own.btf);
    }
    if let Some((object, target)) = two(data) {
        relocate(object, target);
    }
}

fn relocate(object: &[u8], target: &[u8]) {
    let Ok(object) = Object::parse(object) else { return };
    let Ok(relocs) = object.relocs() else { return };
    let Ok(btf) = Btf::parse(target) else { return };
    let target = Target::new("fuzz", Arc::new(btf));
    let plan = Plan::new(&relocs, &target);
    assert_eq!(plan.summary().total(), relocs.records().len());
    assert_eq!(plan.patched().is_ok(), plan.summary().failed == 0);
    for planned in plan.iter().take(50) {
        let _explanation = explain(&planned);
    }
}

/// Objects to link: `[length of the first; 4][first][second]`, where the second may be two in turn, or one alone and with
/// itself. Its BTF is deduplicated, too.
pub fn link(data: &[u8]) {
    if let Ok(elf) = target::extract(data)
        && let Ok(btf) = Btf::parse(elf.btf)
        && let Ok(deduped) = dedup(&btf)
    {
        let again = Btf::parse(deduped.finish()).expect("what is deduplicated is a BTF");
        assert!(again.end_id() <= btf.end_id());
    }
    linked(&[data]);
    linked(&[data, data]);
    if let Some((first, second)) = two(data) {
        linked(&[first, second]);
        linked(&[second, first]);
        if let Some((second, third)) = two(second) {
            linked(&[first, second, third]);
            linked(&[third, first, second]);
        }
    }
}

/// What is linked is in proportion to what it was linked from, and can be looked at as any object.
fn linked(files: &[&[u8]]) {
    let Ok(linker) = files.iter().try_fold(Linker::new(), |linker, bytes| linker.add("fuzz", bytes)) else {
        return;
    };
    let Ok(once) = linker.finish() else { return };
    let all = files.iter().map(|bytes| bytes.len()).sum::<usize>();
    assert!(once.len() <= (all * 16).max(32 << 20), "{} bytes of {all}", once.len());
    let _twice = Linker::new().add("once", &once).and_then(Linker::finish);
}

fn two(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
}

fn walk(btf: &Btf<'_>) {
    let mut text = String::new();
    for ty in btf.types().take(2_000) {
        look(btf, ty, &mut text);
        text.clear();
    }
    let _nothing = btf.ty(TypeId(u32::MAX));
    // Values may be long, so a few types, and types in the place of data.
    for ty in btf.types().step_by(499).take(6) {
        let value = btf.value(ty.id(), btf.as_bytes());
        assert!(write!(Nowhere, "{value:#}{}", value.text().types(false).zeroes(false)).is_ok());
    }
}

/// Takes any text.
struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

fn look(btf: &Btf<'_>, ty: Type<'_>, text: &mut String) {
    let _size = btf.size_of(ty.id());
    let _stripped = btf.strip(ty.id());
    let _ = write!(text, "{:?} {}", ty, CType::new(btf, ty.id()));
    let _elements = ty.members().take(100).count() + ty.variants().take(100).count();
    let _more = ty.params().take(100).count() + ty.secinfos().take(100).count();
    let _facts =
        (ty.array(), ty.int(), ty.linkage(), ty.component_index(), ty.name().essential().as_bytes().len());
}
