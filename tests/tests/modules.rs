//! Modules of real kernels: those that have a type are never passed over.

use core_relo::{
    Name,
    btf::{Btf, ModuleFilter},
};
use core_relo_tests::{artifacts, skip::skip};
use std::{collections::HashSet, fs, sync::Arc};

/// Names looked for in each module.
const NAMES: usize = 8;

#[test]
fn a_sieve_lets_every_module_pass_that_has_the_name() {
    let (mut asked, mut modules_seen, mut passed) = (0, 0, 0);
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
            // Not those that the first bytes pass unseen for.
            let named: Vec<_> =
                own.types().map(|ty| ty.name().essential()).filter(|n| !n.is_empty()).collect();
            for name in named.iter().step_by((named.len() / NAMES).max(1)) {
                let mut module_filter = ModuleFilter::new(&base, [*name]);
                module_filter.may_contain(base.as_bytes());
                for (bytes, names) in modules.iter().zip(&names) {
                    let has = names.contains(name.as_bytes());
                    let passes = module_filter.may_contain(bytes);
                    assert!(passes || !has, "{}: {name}", kernel.display());
                    passed += usize::from(passes && !has);
                    modules_seen += 1;
                }
                asked += 1;
            }
        }
    }
    if asked == 0 {
        skip("modules", "no modules' BTF here (cargo xtask kernels fetches some)");
        return;
    }
    println!("{asked} names in {modules_seen} modules: {passed} passed that do not have them");
}
