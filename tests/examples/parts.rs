//! Runs one step of a relocation or a verdict alone, for callgrind or `/usr/bin/time -v`:
//! `parts PART TARGET OBJECT...`.
//!
//! `valgrind --tool=callgrind --toggle-collect='*counted*' parts parse /sys/kernel/btf/vmlinux` counts only
//! the instructions inside `counted`. Without the option, callgrind counts the whole process. See
//! docs/performance.md.

use core_relo::{
    Plan, Relocs, Target,
    btf::{Btf, Kind, NameIndex},
    plan::Objects,
};
use core_relo_loader::{object::Object, target::BtfFile};
use core_relo_tests::verdict_steps::Requirements;
use std::{env, error::Error, fs, hint::black_box, path::Path, process::ExitCode, sync::Arc, time::Instant};

type Outcome = Result<String, Box<dyn Error>>;

/// A step, called with the target's path and the bytes of the objects.
type Part = fn(&Path, &[Vec<u8>]) -> Outcome;

/// The steps by name.
const PARTS: [(&str, Part); 14] = [
    ("empty", |_, _| counted(|| Ok(String::new()))),
    ("parse", |target, _| {
        let file = BtfFile::open(target)?;
        counted(|| Ok(format!("{} types", file.parse_unvalidated(None)?.end_id())))
    }),
    ("validate", |target, _| {
        let file = BtfFile::open(target)?;
        counted(|| Ok(format!("{} types", Btf::parse(file.btf.clone())?.end_id())))
    }),
    ("job", |target, objects| counted(|| relocate(&open(target)?, objects))),
    ("trusted", |target, objects| counted(|| relocate(&Target::new("vmlinux", trusted(target)?), objects))),
    ("trust", |target, _| {
        let mut btf = BtfFile::open(target)?.parse_unvalidated(None)?;
        counted(|| Ok(format!("sorted: {}", btf.trust_order())))
    }),
    ("shared", |target, objects| {
        let target = open(target)?;
        counted(|| relocate(&target, objects))
    }),
    ("indexed", |target, objects| {
        let btf = open(target)?;
        let index = Arc::new(NameIndex::of_types(&btf.vmlinux().btf));
        let target = btf.with_index(index);
        counted(|| relocate(&target, objects))
    }),
    ("together", |target, objects| {
        let target = open(target)?;
        let objects: Vec<_> = objects.iter().map(|bytes| Object::parse(bytes)).collect::<Result<_, _>>()?;
        let relocs: Vec<_> = objects.iter().map(Object::relocs).collect::<Result<_, _>>()?;
        let objects = Objects::new(&relocs);
        counted(|| {
            let plans = objects.plans(&target);
            Ok(format!("{} records", plans.iter().map(|plan| plan.summary().total()).sum::<usize>()))
        })
    }),
    ("index", |target, _| {
        let target = open(target)?;
        let btf = &target.vmlinux().btf;
        let index = counted(|| Ok(NameIndex::of_types(btf)))?;
        Ok(format!("{:?}", index.find(btf, b"task_struct", Kind::Struct)))
    }),
    ("requirements", |_, objects| {
        with_objects(objects, |objects| {
            let needs = counted(|| Ok(Requirements::collect(objects)))?;
            Ok(format!("{} requirements", needs.need_count()))
        })
    }),
    ("facts", |target, objects| {
        let target = open(target)?;
        with_requirements(objects, |needs| counted(|| Ok(format!("{} answers", needs.look_up(&target)))))
    }),
    ("reachability", |_, objects| {
        with_requirements(objects, |needs| counted(|| Ok(format!("{} dead instructions", needs.analyze()))))
    }),
    ("verdict", |target, objects| {
        let target = open(target)?;
        with_requirements(objects, |needs| counted(|| Ok(format!("{} programs", needs.judge(&target)))))
    }),
];

/// Parses the objects before the measured step.
fn with_objects(files: &[Vec<u8>], step: impl FnOnce(&[(&Object<'_>, &Relocs<'_>)]) -> Outcome) -> Outcome {
    let objects: Vec<_> = files.iter().map(|bytes| Object::parse(bytes)).collect::<Result<_, _>>()?;
    let relocs: Vec<_> = objects.iter().map(Object::relocs).collect::<Result<_, _>>()?;
    step(&objects.iter().zip(&relocs).collect::<Vec<_>>())
}

/// Collects the requirements of the objects before the measured step.
fn with_requirements(files: &[Vec<u8>], step: impl FnOnce(&Requirements<'_>) -> Outcome) -> Outcome {
    with_objects(files, |objects| step(&Requirements::collect(objects)))
}

fn open(target: &Path) -> Result<Target<'static>, Box<dyn Error>> {
    let btf: Btf<'static> = BtfFile::open(target)?.parse_unvalidated(None)?;
    Ok(Target::new("vmlinux", Arc::new(btf)))
}

/// Parses a target and marks its types as sorted by name. The loader does so only for BTF from sysfs.
fn trusted(target: &Path) -> Result<Arc<Btf<'static>>, Box<dyn Error>> {
    let mut btf = BtfFile::open(target)?.parse_unvalidated(None)?;
    btf.trust_order();
    Ok(Arc::new(btf))
}

/// Relocates the objects, from their bytes to their patched code.
fn relocate(target: &Target<'_>, objects: &[Vec<u8>]) -> Outcome {
    let (mut records, mut patched, mut refused) = (0, 0, 0);
    for bytes in objects {
        let object = Object::parse(bytes)?;
        let relocs = object.relocs()?;
        let plan = Plan::new(&relocs, target);
        records += plan.summary().total();
        match plan.patched() {
            Ok(code) => patched += black_box(code).sections.len(),
            Err(_) => refused += 1,
        }
    }
    Ok(format!("{records} records, {patched} sections patched, {refused} objects refused"))
}

/// Runs the measured step. Callgrind finds this function by its name.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Box<dyn Error>> {
    let begin = Instant::now();
    let done = work();
    eprintln!("{:?}", begin.elapsed());
    done
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let run = || -> Outcome {
        let [part, target, objects @ ..] = args.as_slice() else {
            return Err(format!(
                "usage: parts PART TARGET OBJECT...   (PART: {})",
                PARTS.map(|p| p.0).join(", ")
            )
            .into());
        };
        let (_, work) = PARTS.iter().find(|(name, _)| name == part).ok_or("no such part")?;
        let objects = objects.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
        work(Path::new(target), &objects)
    };
    match run() {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("parts: {error}");
            ExitCode::FAILURE
        }
    }
}
