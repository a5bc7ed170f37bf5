//! `btf which`: the BTF of an archive that belongs to a kernel.

use crate::{
    args::btf::BtfWhichArgs,
    console::{Console, ExitStatus},
    error::{BadInput, CommandResult, escape_path},
    format::Format,
    text::{line::Line, style},
};
use core_relo_kernels::file::InputFile;
use core_relo_loader::target::archive::{
    ArchiveCandidate, ArchiveError, BtfArchive, KernelIdentity, OsRelease, running_identity,
};
use serde::Serialize;
use std::io;

/// The JSON line of a kernel in the archive.
#[derive(Serialize)]
struct EntryJson<'a> {
    file: &'a str,
    release: &'a str,
    architecture: &'a str,
    distribution: &'a str,
    distribution_version: &'a str,
    build_id: &'a str,
    version: &'a str,
    /// The names of the modules whose BTF the archive has.
    modules: &'a [String],
    /// Whether the loader takes this BTF.
    chosen: bool,
    /// The evidence that the entry belongs to the kernel.
    evidence: Option<&'static str>,
    /// The property in which the entry differs from the kernel.
    mismatch: Option<&'static str>,
}

/// The largest archive in bytes: the limit on unpacked bytes.
const ARCHIVE_BYTES: u64 = core_relo_loader::limits::ARCHIVE_BYTES;

pub(super) fn run(console: &mut Console<'_>, args: &BtfWhichArgs) -> CommandResult {
    let bytes = InputFile::open(&args.archive, ARCHIVE_BYTES)?.read_whole(ARCHIVE_BYTES, None)?;
    let kernel = kernel_identity(args)?;
    let bad = |error: &ArchiveError| BadInput::for_path(&args.archive, error);
    let archive = BtfArchive::parse(&bytes).map_err(|error| bad(&error))?;
    let choice = archive.choose(&kernel);
    let is_chosen = |candidate: &ArchiveCandidate<'_>| {
        choice.as_ref().is_ok_and(|choice| choice.entry == candidate.entry)
    };
    for candidate in archive.candidates(&kernel) {
        if args.all || is_chosen(&candidate) {
            write_candidate(console, args.format, &candidate, is_chosen(&candidate))?;
        }
    }
    match &choice {
        Ok(_) => Ok(()),
        Err(error @ (ArchiveError::NoMatch { .. } | ArchiveError::Ambiguous { .. })) => {
            console.raise_exit(ExitStatus::Incompatible);
            let path = escape_path(&args.archive);
            let help = if args.all { "" } else { "; `--all` lists the entries of the archive" };
            let text = format_args!(": {path}: {error}{help}");
            Ok(console.err.line(Line::new().styled(style::ERROR, "core-relo").text(text))?)
        }
        Err(error) => Err(bad(error).into()),
    }
}

/// Returns the kernel that the arguments name; without a release, the running kernel.
fn kernel_identity(args: &BtfWhichArgs) -> Result<KernelIdentity, BadInput> {
    let Some(release) = &args.release else {
        return running_identity().map_err(|e| BadInput::new("running kernel", e));
    };
    let mut kernel = KernelIdentity::new(release, args.arch.as_deref().unwrap_or(""));
    if let Some(text) = &args.distribution {
        let (id, version) = text.split_once('/').unwrap_or((text, ""));
        kernel.distribution = OsRelease::new(id, version);
    }
    args.version_string.as_deref().unwrap_or("").clone_into(&mut kernel.version);
    kernel.build_id = args.build_id.as_deref().unwrap_or("").to_ascii_lowercase();
    Ok(kernel)
}

fn write_candidate(
    console: &mut Console<'_>,
    format: Format,
    candidate: &ArchiveCandidate<'_>,
    chosen: bool,
) -> io::Result<()> {
    let entry = candidate.entry;
    match format {
        Format::Json => console.out.json(&EntryJson {
            file: &entry.file,
            release: &entry.kernel.release,
            architecture: &entry.kernel.architecture,
            distribution: &entry.kernel.distribution.id,
            distribution_version: &entry.kernel.distribution.version,
            build_id: &entry.kernel.build_id,
            version: &entry.kernel.version,
            modules: &entry.modules,
            chosen,
            evidence: candidate.verdict.ok().map(|evidence| evidence.words()),
            mismatch: candidate.verdict.err().map(|mismatch| mismatch.words()),
        }),
        Format::Text => {
            let reason = match candidate.verdict {
                Ok(evidence) if chosen => format!("chosen by {}", evidence.words()),
                Ok(evidence) => format!("matches by {}", evidence.words()),
                Err(mismatch) => format!("another {}", mismatch.words()),
            };
            console.out.line(Line::new().text(&entry.file).text(": ").text(reason))
        }
    }
}
