//! Comparison with libbpf on synthetic records: random roots, accesses and instructions on real types.
//! `CORE_RELO_SEED` selects the records, `CORE_RELO_ROUNDS` their number.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_agrees_on_synthetic_records() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{Plan, Target, TypeId, btf::Btf};
    use core_relo_loader::{object::Object, target::BtfFile};
    use core_relo_test_support::skip;
    use core_relo_tests::{
        artifacts,
        compare::{BothTargets, Tally},
        synthetic::{self, SyntheticRecord},
    };
    use fastrand::Rng;
    use std::{env, fs, path::Path, path::PathBuf, sync::Arc};

    /// Returns the number in an environment variable, or a default.
    fn env_number(variable: &str, default: u64) -> u64 {
        env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    fn rng() -> Rng {
        let seed = env_number("CORE_RELO_SEED", 20_26);
        println!("CORE_RELO_SEED={seed}");
        Rng::with_seed(seed)
    }

    /// Types of the test programs as local types and of their targets as target types, and the other way
    /// round.
    #[test]
    fn libbpf_agrees_on_types_of_test_programs() {
        let (mut rng, mut tally) = (rng(), Tally::default());
        for object in artifacts::objects() {
            let Some(local) = types_of(&object) else { continue };
            for target in artifacts::targets_of(&object) {
                let (Ok(both), Some(other)) = (BothTargets::open(&target, &[]), types_of(&target)) else {
                    continue;
                };
                // The other way round: the types of the target as local types.
                let reverse = BothTargets::open(&object, &[]);
                for _ in 0..env_number("CORE_RELO_ROUNDS", 1) {
                    tally.compare(
                        &object.display().to_string(),
                        &synthetic_object(&local, TypeId(1), 60, &mut rng),
                        &both,
                    );
                    if let Ok(reverse) = &reverse {
                        tally.compare(
                            &target.display().to_string(),
                            &synthetic_object(&other, TypeId(1), 60, &mut rng),
                            reverse,
                        );
                    }
                }
            }
        }
        println!("compared {} made-up records of {} pairs with libbpf: {tally}", tally.records, tally.pairs);
        tally.assert_agreement();
    }

    /// Types of one kernel as local types, of another or the same kernel as target types.
    #[test]
    fn libbpf_agrees_on_types_of_two_kernels() {
        let kernels: Vec<_> =
            artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()).collect();
        if kernels.is_empty() {
            skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
            return;
        }
        let (mut rng, mut tally) = (rng(), Tally::default());
        for target in &kernels {
            let both = BothTargets::open(target, &artifacts::module_btfs(target)).unwrap();
            for _ in 0..env_number("CORE_RELO_ROUNDS", 1) {
                let local = &kernels[rng.usize(0..kernels.len())];
                let types = types_of(local).unwrap();
                let object = synthetic_object(&types, TypeId(1), 400, &mut rng);
                tally.compare(&local.display().to_string(), &object, &both);
            }
        }
        println!(
            "compared {} made-up records of {} pairs of kernels with libbpf: {tally}",
            tally.records, tally.pairs
        );
        tally.assert_agreement();
    }

    /// Types of modules of one kernel as local types, of another kernel with its modules as target types.
    #[test]
    fn libbpf_agrees_on_types_of_modules() {
        let with_modules = |kernel: &PathBuf| !artifacts::module_btfs(kernel).is_empty();
        let kernels: Vec<_> = artifacts::kernel_btfs().into_iter().filter(with_modules).collect();
        if kernels.is_empty() {
            skip!(Kernels, "no modules' BTF here (cargo xtask kernels fetches some)");
            return;
        }
        let (mut rng, mut tally) = (rng(), Tally::default());
        for target in &kernels {
            let both = BothTargets::open(target, &artifacts::module_btfs(target)).unwrap();
            for _ in 0..2 * env_number("CORE_RELO_ROUNDS", 1) {
                let base = rng.choice(&kernels).unwrap();
                let module = rng.choice(artifacts::module_btfs(base)).unwrap();
                let (whole, first) = {
                    let base = types_of(base).unwrap();
                    let split = fs::read(&module).unwrap();
                    (synthetic::flatten(base.as_bytes(), &split, base.endian()), base.end_id())
                };
                let types = Btf::parse(whole).unwrap();
                if types.end_id() == first {
                    continue;
                }
                let object = synthetic_object(&types, first, 200, &mut rng);
                tally.compare(&module.display().to_string(), &object, &both);
            }
        }
        println!(
            "compared {} made-up records of {} pairs of modules with libbpf: {tally}",
            tally.records, tally.pairs
        );
        tally.assert_agreement();
    }

    fn types_of(path: &Path) -> Option<Btf<'static>> {
        BtfFile::open(PathBuf::from(path)).ok()?.parse_unvalidated(None).ok()
    }

    /// Builds an object with random records. Most instructions contain the local value of their record.
    fn synthetic_object(local: &Btf<'_>, first: TypeId, count: usize, rng: &mut Rng) -> Vec<u8> {
        let (types, endian) = (local.as_bytes(), local.endian());
        let mut records = synthetic::records(local, first, count, rng);
        records.iter_mut().for_each(|record| synthetic::set_insn(record, 0, rng));
        let draft = synthetic::object(types, endian, &records);
        for (record, value) in records.iter_mut().zip(local_values(&draft)) {
            synthetic::set_insn(record, value, rng);
        }
        let records: Vec<SyntheticRecord> = records;
        synthetic::object(types, endian, &records)
    }

    /// Returns the local values of an object's records.
    fn local_values(object: &[u8]) -> Vec<u64> {
        let parsed = Object::parse(object).unwrap();
        let relocs = parsed.relocs().unwrap();
        let empty = core_relo::btf::Builder::new(parsed.endian()).finish();
        let target = Target::new("empty", Arc::new(Btf::parse(empty).unwrap()));
        Plan::new(&relocs, &target).iter().map(|planned| planned.local_value().unwrap_or_default()).collect()
    }
}
