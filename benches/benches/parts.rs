//! The steps of a relocation and of a verdict, each measured alone: `cargo xtask bench --parts`.

use core_relo::{
    Plan, Relocs, Target,
    btf::{Btf, NameIndex},
};
use core_relo_bench::{
    corpus::{Corpus, Subject},
    peer::Peer,
    verdicts,
};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_tests::verdict_steps::Requirements;
use divan::{Bencher, black_box, counter::ItemsCount};
use std::{env, fs, path::PathBuf, sync::Arc, sync::LazyLock};

fn main() {
    divan::main();
}

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let path = |name: &str, default: &str| env::var_os(name).map_or(default.into(), PathBuf::from);
    let btf = path("CORE_RELO_BENCH_BTF", "/sys/kernel/btf/vmlinux");
    let objects =
        path("CORE_RELO_BENCH_OBJECTS", concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf-progs/prebuilt"));
    Corpus::find(&btf, &objects, &[Peer::Ours]).unwrap()
});

static TARGET: LazyLock<Arc<Btf<'static>>> =
    LazyLock::new(|| Arc::new(BtfFile::open(&CORPUS.target).unwrap().parse_unvalidated(None).unwrap()));

static INDEX: LazyLock<Arc<NameIndex>> = LazyLock::new(|| Arc::new(NameIndex::new(&TARGET)));

fn target(is_indexed: bool) -> Target<'static> {
    let target = Target::new("vmlinux", Arc::clone(&TARGET));
    if is_indexed { target.with_index(Arc::clone(&INDEX)) } else { target }
}

/// Runs a benchmark with an object's relocations.
fn with_relocs(subject: &Subject, bench: impl FnOnce(&Relocs<'_>)) {
    let bytes = fs::read(&subject.path).unwrap();
    let object = Object::parse(&bytes).unwrap();
    bench(&object.relocs().unwrap());
}

/// Opens and parses the target. Members and parameters are validated later, when a relocation reads them.
#[divan::bench]
fn parse_target(bencher: Bencher) {
    LazyLock::force(&CORPUS);
    bencher.bench(|| BtfFile::open(&CORPUS.target).unwrap().parse_unvalidated(None).unwrap());
}

/// Parses the target from memory, with full validation.
#[divan::bench]
fn parse_bytes(bencher: Bencher) {
    let bytes = TARGET.as_bytes();
    bencher.bench(|| Btf::parse(black_box(bytes)).unwrap());
}

/// Searches all types without an index for a missing name.
#[divan::bench]
fn scan(bencher: Bencher) {
    LazyLock::force(&TARGET);
    bencher.bench(|| {
        TARGET.find(black_box(b"a_struct_that_no_kernel_has"), core_relo::btf::Kind::Struct).is_none()
    });
}

/// Builds the name index, once for many objects.
#[divan::bench]
fn index(bencher: Bencher) {
    LazyLock::force(&TARGET);
    bencher.bench(|| NameIndex::new(&TARGET));
}

/// Reads an object file and parses its sections, types and records.
#[divan::bench]
fn parse_object(bencher: Bencher) {
    let subject = &CORPUS.many;
    bencher.bench(|| {
        let bytes = fs::read(&subject.path).unwrap();
        let object = Object::parse(&bytes).unwrap();
        object.relocs().unwrap().records().len()
    });
}

/// Plans an object, with a scan of all types for the candidates.
#[divan::bench]
fn plan_by_scan(bencher: Bencher) {
    let target = target(false);
    with_relocs(&CORPUS.many, |relocs| bencher.bench_local(|| Plan::new(relocs, &target).summary()));
}

/// Plans an object, with the index for the candidates.
#[divan::bench]
fn plan_by_index(bencher: Bencher) {
    let target = target(true);
    with_relocs(&CORPUS.many, |relocs| bencher.bench_local(|| Plan::new(relocs, &target).summary()));
}

/// Copies the code and applies the planned instructions.
#[divan::bench]
fn patch(bencher: Bencher) {
    let target = target(true);
    with_relocs(&CORPUS.many, |relocs| {
        let plan = Plan::new(relocs, &target);
        bencher.bench_local(|| plan.patched().unwrap());
    });
}

/// Parses all objects and calls a function with them and their relocations.
fn with_objects(bench: impl FnOnce(&[(&Object<'_>, &Relocs<'_>)])) {
    let files: Vec<_> = CORPUS.objects.iter().map(|subject| fs::read(&subject.path).unwrap()).collect();
    let objects: Vec<_> = files.iter().map(|bytes| Object::parse(bytes).unwrap()).collect();
    let relocs: Vec<_> = objects.iter().map(|object| object.relocs().unwrap()).collect();
    bench(&objects.iter().zip(&relocs).collect::<Vec<_>>());
}

/// Collects the requirements of all objects, once for many kernels.
#[divan::bench]
fn requirements(bencher: Bencher) {
    LazyLock::force(&CORPUS);
    with_objects(|objects| bencher.bench_local(|| Requirements::collect(objects).need_count()));
}

/// Looks up all requirements of all objects in the target.
#[divan::bench]
fn kernel_facts(bencher: Bencher) {
    let target = target(false);
    with_objects(|objects| {
        let needs = Requirements::collect(objects);
        bencher.bench_local(|| needs.look_up(&target));
    });
}

/// Analyzes which instructions of all programs the verifier reaches.
#[divan::bench]
fn reachability(bencher: Bencher) {
    LazyLock::force(&CORPUS);
    with_objects(|objects| {
        let needs = Requirements::collect(objects);
        bencher.bench_local(|| needs.analyze());
    });
}

/// Plans all objects, without a verdict.
#[divan::bench]
fn plan_all(bencher: Bencher) {
    let target = target(false);
    with_objects(|objects| {
        let relocs: Vec<_> = objects.iter().map(|(_, relocs)| *relocs).collect();
        bencher.bench_local(|| Plan::for_objects(&relocs, &target).len());
    });
}

/// Plans and judges all objects: facts, plans, reachability where a requirement is not met, verdicts.
#[divan::bench]
fn verdict(bencher: Bencher) {
    let target = target(false);
    with_objects(|objects| {
        let needs = Requirements::collect(objects);
        bencher.bench_local(|| needs.judge(&target));
    });
}

/// Reads, parses and judges each kernel of a fleet: those that `cargo xtask kernels` fetched, or the target
/// alone. The items are kernels.
#[divan::bench]
fn fleet(bencher: Bencher) {
    let kernels = verdicts::fleet(&CORPUS);
    with_objects(|objects| {
        let needs = Requirements::collect(objects);
        let judge_all = || verdicts::judge_fleet(&needs, &kernels).unwrap();
        bencher.counter(ItemsCount::new(kernels.len())).bench_local(judge_all);
    });
}
