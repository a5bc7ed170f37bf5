//! Records that no compiler wrote, on types that compilers did: random roots, accesses and instructions must come out as with
//! libbpf. `CORE_RELO_SEED` and `CORE_RELO_ROUNDS` choose others and more.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_agrees_on_made_up_records() {
    core_relo_tests::skip::skip("sweep", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{Plan, Target, TypeId, btf::Btf};
    use core_relo_loader::{object::Object, target::TargetFile};
    use core_relo_tests::{
        artifacts,
        compare::{BothTargets, Tally},
        made::{self, Made},
        skip::skip,
    };
    use fastrand::Rng;
    use std::{env, fs, path::Path, path::PathBuf, sync::Arc};

    fn number(variable: &str, otherwise: u64) -> u64 {
        env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
    }

    fn rng() -> Rng {
        let seed = number("CORE_RELO_SEED", 20_26);
        println!("CORE_RELO_SEED={seed}");
        Rng::with_seed(seed)
    }

    /// The types of small programs and of what they run on, in both directions.
    #[test]
    fn on_the_test_programs_types() {
        let (mut rng, mut tally) = (rng(), Tally::default());
        for object in artifacts::objects() {
            let Some(local) = types_of(&object) else { continue };
            for target in artifacts::targets_of(&object) {
                let (Ok(both), Some(other)) = (BothTargets::open(&target, &[]), types_of(&target)) else {
                    continue;
                };
                // Also the other way round: the target's types as the program's.
                let own = BothTargets::open(&object, &[]);
                for _ in 0..number("CORE_RELO_ROUNDS", 1) {
                    tally.compare(
                        &object.display().to_string(),
                        &made_up(&local, TypeId(1), 60, &mut rng),
                        &both,
                    );
                    if let Ok(own) = &own {
                        tally.compare(
                            &target.display().to_string(),
                            &made_up(&other, TypeId(1), 60, &mut rng),
                            own,
                        );
                    }
                }
            }
        }
        println!("compared {} made-up records of {} pairs with libbpf: {tally}", tally.records, tally.pairs);
        tally.judge();
    }

    /// One kernel's types as the program's, another's (or the same) as the target's.
    #[test]
    fn from_one_kernel_to_another() {
        let kernels: Vec<_> =
            artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()).collect();
        if kernels.is_empty() {
            skip("sweep, kernels", "neither the running kernel nor target/kernels has BTF");
            return;
        }
        let (mut rng, mut tally) = (rng(), Tally::default());
        for target in &kernels {
            let both = BothTargets::open(target, &artifacts::module_btfs(target)).unwrap();
            for _ in 0..number("CORE_RELO_ROUNDS", 1) {
                let local = &kernels[rng.usize(0..kernels.len())];
                let types = types_of(local).unwrap();
                let object = made_up(&types, TypeId(1), 400, &mut rng);
                tally.compare(&local.display().to_string(), &object, &both);
            }
        }
        println!(
            "compared {} made-up records of {} pairs of kernels with libbpf: {tally}",
            tally.records, tally.pairs
        );
        tally.judge();
    }

    /// Types that only modules have, from one kernel's modules to another's.
    #[test]
    fn from_modules_to_modules() {
        let with_modules = |kernel: &PathBuf| !artifacts::module_btfs(kernel).is_empty();
        let kernels: Vec<_> = artifacts::kernel_btfs().into_iter().filter(with_modules).collect();
        if kernels.is_empty() {
            skip("sweep, modules", "no modules' BTF here (cargo xtask kernels fetches some)");
            return;
        }
        let (mut rng, mut tally) = (rng(), Tally::default());
        for target in &kernels {
            let both = BothTargets::open(target, &artifacts::module_btfs(target)).unwrap();
            for _ in 0..2 * number("CORE_RELO_ROUNDS", 1) {
                let base = rng.choice(&kernels).unwrap();
                let module = rng.choice(artifacts::module_btfs(base)).unwrap();
                let (whole, first) = {
                    let base = types_of(base).unwrap();
                    let split = fs::read(&module).unwrap();
                    (made::flattened(base.as_bytes(), &split, base.endian()), base.end_id())
                };
                let types = Btf::parse(whole).unwrap();
                if types.end_id() == first {
                    continue;
                }
                let object = made_up(&types, first, 200, &mut rng);
                tally.compare(&module.display().to_string(), &object, &both);
            }
        }
        println!(
            "compared {} made-up records of {} pairs of modules with libbpf: {tally}",
            tally.records, tally.pairs
        );
        tally.judge();
    }

    fn types_of(path: &Path) -> Option<Btf<'static>> {
        TargetFile::open(PathBuf::from(path)).ok()?.parse(None).ok()
    }

    /// An object whose instructions hold, mostly, the values the records stand for.
    fn made_up(local: &Btf<'_>, first: TypeId, count: usize, rng: &mut Rng) -> Vec<u8> {
        let (types, endian) = (local.as_bytes(), local.endian());
        let mut records = made::records(local, first, count, rng);
        records.iter_mut().for_each(|record| made::give_insn(record, 0, rng));
        let draft = made::object(types, endian, &records);
        for (record, value) in records.iter_mut().zip(local_values(&draft)) {
            made::give_insn(record, value, rng);
        }
        let records: Vec<Made> = records;
        made::object(types, endian, &records)
    }

    fn local_values(object: &[u8]) -> Vec<u64> {
        let parsed = Object::parse(object).unwrap();
        let relocs = parsed.relocs().unwrap();
        let nothing = core_relo::btf::Builder::new(parsed.endian()).finish();
        let target = Target::new("nothing", Arc::new(Btf::parse(nothing).unwrap()));
        Plan::new(&relocs, &target).iter().map(|planned| planned.local_value().unwrap_or_default()).collect()
    }
}
