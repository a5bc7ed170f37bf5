//! The kernels of specifications: found, announced, fetched if need be.

use super::{progress::DownloadProgress, project::KernelProject};
use crate::{
    args::kernels::DEFAULT_MAX_KERNELS,
    error::BadInput,
    input::fetched_args::{FetchMode, FetchedKernelArgs},
    policy::ConfigArgs,
};
use core_relo_kernels::{
    FetchedKernel,
    fetch::{
        Architecture, AvailableKernel, FetchError, FetchOptions, Fetcher, KernelSpec, LockFile, ModuleFiles,
        Store, StoredKernel,
    },
};
use std::{collections::BTreeSet, path::Path};

/// The ending of a configuration file in place of a specification.
pub(super) const CONFIG_ENDING: &str = ".toml";

/// The largest number of kernels whose names are announced.
const NAMED_KERNELS: usize = 8;

/// The settings for the kernels of some specifications.
pub(crate) struct KernelSet<'s> {
    pub(crate) project: &'s KernelProject,
    pub(crate) store: &'s Store,
    pub(crate) options: FetchOptions,
    pub(crate) mode: FetchMode,
    pub(crate) max_kernels: usize,
}

impl<'s> KernelSet<'s> {
    /// Creates the settings for the kernels that a check or another command needs.
    pub(crate) const fn new(
        project: &'s KernelProject,
        store: &'s Store,
        options: FetchOptions,
        mode: FetchMode,
    ) -> Self {
        Self { project, store, options, mode, max_kernels: DEFAULT_MAX_KERNELS }
    }

    /// Fetches the kernels of specifications, each once. What will be downloaded is announced before.
    pub(crate) fn fetch(
        &self,
        specs: &[KernelSpec],
    ) -> Result<Vec<Result<StoredKernel, FetchError>>, BadInput> {
        let progress = DownloadProgress::new();
        let fetcher = Fetcher::new(&self.project.mirrors, self.store, self.options, &progress);
        let lock_path = self.project.lock_path();
        let lock = LockFile::read(&lock_path)?;
        let mut kernels: Vec<AvailableKernel> = Vec::new();
        let mut known = BTreeSet::new();
        for spec in specs {
            let found = match (lock.find(spec), self.mode) {
                (Some(locked), _) => locked.to_vec(),
                (None, FetchMode::Online) => fetcher.find(spec)?,
                (None, FetchMode::Offline) => self.find_stored(spec)?,
                (None, FetchMode::Locked) => {
                    return Err(FetchError::Locked { path: lock_path, spec: spec.to_string() }.into());
                }
            };
            kernels.extend(found.into_iter().filter(|kernel| known.insert(kernel.key())));
        }
        let mut missing = Vec::new();
        for kernel in &kernels {
            // Kernels without BTF are errors before a download.
            let may_have_btf = self.options.from_debuginfo || kernel.btf_missing_until().is_none();
            if may_have_btf && self.store.find(kernel)?.is_none() {
                missing.push(kernel);
            }
        }
        if let (Some(kernel), FetchMode::Offline) = (missing.first(), self.mode) {
            let (name, store) = (kernel.name(), self.store.root().to_path_buf());
            return Err(FetchError::Offline { name, store }.into());
        }
        self.announce(&missing, &progress)?;
        Ok(fetcher.fetch_all(&kernels))
    }

    /// Returns the files of modules of a kernel, and of those that they depend on. What will be downloaded is
    /// announced before.
    pub(crate) fn fetch_modules(
        &self,
        kernel: &StoredKernel,
        names: &[String],
    ) -> Result<ModuleFiles, BadInput> {
        let stored = kernel.module_files(names)?;
        if stored.missing.is_empty() {
            return Ok(stored);
        }
        let (available, missing) = (&kernel.manifest.kernel, Vec::from_iter(stored.missing));
        let (name, bytes) = (available.name(), available.download_bytes());
        if self.mode == FetchMode::Offline {
            let what = format!("the store has no files of the modules {}", missing.join(", "));
            let help = format!("fetch them with `core-relo kernels fetch --modules {}`", missing.join(","));
            return Err(BadInput::new(name, what).help(help));
        }
        let progress = DownloadProgress::new();
        let (mib, missing) = (bytes.div_ceil(1 << 20), missing.join(", "));
        progress.announce(&format!("fetches modules of {name}, {mib} MiB: {missing}"), bytes);
        let fetcher = Fetcher::new(&self.project.mirrors, self.store, self.options, &progress);
        Ok(fetcher.fetch_modules(kernel, names)?)
    }

    /// Returns the kernels in the store that a specification selects, for this machine's architecture unless
    /// it names one.
    fn find_stored(&self, spec: &KernelSpec) -> Result<Vec<AvailableKernel>, FetchError> {
        let spec = match Architecture::of_host() {
            Some(host) => spec.clone().with_architecture(host),
            None => spec.clone(),
        };
        let stored = self.store.select(&spec)?;
        Ok(stored.into_iter().map(|kernel| kernel.manifest.kernel).collect())
    }

    /// Says what will be downloaded. Refuses more kernels than the limit.
    fn announce(&self, kernels: &[&AvailableKernel], progress: &DownloadProgress) -> Result<(), BadInput> {
        if kernels.is_empty() {
            return Ok(());
        }
        let bytes = kernels.iter().fold(0u64, |sum, kernel| sum.saturating_add(kernel.download_bytes()));
        let (count, mib) = (kernels.len(), bytes.div_ceil(1 << 20));
        if count > self.max_kernels {
            let max = self.max_kernels;
            let bad =
                BadInput::new("kernels", format_args!("{count} kernels, {mib} MiB, expected at most {max}"));
            return Err(bad.help("give a narrower specification, or `kernels fetch --max-kernels N`"));
        }
        let mut names: Vec<_> = kernels.iter().take(NAMED_KERNELS).map(|kernel| kernel.name()).collect();
        names.extend((count > NAMED_KERNELS).then(|| format!("and {} more", count - NAMED_KERNELS)));
        let noun = if count == 1 { "kernel" } else { "kernels" };
        progress.announce(&format!("fetches {count} {noun}, {mib} MiB: {}", names.join(", ")), bytes);
        Ok(())
    }
}

/// Fetches the kernels that the options of a command name, as targets.
pub(super) fn fetch_targets(
    args: &FetchedKernelArgs,
    config: &ConfigArgs,
) -> Result<Vec<FetchedKernel>, BadInput> {
    let mode = args.mode.mode();
    let options = args.mirrors.options().from_debuginfo(args.from_debuginfo);
    let store = Store::of_user()?;
    let mut targets: Vec<FetchedKernel> = Vec::new();
    let mut add = |project: &KernelProject, specs: &[KernelSpec]| -> Result<(), BadInput> {
        for result in KernelSet::new(project, &store, options, mode).fetch(specs)? {
            let target = result?.target();
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        Ok(())
    };
    let (files, specs): (Vec<_>, Vec<_>) =
        args.kernels.iter().cloned().partition(|text| text.ends_with(CONFIG_ENDING));
    for file in files {
        let project = KernelProject::from_file(Path::new(&file), &args.mirrors.mirror)?;
        add(&project, &project.specs(&[], mode)?)?;
    }
    if !specs.is_empty() {
        let project = KernelProject::new(config, &args.mirrors.mirror)?;
        add(&project, &project.specs(&specs, mode)?)?;
    }
    Ok(targets)
}
