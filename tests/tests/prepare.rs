//! Planned instructions equal those of `bpf_object__prepare`, libbpf's public function. This checks the
//! reference in `core_relo_tests::libbpf` as well, which calls the functions below it.

#[cfg(not(all(feature = "libbpf", target_endian = "little")))]
#[test]
fn libbpf_prepares_the_same_code() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(all(feature = "libbpf", target_endian = "little"))]
mod with_libbpf {
    use core_relo::{Endian, Plan, Target};
    use core_relo_loader::{
        object::{CoreRecords, Object},
        target::BtfFile,
    };
    use core_relo_test_support::skip;
    use core_relo_tests::{
        artifacts,
        libbpf::{self, Prepared},
    };
    use std::{
        collections::{BTreeMap, HashMap},
        ffi::CString,
        fs,
        path::Path,
        sync::Arc,
    };

    #[derive(Default)]
    struct Counts {
        insns: usize,
        objects: usize,
        /// Objects that libbpf could not prepare, by the last line of its log.
        unprepared: BTreeMap<String, usize>,
        disagreements: Vec<String>,
    }

    #[test]
    fn libbpf_prepares_the_same_code() {
        let mut counts = Counts::default();
        let kernel = artifacts::running_kernel();
        for object in artifacts::objects() {
            let targets = artifacts::targets_of(&object);
            for target in targets.iter().chain(&kernel) {
                compare_pair(&mut counts, &object, target);
            }
        }
        let Counts { insns, objects, unprepared, disagreements } = counts;
        println!(
            "compared {insns} relocated instructions of {objects} prepared pairs with libbpf, {} disagreements",
            disagreements.len()
        );
        for (reason, times) in unprepared {
            println!("not prepared, {times} times: {reason}");
        }
        disagreements.iter().take(20).for_each(|text| println!("{text}"));
        if insns == 0 {
            skip!(Root, "libbpf prepares nothing here (it needs root and a kernel with BTF)");
        }
        assert!(disagreements.is_empty());
    }

    fn compare_pair(counts: &mut Counts, object: &Path, target: &Path) {
        let bytes = fs::read(object).unwrap();
        let Ok(parsed) = Object::parse(&bytes) else { return };
        if parsed.endian() != Endian::Little {
            return;
        }
        let relocs = parsed.relocs().unwrap();
        let btf = BtfFile::open(target).unwrap().parse_unvalidated(None).unwrap();
        let kernel = Target::new("vmlinux", Arc::new(btf));
        let plan = Plan::new(&relocs, &kernel);
        let refused = plan.iter().any(|planned| planned.decision().is_err());
        let path = CString::new(target.as_os_str().as_encoded_bytes()).unwrap();
        let (prepared, log) = libbpf::with_log(|| libbpf::prepare(&bytes, &path));
        let place = format!("{} on {}", object.display(), target.display());
        let prepared = match prepared {
            Ok(_) if refused => {
                counts.disagreements.push(format!("{place}: refused here, prepared by libbpf"));
                return;
            }
            Err(_) if refused => return,
            Err(error) => {
                let last = log.lines().last().unwrap_or_default().trim_start_matches("libbpf: ");
                *counts.unprepared.entry(format!("errno {} {last}", -error)).or_default() += 1;
                return;
            }
            Ok(prepared) => prepared,
        };
        counts.objects += 1;
        compare(counts, &place, &plan, &prepared);
        // libbpf takes the instructions of a patched object as they are. With the records, it relocates some
        // a second time.
        let names = relocs.code().iter().map(|section| section.name);
        let patched = plan.patched().unwrap();
        let sections = names.zip(patched.sections.iter().map(Vec::as_slice));
        let copy = parsed.rewrite(sections, CoreRecords::Remove).unwrap();
        match libbpf::with_log(|| libbpf::prepare(&copy, &path)) {
            (Ok(again), _) => compare(counts, &format!("{place}, patched"), &plan, &again),
            (Err(error), log) => {
                counts.disagreements.push(format!("{place}: the patched object is refused: {error}: {log}"));
            }
        }
    }

    fn compare(counts: &mut Counts, place: &str, plan: &Plan<'_>, prepared: &[Prepared]) {
        // If several records change one instruction, the last record wins.
        let mut last = HashMap::new();
        for planned in plan.iter() {
            let (Some(insn), Some(function), Some(after)) =
                (planned.record().insn, planned.function(), planned.after())
            else {
                continue;
            };
            let name = String::from_utf8_lossy(function.name).into_owned();
            let section = planned.record().section.to_string();
            last.insert((section, name, (insn.0 - function.start.0) as usize), after);
        }
        for ((section, name, at), after) in last {
            let Some(program) = prepared.iter().find(|p| p.section == section && p.name == name) else {
                continue;
            };
            counts.insns += 1;
            let (first, second) = after.encode(Endian::Little);
            let here: Vec<u8> = first.into_iter().chain(second.into_iter().flatten()).collect();
            let there = program.code.get(at * 8..at * 8 + here.len());
            if there != Some(here.as_slice()) {
                let text = format!("{place}: {name} insn {at}: {here:02x?} here, in libbpf {there:02x?}");
                counts.disagreements.push(text);
            }
        }
    }
}
