//! The module filter never skips a module that has a wanted type, with modules of real kernels.

use core_relo::{
    Name,
    btf::{Btf, ModuleFilter},
};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use std::{collections::HashSet, fs, sync::Arc};

/// The number of names searched per module.
const NAMES: usize = 8;

#[test]
fn the_module_filter_passes_every_module_that_has_the_name() {
    let (mut names_searched, mut modules_seen, mut false_positives) = (0, 0, 0);
    for kernel in artifacts::kernel_btfs() {
        let modules = artifacts::module_btfs(&kernel);
        if modules.is_empty() {
            continue;
        }
        let base = Arc::new(Btf::parse(fs::read(&kernel).unwrap()).unwrap());
        let modules: Vec<_> = modules.iter().map(|module| fs::read(module).unwrap()).collect();
        let parse = |bytes: &Vec<u8>| Btf::parse_split(bytes.clone(), Arc::clone(&base)).unwrap();
        let parsed: Vec<_> = modules.iter().map(parse).collect();
        let names = |btf: &Btf<'_>| {
            let essential = |name: Name<'_>| name.essential().as_bytes().to_vec();
            btf.types().map(|ty| essential(ty.name())).collect::<HashSet<_>>()
        };
        let names: Vec<_> = parsed.iter().map(names).collect();
        for own in &parsed {
            // Anonymous types are no search terms.
            let named: Vec<_> =
                own.types().map(|ty| ty.name().essential()).filter(|n| !n.is_empty()).collect();
            for name in named.iter().step_by((named.len() / NAMES).max(1)) {
                let mut module_filter = ModuleFilter::new(&base, [*name]);
                module_filter.may_contain(base.as_bytes());
                for (bytes, names) in modules.iter().zip(&names) {
                    let has = names.contains(name.as_bytes());
                    let passes = module_filter.may_contain(bytes);
                    assert!(passes || !has, "{}: {name}", kernel.display());
                    false_positives += usize::from(passes && !has);
                    modules_seen += 1;
                }
                names_searched += 1;
            }
        }
    }
    if names_searched == 0 {
        skip!(Kernels, "no modules' BTF here (cargo xtask kernels fetches some)");
        return;
    }
    println!("{names_searched} names in {modules_seen} modules: {false_positives} false positives");
}
