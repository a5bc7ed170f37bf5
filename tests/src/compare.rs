//! Comparison of core-relo with libbpf, record by record.

use crate::{
    engine,
    libbpf::{self, LibbpfObject, LibbpfTarget},
    record::{Outcome, Record},
    sorted,
};
use core_relo::{Target, btf::Btf};
use core_relo_loader::{
    object::Object,
    target::{BtfFile, extract},
};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A target parsed by core-relo and by libbpf.
#[derive(Debug)]
pub struct BothTargets {
    /// The path of the file.
    pub name: String,
    /// The vmlinux BTF, parsed by core-relo.
    pub vmlinux: Arc<Btf<'static>>,
    ours: Target<'static>,
    /// The same target with other search strategies, each with its description.
    variants: Vec<(&'static str, Target<'static>)>,
    theirs: LibbpfTarget,
}

impl BothTargets {
    /// Reads a file with BTF and the split BTF of modules.
    pub fn open(target: &Path, modules: &[PathBuf]) -> Result<Self, String> {
        let name = target.display().to_string();
        let bytes = fs::read(target).map_err(|e| format!("{name}: {e}"))?;
        let raw = extract(&bytes).map_err(|e| format!("{name}: {e}"))?.btf;
        let module_bytes: Vec<_> =
            modules.iter().map(fs::read).collect::<Result<_, _>>().map_err(|e| format!("{name}: {e}"))?;
        let theirs = LibbpfTarget::parse(raw, &module_bytes)
            .ok_or_else(|| format!("{name}: libbpf does not parse it"))?;
        // libbpf treats a target given by path as raw BTF, so the format of the file must not matter here.
        let vmlinux = BtfFile::from_bytes(target, raw.to_vec()).and_then(|file| file.parse_unvalidated(None));
        let vmlinux = Arc::new(vmlinux.map_err(|e| format!("{name}: {e}"))?);
        let mut ours = Vec::new();
        for (path, bytes) in modules.iter().zip(module_bytes) {
            let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let btf = Btf::parse_split(bytes, Arc::clone(&vmlinux)).map_err(|e| format!("{module}: {e}"))?;
            ours.push((module, Arc::new(btf)));
        }
        let ours = Target::new("vmlinux", Arc::clone(&vmlinux)).with_modules(ours);
        let variants = sorted::search_variants(&ours);
        Ok(Self { name, vmlinux, ours, variants, theirs })
    }
}

/// The results of all comparisons.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of compared records.
    pub records: usize,
    /// The number of compared pairs of object and target.
    pub pairs: usize,
    /// The number of records that libbpf relocates, poisons, refuses and skips.
    outcomes: [usize; 4],
    exceptions: usize,
    disagreements: Vec<String>,
}

/// The number of disagreements that are printed.
const MAX_PRINTED: usize = 20;

impl Tally {
    /// Compares every record of an object on a target. Explains records only after a disagreement, because
    /// that takes time.
    pub fn compare(&mut self, name: &str, object: &[u8], target: &BothTargets) {
        self.pairs += 1;
        let place = format!("{name} on {}", target.name);
        if let Err(error) = self.try_compare(&place, object, target) {
            self.disagreements.push(format!("{place}: {error}"));
        }
    }

    fn try_compare(&mut self, place: &str, object: &[u8], target: &BothTargets) -> Result<(), String> {
        let Some(libbpf_object) = LibbpfObject::parse(object) else { return Ok(()) };
        let parsed = Object::parse(object).map_err(|e| e.to_string())?;
        let our = engine::records(&parsed, &target.ours, false)?;
        for (how, other) in &target.variants {
            if engine::records(&parsed, other, false)? != our {
                self.disagreements.push(format!("{place}: core-relo decides differently {how}"));
            }
        }
        let their = libbpf::records(&libbpf_object, &target.theirs);
        self.records += their.len();
        if our.len() != their.len() {
            self.disagreements.push(format!(
                "{place}: {} records in core-relo, {} in libbpf",
                our.len(),
                their.len()
            ));
        }
        let mut explained = None;
        for (at, (ours, theirs)) in our.iter().zip(&their).enumerate() {
            self.outcomes[match theirs.outcome {
                Outcome::Words(_) => usize::from(theirs.is_poisoned()),
                Outcome::Error(_) => 2,
                Outcome::Skipped => 3,
            }] += 1;
            self.exceptions += usize::from(theirs.exception.is_some());
            if !ours.agrees_with(theirs) {
                if explained.is_none() {
                    explained = Some(engine::records(&parsed, &target.ours, true)?);
                }
                let ours = explained.as_ref().and_then(|records| records.get(at)).unwrap_or(ours);
                self.disagreements.push(disagreement(place, ours, theirs));
            }
        }
        Ok(())
    }

    /// Adds a pair that could not be compared.
    pub fn fail(&mut self, reason: String) {
        self.disagreements.push(reason);
    }

    /// Adds the results of another tally.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.pairs += other.pairs;
        self.exceptions += other.exceptions;
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(sum, one)| *sum += one);
        self.disagreements.extend(other.disagreements);
    }

    /// Prints the disagreements and fails if there are any, or if nothing was compared.
    pub fn assert_agreement(&self) {
        for text in self.disagreements.iter().take(MAX_PRINTED) {
            println!("{text}");
        }
        assert!(self.records > 0, "nothing was compared");
        assert!(self.disagreements.is_empty(), "{} disagreements", self.disagreements.len());
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [relocated, poisoned, refused, skipped] = self.outcomes;
        write!(
            f,
            "{relocated} relocated, {poisoned} poisoned, {refused} refused, {skipped} skipped; {} by a listed exception, {} disagreements",
            self.exceptions,
            self.disagreements.len()
        )
    }
}

fn disagreement(place: &str, ours: &Record, theirs: &Record) -> String {
    format!(
        "{place}: {}#{} kind {} root [{}]\n  here   {:02x?} {:x?}: {}\n  libbpf {:02x?} {:x?}: {}",
        ours.section,
        ours.index,
        ours.kind,
        ours.root,
        ours.outcome,
        ours.values,
        ours.log,
        theirs.outcome,
        theirs.values,
        theirs.log.trim_end()
    )
}
