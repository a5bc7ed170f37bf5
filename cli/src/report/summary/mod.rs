//! Outcomes on many kernels in a few words: "loads from 5.15 on, refused before 5.15".

mod words;

#[cfg(test)]
mod tests;

use super::{
    limits::{MAX_NAMED_KERNELS, MAX_VERSION_RANGES},
    matrix::Kernel,
    model::{KernelVersion, Outcome},
};
use std::collections::{BTreeMap, BTreeSet};

/// A label of a kernel that a summary groups by.
pub(super) trait Label: Copy + Ord {
    /// Returns whether the label states that something works. "loads until 5.10", but "refused before 5.15".
    fn works(self) -> bool;
}

impl Label for Outcome {
    fn works(self) -> bool {
        self.is_loads()
    }
}

/// Whether a kernel is in a set. Sets are of kernels that have a reason not to load a program: "before 5.15".
impl Label for bool {
    fn works(self) -> bool {
        !self
    }
}

/// The labels of kernels, grouped by architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary<'r, T> {
    pub(super) groups: Vec<Group<'r, T>>,
}

/// The labels of kernels of the same architecture. Architectures with equal boundaries share a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group<'r, T> {
    /// The architectures. `None` if unknown.
    pub(super) architectures: Vec<Option<&'r str>>,
    /// Whether the kernels' versions are known.
    pub(super) is_versioned: bool,
    /// The number of kernels.
    pub(super) kernel_count: usize,
    /// A part per label, best first.
    pub(super) parts: Vec<Part<'r, T>>,
}

/// The kernels of a group that have the same label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part<'r, T> {
    pub(super) label: T,
    /// The names of the kernels.
    pub(super) kernels: Vec<&'r str>,
    /// The kernels as ranges of versions. `None` without versions, or if there are too many ranges or exceptions.
    pub(super) ranges: Option<VersionRanges<'r>>,
}

/// Ranges of versions, and the kernels that differ from others of the same version. Distributions backport features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VersionRanges<'r> {
    pub(super) ranges: Vec<VersionRange>,
    /// Kernels outside the ranges that have the label.
    pub(super) also: Vec<&'r str>,
    /// Kernels inside the ranges that have another label.
    pub(super) except: Vec<&'r str>,
}

/// A range of the versions that were checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionRange {
    /// The first version, such as `5.15`.
    pub(super) first: String,
    /// The last version.
    pub(super) last: String,
    /// Whether no older version was checked.
    pub(super) is_oldest: bool,
    /// The version that was checked next. `None` if no newer version was checked.
    pub(super) next: Option<String>,
}

/// Groups kernels by their labels. Kernels without a label are left out.
pub(super) fn summarize<'r, T: Label>(kernels: &[Kernel<'r>], labels: &[Option<T>]) -> Summary<'r, T> {
    let mut by_architecture = BTreeMap::<_, Vec<(Kernel<'r>, T)>>::new();
    for (kernel, label) in kernels.iter().zip(labels) {
        if let Some(label) = label {
            let key = (kernel.architecture.is_none(), kernel.architecture, kernel.version.is_none());
            by_architecture.entry(key).or_default().push((*kernel, *label));
        }
    }
    let mut groups = Vec::<Group<'r, T>>::new();
    for ((_, architecture, is_unversioned), labelled) in by_architecture {
        let group = Group {
            architectures: vec![architecture],
            is_versioned: !is_unversioned,
            kernel_count: labelled.len(),
            parts: parts(&labelled),
        };
        match groups.iter_mut().find(|other| other.has_equal_boundaries(&group)) {
            Some(other) => other.merge(group),
            None => groups.push(group),
        }
    }
    Summary { groups }
}

/// Returns a part per label.
fn parts<'r, T: Label>(labelled: &[(Kernel<'r>, T)]) -> Vec<Part<'r, T>> {
    let mut names = BTreeMap::<_, Vec<_>>::new();
    for (kernel, label) in labelled {
        names.entry(*label).or_default().push(kernel.name);
    }
    let mut ranges = version_ranges(labelled);
    let part = |(label, kernels)| {
        let ranges = ranges.as_mut().and_then(|ranges| ranges.remove(&label));
        Part { label, kernels, ranges }
    };
    names.into_iter().map(part).collect()
}

/// Returns the ranges of versions of each label. `None` if the labels do not follow the versions.
fn version_ranges<'r, T: Label>(labelled: &[(Kernel<'r>, T)]) -> Option<BTreeMap<T, VersionRanges<'r>>> {
    let mut labels = BTreeMap::<_, BTreeMap<T, usize>>::new();
    for (kernel, label) in labelled {
        *labels.entry(kernel.version?).or_default().entry(*label).or_default() += 1;
    }
    // The label of a version is that of most of its kernels.
    let most_frequent = |(version, counts): (KernelVersion, BTreeMap<T, usize>)| {
        let label = counts.into_iter().max_by_key(|(_, count)| *count);
        label.map(|(label, _)| (version, label))
    };
    let versions: BTreeMap<_, _> = labels.into_iter().filter_map(most_frequent).collect();
    let mut ranges = BTreeMap::<_, VersionRanges<'r>>::new();
    let mut exception_count = 0;
    for (kernel, label) in labelled {
        let usual = versions.get(&kernel.version?)?;
        if usual != label {
            exception_count += 1;
            ranges.entry(*label).or_default().also.push(kernel.name);
            ranges.entry(*usual).or_default().except.push(kernel.name);
        }
    }
    if exception_count > MAX_NAMED_KERNELS {
        return None;
    }
    // Runs of versions with the same label: the label, the first version, the last version.
    let mut runs = Vec::<(T, KernelVersion, KernelVersion)>::new();
    for (version, label) in versions {
        match runs.last_mut() {
            Some((last_label, _, last)) if *last_label == label => *last = version,
            _ => runs.push((label, version, version)),
        }
    }
    if runs.len() > MAX_VERSION_RANGES {
        return None;
    }
    // A release such as 5.15 that is in two runs needs its patch level.
    let releases = |(_, first, last): &(T, KernelVersion, KernelVersion)| {
        BTreeSet::from([release(*first), release(*last)])
    };
    let mut seen = BTreeSet::new();
    let split: BTreeSet<_> =
        runs.iter().flat_map(releases).filter(|release| !seen.insert(*release)).collect();
    let text = |version: KernelVersion| match version {
        (major, minor, patch) if split.contains(&(major, minor)) => format!("{major}.{minor}.{patch}"),
        (major, minor, _) => format!("{major}.{minor}"),
    };
    let next_runs = runs.iter().skip(1).map(Some).chain([None]);
    for (index, ((label, first, last), next)) in runs.iter().zip(next_runs).enumerate() {
        let next = next.map(|(_, first, _)| text(*first));
        let range = VersionRange { first: text(*first), last: text(*last), is_oldest: index == 0, next };
        ranges.entry(*label).or_default().ranges.push(range);
    }
    Some(ranges)
}

/// Returns the version without its patch level.
const fn release((major, minor, _): KernelVersion) -> (u32, u32) {
    (major, minor)
}

impl<T: Label> Group<'_, T> {
    /// Returns whether one sentence describes both groups.
    fn has_equal_boundaries(&self, other: &Self) -> bool {
        let is_same_part = |(part, other): (&Part<'_, T>, &Part<'_, T>)| {
            part.label == other.label && part.ranges == other.ranges
        };
        let is_uniform = self.parts.len() == 1 && other.parts.len() == 1;
        let has_ranges = self.parts.iter().all(|part| part.ranges.is_some());
        let (parts, others) = (&self.parts, &other.parts);
        match is_uniform {
            true => parts.iter().zip(others).all(|(part, other)| part.label == other.label),
            false => has_ranges && parts.len() == others.len() && parts.iter().zip(others).all(is_same_part),
        }
    }

    fn merge(&mut self, other: Self) {
        self.architectures.extend(other.architectures);
        self.is_versioned |= other.is_versioned;
        self.kernel_count += other.kernel_count;
        for (part, other) in self.parts.iter_mut().zip(other.parts) {
            part.kernels.extend(other.kernels);
        }
    }
}

/// Returns the kernels of a set, given by index, in words: `before 5.15`. The other kernels of `checked` are not in the set.
pub(super) fn describe_kernels(
    kernels: &[Kernel<'_>],
    checked: &[Option<Outcome>],
    set: &[usize],
    name: &dyn Fn(&str) -> String,
) -> String {
    let mut labels: Vec<_> = checked.iter().map(|outcome| outcome.map(|_| false)).collect();
    for kernel in set {
        if let Some(label) = labels.get_mut(*kernel) {
            *label = Some(true);
        }
    }
    summarize(kernels, &labels).set_text(name)
}
