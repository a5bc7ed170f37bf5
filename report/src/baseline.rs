//! A baseline: earlier results, of which only what is new counts.
//!
//! A refusal is that of the baseline if object, program, kind and text of the reason are the same, on the
//! same kernel or another version of it. The source line does not count, because lines move.

use crate::{
    agreement::LoadOutcome,
    comparison::{Comparison, MISMATCH, NewRefusal, REAL_LOAD},
    model::{FleetReport, Outcome, Row},
    policy::{Acceptance, AllowEntry, ReasonPlace},
};
use core_relo_verdict::judge::{ObjectVerdict, Reason, ReasonKind, Verdict};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The results of an earlier check.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The results by object and kernel, or series of kernels.
    results: HashMap<(String, KernelName), KnownResults>,
}

/// A kernel that is the same in both checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum KernelName {
    /// Every version of a kernel of a distribution: the newest one has another name each week.
    Series(String),
    Name(String),
}

/// The results of an object on a kernel, or on the kernels of a series.
#[derive(Clone, Debug, Default)]
struct KnownResults {
    verdicts: Vec<Arc<ObjectVerdict>>,
    /// The programs, or the default load, that the booted kernel refused, with the first line of the reason.
    refused_loads: HashSet<(Option<String>, Option<String>)>,
}

/// A reason, without its source line and evidence.
type ReasonKey<'r> = (Option<&'r str>, ReasonKind, &'r str);

impl Baseline {
    /// Creates the baseline from the results of a check.
    pub fn new(report: &FleetReport) -> Self {
        let mut results = HashMap::<_, KnownResults>::new();
        for row in &report.rows {
            let known = results.entry((row.object.clone(), KernelName::new(row))).or_default();
            if let Ok(verdict) = &row.outcome
                && !known.verdicts.iter().any(|other| Arc::ptr_eq(other, verdict))
            {
                known.verdicts.push(Arc::clone(verdict));
            }
            let refused = row.real_loads.iter().filter(|load| load.outcome == LoadOutcome::Refused);
            known.refused_loads.extend(refused.map(|load| (load.program.clone(), load.headline())));
        }
        Self { results }
    }

    /// Compares a result with that of the baseline. A kernel or an object that the baseline does not have is
    /// new with all its refusals.
    pub fn compare(&self, row: &Row) -> Comparison {
        let known = self.results.get(&(row.object.clone(), KernelName::new(row)));
        let mut new = Vec::new();
        let verdict = match &row.outcome {
            Ok(verdict) => compare_verdict(verdict, row.acceptance.as_ref(), known, &mut new),
            Err(_) => Verdict::Unknown,
        };
        let known_warnings = known.map(KnownResults::warnings);
        let mut seen = HashSet::new();
        for warning in row.outcome.iter().flat_map(|verdict| &verdict.warnings) {
            let key = (&*warning.program, &*warning.text);
            if !known_warnings.as_ref().is_some_and(|known| known.contains(&key)) && seen.insert(key) {
                new.push(NewRefusal::new(Some(key.0), MISMATCH, key.1));
            }
        }
        for (index, load) in row.real_loads.iter().enumerate() {
            let key = (load.program.clone(), load.headline());
            let is_known = known.is_some_and(|known| known.refused_loads.contains(&key));
            if row.real_outcome(index, load) == Outcome::Refused && !is_known {
                let headline = key.1.as_deref().unwrap_or("");
                new.push(NewRefusal::new(load.program.as_deref(), REAL_LOAD, headline));
            }
        }
        Comparison::new(verdict, new)
    }
}

impl KernelName {
    fn new(row: &Row) -> Self {
        match &row.kernel_series {
            Some(series) => Self::Series(series.clone()),
            None => Self::Name(row.kernel.clone()),
        }
    }
}

impl KnownResults {
    /// Returns the program and the text of each silent mismatch.
    fn warnings(&self) -> HashSet<(&str, &str)> {
        let warnings = self.verdicts.iter().flat_map(|verdict| &verdict.warnings);
        warnings.map(|warning| (&*warning.program, &*warning.text)).collect()
    }

    /// Returns the reasons of all verdicts.
    fn reasons(&self) -> HashSet<ReasonKey<'_>> {
        let mut keys = HashSet::new();
        for verdict in &self.verdicts {
            keys.extend(verdict.reasons.iter().map(|reason| key(None, reason)));
            for program in &verdict.programs {
                keys.extend(program.reasons.iter().map(|reason| key(Some(&program.name), reason)));
            }
        }
        keys
    }
}

fn key<'r>(program: Option<&'r str>, reason: &'r Reason) -> ReasonKey<'r> {
    (program, reason.kind, &reason.text)
}

/// Adds the new reasons of a verdict to `new`. Returns the verdict that is left without the others.
fn compare_verdict(
    verdict: &ObjectVerdict,
    acceptance: Option<&Acceptance>,
    known: Option<&KnownResults>,
    new: &mut Vec<NewRefusal>,
) -> Verdict {
    let known = known.map(KnownResults::reasons);
    let is_known = |key: &ReasonKey<'_>| known.as_ref().is_some_and(|known| known.contains(key));
    let counts = |place: ReasonPlace| -> Option<(ReasonKey<'_>, bool)> {
        let (key, is_accepted) = match place {
            ReasonPlace::Program { program, reason } => {
                let of = verdict.programs.get(program)?;
                let accepted = acceptance.and_then(|accepted| accepted.program(program)?.reason(reason));
                (key(Some(&of.name), of.reasons.get(reason)?), accepted.is_some())
            }
            ReasonPlace::Object { reason } => {
                let reason = verdict.reasons.get(reason)?;
                // A reason that is not accepted is part of the verdict that is left.
                let is_accepted = acceptance
                    .is_some_and(|accepted| accepted.entry().is_some() && accepted.verdict < reason.verdict);
                (key(None, reason), is_accepted)
            }
        };
        Some((key, !is_accepted && !is_known(&key)))
    };
    let programs = verdict.programs.iter().enumerate().flat_map(|(program, of)| {
        (0..of.reasons.len()).map(move |reason| ReasonPlace::Program { program, reason })
    });
    let mut seen = HashSet::new();
    // The programs repeat the other reasons of the object.
    let own: HashSet<_> = verdict.own_reasons().map(|reason| key(None, reason)).collect();
    let of_object = (0..verdict.reasons.len()).map(|reason| ReasonPlace::Object { reason });
    for place in programs.chain(of_object) {
        let is_listed = |key: &ReasonKey<'_>| key.0.is_some() || own.contains(key);
        if let Some((key, true)) = counts(place)
            && is_listed(&key)
            && seen.insert(key)
        {
            new.push(NewRefusal::new(key.0, key.1.word(), key.2));
        }
    }
    let entry = Arc::new(AllowEntry::default());
    let is_left_out = |place| counts(place).is_some_and(|(_, counts)| !counts);
    let left = Acceptance::new(verdict, |place| is_left_out(place).then(|| Arc::clone(&entry)));
    left.map_or(verdict.verdict, |left| left.verdict)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use crate::{
        Conclusion,
        policy::{AllowList, KernelNames},
        test_fleet::{loads, refused_row, row},
    };
    use core_relo_verdict::judge::ProgramVerdict;

    fn verdict(reasons: &[(&str, ReasonKind, Verdict, &str)]) -> ObjectVerdict {
        let mut programs = Vec::<ProgramVerdict>::new();
        for (name, kind, verdict, text) in reasons {
            let mut all = vec![Reason::new(*kind, *verdict, *text)];
            if let Some(at) = programs.iter().position(|program| program.name == *name) {
                all.splice(0..0, programs.remove(at).reasons);
            }
            programs.push(ProgramVerdict::new(*name, all));
        }
        ObjectVerdict::new(programs)
    }

    fn compared(before: Vec<Row>, mut after: Row) -> (Conclusion, Vec<String>) {
        let report = FleetReport { rows: before, ..FleetReport::default() };
        let comparison = Baseline::new(&report).compare(&after);
        let new = comparison.new.iter().map(|new| new.text.clone()).collect();
        after.comparison = Some(comparison);
        (after.conclusion(), new)
    }

    const OLD: (&str, ReasonKind, Verdict, &str) = ("a", ReasonKind::Helper, Verdict::Refused, "old");

    #[test]
    fn only_new_reasons_count() {
        let of = |reasons: &[_]| row("a.o", "k", None, None, verdict(reasons));
        let before = || vec![of(&[OLD])];
        assert_eq!(compared(before(), of(&[OLD])), (Conclusion::Passes, vec![]));
        let new = ("b", ReasonKind::Helper, Verdict::Refused, "new");
        assert_eq!(compared(before(), of(&[OLD, new])), (Conclusion::Fails, vec!["new".to_owned()]));
        let doubt = ("a", ReasonKind::Kconfig, Verdict::Unknown, "doubt");
        assert_eq!(compared(before(), of(&[OLD, doubt])), (Conclusion::Undecided, vec!["doubt".to_owned()]));
        // Another program, another kind.
        let moved = ("b", ReasonKind::Helper, Verdict::Refused, "old");
        assert_eq!(compared(before(), of(&[OLD, moved])).0, Conclusion::Fails);
        let kind = ("a", ReasonKind::Kfunc, Verdict::Refused, "old");
        assert_eq!(compared(before(), of(&[kind])).0, Conclusion::Fails);
        assert_eq!(compared(before(), row("a.o", "k", None, None, loads())), (Conclusion::Passes, vec![]));
        // A kernel or an object that the baseline does not have.
        assert_eq!(compared(before(), refused_row("a.o", "l")).0, Conclusion::Fails);
        assert_eq!(compared(before(), row("b.o", "k", None, None, verdict(&[OLD]))).0, Conclusion::Fails);
        assert_eq!(compared(vec![], row("b.o", "k", None, None, loads())).0, Conclusion::Passes);
    }

    #[test]
    fn a_newer_version_of_a_kernel_is_the_same_kernel() {
        let of = |kernel: &str, series: Option<&str>| {
            let mut row = row("a.o", kernel, None, None, verdict(&[OLD]));
            row.kernel_series = series.map(str::to_owned);
            row
        };
        let series = Some("debian:12 x86_64");
        let before = || vec![of("debian:12/6.1.0-49-amd64", series)];
        assert_eq!(compared(before(), of("debian:12/6.1.0-50-amd64", series)).0, Conclusion::Passes);
        assert_eq!(
            compared(before(), of("debian:12/6.1.0-50-arm64", Some("debian:12 aarch64"))).0,
            Conclusion::Fails
        );
        assert_eq!(compared(before(), of("debian:12/6.1.0-49-amd64", None)).0, Conclusion::Fails);
    }

    #[test]
    fn accepted_reasons_are_not_new() {
        let new = ("b", ReasonKind::Kfunc, Verdict::Refused, "accepted");
        let mut after = row("a.o", "k", None, None, verdict(&[OLD, new]));
        let list = AllowList::new(["kind=kfunc".parse().unwrap()]);
        let entries = list.for_kernel(&KernelNames::new("k", None));
        after.acceptance = entries.accept("a.o", after.outcome.as_ref().unwrap());
        let before = vec![row("a.o", "k", None, None, verdict(&[OLD]))];
        assert_eq!(compared(before, after), (Conclusion::Passes, vec![]));
    }

    #[test]
    fn reasons_of_an_object_without_programs_are_compared() {
        let of = |text: &str| {
            let mut verdict = ObjectVerdict::new(Vec::new());
            verdict.verdict = Verdict::Refused;
            verdict.reasons = vec![Reason::new(ReasonKind::MapType, Verdict::Refused, text)];
            row("a.o", "k", None, None, verdict)
        };
        assert_eq!(compared(vec![of("x")], of("x")).0, Conclusion::Passes);
        assert_eq!(compared(vec![of("x")], of("y")), (Conclusion::Fails, vec!["y".to_owned()]));
    }

    #[test]
    fn a_refusal_by_the_booted_kernel_is_compared() {
        let of = |outcome, reason: &str| {
            let mut row = row("a.o", "k", None, None, loads());
            let mut load = crate::RealLoad::new(Some("main".to_owned()), outcome);
            load.reason = Some(format!("{reason}\nR1 invalid"));
            row.real_loads = vec![load];
            row
        };
        let refused = || of(LoadOutcome::Refused, "main: EACCES");
        assert_eq!(compared(vec![refused()], refused()), (Conclusion::Passes, vec![]));
        let before = vec![of(LoadOutcome::Loaded, "")];
        assert_eq!(compared(before, refused()), (Conclusion::Fails, vec!["main: EACCES".to_owned()]));
        let other = of(LoadOutcome::Refused, "main: E2BIG");
        assert_eq!(compared(vec![other], refused()).0, Conclusion::Fails);
        let unknown = of(LoadOutcome::Unknown, "no boot");
        assert_eq!(compared(vec![refused()], unknown).0, Conclusion::Unread);
    }
}
