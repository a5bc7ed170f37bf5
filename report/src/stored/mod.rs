//! Results of earlier checks: the JSON lines of `check` become a report again.
//!
//! The lines are those of one run or of many: of shards, of interrupted runs, of several machines and days.
//! They may come from anywhere. A line is read on its own, within the limits of its length, and nothing is
//! kept of a line that is refused.

mod error;
mod line;
#[cfg(test)]
mod tests;

pub use error::{LinePlace, LineProblem, StoredResultError};

use crate::{
    baseline::Baseline,
    comparison::Comparison,
    limits::MAX_STORED_CELLS,
    model::{FleetReport, KernelWarning, Row, UnjudgedInput},
    policy::SharedEntries,
    shared_verdicts::SharedVerdicts,
};
use core_relo_verdict::kernel::{DistributionKernel, KernelVersion};
use line::{Line, parse_line};
use std::collections::{HashMap, HashSet};

/// The format of the lines of `check`, the value of their key `format`.
pub const LINE_FORMAT: u64 = 1;

/// The treatment of several results for the same object and kernel that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two ways")]
pub enum Contradictions {
    /// They are an error.
    #[default]
    Refuse,
    /// The last one counts.
    TakeLast,
}

/// A reader of the JSON lines of `check`, and the results so far.
#[derive(Debug, Default)]
pub struct StoredResults {
    contradictions: Contradictions,
    /// The results to compare with. Without it, the comparisons of the lines stay.
    baseline: Option<Baseline>,
    results: Vec<StoredResult>,
    /// The place of each result in `results`.
    indexes: HashMap<ResultKey, usize>,
    /// The hash of each object, and the line that has it.
    objects: HashMap<String, (String, LinePlace)>,
    /// The kernels whose warnings are in the report.
    warned: HashSet<(KernelKey, bool)>,
    kernel_warnings: Vec<KernelWarning>,
    /// The kernels and objects of the rows: the columns and lines of the table.
    kernels: HashSet<KernelColumn>,
    object_names: HashSet<String>,
    /// The entries of allow lists, each once.
    entries: SharedEntries,
    /// The distinct verdicts.
    shared_verdicts: SharedVerdicts,
}

/// A kernel's name and its identity, if the name is not the exact path of a file.
type KernelKey = (Option<String>, Option<String>);

/// What makes a kernel a column of its own in a report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KernelColumn {
    name: String,
    architecture: Option<String>,
    version: Option<KernelVersion>,
    distribution: Option<DistributionKernel>,
}

/// What a result is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ResultKey {
    object: Option<String>,
    kernel: KernelKey,
    /// Whether the kernel was booted. A run may judge a kernel and boot it, too.
    is_booted: bool,
}

/// A result, and the line that has it.
#[derive(Debug)]
struct StoredResult {
    place: LinePlace,
    content: ResultContent,
}

/// The content of a line.
#[derive(Debug)]
enum ResultContent {
    Row(Box<Row>),
    /// An object or a kernel that could not be read.
    Unread {
        kernel: Option<String>,
        input: UnjudgedInput,
    },
}

/// What a line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddedLine {
    /// A result, by its index. A later line for the same object and kernel has the index of the first one,
    /// and takes its place.
    Result(usize),
    /// The header of a results file, or a finding of a budget: nothing that a report shows.
    Other,
}

impl StoredResults {
    /// Creates the reader.
    pub fn new(contradictions: Contradictions) -> Self {
        Self { contradictions, ..Self::default() }
    }

    /// Compares the results with a baseline.
    #[must_use]
    pub fn with_baseline(self, baseline: Option<Baseline>) -> Self {
        Self { baseline, ..self }
    }

    /// Returns the comparison of the result with an index; `None` without a baseline, and for an input that
    /// cannot be read.
    pub fn comparison(&self, index: usize) -> Option<&Comparison> {
        match &self.results.get(index)?.content {
            ResultContent::Row(row) => row.comparison.as_ref(),
            ResultContent::Unread { .. } => None,
        }
    }

    /// Adds a line. Lines come in the order of the runs: of equal results, the last one counts.
    pub fn add_line(&mut self, place: LinePlace, text: &[u8]) -> Result<AddedLine, StoredResultError> {
        match self.try_add(&place, text) {
            Ok(added) => Ok(added),
            Err(problem) => Err(StoredResultError { place, problem: Box::new(problem) }),
        }
    }

    fn try_add(&mut self, place: &LinePlace, text: &[u8]) -> Result<AddedLine, LineProblem> {
        let Some(line) = parse_line(text)? else { return Ok(AddedLine::Other) };
        self.check_object(place, &line)?;
        let kernel = (line.target.clone(), line.target_id.clone());
        let key =
            ResultKey { object: line.object.clone(), kernel: kernel.clone(), is_booted: line.is_booted() };
        let warnings = line.kernel_warnings.clone();
        let content = self.content(line)?;
        if let ResultContent::Row(row) = &content {
            self.check_size(row)?;
        }
        let index = match self.indexes.get(&key) {
            Some(index) => {
                let known = self.results.get_mut(*index).ok_or(LineProblem::Internal)?;
                if self.contradictions == Contradictions::Refuse && !known.content.agrees_with(&content) {
                    return Err(LineProblem::Contradiction {
                        object: key.object,
                        kernel: kernel.0,
                        first: known.place.clone(),
                    });
                }
                *known = StoredResult { place: place.clone(), content };
                *index
            }
            None => {
                let index = self.results.len();
                self.results.push(StoredResult { place: place.clone(), content });
                self.indexes.insert(key.clone(), index);
                index
            }
        };
        if let Some(name) = kernel.0.clone().filter(|_| !warnings.is_empty())
            && self.warned.insert((kernel, key.is_booted))
        {
            self.kernel_warnings.extend(warnings.into_iter().map(|text| KernelWarning::new(&*name, text)));
        }
        Ok(AddedLine::Result(index))
    }

    fn content(&mut self, line: Line) -> Result<ResultContent, LineProblem> {
        match (&line.object, &line.target) {
            (Some(_), Some(_)) => {
                let mut row = line.into_row(&mut self.entries)?;
                if let Some(baseline) = &self.baseline {
                    row.comparison = Some(baseline.compare(&row));
                }
                row.outcome = row.outcome.map(|verdict| self.shared_verdicts.share(verdict));
                Ok(ResultContent::Row(Box::new(row)))
            }
            _ => {
                let error =
                    line.error.ok_or(LineProblem::Foreign("it has no object or kernel".to_owned()))?;
                Ok(ResultContent::Unread { kernel: line.target, input: error.into_unjudged() })
            }
        }
    }

    /// Checks that the object is that of earlier lines with its name.
    fn check_object(&mut self, place: &LinePlace, line: &Line) -> Result<(), LineProblem> {
        let (Some(object), Some(hash)) = (&line.object, &line.object_hash) else { return Ok(()) };
        let known = self.objects.entry(object.clone()).or_insert_with(|| (hash.clone(), place.clone()));
        if known.0 == *hash {
            return Ok(());
        }
        Err(LineProblem::OtherObject { object: object.clone(), first: known.1.clone() })
    }

    /// Checks that the table of objects and kernels fits into memory with a further row.
    fn check_size(&mut self, row: &Row) -> Result<(), LineProblem> {
        let column = KernelColumn {
            name: row.kernel.clone(),
            architecture: row.architecture.clone(),
            version: row.kernel_version,
            distribution: row.distribution.clone(),
        };
        let is_new_kernel = !self.kernels.contains(&column);
        let is_new_object = !self.object_names.contains(&row.object);
        let kernels = self.kernels.len().saturating_add(usize::from(is_new_kernel));
        let objects = self.object_names.len().saturating_add(usize::from(is_new_object));
        if kernels.checked_mul(objects).is_none_or(|cells| cells > MAX_STORED_CELLS) {
            return Err(LineProblem::TooManyCells);
        }
        self.kernels.extend(is_new_kernel.then_some(column));
        self.object_names.extend(is_new_object.then(|| row.object.clone()));
        Ok(())
    }

    /// Returns the report of all results, in the order of the kernels' names: the files of shards have an
    /// order of their own. Objects that cannot be read come first.
    pub fn into_report(mut self) -> FleetReport {
        let mut report = FleetReport::default();
        self.results.sort_by(|a, b| a.content.kernel().cmp(&b.content.kernel()));
        self.kernel_warnings.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        for result in self.results {
            match result.content {
                ResultContent::Row(row) => report.push(*row),
                ResultContent::Unread { input, .. } => report.unread.push(input),
            }
        }
        report.kernel_warnings = self.kernel_warnings;
        report.agreement = report.count_agreements();
        report
    }
}

impl ResultContent {
    /// Returns the name of the kernel; `None` for an object that cannot be read.
    fn kernel(&self) -> Option<&str> {
        match self {
            Self::Row(row) => Some(&row.kernel),
            Self::Unread { kernel, .. } => kernel.as_deref(),
        }
    }

    /// Returns whether both have the same verdicts and real loads. Texts and evidence may differ, as those of
    /// another version of this program.
    fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Row(row), Self::Row(other)) => row.has_same_outcomes(other),
            (Self::Unread { .. }, Self::Unread { .. }) => true,
            _ => false,
        }
    }
}
