//! Observations of real kernels, and what they tell about other kernels.

use super::{
    KernelVersion,
    age::KernelAge,
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    mark::{Mark, MarkPresence},
    observed_kernels::{OBSERVED_KERNELS, ObservedKernel},
};
use core::cmp::Ordering;

/// A release between the last two observed kernels. It was observed for questions that these answer
/// differently.
pub(super) const LATE_RELEASE: KernelVersion = KernelVersion::release(6, 18);

/// What each observed kernel does: whether it permits something. `None` for a kernel without the parts that
/// the question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Observations {
    kernels: [Option<bool>; OBSERVED_KERNELS.len()],
    /// What [`LATE_RELEASE`] does. `None` if it was not observed.
    late: Option<bool>,
}

impl Observations {
    /// Nothing was observed.
    pub(super) const NONE: Self = Self { kernels: [None; OBSERVED_KERNELS.len()], late: None };
    /// No kernel permits it.
    pub(super) const NEVER: Self = Self { kernels: [Some(false); OBSERVED_KERNELS.len()], late: None };

    pub(super) fn new(permits: impl FnMut(usize) -> Option<bool>) -> Self {
        Self { kernels: core::array::from_fn(permits), late: None }
    }

    /// Adds what [`LATE_RELEASE`] does.
    pub(super) fn with_late(self, late: Option<bool>) -> Self {
        Self { late, ..self }
    }

    /// Returns whether some observed kernel permits it.
    pub(super) fn permits_anywhere(self) -> bool {
        self.known().any(|permits| permits)
    }

    /// Returns what all observed kernels do. `None` if they differ, or if nothing was observed.
    pub(super) fn is_same(self) -> Option<bool> {
        let mut known = self.known();
        let first = known.next()?;
        known.all(|permits| permits == first).then_some(first)
    }

    fn known(self) -> impl DoubleEndedIterator<Item = bool> {
        self.kernels.into_iter().flatten()
    }

    /// Returns what the last of the first `count` kernels does that has an observation.
    fn last_of(self, count: usize) -> Option<bool> {
        self.kernels.get(..count)?.iter().rev().find_map(|permits| *permits)
    }

    /// Returns what the first kernel from an index on does that has an observation.
    fn first_from(self, kernel: usize) -> Option<bool> {
        self.kernels.get(kernel..)?.iter().find_map(|permits| *permits)
    }

    /// Returns what a kernel of an age does. `None` if the observations do not tell.
    ///
    /// A kernel may have parts that the observed kernel of its age lacks. Then its neighbours tell.
    fn permits(self, age: KernelAge) -> Option<bool> {
        let (before, after) = match age {
            KernelAge::At(kernel) => match self.kernels.get(kernel).copied().flatten() {
                None => (self.last_of(kernel), self.first_from(kernel)),
                known => (known, known),
            },
            KernelAge::After(kernel) => {
                let next = kernel.checked_add(1)?;
                let before = self.last_of(next);
                if next == OBSERVED_KERNELS.len() {
                    // A newer kernel may permit more.
                    return before.filter(|permits| *permits);
                }
                (before, self.first_from(next))
            }
            KernelAge::BeforeLate(kernel) | KernelAge::AtLate(kernel) => {
                let next = kernel.checked_add(1)?;
                let is_late = matches!(age, KernelAge::AtLate(_));
                let before = self.late.filter(|_| is_late).or(self.last_of(next));
                (before, self.late.or(self.first_from(next)))
            }
            KernelAge::Unknown => return self.is_same(),
        };
        match (before, after) {
            (Some(before), Some(after)) => (before == after).then_some(after),
            (before, after) => before.or(after),
        }
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel permits what no observed kernel does.
    pub(crate) fn never_observed(&self, what: &str, exists: Answer) -> Answer {
        self.answer_observed(Observations::NEVER, what, exists)
    }

    /// Answers whether the kernel permits something. `exists` is the answer for a kernel that does. `what`
    /// completes "kernels do not": "let programs of type XDP call it".
    pub(super) fn answer_observed(&self, observations: Observations, what: &str, exists: Answer) -> Answer {
        if observations.known().next().is_none() {
            return exists;
        }
        let age = *self.age.get_or_init(|| self.age_among_observed());
        match observations.permits(age) {
            Some(true) => exists,
            Some(false) => Answer::Absent(Evidence {
                source: EvidenceSource::Version,
                text: match age {
                    KernelAge::At(kernel) => format!("kernels like {} do not {what}", Release(kernel)),
                    _ => format!("kernels like this one do not {what}"),
                },
            }),
            None => Answer::Unknown(format!("only some kernels {what}, and this one is {}", AgeText(age))),
        }
    }

    /// Returns the age of the kernel among the observed ones.
    fn age_among_observed(&self) -> KernelAge {
        let age = self.age_by_marks();
        let version = self.inputs.version.map(|version| KernelVersion::release(version.major, version.minor));
        let KernelAge::After(kernel) = age else { return age };
        let (Some(version), Some(before)) = (version, OBSERVED_KERNELS.get(kernel)) else { return age };
        let is_before_newest = kernel.checked_add(2) == Some(OBSERVED_KERNELS.len());
        // An older version with newer BTF is that of a distribution, which takes changes from any later
        // release.
        if !is_before_newest || version <= before.release {
            return age;
        }
        match version.cmp(&LATE_RELEASE) {
            Ordering::Less => KernelAge::BeforeLate(kernel),
            Ordering::Equal => KernelAge::AtLate(kernel),
            Ordering::Greater => age,
        }
    }

    /// Returns the age of the kernel by its BTF, and where BTF does not tell, by its version.
    fn age_by_marks(&self) -> KernelAge {
        let finds = |marks: &[Mark]| marks.iter().any(|mark| self.find_mark(*mark) == MarkPresence::Found);
        let is_since = |kernel: &ObservedKernel| finds(kernel.since) || finds(&[kernel.later]);
        let newest = OBSERVED_KERNELS.iter().rposition(is_since);
        let version = self.inputs.version.map(|version| KernelVersion::release(version.major, version.minor));
        let reached = version.and_then(|version| OBSERVED_KERNELS.iter().rposition(|k| k.release <= version));
        let by_version = |at: usize| match OBSERVED_KERNELS.get(at) {
            Some(kernel) if version > Some(kernel.release) => KernelAge::After(at),
            _ => KernelAge::At(at),
        };
        let Some(at) = newest else {
            let is_older = OBSERVED_KERNELS.first().is_some_and(|oldest| {
                oldest.since.iter().any(|mark| self.find_mark(*mark) == MarkPresence::Missing)
            });
            return match (is_older, version, reached) {
                (true, ..) | (false, Some(_), None) => KernelAge::At(0),
                (false, _, Some(reached)) => by_version(reached),
                (false, None, None) => KernelAge::Unknown,
            };
        };
        let Some(kernel) = OBSERVED_KERNELS.get(at) else { return KernelAge::Unknown };
        match self.find_mark(kernel.later) {
            MarkPresence::Found => match reached.filter(|reached| *reached > at) {
                Some(reached) => by_version(reached),
                None => KernelAge::After(at),
            },
            MarkPresence::Missing => KernelAge::At(at),
            MarkPresence::NotDecided => KernelAge::Unknown,
        }
    }
}

/// The release of an observed kernel.
struct Release(usize);

impl core::fmt::Display for Release {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        OBSERVED_KERNELS.get(self.0).map_or(Ok(()), |kernel| write!(f, "{}", kernel.release))
    }
}

/// An age as text: "between 6.1 and 6.12".
struct AgeText(KernelAge);

impl core::fmt::Display for AgeText {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            KernelAge::At(kernel) => write!(f, "like {}", Release(kernel)),
            KernelAge::After(kernel) | KernelAge::BeforeLate(kernel) | KernelAge::AtLate(kernel) => {
                match kernel.checked_add(1).filter(|next| *next < OBSERVED_KERNELS.len()) {
                    Some(next) => write!(f, "between {} and {}", Release(kernel), Release(next)),
                    None => write!(f, "newer than {}", Release(kernel)),
                }
            }
            KernelAge::Unknown => f.write_str("of unknown age"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const NONE: Option<bool> = None;
    const NO: Option<bool> = Some(false);
    const YES: Option<bool> = Some(true);

    /// The shape of observations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::kernel) enum Shape {
        Always,
        Never,
        From(usize),
        Mixed,
    }

    impl Observations {
        pub(in crate::kernel) fn shape(self) -> Shape {
            let known: Vec<_> = self.known().collect();
            match self.kernels.iter().rposition(|permits| *permits == NO) {
                None => Shape::Always,
                Some(_) if !known.contains(&true) => Shape::Never,
                Some(last) if !self.kernels[..last].contains(&YES) => {
                    Shape::From(last.checked_add(1).unwrap())
                }
                Some(_) => Shape::Mixed,
            }
        }
    }

    #[test]
    fn a_kernel_does_what_its_neighbours_do() {
        let permits = |kernels, age| Observations { kernels, late: None }.permits(age);
        assert_eq!(permits([NONE, YES, NO, NO], KernelAge::At(1)), YES);
        assert_eq!(permits([NONE, YES, NO, NO], KernelAge::At(3)), NO, "a later no counts");
        assert_eq!(permits([NONE, YES, NO, NO], KernelAge::After(1)), NONE);
        assert_eq!(permits([NONE, YES, NO, NO], KernelAge::After(2)), NO);
        assert_eq!(permits([NONE, NONE, YES, YES], KernelAge::At(0)), YES, "a backport");
        assert_eq!(permits([NONE, NONE, YES, YES], KernelAge::At(1)), YES);
        assert_eq!(permits([NONE, NO, NO, YES], KernelAge::After(2)), NONE);
        assert_eq!(permits([NO, NO, NO, NO], KernelAge::After(3)), NONE, "a newer kernel may permit more");
        assert_eq!(permits([NO, NO, NO, YES], KernelAge::After(3)), YES);
        assert_eq!(permits([NO, NO, NO, NO], KernelAge::Unknown), NO);
        assert_eq!(permits([NO, YES, YES, YES], KernelAge::Unknown), NONE);
        let late = |late| Observations { kernels: [NO, NO, NO, YES], late };
        assert_eq!(late(NO).permits(KernelAge::BeforeLate(2)), NO);
        assert_eq!(late(YES).permits(KernelAge::BeforeLate(2)), NONE);
        assert_eq!(late(YES).permits(KernelAge::AtLate(2)), YES);
        assert_eq!(late(NONE).permits(KernelAge::BeforeLate(2)), NONE, "not observed");
        assert_eq!(late(NONE).permits(KernelAge::AtLate(2)), NONE, "not observed");
        assert_eq!(late(NO).permits(KernelAge::After(2)), NONE);
    }
}
