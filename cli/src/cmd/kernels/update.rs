//! `kernels update`: writes `core-relo.lock`, and prints what changed.

use crate::{
    args::kernels::KernelsUpdateArgs,
    console::Console,
    error::CommandResult,
    fetched::{progress::DownloadProgress, project::KernelProject},
    input::fetched_args::FetchMode,
    json::kernels::LockChange,
    text::line::Line,
};
use core_relo_kernels::fetch::{AvailableKernel, Fetcher, KernelSpec, LockFile, Store};

pub(super) fn run(console: &mut Console<'_>, args: &KernelsUpdateArgs) -> CommandResult {
    let project = KernelProject::new(&args.config, &args.mirrors.mirror)?;
    let path = project.lock_path();
    let mut lock = LockFile::read(&path)?;
    let locked: Vec<String> = lock.specs().map(str::to_owned).collect();
    let specs = match project.has_specs(&args.specs) || locked.is_empty() {
        true => project.specs(&args.specs, FetchMode::Online)?,
        false => project.specs(&locked, FetchMode::Online)?,
    };
    let store = Store::of_user()?;
    let found: Vec<_> = {
        let progress = DownloadProgress::new();
        let fetcher = Fetcher::new(&project.mirrors, &store, args.mirrors.options(), &progress);
        specs
            .into_iter()
            .map(|spec| fetcher.find(&spec).map(|kernels| (spec, kernels)))
            .collect::<Result<_, _>>()?
    };
    let mut changes = Vec::new();
    for (spec, kernels) in found {
        let earlier = lock.set(&spec, kernels.clone());
        changes.extend(changes_of(&spec, earlier.as_deref().unwrap_or(&[]), &kernels));
    }
    lock.write(&path)?;
    if changes.is_empty() {
        return Ok(console.note(&format!("{}: nothing changed", path.display()))?);
    }
    for change in &changes {
        let sign = if change.is_added { "+ " } else { "- " };
        let line = Line::new().text(sign).text(&change.name).text(" ").text(&change.version);
        console.report_change(args.format, change, &line)?;
    }
    Ok(())
}

/// Returns the kernels that a specification selects no longer, and those that it did not select before.
fn changes_of(spec: &KernelSpec, earlier: &[AvailableKernel], now: &[AvailableKernel]) -> Vec<LockChange> {
    let is_in = |list: &[AvailableKernel], kernel: &AvailableKernel| {
        list.iter().any(|other| other.packages == kernel.packages)
    };
    let removed = earlier.iter().filter(|kernel| !is_in(now, kernel));
    let added = now.iter().filter(|kernel| !is_in(earlier, kernel));
    let removed = removed.map(|kernel| LockChange::new(spec, kernel, false));
    removed.chain(added.map(|kernel| LockChange::new(spec, kernel, true))).collect()
}
