//! Plans against minimal BTF are the same as against the full BTF: all objects, on their own targets and on
//! kernels.

use core_relo::{
    Plan, Relocs, Target,
    btf::Btf,
    minimise::{MinimisedTarget, Needs},
    plan::{PlannedReloc, RelocError, Warning},
    resolve::Candidate,
};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_test_support::skip;
use core_relo_tests::artifacts;
use std::{
    fs, mem,
    path::{Path, PathBuf},
    sync::Arc,
};

struct ObjectFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

fn objects() -> Vec<ObjectFile> {
    let read = |path: PathBuf| ObjectFile { bytes: fs::read(&path).unwrap(), path };
    artifacts::objects().into_iter().map(read).collect()
}

/// Reads a kernel and its modules.
fn target(path: &Path) -> Option<Target<'static>> {
    let parse = |path: &Path, base: Option<&Arc<Btf<'static>>>| {
        BtfFile::read(path).ok()?.parse(base).ok().map(Arc::new)
    };
    let vmlinux = parse(path, None)?;
    let module = |path: PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some((name, parse(&path, Some(&vmlinux))?))
    };
    let modules: Vec<_> = artifacts::module_btfs(path).into_iter().filter_map(module).collect();
    Some(Target::new("vmlinux", vmlinux).with_modules(modules))
}

fn parse_minimal(minimal: &MinimisedTarget) -> Target<'static> {
    let vmlinux = Arc::new(Btf::parse(minimal.vmlinux().bytes().to_vec()).unwrap());
    let modules = minimal.modules().iter().map(|module| {
        let bytes = module.bytes().to_vec();
        let btf =
            Btf::parse_split(bytes.clone(), Arc::clone(&vmlinux)).or_else(|_| Btf::parse(bytes)).unwrap();
        (module.name().to_owned(), Arc::new(btf))
    });
    let modules: Vec<_> = modules.collect();
    Target::new("vmlinux", vmlinux).with_modules(modules)
}

/// Compares two plans of an object: instructions, values, and the kinds of errors and warnings.
///
/// With `new_candidate`, the warnings and the matched candidates are compared, too, with the new ids.
fn assert_same(
    place: &str,
    full: &Plan<'_>,
    minimal: &Plan<'_>,
    new_candidate: &dyn Fn(Candidate) -> Candidate,
) {
    let facts = |planned: &PlannedReloc<'_>| {
        let values = (planned.local_value(), planned.target_value(), planned.candidate_count());
        (planned.before(), planned.after(), planned.decision().ok(), values)
    };
    let error = |planned: &PlannedReloc<'_>| {
        planned.decision().err().map(|error: RelocError| mem::discriminant(&error))
    };
    let warning =
        |planned: &PlannedReloc<'_>| planned.warning().map(|warning: Warning| mem::discriminant(&warning));
    for (full, minimal) in full.iter().zip(minimal.iter()) {
        let place = format!("{place}, record {}: {:?}", full.record_index(), full.decision());
        assert_eq!(facts(&minimal), facts(&full), "{place}");
        assert_eq!(error(&minimal), error(&full), "{place}");
        assert_eq!(warning(&minimal), warning(&full), "{place}");
        assert_eq!(minimal.matched_candidate(), full.matched_candidate().map(new_candidate), "{place}");
    }
    assert_eq!(minimal.needs_modules(), full.needs_modules(), "{place}");
}

/// Plans the objects, minimises the target once for all of them, and compares. Returns the number of records.
fn check(place: &str, relocs: &[(&Path, Relocs<'_>)], target: &Target<'_>) -> usize {
    let all: Vec<_> = relocs.iter().map(|(_, relocs)| relocs).collect();
    let plans = Plan::for_objects(&all, target);
    let mut needs = Needs::new(target);
    plans.iter().for_each(|plan| needs.add_plan(plan).unwrap());
    let minimal = needs.minimise().unwrap();
    let new_candidate = |mut candidate: Candidate| {
        candidate.id = minimal.btf(candidate.btf_index).unwrap().new_id(candidate.id).unwrap();
        candidate
    };
    let minimal_target = parse_minimal(&minimal);
    let minimal_plans = Plan::for_objects(&all, &minimal_target);
    for ((path, _), (full, minimal)) in relocs.iter().zip(plans.iter().zip(&minimal_plans)) {
        assert_same(&format!("{} on {place}", path.display()), full, minimal, &new_candidate);
    }
    plans.iter().map(|plan| plan.iter().len()).sum()
}

#[test]
fn objects_have_the_same_plans_on_the_minimal_btf_of_their_targets() {
    let mut records = 0;
    for file in objects() {
        let object = Object::parse(&file.bytes).unwrap();
        let Ok(relocs) = object.relocs() else { continue };
        let relocs = [(file.path.as_path(), relocs)];
        for path in artifacts::targets_of(&file.path) {
            let Some(target) = target(&path) else { continue };
            records += check(&path.display().to_string(), &relocs, &target);
        }
    }
    println!("{records} records");
    assert!(records > 1000, "{records} records");
}

#[test]
fn objects_have_the_same_plans_on_the_minimal_btf_of_kernels() {
    let kernels: Vec<_> = artifacts::kernel_btfs().into_iter().chain(artifacts::running_kernel()).collect();
    if kernels.is_empty() {
        return skip!(Kernels, "neither the running kernel nor target/kernels has BTF");
    }
    let files = objects();
    let parsed: Vec<_> =
        files.iter().map(|file| (file.path.as_path(), Object::parse(&file.bytes).unwrap())).collect();
    let relocs: Vec<_> =
        parsed.iter().filter_map(|(path, object)| Some((*path, object.relocs().ok()?))).collect();
    for kernel in kernels {
        let target = target(&kernel).unwrap();
        let records = check(&kernel.display().to_string(), &relocs, &target);
        println!("{}: {records} records, {} modules", kernel.display(), target.modules().len());
        assert!(records > 1000, "{records} records");
    }
}
