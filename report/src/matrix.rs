//! The results by object and kernel, sorted.

use crate::{
    agreement::AgreementCounts,
    labels::common_directory_len,
    model::UnjudgedInput,
    model::{FleetReport, KernelWarning, Outcome, Row},
};
use core_relo_verdict::kernel::{DistributionKernel, KernelVersion};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

/// The results of a report: a line of cells per object, a column per kernel.
#[derive(Debug)]
pub(super) struct Matrix<'r> {
    /// The kernels: by architecture, distribution and its release, version and name. Kernels whose
    /// architecture, distribution or version is unknown come last.
    pub(super) kernels: Vec<Kernel<'r>>,
    /// The objects, by name.
    pub(super) objects: Vec<ObjectLine<'r>>,
    /// Objects and kernels that could not be read.
    pub(super) unread: &'r [UnjudgedInput],
    pub(super) kernel_warnings: &'r [KernelWarning],
    /// The numbers of verdicts that agree with the real loads. `None` if no kernel was booted.
    pub(super) agreement: Option<AgreementCounts>,
    /// The number of new reasons in words; `None` without a baseline.
    pub(super) baseline_summary: Option<String>,
}

/// A kernel. Kernels of the same name but another architecture, package or version are different kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel<'r> {
    pub(super) architecture: Option<&'r str>,
    /// The package that the kernel is from, if its fields are plain.
    pub(super) distribution: Option<&'r DistributionKernel>,
    pub(super) version: Option<KernelVersion>,
    pub(super) name: &'r str,
    /// The name without the directory that all kernels have in common.
    pub(super) short_name: &'r str,
}

/// The results for an object.
#[derive(Debug)]
pub(super) struct ObjectLine<'r> {
    pub(super) name: &'r str,
    /// A cell per kernel. `None` if the object was not checked on the kernel.
    pub(super) cells: Vec<Option<&'r Row>>,
}

impl Ord for Kernel<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_architecture = |kernel: &Self| (kernel.architecture.is_none(), kernel.architecture);
        let by_version = |kernel: &Self| (kernel.version.is_none(), kernel.version);
        by_architecture(self)
            .cmp(&by_architecture(other))
            .then_with(|| compare_distributions(self.distribution, other.distribution))
            .then_with(|| by_version(self).cmp(&by_version(other)))
            .then_with(|| self.name.cmp(other.name))
            .then_with(|| package_version(self).cmp(&package_version(other)))
    }
}

impl PartialOrd for Kernel<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares distributions and their releases. A kernel without a distribution comes last.
fn compare_distributions(left: Option<&DistributionKernel>, right: Option<&DistributionKernel>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => {
            let by_release = || DistributionKernel::compare_releases(&left.release, &right.release);
            left.distribution.cmp(&right.distribution).then_with(by_release)
        }
        (left, right) => left.is_none().cmp(&right.is_none()),
    }
}

fn package_version<'r>(kernel: &Kernel<'r>) -> Option<&'r str> {
    kernel.distribution.map(|distribution| distribution.package_version.as_str())
}

impl<'r> Kernel<'r> {
    /// Returns the distribution and its release: `debian 12`.
    pub(super) fn distribution_release(&self) -> Option<String> {
        self.distribution.map(|package| format!("{} {}", package.distribution, package.release))
    }

    /// Returns whether both kernels are of the same release of a distribution, and of the same architecture.
    pub(super) fn is_same_release(&self, other: &Self) -> bool {
        self.architecture == other.architecture
            && compare_distributions(self.distribution, other.distribution).is_eq()
    }
}

impl<'r> Matrix<'r> {
    /// Sorts the rows of a report. If several rows have the same object and kernel, the worst counts, and
    /// among equally bad rows one with real loads.
    pub(super) fn new(report: &'r FleetReport) -> Self {
        let directory_len = common_directory_len(report.rows.iter().map(|row| row.kernel.as_str()));
        let kernel = |row: &'r Row| Kernel {
            short_name: row.kernel.get(directory_len..).unwrap_or(&row.kernel),
            architecture: row.architecture.as_deref(),
            distribution: row.distribution.as_ref().filter(|package| package.is_plain()),
            version: row.kernel_version,
            name: &row.kernel,
        };
        let mut kernels: Vec<_> = report.rows.iter().map(kernel).collect();
        kernels.sort();
        kernels.dedup();
        let mut rows = BTreeMap::<_, BTreeMap<_, &'r Row>>::new();
        for row in &report.rows {
            let of_object = rows.entry(row.object.as_str()).or_default();
            let worst = of_object.entry(kernel(row)).or_insert(row);
            let rank = |row: &Row| (row.outcome(), !row.real_loads.is_empty());
            if rank(row) > rank(worst) {
                *worst = row;
            }
        }
        let line = |(name, rows): (&'r str, BTreeMap<_, _>)| ObjectLine {
            name,
            cells: kernels.iter().map(|kernel| rows.get(kernel).copied()).collect(),
        };
        let objects = rows.into_iter().map(line).collect();
        Self {
            kernels,
            objects,
            unread: &report.unread,
            kernel_warnings: &report.kernel_warnings,
            agreement: report.agreement,
            baseline_summary: report.baseline_summary(),
        }
    }

    /// Returns the distinct reasons why pairs of object and kernel could not be judged: object, reason, and
    /// kernels by index.
    pub(super) fn bad_pairs(&self) -> Vec<(&'r str, &'r UnjudgedInput, Vec<usize>)> {
        self.objects
            .iter()
            .flat_map(|line| line.bad_input().into_iter().map(|(bad, ks)| (line.name, bad, ks)))
            .collect()
    }
}

impl<'r> ObjectLine<'r> {
    /// Returns the outcome on each kernel.
    pub(super) fn outcomes(&self) -> Vec<Option<Outcome>> {
        self.cells.iter().map(|cell| cell.map(Row::outcome)).collect()
    }

    /// Returns whether the result on a kernel is worse than that of the baseline.
    pub(super) fn is_new_on(&self, kernel: usize) -> bool {
        self.cells.get(kernel).copied().flatten().is_some_and(Row::is_new)
    }

    /// Returns the worst outcome.
    pub(super) fn worst(&self) -> Option<Outcome> {
        self.outcomes().into_iter().flatten().max()
    }

    /// Returns the distinct reasons why the object could not be judged, each with the kernels by index.
    pub(super) fn bad_input(&self) -> Vec<(&'r UnjudgedInput, Vec<usize>)> {
        let mut distinct = Vec::<(&'r UnjudgedInput, Vec<usize>)>::new();
        let bad = self
            .cells
            .iter()
            .enumerate()
            .filter_map(|(k, cell)| Some((k, cell.as_ref()?.outcome.as_ref().err()?)));
        let mut indexes = HashMap::new();
        for (kernel, bad) in bad {
            let index = *indexes.entry((&bad.problem, &bad.help)).or_insert(distinct.len());
            match distinct.get_mut(index) {
                Some((_, kernels)) => kernels.push(kernel),
                None => distinct.push((bad, vec![kernel])),
            }
        }
        distinct
    }

    /// Returns the programs by name, each with whether the object loads it by default, and its outcome on
    /// each kernel.
    pub(super) fn programs(&self) -> Vec<ProgramLine<'r>> {
        let mut lines = Vec::<ProgramLine<'r>>::new();
        let mut indexes = BTreeMap::new();
        for (kernel, row) in self.cells.iter().enumerate() {
            for (name, autoload, outcome) in row.iter().flat_map(|row| row.program_outcomes()) {
                let index = *indexes.entry(name).or_insert_with(|| {
                    lines.push(ProgramLine { name, autoload, outcomes: vec![None; self.cells.len()] });
                    lines.len() - 1
                });
                let worst = lines.get_mut(index).and_then(|line| line.outcomes.get_mut(kernel));
                if let Some(worst) = worst {
                    *worst = (*worst).max(Some(outcome));
                }
            }
        }
        lines
    }
}

/// The results for a program of an object.
#[derive(Debug)]
pub(super) struct ProgramLine<'r> {
    pub(super) name: &'r str,
    /// Whether the default load of the object includes the program.
    pub(super) autoload: bool,
    /// The outcome on each kernel.
    pub(super) outcomes: Vec<Option<Outcome>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fleet::{bad_row, loads, package_row, refused_row, row, version};

    #[test]
    fn kernels_are_sorted_by_architecture_version_and_name() {
        let rows = vec![
            row("a.o", "z", None, None, loads()),
            row("a.o", "new", Some("x86_64"), Some(version(5, 15, 0)), loads()),
            row("a.o", "old", Some("x86_64"), Some(version(5, 4, 0)), loads()),
            row("a.o", "unversioned", Some("x86_64"), None, loads()),
            row("b.o", "old", Some("arm64"), Some(version(5, 10, 0)), loads()),
        ];
        let report = FleetReport { rows, ..FleetReport::default() };
        let matrix = Matrix::new(&report);
        let names: Vec<_> = matrix.kernels.iter().map(|k| (k.architecture.unwrap_or("-"), k.name)).collect();
        let x86 = "x86_64";
        assert_eq!(names, [("arm64", "old"), (x86, "old"), (x86, "new"), (x86, "unversioned"), ("-", "z")]);
        let checked: Vec<_> = matrix.objects.iter().map(|o| o.cells.iter().flatten().count()).collect();
        assert_eq!(checked, [4, 1]);
    }

    /// Protects the columns of a distribution from being mixed with those of another by their versions.
    #[test]
    fn kernels_of_a_distribution_are_neighbours_in_the_order_of_its_releases() {
        let rows = vec![
            package_row("a.o", "debian", "sid", version(7, 0, 0), loads()),
            package_row("a.o", "debian", "9", version(4, 9, 0), loads()),
            package_row("a.o", "ubuntu", "22.04", version(5, 15, 0), loads()),
            package_row("a.o", "debian", "12", version(6, 1, 0), loads()),
            row("a.o", "own", Some("x86_64"), Some(version(5, 0, 0)), loads()),
        ];
        let report = FleetReport { rows, ..FleetReport::default() };
        let matrix = Matrix::new(&report);
        let releases: Vec<_> = matrix.kernels.iter().map(Kernel::distribution_release).collect();
        let expected = [Some("debian 9"), Some("debian 12"), Some("debian sid"), Some("ubuntu 22.04"), None];
        assert_eq!(releases.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_worst_of_equal_pairs_counts() {
        let rows = vec![
            row("a.o", "k", None, None, loads()),
            refused_row("a.o", "k"),
            row("a.o", "k", None, None, loads()),
        ];
        let report = FleetReport { rows, ..FleetReport::default() };
        let matrix = Matrix::new(&report);
        assert_eq!(matrix.objects[0].worst().map(Outcome::words), Some("refused"));
    }

    #[test]
    fn equal_reasons_for_bad_input_are_listed_once() {
        let report =
            FleetReport { rows: vec![bad_row("a.o", "k1"), bad_row("a.o", "k2")], ..FleetReport::default() };
        let pairs = Matrix::new(&report).bad_pairs();
        assert_eq!(pairs.len(), 1);
        assert_eq!(pairs[0].2, [0, 1]);
    }
}
