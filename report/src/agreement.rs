//! Verdicts compared with the real loads of programs.

use core_relo_verdict::judge::Verdict;
use serde::Deserialize;
use std::{fmt, ops::AddAssign};

/// The outcome of a real load. A later variant is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LoadOutcome {
    /// The kernel accepted the program.
    Loaded,
    /// The load did not take place, or its result is missing.
    Unknown,
    /// The kernel refused the program or one of its maps, or the load plan failed.
    Refused,
}

impl LoadOutcome {
    /// Returns the word for JSON and text: `loaded`, `unknown`, `refused`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
        }
    }
}

/// The relation between a verdict and the outcome of the real load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Agreement {
    /// The outcome is that of the verdict.
    Agrees,
    /// The outcome contradicts the verdict.
    Differs,
    /// The verdict or the outcome is unknown.
    Undecided,
}

impl Agreement {
    /// Compares a verdict with an outcome.
    pub const fn new(verdict: Verdict, outcome: LoadOutcome) -> Self {
        match (verdict, outcome) {
            (Verdict::Unknown, _) | (_, LoadOutcome::Unknown) => Self::Undecided,
            (Verdict::Loads, LoadOutcome::Loaded) => Self::Agrees,
            (Verdict::Refused | Verdict::NeedsInput, LoadOutcome::Refused) => Self::Agrees,
            (Verdict::Loads, LoadOutcome::Refused) => Self::Differs,
            (Verdict::Refused | Verdict::NeedsInput, LoadOutcome::Loaded) => Self::Differs,
        }
    }

    /// Creates the value from that of [`is_agreed`](Self::is_agreed).
    pub(super) const fn from_agreed(is_agreed: Option<bool>) -> Self {
        match is_agreed {
            Some(true) => Self::Agrees,
            Some(false) => Self::Differs,
            None => Self::Undecided,
        }
    }

    /// Returns whether the verdict agrees with the outcome; `None` if one of them is unknown.
    pub const fn is_agreed(self) -> Option<bool> {
        match self {
            Self::Agrees => Some(true),
            Self::Differs => Some(false),
            Self::Undecided => None,
        }
    }
}

/// The numbers of verdicts that agree with the real load, differ from it, and are undecided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgreementCounts {
    agrees: usize,
    differs: usize,
    undecided: usize,
}

impl FromIterator<Agreement> for AgreementCounts {
    fn from_iter<I: IntoIterator<Item = Agreement>>(agreements: I) -> Self {
        let mut counts = Self::default();
        for agreement in agreements {
            *match agreement {
                Agreement::Agrees => &mut counts.agrees,
                Agreement::Differs => &mut counts.differs,
                Agreement::Undecided => &mut counts.undecided,
            } += 1;
        }
        counts
    }
}

impl AddAssign for AgreementCounts {
    fn add_assign(&mut self, other: Self) {
        self.agrees += other.agrees;
        self.differs += other.differs;
        self.undecided += other.undecided;
    }
}

/// Prints `9 verdicts agree with the real loads, 1 differs`.
impl fmt::Display for AgreementCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agrees, differs, undecided } = self;
        let (s, verb) = if *agrees == 1 { ("", "agrees") } else { ("s", "agree") };
        write!(f, "{agrees} verdict{s} {verb} with the real load{s}")?;
        if *differs > 0 {
            write!(f, ", {differs} differ{}", if *differs == 1 { "s" } else { "" })?;
        }
        if *undecided > 0 {
            write!(f, ", {undecided} undecided")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_outcomes_confirm_or_contradict_a_verdict() {
        assert_eq!(Agreement::new(Verdict::Loads, LoadOutcome::Loaded), Agreement::Agrees);
        assert_eq!(Agreement::new(Verdict::Refused, LoadOutcome::Loaded), Agreement::Differs);
        assert_eq!(Agreement::new(Verdict::NeedsInput, LoadOutcome::Loaded), Agreement::Differs);
        assert_eq!(Agreement::new(Verdict::Unknown, LoadOutcome::Loaded), Agreement::Undecided);
        assert_eq!(Agreement::new(Verdict::Loads, LoadOutcome::Unknown), Agreement::Undecided);
    }
}
