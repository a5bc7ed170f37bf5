//! The verdicts on objects, for `check`, `explain`, `demo` and `load --dry-run`.

pub(crate) mod kernel_judge;
pub(crate) mod objects;
pub(crate) mod reasons;

use crate::{args::relocate::EvidenceArgs, console::ExitStatus, error::BadInput, input::kernel_text};
use core_relo_verdict::{judge::Verdict, kernel::KernelInputs};
use std::{path::PathBuf, sync::Arc};

/// Reads what the user says about the kernels.
pub(crate) fn kernel_inputs(args: &EvidenceArgs) -> Result<KernelInputs, BadInput> {
    let read = |path: &PathBuf| kernel_text::read(path).map(Arc::from);
    Ok(KernelInputs {
        version: args.kernel_version,
        kconfig: args.kconfig.as_ref().map(read).transpose()?,
        kallsyms: args.kallsyms.as_ref().map(read).transpose()?,
        ..KernelInputs::default()
    })
}

/// Returns the exit status for a verdict.
pub(crate) const fn exit_status(verdict: Verdict, is_strict: bool) -> ExitStatus {
    match verdict {
        Verdict::Loads => ExitStatus::Success,
        Verdict::Refused | Verdict::NeedsInput => ExitStatus::Incompatible,
        Verdict::Unknown if is_strict => ExitStatus::Incompatible,
        Verdict::Unknown => ExitStatus::Error,
    }
}
