//! Constructors of verdicts, for callers that get them from elsewhere, such as tests of reports.

use super::model::{LoaderRefusal, ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Requirement, Verdict};
use crate::SourceLine;
use crate::kernel::Evidence;
use crate::loaders::{LoaderKind, Stance};
use hashbrown::HashSet;

impl ObjectVerdict {
    /// Creates the verdict on an object whose maps and externs are no reason for another verdict than that of
    /// the programs.
    pub fn new(programs: Vec<ProgramVerdict>) -> Self {
        let default_load = programs.iter().filter(|program| program.autoload);
        let verdict = default_load.map(|program| program.verdict).max().unwrap_or(Verdict::Loads);
        Self { verdict, programs, ..Self::default() }
    }

    /// Refuses the object for a reason that is none of its programs alone, such as a group of variants of
    /// which none works. The verdicts on the programs stay.
    #[must_use]
    pub fn refused_for(mut self, reason: Reason) -> Self {
        self.verdict = Verdict::Refused;
        self.reasons.insert(0, reason);
        self
    }

    /// Returns the reasons of the object that no program repeats. They decide on the object beside the
    /// verdicts on its programs.
    pub fn own_reasons(&self) -> impl Iterator<Item = &Reason> {
        let mut repeated = HashSet::new();
        if !self.reasons.is_empty() {
            let of_programs = self.programs.iter().flat_map(|program| &program.reasons);
            repeated.extend(of_programs.map(|reason| (reason.kind, &*reason.text)));
        }
        self.reasons.iter().filter(move |own| !repeated.contains(&(own.kind, &*own.text)))
    }
}

impl ProgramVerdict {
    /// Creates the verdict on a program of the default load. Sorts the reasons, worst first.
    pub fn new(name: impl Into<String>, mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| core::cmp::Reverse(reason.verdict));
        let verdict = reasons.first().map_or(Verdict::Loads, |reason| reason.verdict);
        Self { name: name.into(), autoload: true, verdict, reasons, guarded: Vec::new(), later: Vec::new() }
    }

    /// Takes the program out of the default load.
    #[must_use]
    pub fn without_autoload(self) -> Self {
        Self { autoload: false, ..self }
    }

    /// Returns the verdict on a load by core-relo: see [`Reason::counts_for_core_relo`].
    pub fn for_core_relo(&self) -> Verdict {
        worst_for_core_relo(&self.reasons)
    }
}

impl ObjectVerdict {
    /// Returns the reasons against the default load: those of the object, then those of the programs of the
    /// load.
    pub fn load_reasons(&self) -> impl Iterator<Item = &Reason> {
        let in_load = self.programs.iter().filter(|program| program.autoload);
        self.reasons.iter().chain(in_load.flat_map(|program| &program.reasons))
    }

    /// Returns the verdict on a default load by core-relo: see [`Reason::counts_for_core_relo`].
    pub fn for_core_relo(&self) -> Verdict {
        worst_for_core_relo(self.load_reasons())
    }
}

fn worst_for_core_relo<'r>(reasons: impl IntoIterator<Item = &'r Reason>) -> Verdict {
    let own = reasons.into_iter().filter(|reason| reason.counts_for_core_relo());
    own.map(|reason| reason.verdict).max().unwrap_or(Verdict::Loads)
}

impl Reason {
    /// Returns whether the reason stands against a load by core-relo, too: it is no rule of other loaders
    /// that core-relo does not have, and nothing that core-relo repairs.
    pub fn counts_for_core_relo(&self) -> bool {
        let is_foreign =
            |loader: LoaderRefusal| !matches!(loader.rule.stance(LoaderKind::CoreRelo), Stance::Refuses(_));
        !self.is_repaired && !self.loader.is_some_and(is_foreign)
    }

    /// Creates a reason without source line, evidence and fix.
    pub fn new(kind: ReasonKind, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            kind,
            verdict,
            text: text.into(),
            source: None,
            insn: None,
            evidence: None,
            fix: None,
            requirement: None,
            map: None,
            loader: None,
            is_repaired: false,
        }
    }

    /// Records that core-relo repairs the object, so that its load is not refused for this reason.
    #[must_use]
    pub(super) const fn repaired(mut self) -> Self {
        self.is_repaired = true;
        self
    }

    /// Adds the source line.
    #[must_use]
    pub fn with_source(mut self, source: SourceLine) -> Self {
        self.source = Some(source);
        self
    }

    /// Adds the evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// Adds the requirement.
    #[must_use]
    pub const fn with_requirement(mut self, requirement: Requirement) -> Self {
        self.requirement = Some(requirement);
        self
    }

    /// Adds the fix.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
