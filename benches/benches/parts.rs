//! The parts of the job, each alone: `cargo xtask bench --parts`.

use core_relo::{
    Plan, Relocs, Target,
    btf::{Btf, NameIndex},
};
use core_relo_bench::{
    corpus::{Corpus, Subject},
    peer::Peer,
};
use core_relo_loader::{object::Object, target::TargetFile};
use divan::{Bencher, black_box};
use std::{env, fs, path::PathBuf, sync::Arc, sync::LazyLock};

fn main() {
    divan::main();
}

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let path = |name: &str, otherwise: &str| env::var_os(name).map_or(otherwise.into(), PathBuf::from);
    let btf = path("CORE_RELO_BENCH_BTF", "/sys/kernel/btf/vmlinux");
    let objects =
        path("CORE_RELO_BENCH_OBJECTS", concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf-progs/prebuilt"));
    Corpus::find(&btf, &objects, &[Peer::Ours]).unwrap()
});

static TARGET: LazyLock<Arc<Btf<'static>>> =
    LazyLock::new(|| Arc::new(TargetFile::open(&CORPUS.target).unwrap().parse(None).unwrap()));

static INDEX: LazyLock<Arc<NameIndex>> = LazyLock::new(|| Arc::new(NameIndex::new(&TARGET)));

fn target(indexed: bool) -> Target<'static> {
    let target = Target::new("vmlinux", Arc::clone(&TARGET));
    if indexed { target.with_index(Arc::clone(&INDEX)) } else { target }
}

/// Runs a benchmark with an object's relocations.
fn with_relocs(subject: &Subject, bench: impl FnOnce(&Relocs<'_>)) {
    let bytes = fs::read(&subject.path).unwrap();
    let object = Object::parse(&bytes).unwrap();
    bench(&object.relocs().unwrap());
}

/// The target: mapped or read, every record found; what elements refer to is left for later.
#[divan::bench]
fn parse_target(bencher: Bencher) {
    LazyLock::force(&CORPUS);
    bencher.bench(|| TargetFile::open(&CORPUS.target).unwrap().parse(None).unwrap());
}

/// The same without the file.
#[divan::bench]
fn parse_bytes(bencher: Bencher) {
    let bytes = TARGET.as_bytes();
    bencher.bench(|| Btf::parse(black_box(bytes)).unwrap());
}

/// One search through all types, without an index, for a name that is not there.
#[divan::bench]
fn scan(bencher: Bencher) {
    LazyLock::force(&TARGET);
    bencher.bench(|| {
        TARGET.find(black_box(b"a_struct_that_no_kernel_has"), core_relo::btf::Kind::Struct).is_none()
    });
}

/// What is made once for many objects.
#[divan::bench]
fn index(bencher: Bencher) {
    LazyLock::force(&TARGET);
    bencher.bench(|| NameIndex::new(&TARGET));
}

/// The object: its file read, its sections, its types, its records.
#[divan::bench]
fn parse_object(bencher: Bencher) {
    let subject = &CORPUS.many;
    bencher.bench(|| {
        let bytes = fs::read(&subject.path).unwrap();
        let object = Object::parse(&bytes).unwrap();
        object.relocs().unwrap().records().len()
    });
}

/// A plan that looks through all types for the candidates.
#[divan::bench]
fn plan_by_scan(bencher: Bencher) {
    let target = target(false);
    with_relocs(&CORPUS.many, |relocs| bencher.bench_local(|| Plan::new(relocs, &target).summary()));
}

/// A plan that finds the candidates in the index.
#[divan::bench]
fn plan_by_index(bencher: Bencher) {
    let target = target(true);
    with_relocs(&CORPUS.many, |relocs| bencher.bench_local(|| Plan::new(relocs, &target).summary()));
}

/// The planned instructions put into a copy of the code.
#[divan::bench]
fn patch(bencher: Bencher) {
    let target = target(true);
    with_relocs(&CORPUS.many, |relocs| {
        let plan = Plan::new(relocs, &target);
        bencher.bench_local(|| plan.patched().unwrap());
    });
}
