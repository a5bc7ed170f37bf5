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

/// An object, planned for kernels whose types have the same names, and for a load.
pub fn object(data: &[u8]) {
    let _ended: Generated = check_object(data);
}

fn check_object(data: &[u8]) -> Generated {
    let Pair { object, targets } = object_and_targets(data)?;
    crate::files::object(&object);
    crate::files::plan(&object);
    targets.iter().for_each(|target| planning::check(&object, target));
    loading::check(&object);
    Ok(())
}

/// An object, and kernels to relocate it against.
struct Pair {
    object: Vec<u8>,
    targets: [Vec<u8>; 2],
}

/// Returns an object, the types of the same decisions but for a few, and other types of the same names.
fn object_and_targets(data: &[u8]) -> Result<Pair> {
    let mut u = Unstructured::new(data);
    let endian = generate::endian(&mut u)?;
    let object = generate::elf::object_in(&mut u, endian)?;
    let mut other = data.to_vec();
    // The first decision was the byte order.
    let decisions = other.get_mut(1..).unwrap_or(&mut []);
    let near = decisions.len().min(256);
    generate::corrupt(&mut u, &mut decisions[..near])?;
    let similar = generate::types::types(&mut Unstructured::new(decisions), Builder::new(endian))?;
    let different = generate::types::types(&mut u, Builder::new(endian))?;
    Ok(Pair { object, targets: [similar.builder.finish(), different.builder.finish()] })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use core_relo::{Plan, Target};
    use core_relo_loader::{
        Loader, load_plan::Host, object::Object, static_link::Linker, target::KernelTypes,
    };

    const INPUTS: usize = 600;

    /// What became of generated objects: a generator that writes nothing but damage would find nothing.
    #[derive(Debug, Default)]
    struct Reached {
        types: usize,
        objects: usize,
        records: usize,
        matched: usize,
        loads: usize,
        links: usize,
    }

    #[test]
    fn generated_files_are_mostly_valid() {
        let (mut random, mut reached) = (Random::new(1), Reached::default());
        for _ in 0..INPUTS {
            let _ended: Generated = reach(&random.decisions(), &mut reached);
        }
        println!("{reached:?}");
        assert!(reached.types > INPUTS / 3, "{reached:?}");
        assert!(reached.objects > INPUTS / 3, "{reached:?}");
        assert!(reached.records > INPUTS, "{reached:?}");
        assert!(reached.matched > INPUTS / 8, "{reached:?}");
        assert!(reached.loads > INPUTS / 20, "{reached:?}");
        assert!(reached.links > INPUTS / 8, "{reached:?}");
    }

    fn reach(data: &[u8], reached: &mut Reached) -> Generated {
        let Pair { object, targets } = object_and_targets(data)?;
        let linked = Linker::new().add("a", &object).and_then(Linker::finish);
        reached.links += usize::from(linked.is_ok());
        let Ok(object) = Object::parse(&object) else { return Ok(()) };
        reached.objects += 1;
        let host = Host::offline(Arc::new(KernelTypes::none()));
        reached.loads += usize::from(Loader::with_host(&object, host).plan().is_ok());
        let Ok(relocs) = object.relocs() else { return Ok(()) };
        reached.records += relocs.records().len();
        for btf in targets.into_iter().filter_map(|target| Btf::parse(target).ok()) {
            reached.types += 1;
            let summary = Plan::new(&relocs, &Target::new("generated", Arc::new(btf))).summary();
            reached.matched += summary.patched + summary.kept;
        }
        Ok(())
    }
}
