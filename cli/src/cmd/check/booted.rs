//! Kernels that were judged and booted: the verdict on each program beside the outcome of its real load.

use super::report::{KernelReport, ObjectReport};
use crate::{
    budget::stats::ProgramStats,
    cmd::budget_gate::{BudgetGate, LoadedProgram},
    console::ExitStatus,
    describe,
    error::BadInput,
    guest::load::{GuestLoad, ProgramReality, Reality},
    json::reality::RealityJson,
    text::{
        line::Line,
        style::{BOLD, DIM, ERROR},
    },
};
use core_relo_kernels::FetchedKernel;
use core_relo_report::{
    Agreement, AgreementCounts, RealLoad, TOGETHER,
    load_message::{deciding_lines, first_line},
};
use core_relo_verdict::judge::{ObjectVerdict, ProgramVerdict, Reason, Verdict};
use core_relo_vm::VmError;

/// The verdicts on all objects, and their real loads, on a kernel.
#[derive(Debug)]
pub(crate) struct BootedKernel {
    /// The image's path as the user gave it, or the name of a fetched kernel.
    pub(crate) name: String,
    /// The fetched kernel, if it is one.
    pub(super) fetched: Option<FetchedKernel>,
    /// The verdicts, or the reason why the kernel's types cannot be read.
    pub(super) report: Result<KernelReport, BadInput>,
    /// The real loads. Every program is unknown if the kernel does not boot.
    pub(crate) loads: GuestLoad,
    /// The reason why the kernel does not boot.
    pub(crate) boot_error: Option<VmError>,
}

/// The load of a program, or of several programs together, on a booted kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BootedLoad<'b> {
    /// The object's path as the user gave it.
    pub(crate) object: &'b str,
    /// The program; `None` for the programs of the default load together.
    pub(crate) program: Option<&'b ProgramReality>,
    /// The verdict; `None` if the kernel's types cannot be read.
    pub(crate) verdict: Option<LoadVerdict<'b>>,
    pub(crate) reality: &'b Reality,
}

/// The verdict on a load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoadVerdict<'b> {
    Program(&'b ProgramVerdict),
    Together(&'b ObjectVerdict),
}

impl<'b> LoadVerdict<'b> {
    pub(crate) const fn verdict(self) -> Verdict {
        match self {
            Self::Program(program) => program.verdict,
            Self::Together(object) => object.verdict,
        }
    }

    /// Returns the verdict on a load by core-relo.
    fn for_core_relo(self) -> Verdict {
        match self {
            Self::Program(program) => program.for_core_relo(),
            Self::Together(object) => object.for_core_relo(),
        }
    }

    pub(crate) fn reasons(self) -> Vec<&'b Reason> {
        match self {
            Self::Program(program) => program.reasons.iter().collect(),
            Self::Together(object) => object.load_reasons().collect(),
        }
    }
}

impl<'b> BootedLoad<'b> {
    /// Returns the name of the program, or the words for several programs together.
    pub(crate) fn subject(&self) -> &'b str {
        self.program.map_or(TOGETHER, |program| &program.program)
    }

    /// Returns whether the default load of the object includes the program.
    pub(crate) fn autoload(&self) -> bool {
        self.program.is_none_or(|program| program.autoload)
    }

    /// Returns the statistics of the program, if the load asked for them.
    pub(crate) fn stats(&self) -> Option<ProgramStats> {
        self.program.and_then(|program| program.stats)
    }

    /// Returns the relation between the verdict and the real load.
    pub(crate) fn agreement(&self) -> Agreement {
        self.verdict.map_or(Agreement::Undecided, |verdict| {
            Agreement::new(verdict.for_core_relo(), self.reality.outcome())
        })
    }

    /// Returns what is wrong with the verdict, and the verdict with its first reason. A verdict does not
    /// foresee what is not judged, such as the verifier's other reasons.
    pub(crate) fn wrong_verdict(&self) -> Option<(&'static str, String)> {
        let of_load = self.verdict.filter(|_| self.agreement() == Agreement::Differs)?;
        let verdict = of_load.for_core_relo();
        let problem = if verdict == Verdict::Loads { "not foreseen by the verdict" } else { "wrong verdict" };
        let decides = |reason: &&Reason| reason.counts_for_core_relo() && reason.verdict == verdict;
        let text = match of_load.reasons().into_iter().find(decides) {
            Some(reason) => format!("{}: {}", describe::verdict(verdict), reason.text),
            None => describe::verdict(verdict).to_owned(),
        };
        Some((problem, text))
    }

    pub(crate) fn reality_json(&self, release: Option<&'b str>) -> RealityJson<'b> {
        let agrees = self.agreement().is_agreed();
        match self.program {
            Some(program) => RealityJson::new(release, program, agrees),
            None => RealityJson::of_default_load(release, self.reality, agrees),
        }
    }

    /// Returns the load for reports.
    fn for_report(&self) -> RealLoad {
        let program = self.program.map(|program| program.program.clone());
        let mut load = RealLoad::new(program, self.reality.outcome());
        load.autoload = self.autoload();
        load.verdict = self.verdict.map(LoadVerdict::verdict);
        load.reason = self.reality.reason().map(str::to_owned);
        load.source = match self.reality {
            Reality::Refused(refusal) => refusal.source_line(),
            Reality::Loaded | Reality::Unknown(_) => None,
        };
        load.agreement = self.agreement();
        load
    }

    /// Adds the reason of a refusal to a line, or the statistics. Those of a refused program tell nothing
    /// about the program that will load.
    pub(crate) fn add_outcome(&self, line: Line) -> Line {
        let line = match self.reality.reason() {
            Some(reason) => line.text(": ").text(first_line(reason)),
            None => line,
        };
        match self.stats().filter(|_| matches!(self.reality, Reality::Loaded)) {
            Some(stats) => line.text(": ").text(stats),
            None => line,
        }
    }

    /// Returns the lines of a load that was refused, whose verdict differs, or that has statistics.
    fn lines(&self, release: &str) -> Vec<Line> {
        let wrong = self.wrong_verdict();
        if matches!(self.reality, Reality::Loaded) && wrong.is_none() && self.stats().is_none() {
            return Vec::new();
        }
        let line = Line::new().styled(DIM, format_args!("{release}: ")).styled(BOLD, self.subject());
        let line = self.add_outcome(line.text(format_args!(": {}", self.reality.word())));
        let line = match wrong {
            Some((problem, verdict)) => {
                line.text("; ").styled(ERROR, problem).text(format_args!(" `{verdict}`"))
            }
            None => line,
        };
        [line].into_iter().chain(refusal_lines(self.reality)).collect()
    }
}

impl BootedKernel {
    /// Returns the programs of all objects, in order. `objects` are the paths of the objects.
    pub(crate) fn programs<'b>(&'b self, objects: &'b [&'b str]) -> impl Iterator<Item = BootedLoad<'b>> {
        (0..).zip(objects).flat_map(|(index, object)| self.object(index, object).programs)
    }

    /// Returns the relation between each verdict and its real load.
    pub(crate) fn agreements<'b>(&'b self, objects: &'b [&'b str]) -> impl Iterator<Item = Agreement> + 'b {
        let loads = (0..).zip(objects).map(|(index, object)| self.object(index, object));
        loads.flat_map(|loads| loads.agreements().collect::<Vec<_>>())
    }

    /// Returns the real loads of the object at a position.
    pub(crate) fn object<'b>(&'b self, index: usize, object: &'b str) -> ObjectLoads<'b> {
        let verdict = self.report.as_ref().ok().and_then(|report| report.objects.get(index)?.verdict());
        let verdicts = verdict.map(|verdict| &verdict.programs);
        let loads = self.loads.objects.get(index);
        let reality = loads.and_then(|loads| loads.default_load.as_ref());
        let together = verdict.map(LoadVerdict::Together);
        let default_load =
            reality.map(|reality| BootedLoad { object, program: None, verdict: together, reality });
        let loads = loads.into_iter().flat_map(|loads| &loads.programs).enumerate();
        let programs = loads.map(|(index, program)| BootedLoad {
            object,
            program: Some(program),
            // Both lists have the programs of the object in its order, without subprograms.
            verdict: verdicts.and_then(|verdicts| verdicts.get(index)).map(LoadVerdict::Program),
            reality: &program.reality,
        });
        let release = self.loads.release.as_deref();
        ObjectLoads { release, programs: programs.collect(), default_load }
    }

    /// Returns the errors of objects that do not fit the kernel.
    pub(crate) fn mismatches(&self) -> impl Iterator<Item = &BadInput> {
        let reports = self.report.iter().flat_map(|report| &report.objects);
        reports.filter_map(|report| match report {
            ObjectReport::Mismatch(bad) => Some(bad),
            ObjectReport::Planned { .. } | ObjectReport::BadVariants => None,
        })
    }

    /// Returns the reason why the kernel's types cannot be read.
    pub(crate) fn unread(&self) -> Option<&BadInput> {
        self.report.as_ref().err()
    }

    /// Records the statistics of the programs for a budget.
    pub(crate) fn record(&self, objects: &[&str], budget: &mut BudgetGate) {
        if let Some(error) = &self.boot_error {
            return budget.record_incomplete(error.to_string());
        }
        self.mismatches().for_each(|bad| budget.record_incomplete(bad.to_string()));
        let Some(release) = &self.loads.release else { return };
        for load in self.programs(objects) {
            let program = LoadedProgram { kernel: release, object: load.object, program: load.subject() };
            match (load.reality, &load.stats()) {
                (Reality::Loaded, Some(stats)) => budget.record(program, stats),
                (Reality::Loaded, None) => budget.record_incomplete("a load has no statistics"),
                (Reality::Refused(_), _) => budget.record_refused(program),
                (Reality::Unknown(reason), _) => budget.record_incomplete(reason.clone()),
            }
        }
    }
}

/// The real loads of an object's programs, beside their verdicts.
#[derive(Clone, Debug)]
pub(crate) struct ObjectLoads<'b> {
    pub(crate) release: Option<&'b str>,
    pub(crate) programs: Vec<BootedLoad<'b>>,
    /// The load of several programs together.
    pub(crate) default_load: Option<BootedLoad<'b>>,
}

impl<'b> ObjectLoads<'b> {
    /// Returns the relation between each verdict and its real load.
    pub(crate) fn agreements(&self) -> impl Iterator<Item = Agreement> {
        self.all().map(BootedLoad::agreement)
    }

    /// Returns the loads of the programs, and last that of several programs together.
    pub(crate) fn all(&self) -> impl Iterator<Item = &BootedLoad<'b>> {
        self.programs.iter().chain(&self.default_load)
    }

    /// Returns the JSON of the default load.
    pub(super) fn default_load_json(&self) -> Option<RealityJson<'b>> {
        self.default_load.map(|load| load.reality_json(self.release))
    }

    /// Returns the JSON of each program's real load.
    pub(super) fn realities(&self) -> impl Iterator<Item = RealityJson<'b>> {
        self.programs.iter().map(|program| program.reality_json(self.release))
    }

    /// Returns each program's real load, and last that of several programs together, for reports.
    pub(super) fn for_report(&self) -> impl Iterator<Item = RealLoad> {
        self.all().map(BootedLoad::for_report)
    }

    /// Returns a line for each program that was not loaded or whose verdict differs, or for each with
    /// statistics, and a line with counts.
    pub(super) fn lines(&self) -> Vec<Line> {
        let release = self.release.unwrap_or("not booted");
        let counts = AgreementCounts::from_iter(self.agreements());
        let mut lines: Vec<_> = self.all().flat_map(|load| load.lines(release)).collect();
        if !self.programs.is_empty() {
            lines.push(Line::new().styled(DIM, format_args!("{release}: {counts}")));
        }
        lines
    }
}

/// Returns the exit status for the outcome of a load.
pub(crate) const fn reality_status(reality: &Reality) -> ExitStatus {
    match reality {
        Reality::Loaded => ExitStatus::Success,
        Reality::Refused(_) => ExitStatus::Incompatible,
        Reality::Unknown(_) => ExitStatus::Error,
    }
}

/// Returns the lines of a refusal below its first line, as `load` prints them: the source line, and the
/// verifier's last line.
pub(crate) fn refusal_lines(reality: &Reality) -> impl Iterator<Item = Line> {
    let lines = reality.reason().map(deciding_lines);
    lines.into_iter().flatten().map(|line| Line::new().text("    ").formatted(line))
}
