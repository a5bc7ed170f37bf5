//! The accepted reasons of an object's verdict on a kernel.

use super::entry::{AllowEntry, SharedEntry};
use core_relo_verdict::judge::{ObjectVerdict, Verdict};

/// The place of a reason, by indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReasonPlace {
    /// A reason of a program.
    Program { program: usize, reason: usize },
    /// A reason of the whole object.
    Object { reason: usize },
}

/// The accepted reasons of an object's verdict on a kernel, and the verdicts that are left without them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acceptance {
    /// The verdict on the object without the accepted reasons. It decides on the exit status.
    pub verdict: Verdict,
    /// The entry that accepts the worst reason of the object, if one does.
    entry: Option<SharedEntry>,
    programs: Vec<ProgramAcceptance>,
}

/// The accepted reasons of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramAcceptance {
    /// The verdict on the program without the accepted reasons.
    pub verdict: Verdict,
    /// The entry that accepts each reason.
    reasons: Vec<Option<SharedEntry>>,
}

impl ProgramAcceptance {
    /// Creates the value from the verdict that is left, and the entry that accepts each reason.
    pub(crate) fn from_parts(verdict: Verdict, reasons: Vec<Option<SharedEntry>>) -> Self {
        Self { verdict, reasons }
    }

    /// Returns the entry that accepts the worst accepted reason.
    pub fn entry(&self) -> Option<&AllowEntry> {
        self.reasons.iter().flatten().next().map(|entry| &**entry)
    }

    /// Returns the entry that accepts a reason, by the reason's index.
    pub fn reason(&self, index: usize) -> Option<&AllowEntry> {
        self.reasons.get(index)?.as_deref()
    }
}

impl Acceptance {
    /// Asks for each reason which entry accepts it. Returns `None` if no reason is accepted.
    pub(crate) fn new(
        object: &ObjectVerdict,
        mut accept: impl FnMut(ReasonPlace) -> Option<SharedEntry>,
    ) -> Option<Self> {
        let mut programs = Vec::with_capacity(object.programs.len());
        for (number, program) in object.programs.iter().enumerate() {
            let mut accepted = ProgramAcceptance::default();
            for (index, reason) in program.reasons.iter().enumerate() {
                let entry = accept(ReasonPlace::Program { program: number, reason: index });
                if entry.is_none() {
                    accepted.verdict = accepted.verdict.max(reason.verdict);
                }
                accepted.reasons.push(entry);
            }
            programs.push(accepted);
        }
        let default_load = || object.programs.iter().zip(&programs).filter(|(program, _)| program.autoload);
        let mut verdict =
            default_load().map(|(_, accepted)| accepted.verdict).max().unwrap_or(Verdict::Loads);
        let accepted = default_load().filter(|(_, accepted)| accepted.entry().is_some());
        let worst = accepted.max_by_key(|(program, _)| program.verdict);
        let mut entry = worst.and_then(|(_, accepted)| accepted.reasons.iter().flatten().next().cloned());
        // Without programs in the default load, the object's reasons decide, such as its maps. So do those
        // that no program repeats.
        let of_programs = default_load().map(|(program, _)| program.verdict).max().unwrap_or(Verdict::Loads);
        if of_programs < object.verdict || object.own_reasons().next().is_some() {
            let mut worst = None;
            for (index, reason) in object.reasons.iter().enumerate() {
                match accept(ReasonPlace::Object { reason: index }) {
                    Some(accepting) if worst.as_ref().is_none_or(|(of, _)| *of < reason.verdict) => {
                        worst = Some((reason.verdict, accepting));
                    }
                    Some(_) => {}
                    None => verdict = verdict.max(reason.verdict),
                }
            }
            if object.reasons.is_empty() {
                verdict = object.verdict;
            }
            entry = worst.map(|(_, accepting)| accepting);
        }
        let accepts_reason = programs.iter().any(|program| program.entry().is_some());
        (entry.is_some() || accepts_reason).then_some(Self { verdict, entry, programs })
    }

    /// Creates the value from the verdict that is left, the entry that accepts the worst reason, and the
    /// acceptance of each program.
    pub(crate) fn from_parts(
        verdict: Verdict,
        entry: Option<SharedEntry>,
        programs: Vec<ProgramAcceptance>,
    ) -> Self {
        Self { verdict, entry, programs }
    }

    /// Returns the acceptance of the object without that of its programs.
    pub fn without_details(self) -> Self {
        Self { programs: Vec::new(), ..self }
    }

    /// Returns the entry that accepts the worst accepted reason of the default load. `None` if only reasons
    /// of other programs are accepted.
    pub fn entry(&self) -> Option<&AllowEntry> {
        self.entry.as_deref()
    }

    /// Returns the accepted reasons of a program, by its index.
    pub fn program(&self, index: usize) -> Option<&ProgramAcceptance> {
        self.programs.get(index).filter(|program| program.entry().is_some())
    }
}
