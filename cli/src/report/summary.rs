//! Outcomes on many kernels in a few words: "loads from 5.15 on, refused before 5.15".

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

    /// Returns the architectures: `arm64, x86_64`.
    fn architecture_text(&self, name: &dyn Fn(&str) -> String) -> String {
        let mut architectures: Vec<_> =
            self.architectures.iter().map(|a| a.map_or_else(|| "other kernels".to_owned(), name)).collect();
        architectures.dedup();
        let version = if self.is_versioned { "" } else { " of unknown version" };
        format!("{}{version}", architectures.join(", "))
    }
}

impl<T: Label> Part<'_, T> {
    /// Returns the kernels in words: `from 5.15 on`, `on all 45 kernels`, `on 41 of 45 kernels`. `kernel_count` is that of the group.
    pub(super) fn extent(&self, kernel_count: usize, name: &dyn Fn(&str) -> String) -> String {
        let counted = format!("on {} of {kernel_count} kernels", self.kernels.len());
        match (&self.ranges, self.kernels.as_slice()) {
            (_, [kernel]) if kernel_count == 1 => format!("on {}", name(kernel)),
            (_, [_, _]) if kernel_count == 2 => "on both kernels".to_owned(),
            (_, kernels) if kernels.len() == kernel_count => format!("on all {kernel_count} kernels"),
            (Some(ranges), _) => ranges.text(self.label.works(), name),
            (None, kernels) if kernels.len() <= MAX_NAMED_KERNELS => {
                format!("on {}", join_names(kernels, name))
            }
            (None, _) => counted,
        }
    }
}

impl VersionRanges<'_> {
    /// Returns the ranges in words: `from 5.15 on and on centos-8`, `before 5.15 except on centos-8`.
    fn text(&self, works: bool, name: &dyn Fn(&str) -> String) -> String {
        let mut parts: Vec<_> = self.ranges.iter().map(|range| range.text(works)).collect();
        if !self.also.is_empty() {
            parts.push(format!("on {}", join_names(&self.also, name)));
        }
        match self.except.as_slice() {
            [] => join(&parts),
            except => format!("{} except on {}", join(&parts), join_names(except, name)),
        }
    }
}

impl VersionRange {
    fn text(&self, works: bool) -> String {
        match self {
            Self { is_oldest: true, next: Some(next), .. } if !works => format!("before {next}"),
            Self { is_oldest: true, next: None, .. } => "on all checked versions".to_owned(),
            Self { is_oldest: true, last, .. } => format!("until {last}"),
            Self { next: None, first, .. } => format!("from {first} on"),
            Self { first, last, .. } if first == last => format!("on {first}"),
            Self { first, last, .. } => format!("from {first} to {last}"),
        }
    }
}

fn join_names(names: &[&str], name: &dyn Fn(&str) -> String) -> String {
    join(&names.iter().map(|kernel| name(kernel)).collect::<Vec<_>>())
}

/// Joins words with commas and "and".
fn join(words: &[String]) -> String {
    match words {
        [words @ .., last] if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        words => words.concat(),
    }
}

impl Summary<'_, Outcome> {
    /// Returns the summary in words: `loads from 5.15 on, refused before 5.15`. `name` escapes the names of kernels and architectures.
    pub(super) fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        let group = |group: &Group<'_, Outcome>| {
            let part = |part: &Part<'_, Outcome>| {
                format!("{} {}", part.label.words(), part.extent(group.kernel_count, name))
            };
            group.parts.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        self.join_groups(name, group)
    }

    /// Returns the outcomes other than `loads` in words: `refused before 5.15`. Empty if the object loads everywhere.
    pub(super) fn problems(&self, name: &dyn Fn(&str) -> String) -> String {
        let is_problem = |part: &&Part<'_, Outcome>| !part.label.is_loads();
        let groups = self.groups.iter().filter(|group| group.parts.iter().any(|part| is_problem(&part)));
        let group = |group: &Group<'_, Outcome>| {
            let part = |part: &Part<'_, Outcome>| {
                format!("{} {}", part.label.words(), part.extent(group.kernel_count, name))
            };
            let text = group.parts.iter().filter(is_problem).map(part).collect::<Vec<_>>().join(", ");
            if self.groups.len() > 1 { format!("{}: {text}", group.architecture_text(name)) } else { text }
        };
        groups.map(group).collect::<Vec<_>>().join("; ")
    }
}

impl Summary<'_, bool> {
    /// Returns the kernels of the set in words: `before 5.15`.
    pub(super) fn set_text(&self, name: &dyn Fn(&str) -> String) -> String {
        let members = |group: &Group<'_, bool>| {
            let part = group.parts.iter().find(|part| part.label);
            part.map(|part| part.extent(group.kernel_count, name)).unwrap_or_default()
        };
        let groups: Vec<_> =
            self.groups.iter().filter(|group| group.parts.iter().any(|part| part.label)).cloned().collect();
        let is_whole = groups.len() == self.groups.len();
        match groups.as_slice() {
            [group] if is_whole => members(group),
            _ => Self { groups }.join_prefixed(name, " ", members),
        }
    }
}

impl<T: Label> Summary<'_, T> {
    /// Joins the texts of groups. Names the architectures if there are several groups.
    fn join_groups(&self, name: &dyn Fn(&str) -> String, text: impl Fn(&Group<'_, T>) -> String) -> String {
        match self.groups.as_slice() {
            [group] => text(group),
            _ => self.join_prefixed(name, ": ", text),
        }
    }

    fn join_prefixed(
        &self,
        name: &dyn Fn(&str) -> String,
        separator: &str,
        text: impl Fn(&Group<'_, T>) -> String,
    ) -> String {
        let groups = self
            .groups
            .iter()
            .map(|group| format!("{}{separator}{}", group.architecture_text(name), text(group)));
        groups.collect::<Vec<_>>().join("; ")
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: Outcome = Outcome::Loads;
    const REFUSED: Outcome = Outcome::Refused;
    const UNKNOWN: Outcome = Outcome::Unknown;

    fn kernel<'r>(
        architecture: Option<&'r str>,
        version: Option<KernelVersion>,
        name: &'r str,
    ) -> Kernel<'r> {
        Kernel { architecture, version, name }
    }

    /// Summarizes outcomes on x86_64 kernels of these versions.
    fn x86(outcomes: &[(KernelVersion, Outcome)]) -> String {
        let kernels: Vec<_> =
            outcomes.iter().map(|(version, _)| kernel(Some("x86_64"), Some(*version), "k")).collect();
        text(&kernels, &outcomes.iter().map(|(_, outcome)| Some(*outcome)).collect::<Vec<_>>())
    }

    fn text(kernels: &[Kernel<'_>], outcomes: &[Option<Outcome>]) -> String {
        summarize(kernels, outcomes).text(&|name| format!("`{name}`"))
    }

    #[test]
    fn boundaries_follow_versions() {
        let (v54, v510, v515, v61) = ((5, 4, 0), (5, 10, 3), (5, 15, 7), (6, 1, 0));
        assert_eq!(x86(&[(v54, LOADS), (v61, LOADS)]), "loads on both kernels");
        assert_eq!(x86(&[(v54, REFUSED)]), "refused on `k`");
        assert_eq!(
            x86(&[(v54, REFUSED), (v510, REFUSED), (v515, LOADS), (v61, LOADS)]),
            "loads from 5.15 on, refused before 5.15"
        );
        assert_eq!(
            x86(&[(v54, LOADS), (v510, LOADS), (v515, REFUSED)]),
            "loads until 5.10, refused from 5.15 on"
        );
        assert_eq!(
            x86(&[(v54, REFUSED), (v510, UNKNOWN), (v515, LOADS)]),
            "loads from 5.15 on, unknown on 5.10, refused before 5.10"
        );
    }

    #[test]
    fn gaps_are_named() {
        let (v54, v510, v515, v61) = ((5, 4, 0), (5, 10, 3), (5, 15, 7), (6, 1, 0));
        assert_eq!(
            x86(&[(v54, LOADS), (v510, REFUSED), (v515, REFUSED), (v61, LOADS)]),
            "loads until 5.4 and from 6.1 on, refused from 5.10 to 5.15"
        );
        assert_eq!(
            x86(&[(v54, REFUSED), (v510, LOADS), (v515, LOADS), (v61, REFUSED)]),
            "loads from 5.10 to 5.15, refused before 5.10 and from 6.1 on"
        );
        let alternating: Vec<_> =
            (0..6).map(|minor| ((6, minor, 0), if minor % 2 == 0 { LOADS } else { REFUSED })).collect();
        assert_eq!(x86(&alternating), "loads on `k`, `k` and `k`, refused on `k`, `k` and `k`");
        let many: Vec<_> =
            (0..8).map(|minor| ((6, minor, 0), if minor % 2 == 0 { LOADS } else { REFUSED })).collect();
        assert_eq!(x86(&many), "loads on 4 of 8 kernels, refused on 4 of 8 kernels");
    }

    #[test]
    fn patch_levels_appear_where_they_matter() {
        assert_eq!(
            x86(&[((5, 15, 0), REFUSED), ((5, 15, 9), LOADS), ((6, 1, 4), LOADS)]),
            "loads from 5.15.9 on, refused before 5.15.9"
        );
    }

    #[test]
    fn kernels_that_differ_from_others_of_their_version_are_named() {
        let x86 = |name, version| kernel(Some("x86_64"), Some(version), name);
        let kernels = [
            x86("centos", (4, 18, 0)),
            x86("debian", (4, 18, 0)),
            x86("ubuntu", (4, 18, 0)),
            x86("v5.4", (5, 4, 0)),
            x86("v5.15", (5, 15, 0)),
        ];
        let outcomes = |outcomes: [Outcome; 5]| text(&kernels, &outcomes.map(Some));
        assert_eq!(
            outcomes([LOADS, REFUSED, REFUSED, REFUSED, LOADS]),
            "loads from 5.15 on and on `centos`, refused before 5.15 except on `centos`"
        );
        assert_eq!(
            outcomes([REFUSED, LOADS, LOADS, LOADS, LOADS]),
            "loads on all checked versions except on `centos`, refused on `centos`"
        );
        assert_eq!(
            outcomes([UNKNOWN, LOADS, REFUSED, LOADS, LOADS]),
            "loads from 5.4 on and on `debian`, unknown on `centos`, refused before 5.4 except on `centos` and `debian`"
        );
    }

    #[test]
    fn architectures_with_equal_boundaries_are_joined() {
        let (x86, arm) = (Some("x86_64"), Some("arm64"));
        let kernels = [
            kernel(arm, Some((5, 10, 0)), "a1"),
            kernel(arm, Some((5, 15, 0)), "a2"),
            kernel(x86, Some((5, 10, 0)), "x1"),
            kernel(x86, Some((5, 15, 0)), "x2"),
        ];
        let all = |outcomes: [Outcome; 4]| text(&kernels, &outcomes.map(Some));
        assert_eq!(all([REFUSED, LOADS, REFUSED, LOADS]), "loads from 5.15 on, refused before 5.15");
        assert_eq!(
            all([REFUSED, REFUSED, REFUSED, LOADS]),
            "`arm64`: refused on both kernels; `x86_64`: loads from 5.15 on, refused before 5.15"
        );
        assert_eq!(all([LOADS; 4]), "loads on all 4 kernels");
        let name = |name: &str| name.to_owned();
        let problems = |outcomes: [Outcome; 4]| summarize(&kernels, &outcomes.map(Some)).problems(&name);
        assert_eq!(problems([LOADS, LOADS, REFUSED, LOADS]), "x86_64: refused before 5.15");
        assert_eq!(problems([LOADS; 4]), "");
    }

    #[test]
    fn kernels_without_version_are_named() {
        let kernels = [
            kernel(None, None, "one"),
            kernel(None, None, "two"),
            kernel(Some("arm64"), Some((6, 1, 0)), "six"),
        ];
        assert_eq!(text(&kernels, &[Some(LOADS), Some(REFUSED), None]), "loads on `one`, refused on `two`");
        assert_eq!(
            text(&kernels, &[Some(LOADS), Some(REFUSED), Some(LOADS)]),
            "`arm64`: loads on `six`; other kernels of unknown version: loads on `one`, refused on `two`"
        );
        assert_eq!(text(&kernels, &[Some(LOADS), None, Some(LOADS)]), "loads on both kernels");
        assert_eq!(text(&[], &[]), "");
    }

    #[test]
    fn sets_of_kernels_are_described() {
        let x86 = Some("x86_64");
        let kernels = [
            kernel(x86, Some((5, 4, 0)), "a"),
            kernel(x86, Some((5, 10, 0)), "b"),
            kernel(x86, Some((6, 1, 0)), "c"),
        ];
        let set = |set: &[usize]| describe_kernels(&kernels, &[Some(LOADS); 3], set, &str::to_owned);
        assert_eq!(
            [set(&[0, 1]), set(&[2]), set(&[1]), set(&[0, 1, 2])],
            ["before 6.1", "from 6.1 on", "on 5.10", "on all 3 kernels"]
        );
    }
}
