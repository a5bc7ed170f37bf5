//! The results of checking all objects on one kernel. They do not contain the kernel's name, so that links to
//! one file share them.

use crate::{error::BadInput, json::check::Unresolved, text::line::Line};
use core_relo::plan::Summary;
use core_relo_adaptive::StartupReport;
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, ProgramVerdict, Reason},
    kernel::DistributionKernel,
    mismatch::Mismatch,
};
use std::sync::Arc;

/// The maximum number of reasons in a text report. `explain` prints all of them.
pub(super) const REASONS: usize = 3;

/// The maximum number of warnings in a text report.
pub(super) const WARNINGS: usize = 5;

/// The reports of all objects on one kernel. They do not depend on the name of the kernel's file.
#[derive(Debug)]
pub(super) struct KernelReport {
    pub(super) objects: Vec<ObjectReport>,
    /// Contradictions between the facts about the kernel, and facts that cannot be read.
    pub(super) warnings: Vec<String>,
    /// The release, as `uname -r` prints it, if known.
    pub(super) release: Option<String>,
    /// The modules that have types or functions which the objects need and vmlinux lacks. Empty for a kernel
    /// that does not boot.
    pub(super) modules: Vec<String>,
    /// The package of a distribution that the kernel is from, if known.
    pub(super) distribution: Option<DistributionKernel>,
}

/// The report of one object on one kernel.
#[derive(Debug)]
pub(super) enum ObjectReport {
    Planned {
        summary: Summary,
        /// The unresolved relocations, for JSON.
        unresolved: Vec<Unresolved>,
        /// The verdict on each program. Of an object with variants, those that an adaptive load chooses.
        verdict: Arc<ObjectVerdict>,
        /// The choice of an object with variants.
        adaptive: Option<Arc<StartupReport>>,
        /// The lines of the reasons below the object's row, for text.
        reasons: Arc<[Line]>,
        /// The lines of the warnings below the reasons, for text.
        notes: Arc<[Line]>,
    },
    /// The object does not fit the kernel, for example because of its byte order.
    Mismatch(BadInput),
    /// The object does not fit its table of variants, which was reported once for all kernels.
    BadVariants,
}

impl KernelReport {
    /// Returns why no object fits the kernel. Returns `None` if one does, or if there are no objects.
    pub(super) fn mismatch(&self) -> Option<&BadInput> {
        let mut mismatches = self.objects.iter().map(|object| match object {
            ObjectReport::Mismatch(bad) => Some(bad),
            ObjectReport::Planned { .. } | ObjectReport::BadVariants => None,
        });
        let first = mismatches.next()??;
        mismatches.all(|mismatch| mismatch.is_some()).then_some(first)
    }

    /// Returns the approximate size of the report in memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let warnings: usize = self.warnings.iter().map(String::len).sum();
        self.objects.iter().map(ObjectReport::memory_bytes).sum::<usize>() + warnings
    }
}

impl ObjectReport {
    /// Returns the verdict, unless the object does not fit the kernel.
    pub(super) fn verdict(&self) -> Option<&ObjectVerdict> {
        match self {
            Self::Planned { verdict, .. } => Some(verdict),
            Self::Mismatch(_) | Self::BadVariants => None,
        }
    }

    fn memory_bytes(&self) -> usize {
        let content = match self {
            Self::Planned { unresolved, reasons, notes, verdict, adaptive, .. } => {
                let report_bytes = adaptive.as_ref().map_or(0, |report| report.to_string().len());
                let relocation_bytes = |u: &Unresolved| size_of::<Unresolved>() + u.reason.len();
                let relocations: usize = unresolved.iter().map(relocation_bytes).sum();
                let programs: usize = verdict.programs.iter().map(program_bytes).sum();
                let warnings: usize = verdict.warnings.iter().map(warning_bytes).sum();
                let lines = reasons.iter().chain(&**notes).map(Line::memory_bytes);
                relocations + programs + warnings + report_bytes + lines.sum::<usize>()
            }
            Self::Mismatch(bad) => bad.what.len() + bad.file.len(),
            Self::BadVariants => 0,
        };
        size_of::<Self>() + content
    }
}

/// Returns about how many bytes the verdict on a program takes in memory.
fn program_bytes(program: &ProgramVerdict) -> usize {
    let reason_bytes = |reason: &Reason| {
        let source = reason.source.as_ref().map_or(0, source_bytes);
        let evidence = reason.evidence.as_ref().map_or(0, |evidence| evidence.text.len());
        let fix = reason.fix.as_ref().map_or(0, String::len);
        size_of::<Reason>() + reason.text.len() + source + evidence + fix
    };
    let reasons = program.reasons.iter().chain(&program.guarded).chain(&program.later);
    size_of::<ProgramVerdict>() + program.name.len() + reasons.map(reason_bytes).sum::<usize>()
}

/// Returns about how many bytes a warning takes in memory.
fn warning_bytes(warning: &Mismatch) -> usize {
    let Mismatch { program, text, source, local, target, .. } = warning;
    let strings = [program, text, local, target].map(String::len);
    size_of::<Mismatch>() + strings.iter().sum::<usize>() + source.as_ref().map_or(0, source_bytes)
}

fn source_bytes(source: &SourceLine) -> usize {
    source.file.len() + source.text.len()
}
