//! The verdicts on objects, for `check`, `explain`, `demo` and `load --dry-run`.

pub(crate) mod kernel_judge;
pub(crate) mod objects;
pub(crate) mod reasons;
pub(crate) mod variants;
pub(crate) mod warnings;

use crate::{
    args::relocate::EvidenceArgs,
    console::ExitStatus,
    error::{BadInput, escape_path},
};
use core_relo_kernels::InputError;
use core_relo_kernels::kernel_text;
use core_relo_verdict::{
    judge::Verdict,
    kernel::{InputOrigins, KernelInputs},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads what the user says about the kernels.
pub(crate) fn kernel_inputs(args: &EvidenceArgs) -> Result<KernelInputs, BadInput> {
    let read = |path: &Option<PathBuf>, read: fn(&Path) -> Result<String, InputError>| {
        path.as_deref().map(read).transpose().map(|text| text.map(Arc::from))
    };
    let origin = |path: &Option<PathBuf>| path.as_deref().map(|path| Arc::from(escape_path(path)));
    Ok(KernelInputs {
        version: args.kernel_version,
        kconfig: read(&args.kconfig, kernel_text::read_kconfig)?,
        kallsyms: read(&args.kallsyms, kernel_text::read_kallsyms)?,
        origins: InputOrigins {
            version: None,
            kconfig: origin(&args.kconfig),
            kallsyms: origin(&args.kallsyms),
        },
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
