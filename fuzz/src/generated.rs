//! Targets that read their input as the decisions of a generator.

use crate::{
    generate,
    properties::{kernels, linking, loading, planning, results, types},
    scratch::Scratch,
};
use arbitrary::{Result, Unstructured};
use core_relo::btf::{Btf, Builder};
use std::sync::Arc;

/// A generator ends early only where bytes run out, and then there is nothing to check.
type Generated = Result<()>;

/// A kernel's BTF, a BTF split from it, and a split BTF with a distilled base.
pub fn btf(data: &[u8]) {
    let _ended: Generated = check_btf(&mut Unstructured::new(data));
}

fn check_btf(u: &mut Unstructured<'_>) -> Generated {
    let endian = generate::endian(u)?;
    let mut base = generate::types::types(u, Builder::new(endian))?.builder.finish();
    if generate::one_in(u, 16)? {
        generate::corrupt(u, &mut base)?;
    }
    types::check(&base, None);
    let Ok(base) = Btf::parse(base) else { return Ok(()) };
    let base = Arc::new(base);
    let split = generate::types::types(u, Builder::split(&base))?.builder.finish();
    types::check(&split, Some(&base));
    let distilled = generate::types::distilled(u, &base)?.finish();
    let parsed = Btf::parse(distilled.clone()).expect("the base of a valid BTF is valid");
    let split = generate::types::types(u, Builder::split(&parsed))?.builder.finish();
    if let Ok(relocated) = Btf::relocate_split(split, distilled, Arc::clone(&base)) {
        types::walk(&relocated);
        types::check(relocated.as_bytes(), Some(&base));
    }
    Ok(())
}

/// An object, planned for a kernel whose types have the same names, and for a load.
pub fn object(data: &[u8]) {
    let _ended: Generated = check_object(&mut Unstructured::new(data));
}

fn check_object(u: &mut Unstructured<'_>) -> Generated {
    let endian = generate::endian(u)?;
    let object = generate::elf::object_in(u, endian)?;
    crate::files::object(&object);
    crate::files::plan(&object);
    let target = generate::types::types(u, Builder::new(endian))?.builder.finish();
    planning::check(&object, &target);
    loading::check(&object);
    Ok(())
}

/// Objects to link.
pub fn link(data: &[u8]) {
    let _ended: Generated = check_link(&mut Unstructured::new(data));
}

fn check_link(u: &mut Unstructured<'_>) -> Generated {
    let endian = generate::endian(u)?;
    let first = generate::elf::object_in(u, endian)?;
    let second = if generate::one_in(u, 16)? {
        generate::elf::object(u)?
    } else {
        generate::elf::object_in(u, endian)?
    };
    linking::check(&[&first]);
    linking::check(&[&first, &second]);
    linking::check(&[&second, &first]);
    Ok(())
}

/// A tar archive of kernels, and the same file by a name that is no archive's.
pub fn archive(data: &[u8]) {
    let _ended: Generated = check_archive(&mut Unstructured::new(data));
}

fn check_archive(u: &mut Unstructured<'_>) -> Generated {
    let max_bytes = *u.choose(&[64 << 10, 1 << 10, 1 << 20])?;
    let archive = generate::tar::archive(u)?;
    for name in ["kernels.tar", "vmlinuz"] {
        let file = Scratch::new(name, &archive);
        kernels::check(file.path(), max_bytes);
    }
    Ok(())
}

/// A file of results; one that a generator wrote, or the input itself.
pub fn results(data: &[u8]) {
    results::check(data);
    let _ended: Generated = check_results(&mut Unstructured::new(data));
}

fn check_results(u: &mut Unstructured<'_>) -> Generated {
    let objects = results::OBJECTS.map(|(name, _)| name);
    results::check(&generate::results::file(u, &results::header(), &objects)?);
    Ok(())
}
