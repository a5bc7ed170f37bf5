//! BTF with types sorted by name: bisection finds the same types as a scan, and plans do not change.

use core_relo::{
    Target,
    btf::{Btf, NameIndex, Type},
};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_test_support::skip;
use core_relo_tests::{
    artifacts, engine,
    sorted::{search_variants, sorted},
};
use std::{fs, path::Path, sync::Arc};

fn types_of(path: &Path) -> Btf<'static> {
    BtfFile::read(path).unwrap().parse_unvalidated(None).unwrap()
}

/// Returns the kernels whose types are sorted, and the running kernel with its types sorted.
fn kernels() -> Vec<(String, Arc<Btf<'static>>)> {
    let paths = artifacts::kernel_btfs();
    let mut kernels: Vec<_> = paths.iter().map(|path| (path.display().to_string(), types_of(path))).collect();
    kernels.retain(|(_, btf)| btf.clone().trust_order());
    if let Some(path) = artifacts::running_kernel() {
        kernels.push((format!("{}, sorted", path.display()), Btf::parse(sorted(&types_of(&path))).unwrap()));
    }
    kernels.into_iter().map(|(name, btf)| (name, Arc::new(btf))).collect()
}

#[test]
fn plans_do_not_depend_on_the_search_strategy() {
    let (mut records, mut targets) = (0, 0);
    let mut compare = |place: &str, main: Arc<Btf<'static>>, object: &[u8]| {
        let (object, target) = (Object::parse(object).unwrap(), Target::new("vmlinux", main));
        let Ok(plain) = engine::records(&object, &target, false) else { return };
        let others = search_variants(&target);
        assert_eq!(others.len(), 2, "{place} is not sorted");
        for (how, other) in others {
            assert_eq!(engine::records(&object, &other, false).unwrap(), plain, "{place}, {how}");
        }
        records += plain.len();
    };
    let objects: Vec<_> = artifacts::objects().into_iter().map(|o| (fs::read(&o).unwrap(), o)).collect();
    for (bytes, object) in &objects {
        for target in artifacts::targets_of(object) {
            let types = BtfFile::read(&target).and_then(|file| file.parse_unvalidated(None));
            let Ok(types) = types else { continue };
            let place = format!("{} on {}", object.display(), target.display());
            compare(&place, Arc::new(Btf::parse(sorted(&types)).unwrap()), bytes);
            targets += 1;
        }
    }
    let kernels = kernels();
    if kernels.is_empty() {
        skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
    }
    for (name, kernel) in &kernels {
        for (bytes, object) in &objects {
            compare(&format!("{} on {name}", object.display()), Arc::clone(kernel), bytes);
        }
        targets += 1;
    }
    println!("{records} records on {targets} sorted targets");
    assert!(records > 1000, "{records} records");
}

#[test]
fn every_type_of_a_sorted_kernel_is_found() {
    let kernels = kernels();
    if kernels.is_empty() {
        skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
    }
    for (place, plain) in kernels {
        let mut trusted = (*plain).clone();
        assert!(trusted.trust_order(), "{place}");
        let (all, functions) = (NameIndex::of_types(&plain), NameIndex::of_functions(&plain));
        let mut first = std::collections::HashMap::new();
        for ty in plain.types().filter(|ty| !ty.name().is_empty()) {
            let id = *first.entry((ty.name(), ty.kind())).or_insert(ty.id());
            let name = ty.name().as_bytes();
            assert_eq!(trusted.find(name, ty.kind()).map(Type::id), Some(id), "{place} {ty:?}");
            for index in [&all, &functions].into_iter().filter(|index| index.covers(ty.kind())) {
                assert_eq!(index.find(&plain, name, ty.kind()).map(Type::id), Some(id), "{place} {ty:?}");
            }
        }
    }
}
