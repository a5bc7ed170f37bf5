//! Outcomes on many kernels in a few words: "loads from 5.15 on, refused before 5.15". Kernels of a
//! distribution are summed up by its releases: "debian: loads from 12 on, refused on 11".

mod position;
mod words;

#[cfg(test)]
mod tests;

use super::{
    limits::{MAX_NAMED_KERNELS, MAX_VERSION_RANGES},
    matrix::Kernel,
    model::Outcome,
};
use position::Position;
use std::collections::{BTreeMap, HashSet};

/// The outcomes on kernels, grouped by distribution and architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary<'r> {
    pub(super) groups: Vec<Group<'r>>,
}

/// The outcomes on kernels of the same distribution and architecture. Architectures with equal boundaries
/// share a group, and so do distributions with the same outcome on all kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group<'r> {
    pub(super) members: Vec<GroupMember<'r>>,
    /// Whether the kernels' versions are known.
    pub(super) is_versioned: bool,
    /// The number of kernels.
    pub(super) kernel_count: usize,
    /// A part per outcome, best first.
    pub(super) parts: Vec<Part<'r>>,
}

/// A distribution and an architecture. `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupMember<'r> {
    pub(super) distribution: Option<&'r str>,
    pub(super) architecture: Option<&'r str>,
}

/// The kernels of a group that have the same outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part<'r> {
    pub(super) outcome: Outcome,
    /// The short names of the kernels.
    pub(super) kernels: Vec<&'r str>,
    /// The kernels as ranges of versions. `None` without versions, or if there are too many ranges or
    /// exceptions.
    pub(super) ranges: Option<VersionRanges<'r>>,
}

/// Ranges of versions, and the kernels that differ from others of the same version. Distributions backport
/// features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VersionRanges<'r> {
    pub(super) ranges: Vec<VersionRange>,
    /// Kernels outside the ranges that have the outcome.
    pub(super) also: Vec<&'r str>,
    /// Kernels inside the ranges that have another outcome.
    pub(super) except: Vec<&'r str>,
}

/// A range of the versions that were checked, or of the releases of a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionRange {
    /// The first version, such as `5.15`, or the first release of a distribution.
    pub(super) first: String,
    /// The last version.
    pub(super) last: String,
    /// Whether no older version was checked.
    pub(super) is_oldest: bool,
    /// The version that was checked next. `None` if no newer version was checked.
    pub(super) next: Option<String>,
}

/// Groups kernels by their outcomes. Kernels without an outcome are left out.
pub(super) fn summarize<'r>(kernels: &[Kernel<'r>], outcomes: &[Option<Outcome>]) -> Summary<'r> {
    let mut by_member = BTreeMap::<_, Vec<(Kernel<'r>, Outcome)>>::new();
    for (kernel, outcome) in kernels.iter().zip(outcomes) {
        if let Some(outcome) = outcome {
            let distribution = kernel.distribution.map(|package| package.distribution.as_str());
            let architecture = (kernel.architecture.is_none(), kernel.architecture);
            let key = (distribution.is_none(), distribution, architecture, kernel.version.is_none());
            by_member.entry(key).or_default().push((*kernel, *outcome));
        }
    }
    let mut groups = Vec::<Group<'r>>::new();
    for ((_, distribution, (_, architecture), is_unversioned), checked) in by_member {
        let group = Group {
            members: vec![GroupMember { distribution, architecture }],
            is_versioned: !is_unversioned,
            kernel_count: checked.len(),
            parts: parts(&checked),
        };
        match groups.iter_mut().find(|other| other.has_equal_boundaries(&group)) {
            Some(other) => other.merge(group),
            None => groups.push(group),
        }
    }
    Summary { groups }
}

/// Returns a part per outcome.
fn parts<'r>(checked: &[(Kernel<'r>, Outcome)]) -> Vec<Part<'r>> {
    let mut names = BTreeMap::<_, Vec<_>>::new();
    for (kernel, outcome) in checked {
        names.entry(*outcome).or_default().push(kernel.short_name);
    }
    let mut ranges = version_ranges(checked);
    let part = |(outcome, kernels)| {
        let ranges = ranges.as_mut().and_then(|ranges| ranges.remove(&outcome));
        Part { outcome, kernels, ranges }
    };
    names.into_iter().map(part).collect()
}

/// Returns the ranges of versions of each outcome. `None` if the outcomes do not follow the versions.
fn version_ranges<'r>(checked: &[(Kernel<'r>, Outcome)]) -> Option<BTreeMap<Outcome, VersionRanges<'r>>> {
    let mut outcomes = BTreeMap::<_, BTreeMap<Outcome, usize>>::new();
    for (kernel, outcome) in checked {
        *outcomes.entry(Position::new(kernel)?).or_default().entry(*outcome).or_default() += 1;
    }
    // The outcome of a version is that of most of its kernels.
    let most_frequent = |(version, counts): (Position<'r>, BTreeMap<Outcome, usize>)| {
        let outcome = counts.into_iter().max_by_key(|(_, count)| *count);
        outcome.map(|(outcome, _)| (version, outcome))
    };
    let versions: BTreeMap<_, _> = outcomes.into_iter().filter_map(most_frequent).collect();
    let mut ranges = BTreeMap::<_, VersionRanges<'r>>::new();
    let mut exception_count = 0;
    for (kernel, outcome) in checked {
        let usual = versions.get(&Position::new(kernel)?)?;
        if usual != outcome {
            exception_count += 1;
            ranges.entry(*outcome).or_default().also.push(kernel.short_name);
            ranges.entry(*usual).or_default().except.push(kernel.short_name);
        }
    }
    if exception_count > MAX_NAMED_KERNELS {
        return None;
    }
    // Runs of versions with the same outcome: the outcome, the first version, the last version.
    let mut runs = Vec::<(Outcome, Position<'r>, Position<'r>)>::new();
    for (version, outcome) in versions {
        match runs.last_mut() {
            Some((last_outcome, _, last)) if *last_outcome == outcome => *last = version,
            _ => runs.push((outcome, version, version)),
        }
    }
    if runs.len() > MAX_VERSION_RANGES {
        return None;
    }
    // A release such as 5.15 that is in two runs needs its patch level, and one such as `debian 12` the
    // version of its kernel.
    let (mut seen, mut split) = (HashSet::new(), HashSet::new());
    for (_, first, last) in &runs {
        let releases = HashSet::from([first.release(), last.release()]);
        split.extend(releases.into_iter().filter(|release| !seen.insert(*release)));
    }
    let text = |version: Position<'_>| version.text(split.contains(&version.release()));
    let next_runs = runs.iter().skip(1).map(Some).chain([None]);
    for (index, ((outcome, first, last), next)) in runs.iter().zip(next_runs).enumerate() {
        let next = next.map(|(_, first, _)| text(*first));
        let range = VersionRange { first: text(*first), last: text(*last), is_oldest: index == 0, next };
        ranges.entry(*outcome).or_default().ranges.push(range);
    }
    Some(ranges)
}

impl Group<'_> {
    /// Returns whether one sentence describes both groups.
    fn has_equal_boundaries(&self, other: &Self) -> bool {
        let is_same_part = |(part, other): (&Part<'_>, &Part<'_>)| {
            part.outcome == other.outcome && part.ranges == other.ranges
        };
        let is_uniform = self.parts.len() == 1 && other.parts.len() == 1;
        let has_ranges = self.parts.iter().all(|part| part.ranges.is_some());
        let (parts, others) = (&self.parts, &other.parts);
        match is_uniform {
            true => parts.iter().zip(others).all(|(part, other)| part.outcome == other.outcome),
            false if self.distribution() != other.distribution() => false,
            false => has_ranges && parts.len() == others.len() && parts.iter().zip(others).all(is_same_part),
        }
    }

    /// Returns the distribution of the first member.
    fn distribution(&self) -> Option<&str> {
        self.members.first().and_then(|member| member.distribution)
    }

    fn merge(&mut self, other: Self) {
        self.members.extend(other.members);
        self.is_versioned |= other.is_versioned;
        self.kernel_count += other.kernel_count;
        for (part, other) in self.parts.iter_mut().zip(other.parts) {
            part.kernels.extend(other.kernels);
        }
    }
}

/// Returns the kernels of a set, given by index, in words: `before 5.15`. The other kernels of `checked` are
/// not in the set.
pub(super) fn describe_kernels(
    kernels: &[Kernel<'_>],
    checked: &[Option<Outcome>],
    set: &[usize],
    name: &dyn Fn(&str) -> String,
) -> String {
    // Sets are of kernels that have a reason not to load a program, so members count as refusals.
    let mut outcomes: Vec<_> = checked.iter().map(|outcome| outcome.map(|_| Outcome::Loads)).collect();
    for kernel in set {
        if let Some(outcome) = outcomes.get_mut(*kernel) {
            *outcome = Some(Outcome::Refused);
        }
    }
    summarize(kernels, &outcomes).set_text(name)
}
