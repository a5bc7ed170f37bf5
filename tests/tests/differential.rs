//! Every record of every object on every target: our outcome and libbpf's must be the same, words and all.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_agrees_on_every_record() {
    core_relo_tests::skip::skip("differential", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{Target, btf::Btf};
    use core_relo_loader::{
        object::Object,
        target::{TargetFile, extract},
    };
    use core_relo_tests::{
        artifacts,
        judge::{self, JudgedObject, JudgedTarget},
        ours,
        record::{Outcome, Record},
        skip::skip,
    };
    use std::{fs, path::Path, path::PathBuf, sync::Arc};

    /// One object on one target.
    struct Tally {
        records: usize,
        pairs: usize,
        targets: usize,
        outcomes: [usize; 3],
        disagreements: Vec<String>,
    }

    #[test]
    fn libbpf_agrees_on_every_record() {
        let mut tally =
            Tally { records: 0, pairs: 0, targets: 0, outcomes: [0; 3], disagreements: Vec::new() };
        let objects = artifacts::objects();
        for object in &objects {
            for target in artifacts::targets_of(object) {
                compare(&mut tally, &target, &[], std::slice::from_ref(object));
            }
        }
        let kernels = artifacts::kernel_btfs();
        match artifacts::running_kernel() {
            Some(kernel) => compare(&mut tally, &kernel, &[], &objects),
            None => skip("differential, running kernel", "the running kernel has no BTF"),
        }
        if kernels.is_empty() {
            skip("differential, other kernels", "no kernels' BTF here (cargo xtask kernels fetches some)");
        }
        for kernel in &kernels {
            compare(&mut tally, kernel, &artifacts::module_btfs(kernel), &objects);
        }
        println!(
            "compared {} records of {} objects on {} targets ({} pairs) with libbpf: {} relocated, {} refused, {} skipped, {} disagreements",
            tally.records,
            objects.len(),
            tally.targets,
            tally.pairs,
            tally.outcomes[0],
            tally.outcomes[1],
            tally.outcomes[2],
            tally.disagreements.len()
        );
        for text in tally.disagreements.iter().take(20) {
            println!("{text}");
        }
        assert!(tally.records > 0, "nothing was compared");
        assert!(tally.disagreements.is_empty(), "{} disagreements", tally.disagreements.len());
    }

    fn compare(tally: &mut Tally, target: &Path, modules: &[PathBuf], objects: &[PathBuf]) {
        let bytes = fs::read(target).unwrap();
        let raw = extract(&bytes).unwrap().btf;
        let module_bytes: Vec<_> = modules.iter().map(|path| fs::read(path).unwrap()).collect();
        let Some(theirs) = JudgedTarget::parse(raw, &module_bytes) else {
            tally.disagreements.push(format!("{}: libbpf does not read it", target.display()));
            return;
        };
        // As libbpf does with a target given by path: what is behind the file's form plays no part.
        let main = Arc::new(TargetFile::from_bytes(target, raw.to_vec()).unwrap().parse(None).unwrap());
        let split = |(path, bytes): (&PathBuf, &Vec<u8>)| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Some((name, Arc::new(Btf::parse_split(bytes.clone(), Arc::clone(&main)).ok()?)))
        };
        let ours = Target::new("vmlinux", Arc::clone(&main))
            .with_modules(modules.iter().zip(&module_bytes).filter_map(split));
        tally.targets += 1;
        for object in objects {
            tally.pairs += 1;
            pair(tally, object, target, &ours, &theirs);
        }
    }

    fn pair(tally: &mut Tally, object: &Path, target: &Path, ours: &Target<'_>, theirs: &JudgedTarget) {
        let bytes = fs::read(object).unwrap();
        let Some(judged) = JudgedObject::read(&bytes) else { return };
        let parsed = match Object::parse(&bytes) {
            Ok(parsed) => parsed,
            Err(error) => {
                tally.disagreements.push(format!("{}: {error}", object.display()));
                return;
            }
        };
        let (our, their) = (ours::records(&parsed, ours, false).unwrap(), judge::records(&judged, theirs));
        tally.records += their.len();
        let place = format!("{} on {}", object.display(), target.display());
        if our.len() != their.len() {
            tally.disagreements.push(format!("{place}: {} records here, {} there", our.len(), their.len()));
        }
        for (at, (one, other)) in our.iter().zip(&their).enumerate() {
            match other.outcome {
                Outcome::Words(_) => tally.outcomes[0] += 1,
                Outcome::Error(_) => tally.outcomes[1] += 1,
                Outcome::Skipped => tally.outcomes[2] += 1,
            }
            if !one.agrees_with(other) {
                let explained = ours::records(&parsed, ours, true).unwrap();
                tally.disagreements.push(disagreement(&place, &explained[at], other));
            }
        }
    }

    fn disagreement(place: &str, one: &Record, other: &Record) -> String {
        format!(
            "{place}: {}#{} kind {} root [{}]\n  here   {:02x?}: {}\n  libbpf {:02x?}: {}",
            one.section, one.index, one.kind, one.root, one.outcome, one.log, other.outcome, other.log
        )
    }
}
