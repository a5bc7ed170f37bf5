//! Every record of every object on every target: our outcome and libbpf's must be the same, words and all.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_agrees_on_every_record() {
    core_relo_tests::skip::skip("differential", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::btf::Btf;
    use core_relo_tests::{
        artifacts,
        compare::{BothTargets, Tally},
        skip::skip,
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
        let mut on = |target: &Path, modules: &[PathBuf], objects: &[PathBuf]| {
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
                on(&target, &[], std::slice::from_ref(object));
            }
        }
        match artifacts::running_kernel() {
            Some(kernel) => on(&kernel, &[], &objects),
            None => skip("differential, running kernel", "the running kernel has no BTF"),
        }
        // As builds of later kernels leave it.
        if let Some(kernel) = artifacts::running_kernel() {
            let types = Btf::parse(fs::read(kernel).unwrap()).unwrap();
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("running-sorted.btf");
            fs::write(&path, sorted(&types)).unwrap();
            on(&path, &[], &objects);
            fs::remove_file(path).unwrap();
        }
        let kernels = artifacts::kernel_btfs();
        if kernels.is_empty() {
            skip("differential, other kernels", "no kernels' BTF here (cargo xtask kernels fetches some)");
        }
        for kernel in &kernels {
            on(kernel, &artifacts::module_btfs(kernel), &objects);
        }
        println!(
            "compared {} records of {} objects on {targets} targets ({} pairs) with libbpf: {tally}",
            tally.records,
            objects.len(),
            tally.pairs
        );
        tally.judge();
    }
}
