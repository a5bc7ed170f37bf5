//! A line of `check --format json`, and its conversion to a row of a report.

use super::{LINE_FORMAT, LineProblem};
use crate::{
    agreement::{Agreement, LoadOutcome},
    comparison::Comparison,
    model::{RealLoad, Row, UnjudgedInput},
    policy::{Acceptance, ProgramAcceptance, SharedEntries, SharedEntry},
};
use core_relo::plan::Summary;
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, ProgramVerdict, Reason, Verdict},
    kernel::{DistributionKernel, KernelVersion},
    loaders::LoaderKind,
    mismatch::Mismatch,
};
use serde::{Deserialize, de::IgnoredAny};
use std::sync::Arc;

/// A line for an object and a kernel, or for one of them that cannot be read.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    pub(super) object: Option<String>,
    pub(super) target: Option<String>,
    kept: usize,
    patched: usize,
    poisoned: usize,
    failed: usize,
    skipped: usize,
    verdict: LineVerdict,
    pub(super) error: Option<LineError>,
    pub(super) target_id: Option<String>,
    programs: Vec<LineProgram>,
    allowed: Option<AllowedVerdict>,
    pub(super) kernel_warnings: Vec<String>,
    warnings: Vec<Mismatch>,
    reasons: Vec<Reason>,
    object_reality: Option<Reality>,
    loader: Option<LoaderKind>,
    distribution: Option<String>,
    distribution_release: Option<String>,
    package_version: Option<String>,
    kernel: Option<KernelKeys>,
    pub(super) object_hash: Option<String>,
    baseline: Option<Comparison>,
    later_count: usize,
}

/// The verdict on an object, or the word for bad input.
#[derive(Clone, Copy, Debug)]
enum LineVerdict {
    Judged(Verdict),
    BadInput,
}

/// The architecture of a package whose kernel has none of the known architectures. Reports do not print it.
const OTHER_ARCHITECTURE: &str = "other";

/// The word for bad input.
const BAD_INPUT: &str = "bad_input";

impl<'de> Deserialize<'de> for LineVerdict {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match Verdict::from_word(&word) {
            Some(verdict) => Ok(Self::Judged(verdict)),
            None if word == BAD_INPUT => Ok(Self::BadInput),
            None => Err(serde::de::Error::custom(format_args!("unknown verdict `{word}`"))),
        }
    }
}

/// The value of the key `error`.
#[derive(Debug, Deserialize)]
pub(super) struct LineError {
    file: String,
    what: String,
    help: Option<String>,
}

/// An element of `programs`.
#[derive(Debug, Deserialize)]
struct LineProgram {
    name: String,
    autoload: bool,
    verdict: Verdict,
    reasons: Vec<LineReason>,
    allowed: Option<AllowedVerdict>,
    reality: Option<Reality>,
}

/// A reason of a program.
#[derive(Debug, Deserialize)]
struct LineReason {
    #[serde(flatten)]
    reason: Reason,
    allowed: Option<AllowedReason>,
}

/// The accepted part of a verdict.
#[derive(Debug, Deserialize)]
struct AllowedVerdict {
    verdict: Verdict,
    #[serde(flatten)]
    entry: AllowedReason,
}

/// An entry of the allow list.
#[derive(Debug, Deserialize)]
struct AllowedReason {
    pattern: String,
    reason: Option<String>,
    place: String,
}

/// The outcome of a real load.
#[derive(Debug, Deserialize)]
struct Reality {
    status: LoadOutcome,
    reason: Option<String>,
    agrees: Option<bool>,
    error: Option<RealityError>,
}

/// The part of a refusal that reports show.
#[derive(Debug, Deserialize)]
struct RealityError {
    source: Option<String>,
}

/// The value of the key `kernel`.
#[derive(Debug, Deserialize)]
struct KernelKeys {
    version: Option<String>,
    architecture: Option<String>,
    series: Option<String>,
}

/// The keys by which a line that is no result is recognized.
#[derive(Debug, Deserialize)]
struct OtherLine {
    format: Option<u64>,
    /// The header of a results file.
    core_relo: Option<String>,
    /// The finding of a budget.
    budget: Option<IgnoredAny>,
    finding: Option<IgnoredAny>,
}

/// The format of a line.
#[derive(Debug, Deserialize)]
struct LineFormat {
    format: u64,
}

/// Reads a line. Returns `None` for a line that is no result, but stands among results.
pub(super) fn parse_line(text: &[u8]) -> Result<Option<Line>, LineProblem> {
    let other = || serde_json::from_slice::<OtherLine>(text).ok();
    match serde_json::from_slice::<LineFormat>(text) {
        Ok(LineFormat { format: LINE_FORMAT }) => {}
        Ok(LineFormat { format }) => return Err(LineProblem::UnknownFormat(format)),
        Err(e) if e.is_eof() => return Err(LineProblem::Cut),
        Err(e) => {
            return match other() {
                Some(OtherLine { core_relo: Some(_), .. }) => Ok(None),
                Some(OtherLine { budget: Some(_), finding: Some(_), format: None, .. }) => Ok(None),
                _ => Err(LineProblem::Foreign(e.to_string())),
            };
        }
    }
    let line: Line = serde_json::from_slice(text).map_err(|e| LineProblem::Foreign(e.to_string()))?;
    match (line.verdict, &line.error) {
        (LineVerdict::BadInput, Some(_)) => Ok(Some(line)),
        (LineVerdict::Judged(_), None) if line.object.is_some() && line.target.is_some() => Ok(Some(line)),
        _ => Err(LineProblem::Foreign("its verdict does not belong to its other keys".to_owned())),
    }
}

impl LineError {
    pub(super) fn into_unjudged(self) -> UnjudgedInput {
        UnjudgedInput::new(self.file, self.what).with_help(self.help)
    }
}

impl AllowedReason {
    fn share(&self, entries: &mut SharedEntries) -> Result<SharedEntry, LineProblem> {
        let entry = entries.entry(&self.pattern, self.reason.as_deref(), &self.place);
        entry.map_err(|e| LineProblem::Foreign(format!("the pattern `{}`: {e}", self.pattern)))
    }
}

impl Line {
    /// Returns whether the kernel was booted.
    pub(super) fn is_booted(&self) -> bool {
        self.object_reality.is_some() || self.programs.iter().any(|program| program.reality.is_some())
    }

    /// Converts the line of an object and a kernel.
    pub(super) fn into_row(self, entries: &mut SharedEntries) -> Result<Row, LineProblem> {
        let acceptance = self.acceptance(entries)?;
        let is_judged = self.error.is_none();
        let mut real_loads: Vec<_> =
            self.programs.iter().filter_map(|program| program.real_load(is_judged)).collect();
        let verdict = match self.verdict {
            LineVerdict::Judged(verdict) => Some(verdict),
            LineVerdict::BadInput => None,
        };
        real_loads.extend(self.object_reality.iter().map(|reality| reality.real_load(None, verdict)));
        let mut relocations = Summary::default();
        relocations.kept = self.kept;
        relocations.patched = self.patched;
        relocations.poisoned = self.poisoned;
        relocations.failed = self.failed;
        relocations.skipped = self.skipped;
        let outcome = match (self.error, self.verdict) {
            (None, LineVerdict::Judged(verdict)) => {
                let mut judged = ObjectVerdict::default();
                judged.loader = self.loader.unwrap_or_default();
                judged.verdict = verdict;
                judged.reasons = self.reasons;
                judged.programs = self.programs.into_iter().map(LineProgram::into_verdict).collect();
                judged.warnings = self.warnings;
                Ok(Arc::new(judged))
            }
            (Some(error), _) => Err(error.into_unjudged()),
            (None, LineVerdict::BadInput) => return Err(LineProblem::Foreign("it has no error".to_owned())),
        };
        let (Some(object), Some(target)) = (self.object, self.target) else {
            return Err(LineProblem::Foreign("it has no object or kernel".to_owned()));
        };
        let mut row = Row::new(object, target, outcome);
        if let Some(KernelKeys { version, architecture, series }) = self.kernel {
            let package = (self.distribution, self.distribution_release, self.package_version);
            if let (Some(distribution), Some(release), Some(version)) = package {
                let architecture = architecture.as_deref().unwrap_or(OTHER_ARCHITECTURE);
                row.distribution = DistributionKernel::new(distribution, release, version, architecture);
            }
            row.kernel_version = version.and_then(|version| version.parse::<KernelVersion>().ok());
            row.architecture = architecture;
            row.kernel_series = series;
        }
        row.relocations = row.outcome.is_ok().then_some(relocations);
        row.acceptance = acceptance;
        row.comparison = self.baseline;
        row.later_count = self.later_count;
        row.real_loads = real_loads;
        Ok(row)
    }

    /// Returns the accepted reasons; `None` if none is accepted.
    fn acceptance(&self, entries: &mut SharedEntries) -> Result<Option<Acceptance>, LineProblem> {
        let LineVerdict::Judged(verdict) = self.verdict else { return Ok(None) };
        if self.allowed.is_none() && self.programs.iter().all(|program| program.allowed.is_none()) {
            return Ok(None);
        }
        let entry = self.allowed.as_ref().map(|allowed| allowed.entry.share(entries)).transpose()?;
        let programs = self.programs.iter().map(|program| program.acceptance(entries));
        let programs = programs.collect::<Result<_, _>>()?;
        let verdict = self.allowed.as_ref().map_or(verdict, |allowed| allowed.verdict);
        Ok(Some(Acceptance::from_parts(verdict, entry, programs)))
    }
}

impl LineProgram {
    fn real_load(&self, is_judged: bool) -> Option<RealLoad> {
        let reality = self.reality.as_ref()?;
        let mut load = reality.real_load(Some(self.name.clone()), is_judged.then_some(self.verdict));
        load.autoload = self.autoload;
        Some(load)
    }

    fn acceptance(&self, entries: &mut SharedEntries) -> Result<ProgramAcceptance, LineProblem> {
        let share = |reason: &LineReason| {
            reason.allowed.as_ref().map(|allowed| allowed.share(&mut *entries)).transpose()
        };
        let reasons = self.reasons.iter().map(share).collect::<Result<_, _>>()?;
        let verdict = self.allowed.as_ref().map_or(self.verdict, |allowed| allowed.verdict);
        Ok(ProgramAcceptance::from_parts(verdict, reasons))
    }

    fn into_verdict(self) -> ProgramVerdict {
        let reasons = self.reasons.into_iter().map(|reason| reason.reason).collect();
        let mut verdict = ProgramVerdict::new(self.name, reasons);
        verdict.autoload = self.autoload;
        verdict.verdict = self.verdict;
        verdict
    }
}

impl Reality {
    /// Converts the outcome. `program` is `None` for the default load.
    fn real_load(&self, program: Option<String>, verdict: Option<Verdict>) -> RealLoad {
        let mut load = RealLoad::new(program, self.status);
        load.verdict = verdict;
        load.reason.clone_from(&self.reason);
        let source = self.error.as_ref().and_then(|error| error.source.as_deref());
        load.source = source.and_then(SourceLine::from_message);
        load.agreement = Agreement::from_agreed(self.agrees);
        load
    }
}
