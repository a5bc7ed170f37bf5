//! Summaries in words: "loads from 5.15 on, refused before 5.15".

use super::{Group, GroupMember, Part, Summary, VersionRange, VersionRanges};
use crate::limits::MAX_NAMED_KERNELS;

/// The parts of the names of groups.
#[derive(Clone, Copy)]
struct TitleStyle {
    /// Whether the architecture of a kernel is known.
    names_architectures: bool,
    /// Whether the kernels are of several architectures.
    has_several_architectures: bool,
}

impl Group<'_> {
    /// Returns the name of the group: `arm64, x86_64`, `debian`, or `debian (arm64)` if the kernels are of
    /// several architectures.
    fn title(&self, style: TitleStyle, name: &dyn Fn(&str) -> String) -> String {
        let mut titles = self.distribution_titles(style, name);
        let others = || self.members.iter().filter(|member| member.distribution.is_none());
        let mut architectures: Vec<_> = others().filter_map(|member| member.architecture).map(name).collect();
        architectures.dedup();
        let has_unknown = others().any(|member| member.architecture.is_none());
        let (unknown, version) = match (has_unknown, self.is_versioned) {
            (true, _) if !style.names_architectures => {
                let known = if self.is_versioned { "known" } else { "unknown" };
                (Some(format!("kernels of {known} version")), "")
            }
            (true, true) => (Some("kernels of unknown architecture".to_owned()), ""),
            (true, false) => (Some("kernels of unknown architecture and version".to_owned()), ""),
            (false, true) => (None, ""),
            (false, false) => (None, " of unknown version"),
        };
        titles.extend(architectures);
        titles.extend(unknown);
        format!("{}{version}", titles.join(", "))
    }

    /// Returns the names of the distributions, with their architectures if the style needs them.
    fn distribution_titles(&self, style: TitleStyle, name: &dyn Fn(&str) -> String) -> Vec<String> {
        let by_distribution = self.members.chunk_by(|a, b| a.distribution == b.distribution);
        let title = |members: &[GroupMember<'_>]| {
            let distribution = name(members.first()?.distribution?);
            let architectures = members.iter().filter_map(|member| member.architecture).map(name);
            let architectures = architectures.collect::<Vec<_>>().join(", ");
            Some(match style.has_several_architectures && !architectures.is_empty() {
                true => format!("{distribution} ({architectures})"),
                false => distribution,
            })
        };
        by_distribution.filter_map(title).collect()
    }

    /// Returns whether the text names releases of a distribution, so that it needs the group's name even if
    /// it is the only one.
    fn names_releases(&self) -> bool {
        self.parts.len() > 1 && self.distribution().is_some()
    }
}

impl Part<'_> {
    /// Returns the kernels in words: `from 5.15 on`, `on all 45 kernels`, `on 41 of 45 kernels`, and on which
    /// the object has a problem: `on centos-8 and 3 more of 45 kernels`. `kernel_count` is that of the group.
    pub(crate) fn extent(&self, kernel_count: usize, name: &dyn Fn(&str) -> String) -> String {
        match (&self.ranges, self.kernels.as_slice()) {
            (_, [kernel]) if kernel_count == 1 => format!("on {}", name(kernel)),
            (_, [_, _]) if kernel_count == 2 => "on both kernels".to_owned(),
            (_, kernels) if kernels.len() == kernel_count => format!("on all {kernel_count} kernels"),
            (Some(ranges), _) => ranges.text(self.outcome.is_loads(), name),
            (None, kernels) if kernels.len() <= MAX_NAMED_KERNELS => {
                format!("on {}", join_names(kernels, name))
            }
            (None, [first, others @ ..]) if !self.outcome.is_loads() => {
                format!("on {} and {} more of {kernel_count} kernels", name(first), others.len())
            }
            (None, kernels) => format!("on {} of {kernel_count} kernels", kernels.len()),
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

impl Summary<'_> {
    /// Returns the summary in words: `loads from 5.15 on, refused before 5.15`. `name` escapes the names of
    /// kernels and architectures.
    pub(crate) fn text(&self, name: &dyn Fn(&str) -> String) -> String {
        let group = |group: &Group<'_>| {
            let part = |part: &Part<'_>| {
                format!("{} {}", part.outcome.words(), part.extent(group.kernel_count, name))
            };
            group.parts.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        self.join_groups(name, &group)
    }

    /// Returns the outcomes other than `loads` in words: `refused before 5.15`. Empty if the object loads
    /// everywhere.
    pub(crate) fn problems(&self, name: &dyn Fn(&str) -> String) -> String {
        let is_problem = |part: &&Part<'_>| !part.outcome.is_loads();
        let groups = self.groups.iter().filter(|group| group.parts.iter().any(|part| is_problem(&part)));
        let group = |group: &Group<'_>| {
            let part = |part: &Part<'_>| {
                format!("{} {}", part.outcome.words(), part.extent(group.kernel_count, name))
            };
            let text = group.parts.iter().filter(is_problem).map(part).collect::<Vec<_>>().join(", ");
            if self.groups.len() > 1 || group.names_releases() {
                format!("{}: {text}", group.title(self.title_style(), name))
            } else {
                text
            }
        };
        groups.map(group).collect::<Vec<_>>().join("; ")
    }

    /// Returns the kernels of the set in words: `before 5.15`.
    pub(crate) fn set_text(&self, name: &dyn Fn(&str) -> String) -> String {
        let members = |group: &Group<'_>| {
            let part = group.parts.iter().find(|part| !part.outcome.is_loads());
            part.map_or_else(String::new, |part| part.extent(group.kernel_count, name))
        };
        let groups: Vec<_> = self
            .groups
            .iter()
            .filter(|group| group.parts.iter().any(|part| !part.outcome.is_loads()))
            .cloned()
            .collect();
        let is_whole = groups.len() == self.groups.len();
        match groups.as_slice() {
            [group] if is_whole && !group.names_releases() => members(group),
            _ => self.join_prefixed(&groups, name, " ", &members),
        }
    }

    /// Joins the texts of groups. Names the architectures if there are several groups.
    fn join_groups(&self, name: &dyn Fn(&str) -> String, text: &dyn Fn(&Group<'_>) -> String) -> String {
        match self.groups.as_slice() {
            [group] if !group.names_releases() => text(group),
            groups => self.join_prefixed(groups, name, ": ", text),
        }
    }

    /// Returns the parts that the names of groups need.
    fn title_style(&self) -> TitleStyle {
        let members = || self.groups.iter().flat_map(|group| &group.members);
        let first = members().next().and_then(|member| member.architecture);
        TitleStyle {
            names_architectures: members().any(|member| member.architecture.is_some()),
            has_several_architectures: members().any(|member| member.architecture != first),
        }
    }

    /// Joins the texts of some groups of the summary, each with the group's name.
    fn join_prefixed(
        &self,
        groups: &[Group<'_>],
        name: &dyn Fn(&str) -> String,
        separator: &str,
        text: &dyn Fn(&Group<'_>) -> String,
    ) -> String {
        let style = self.title_style();
        let groups =
            groups.iter().map(|group| format!("{}{separator}{}", group.title(style, name), text(group)));
        groups.collect::<Vec<_>>().join("; ")
    }
}
