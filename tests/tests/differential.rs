//! Every record of every test program has the same outcome and instruction as in libbpf, on every target.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_agrees_on_every_record() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::btf::Btf;
    use core_relo_test_support::skip;
    use core_relo_tests::{
        artifacts,
        compare::{BothTargets, Tally},
        sorted::sorted,
    };
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    #[test]
    fn libbpf_agrees_on_every_record() {
        let mut tally = Tally::default();
        let mut targets = 0;
        let objects = artifacts::objects();
        let mut compare_on = |target: &Path, modules: &[PathBuf], objects: &[PathBuf]| {
            targets += 1;
            match BothTargets::open(target, modules) {
                Err(error) => tally.fail(error),
                Ok(both) => {
                    for object in objects {
                        tally.compare(&object.display().to_string(), &fs::read(object).unwrap(), &both);
                    }
                }
            }
        };
        for object in &objects {
            for target in artifacts::targets_of(object) {
                compare_on(&target, &[], std::slice::from_ref(object));
            }
        }
        match artifacts::running_kernel() {
            Some(kernel) => compare_on(&kernel, &[], &objects),
            None => skip!(Btf, "the running kernel has no BTF"),
        }
        // Builds of kernels from 7.0 on sort the types.
        if let Some(kernel) = artifacts::running_kernel() {
            let types = Btf::parse(fs::read(kernel).unwrap()).unwrap();
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("running-sorted.btf");
            fs::write(&path, sorted(&types)).unwrap();
            compare_on(&path, &[], &objects);
            fs::remove_file(path).unwrap();
        }
        let kernels = artifacts::kernel_btfs();
        if kernels.is_empty() {
            skip!(Kernels, "no kernels' BTF here (cargo xtask kernels fetches some)");
        }
        for kernel in &kernels {
            compare_on(kernel, &artifacts::module_btfs(kernel), &objects);
        }
        println!(
            "compared {} records of {} objects on {targets} targets ({} pairs) with libbpf: {tally}",
            tally.records,
            objects.len(),
            tally.pairs
        );
        tally.assert_agreement();
    }
}
