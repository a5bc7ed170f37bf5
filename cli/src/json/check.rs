//! The lines of `check`: one for each object and kernel.

use crate::{
    describe,
    error::BadInput,
    input::object::ObjectFile,
    json::{
        error::ErrorJson,
        reality::RealityJson,
        record::RecordKeys,
        verdict::{AllowedVerdict, ProgramJson},
    },
};
use core_relo::{
    explain::{reason, text},
    plan::{Decision, PlannedReloc, PoisonReason, Summary},
};
use core_relo_adaptive::StartupReport;
use core_relo_kernels::KernelRelease;
use core_relo_report::{Comparison, policy::Acceptance, stored::LINE_FORMAT};
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, Reason},
    kernel::DistributionKernel,
    loaders::LoaderKind,
    mismatch::Mismatch,
};
use serde::{Serialize, Serializer};
use std::{
    iter,
    sync::{Arc, OnceLock},
};

/// The result of checking an object on a kernel, or the error for an object or a kernel that could not be
/// read.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CheckLine<'a> {
    object: Option<&'a str>,
    target: Option<&'a str>,
    #[serde(flatten)]
    summary: Summary,
    verdict: &'static str,
    relocations: &'a [Unresolved],
    error: Option<ErrorJson<'a>>,
    target_id: Option<&'a str>,
    programs: Vec<ProgramJson<'a>>,
    allowed: Option<AllowedVerdict<'a>>,
    kernel_warnings: &'a [String],
    warnings: &'a [Mismatch],
    reasons: &'a [Reason],
    /// The start-up report of an object with variants.
    adaptive: Option<StartupReport>,
    /// The real load of several programs together, with `--boot`.
    object_reality: Option<RealityJson<'a>>,
    /// The loader whose rules decide.
    loader: Option<LoaderKind>,
    /// The distribution that the kernel is from, its release, and the version of the kernel's package.
    distribution: Option<&'a str>,
    distribution_release: Option<&'a str>,
    package_version: Option<&'a str>,
    kernel: Option<&'a KernelJson>,
    object_hash: Option<&'a str>,
    format: LineFormat,
    baseline: Option<&'a Comparison>,
    /// The number of requirements behind the reasons, where the verifier stops.
    later_count: usize,
}

/// The object of a line: its name, and the hash of its content if it could be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectKeys<'a> {
    pub(crate) object: &'a str,
    pub(crate) object_hash: Option<&'a str>,
}

impl<'a> ObjectKeys<'a> {
    /// Creates the keys of an object that was read.
    pub(crate) fn new(file: &'a ObjectFile) -> Self {
        Self { object: &file.name, object_hash: Some(file.hash()) }
    }
}

/// The kernel of a line: its name, its identity if the name is not the exact path of a file, the package
/// that it is from, and what the name tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetKeys<'a> {
    pub(crate) target: &'a str,
    pub(crate) target_id: Option<&'a str>,
    pub(crate) distribution: Option<&'a DistributionKernel>,
    pub(crate) kernel: &'a KernelJson,
}

/// What a kernel's name tells, or the package that it is from.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KernelJson {
    version: Option<String>,
    architecture: Option<&'static str>,
    /// The series in the distribution.
    pub(crate) series: Option<String>,
}

impl KernelJson {
    /// Creates the value. `series` is that of a fetched kernel.
    pub(crate) fn new(release: &KernelRelease, series: Option<&str>) -> Self {
        let KernelRelease { version, architecture } = *release;
        let version = version.map(|v| format!("{}.{}.{}", v.major, v.minor, v.patch));
        Self { version, architecture, series: series.map(str::to_owned) }
    }
}

/// The format of the line, which [`core_relo_report::stored`] reads.
#[derive(Clone, Copy, Debug, Serialize)]
struct LineFormat(u64);

impl Default for LineFormat {
    fn default() -> Self {
        Self(LINE_FORMAT)
    }
}

impl<'a> CheckLine<'a> {
    /// Creates the line for an object that was judged. The real loads are empty, or one for each program.
    pub(crate) fn judged(
        object: ObjectKeys<'a>,
        target: TargetKeys<'a>,
        summary: Summary,
        relocations: &'a [Unresolved],
        verdict: &'a ObjectVerdict,
        realities: impl Iterator<Item = RealityJson<'a>>,
    ) -> Self {
        let realities = realities.map(Some).chain(iter::repeat_with(|| None));
        let programs = verdict.programs.iter().zip(realities);
        let programs =
            programs.map(|(program, reality)| ProgramJson::new(program).with_reality(reality)).collect();
        Self {
            object: Some(object.object),
            target: Some(target.target),
            summary,
            verdict: verdict.verdict.word(),
            relocations,
            target_id: target.target_id,
            programs,
            warnings: &verdict.warnings,
            reasons: &verdict.reasons,
            loader: Some(verdict.loader),
            kernel: Some(target.kernel),
            object_hash: object.object_hash,
            later_count: describe::later_count(verdict),
            ..Self::default()
        }
        .with_distribution(target.distribution)
    }

    /// Adds the package that the kernel is from.
    fn with_distribution(self, package: Option<&'a DistributionKernel>) -> Self {
        Self {
            distribution: package.map(|package| &*package.distribution),
            distribution_release: package.map(|package| &*package.release),
            package_version: package.map(|package| &*package.package_version),
            ..self
        }
    }

    /// Adds the accepted reasons.
    pub(crate) fn with_acceptance(mut self, acceptance: Option<&'a Acceptance>) -> Self {
        let Some(acceptance) = acceptance else { return self };
        self.allowed = acceptance.entry().map(|entry| AllowedVerdict::new(acceptance.verdict, entry));
        for (number, program) in self.programs.iter_mut().enumerate() {
            if let Some(accepted) = acceptance.program(number) {
                program.accept(accepted);
            }
        }
        self
    }

    /// Adds the real load of several programs together.
    pub(crate) fn with_default_load(self, object_reality: Option<RealityJson<'a>>) -> Self {
        Self { object_reality, ..self }
    }

    /// Adds the variants that an adaptive load chooses. `kernel` is the kernel's name: a cached report has
    /// that of another link to the same file.
    pub(crate) fn with_startup_report(self, report: Option<&StartupReport>, kernel: &str) -> Self {
        let mut adaptive = report.cloned();
        if let Some(report) = &mut adaptive {
            report.kernel.btf_source = Some(kernel.to_owned());
        }
        Self { adaptive, ..self }
    }

    /// Adds what is new since the baseline.
    pub(crate) fn with_comparison(self, baseline: Option<&'a Comparison>) -> Self {
        Self { baseline, ..self }
    }

    /// Adds the warnings about the facts of the kernel.
    pub(crate) fn with_kernel_warnings(self, kernel_warnings: &'a [String]) -> Self {
        Self { kernel_warnings, ..self }
    }

    /// Creates the line for an object, a kernel, or a pair of both, that cannot be checked.
    pub(crate) fn bad_input(
        object: Option<ObjectKeys<'a>>,
        target: Option<TargetKeys<'a>>,
        bad: &'a BadInput,
    ) -> Self {
        Self {
            object: object.map(|object| object.object),
            target: target.map(|target| target.target),
            verdict: "bad_input",
            error: Some(ErrorJson::new(bad)),
            target_id: target.and_then(|target| target.target_id),
            kernel: target.map(|target| target.kernel),
            object_hash: object.and_then(|object| object.object_hash),
            ..Self::default()
        }
        .with_distribution(target.and_then(|target| target.distribution))
    }

    /// Adds the programs of an object that was loaded without a verdict.
    pub(crate) fn with_programs(self, programs: Vec<ProgramJson<'a>>) -> Self {
        Self { programs, ..self }
    }
}

/// A relocation that does not resolve on a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Unresolved {
    pub(crate) record: Arc<RecordFacts>,
    pub(crate) outcome: &'static str,
    pub(crate) reason: Arc<str>,
}

/// The facts of a relocation record that do not depend on the kernel.
#[derive(Debug)]
pub(crate) struct RecordFacts {
    keys: RecordKeys,
    pub(crate) access: String,
    source: Option<SourceLine>,
    /// The reason text for a kernel without candidates and without modules. The text is the same for all
    /// these kernels.
    no_candidates: OnceLock<Arc<str>>,
}

impl Unresolved {
    pub(crate) fn new(planned: &PlannedReloc<'_>) -> Self {
        Self::with_cached_record(planned, &OnceLock::new())
    }

    /// Creates the value. Computes the facts of the record once for all kernels, and stores them in `record`.
    pub(crate) fn with_cached_record(
        planned: &PlannedReloc<'_>,
        record: &OnceLock<Arc<RecordFacts>>,
    ) -> Self {
        let record = record.get_or_init(|| Arc::new(RecordFacts::new(planned)));
        let decision = planned.decision();
        let outcome = describe::outcome(&decision);
        let no_candidates = matches!(decision, Ok(Decision::Poison { why: PoisonReason::NoCandidates, .. }));
        // The text contains the number of modules, so it is shared only if there are none.
        let reason = match no_candidates && planned.target().module_count() == 0 {
            true => Arc::clone(record.no_candidates.get_or_init(|| reason(planned).into())),
            false => reason(planned).into(),
        };
        Self { record: Arc::clone(record), outcome, reason }
    }
}

impl Serialize for Unresolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Keys<'u> {
            #[serde(flatten)]
            record: &'u RecordKeys,
            outcome: &'u str,
            access: &'u str,
            source: Option<&'u SourceLine>,
            reason: &'u str,
        }
        let record = &*self.record;
        let keys = Keys {
            record: &record.keys,
            outcome: self.outcome,
            access: &record.access,
            source: record.source.as_ref(),
            reason: &self.reason,
        };
        keys.serialize(serializer)
    }
}

impl RecordFacts {
    fn new(planned: &PlannedReloc<'_>) -> Self {
        let record = planned.record();
        let access = match planned.local_spec() {
            Some(spec) => text(spec.access_text(planned.btf())),
            None => format!("type [{}]", record.relo.root),
        };
        Self {
            keys: RecordKeys::new(planned),
            access,
            source: planned.source_line().map(SourceLine::from),
            no_candidates: OnceLock::new(),
        }
    }

    /// Returns the source position, as `exec.bpf.c:41` or `near exec.bpf.c:41`, or the position in the
    /// object.
    pub(crate) fn position(&self) -> String {
        match &self.source {
            Some(source) => source.position(),
            None => format!("{} relocation {}", self.keys.section, self.keys.relocation),
        }
    }

    /// Returns the name of the program or subprogram, or of the section where there is none.
    pub(crate) fn program_or_section(&self) -> &str {
        self.keys.program.as_deref().unwrap_or(&self.keys.section)
    }
}
