//! Fuzz targets whose input is the list of choices of a generator.

use crate::{
    generate,
    properties::{kernels, linking, loading, planning, results, skeletons, types, verdict},
    scratch::Scratch,
};
use arbitrary::{Result, Unstructured};
use core_relo::btf::{Btf, Builder};
use core_relo_verdict::test_support::{check_kernel_numbers, check_reach};
use std::sync::Arc;

/// The result of a target. An error means that the input has too few bytes, and is not a failure of the
/// target.
type Generated = Result<()>;

/// Checks a generated kernel BTF, a split BTF on it, and a split BTF with a distilled base.
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

/// Checks a generated object: plans it for kernels with types of the same names, judges it on them, and plans
/// its load.
pub fn object(data: &[u8]) {
    let _ended: Generated = check_object(data);
}

fn check_object(data: &[u8]) -> Generated {
    let Pair { object, targets } = object_and_targets(data)?;
    crate::files::object(&object);
    crate::files::plan(&object);
    targets.iter().for_each(|target| planning::check(&object, target));
    targets.iter().for_each(|target| verdict::check(&object, target));
    loading::check(&object);
    skeletons::check(&object);
    Ok(())
}

/// An object and two targets.
struct Pair {
    object: Vec<u8>,
    targets: [Vec<u8>; 2],
}

/// Generates an object, a target from almost the same choices, and a different target with the same names.
fn object_and_targets(data: &[u8]) -> Result<Pair> {
    let mut u = Unstructured::new(data);
    let endian = generate::endian(&mut u)?;
    let object = generate::elf::object_in(&mut u, endian)?;
    let mut other = data.to_vec();
    // The first choice was the byte order.
    let decisions = other.get_mut(1..).unwrap_or(&mut []);
    let near = decisions.len().min(256);
    generate::corrupt(&mut u, &mut decisions[..near])?;
    let similar = generate::types::types(&mut Unstructured::new(decisions), Builder::new(endian))?;
    let different = generate::types::types(&mut u, Builder::new(endian))?;
    Ok(Pair { object, targets: [similar.builder.finish(), different.builder.finish()] })
}

/// Analyses a generated program, and compares the analysis with runs of the program, and with analyses of the
/// program with other relocated numbers and configuration values.
pub fn reach(data: &[u8]) {
    let _agreement = check_reach(data);
    let _numbers = check_kernel_numbers(data);
}

/// Links generated objects.
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

/// Reads a generated tar archive of kernels, and the same file under the name of a kernel image.
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

/// Checks the input and a generated file as results files of `--resume`.
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
        Loader, load_plan::TargetKernel, object::Object, static_link::Linker, target::KernelBtf,
    };

    const INPUTS: usize = 600;

    /// Counts of valid generated inputs. A generator that only writes damaged files would test little.
    #[derive(Debug, Default)]
    struct Counts {
        types: usize,
        objects: usize,
        records: usize,
        matched: usize,
        loads: usize,
        links: usize,
    }

    #[test]
    fn generated_files_are_mostly_valid() {
        let (mut random, mut counts) = (Random::new(1), Counts::default());
        for _ in 0..INPUTS {
            let _ended: Generated = count_valid(&random.decisions(), &mut counts);
        }
        println!("{counts:?}");
        assert!(counts.types > INPUTS / 3, "{counts:?}");
        assert!(counts.objects > INPUTS / 3, "{counts:?}");
        assert!(counts.records > INPUTS, "{counts:?}");
        assert!(counts.matched > INPUTS / 8, "{counts:?}");
        assert!(counts.loads > INPUTS / 20, "{counts:?}");
        assert!(counts.links > INPUTS / 8, "{counts:?}");
    }

    /// Generates one object and counts what is valid.
    fn count_valid(data: &[u8], counts: &mut Counts) -> Generated {
        let Pair { object, targets } = object_and_targets(data)?;
        let linked = Linker::new().add("a", &object).and_then(Linker::finish);
        counts.links += usize::from(linked.is_ok());
        let Ok(object) = Object::parse(&object) else { return Ok(()) };
        counts.objects += 1;
        let kernel = TargetKernel::offline(Arc::new(KernelBtf::none()));
        counts.loads += usize::from(Loader::for_kernel(&object, kernel).plan().is_ok());
        let Ok(relocs) = object.relocs() else { return Ok(()) };
        counts.records += relocs.records().len();
        for btf in targets.into_iter().filter_map(|target| Btf::parse(target).ok()) {
            counts.types += 1;
            let summary = Plan::new(&relocs, &Target::new("generated", Arc::new(btf))).summary();
            counts.matched += summary.patched + summary.kept;
        }
        Ok(())
    }
}
