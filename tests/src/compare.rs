//! Both engines on the same object and target, and what they disagree about.

use crate::{
    judge::{self, JudgedObject, JudgedTarget},
    ours,
    record::{Outcome, Record},
    sorted,
};
use core_relo::{Target, btf::Btf};
use core_relo_loader::{
    object::Object,
    target::{TargetFile, extract},
};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A target as both read it.
#[derive(Debug)]
pub struct BothTargets {
    /// Where it is from.
    pub name: String,
    /// Its main types, as we read them.
    pub main: Arc<Btf<'static>>,
    ours: Target<'static>,
    /// The same, searched in other ways.
    otherwise: Vec<(&'static str, Target<'static>)>,
    theirs: JudgedTarget,
}

impl BothTargets {
    /// Reads a file with BTF, and modules' BTF upon it.
    pub fn open(target: &Path, modules: &[PathBuf]) -> Result<Self, String> {
        let name = target.display().to_string();
        let bytes = fs::read(target).map_err(|e| format!("{name}: {e}"))?;
        let raw = extract(&bytes).map_err(|e| format!("{name}: {e}"))?.btf;
        let module_bytes: Vec<_> =
            modules.iter().map(fs::read).collect::<Result<_, _>>().map_err(|e| format!("{name}: {e}"))?;
        let theirs = JudgedTarget::parse(raw, &module_bytes)
            .ok_or_else(|| format!("{name}: libbpf does not read it"))?;
        // As libbpf does with a target given by path: what is behind the file's form plays no part.
        let main = TargetFile::from_bytes(target, raw.to_vec()).and_then(|file| file.parse(None));
        let main = Arc::new(main.map_err(|e| format!("{name}: {e}"))?);
        let mut ours = Vec::new();
        for (path, bytes) in modules.iter().zip(module_bytes) {
            let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let btf = Btf::parse_split(bytes, Arc::clone(&main)).map_err(|e| format!("{module}: {e}"))?;
            ours.push((module, Arc::new(btf)));
        }
        let ours = Target::new("vmlinux", Arc::clone(&main)).with_modules(ours);
        let otherwise = sorted::otherwise(&ours);
        Ok(Self { name, main, ours, otherwise, theirs })
    }
}

/// What came of all comparisons.
#[derive(Debug, Default)]
pub struct Tally {
    /// Records compared.
    pub records: usize,
    /// Pairs of an object and a target.
    pub pairs: usize,
    outcomes: [usize; 4],
    exceptions: usize,
    disagreements: Vec<String>,
}

/// Disagreements printed; the rest is counted.
const PRINTED: usize = 20;

impl Tally {
    /// Compares every record of an object on a target; the reason of each disagreement is looked for only then.
    pub fn compare(&mut self, name: &str, object: &[u8], target: &BothTargets) {
        self.pairs += 1;
        let place = format!("{name} on {}", target.name);
        if let Err(error) = self.try_compare(&place, object, target) {
            self.disagreements.push(format!("{place}: {error}"));
        }
    }

    fn try_compare(&mut self, place: &str, object: &[u8], target: &BothTargets) -> Result<(), String> {
        let Some(judged) = JudgedObject::read(object) else { return Ok(()) };
        let parsed = Object::parse(object).map_err(|e| e.to_string())?;
        let our = ours::records(&parsed, &target.ours, false)?;
        for (how, other) in &target.otherwise {
            if ours::records(&parsed, other, false)? != our {
                self.disagreements.push(format!("{place}: {how} here it is not the same"));
            }
        }
        let their = judge::records(&judged, &target.theirs);
        self.records += their.len();
        if our.len() != their.len() {
            self.disagreements.push(format!("{place}: {} records here, {} there", our.len(), their.len()));
        }
        let mut explained = None;
        for (at, (one, other)) in our.iter().zip(&their).enumerate() {
            self.outcomes[match other.outcome {
                Outcome::Words(_) => usize::from(other.poisoned()),
                Outcome::Error(_) => 2,
                Outcome::Skipped => 3,
            }] += 1;
            self.exceptions += usize::from(other.exception.is_some());
            if !one.agrees_with(other) {
                if explained.is_none() {
                    explained = Some(ours::records(&parsed, &target.ours, true)?);
                }
                let one = explained.as_ref().and_then(|records| records.get(at)).unwrap_or(one);
                self.disagreements.push(disagreement(place, one, other));
            }
        }
        Ok(())
    }

    /// Adds what could not even be compared.
    pub fn fail(&mut self, why: String) {
        self.disagreements.push(why);
    }

    /// Adds another tally.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.pairs += other.pairs;
        self.exceptions += other.exceptions;
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(sum, one)| *sum += one);
        self.disagreements.extend(other.disagreements);
    }

    /// Prints the disagreements and fails if there are any, or if nothing was compared.
    pub fn judge(&self) {
        for text in self.disagreements.iter().take(PRINTED) {
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

fn disagreement(place: &str, one: &Record, other: &Record) -> String {
    format!(
        "{place}: {}#{} kind {} root [{}]\n  here   {:02x?} {:x?}: {}\n  libbpf {:02x?} {:x?}: {}",
        one.section,
        one.index,
        one.kind,
        one.root,
        one.outcome,
        one.values,
        one.log,
        other.outcome,
        other.values,
        other.log.trim_end()
    )
}
