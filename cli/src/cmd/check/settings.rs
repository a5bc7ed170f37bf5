//! The settings of a check, from the arguments and the configuration file.

use super::{boot::BootSettings, boot_plan::BootPlan, reports::Reports, results_header::STRICT, stored};
use crate::{
    args::relocate::CheckArgs, cmd::verdicts::kernel_inputs, error::BadInput,
    fetched::module_store::ModuleStore, guest::boot_slots::BootSlots, input::variant_table, policy::Config,
    settings::UserSettings,
};
use core_relo_adaptive::variants::VariantTable;
use core_relo_report::{Baseline, policy::AllowList, stable_hash};
use core_relo_verdict::{kernel::KernelInputs, loaders::LoaderKind};
use std::{fs, path::PathBuf, sync::Arc};

/// The settings of a check: facts about the kernels, sizes of maps, accepted gaps, reports, and images to
/// boot.
#[derive(Debug, Default)]
pub(super) struct CheckSettings<'a> {
    pub(super) inputs: KernelInputs,
    /// The loader whose rules decide.
    pub(super) loader: LoaderKind,
    /// The settings of user space.
    pub(super) user: UserSettings,
    /// The table of variants of the object, beside the object's own.
    pub(super) variants: Option<VariantTable>,
    pub(super) allow_list: AllowList,
    /// The results to compare with.
    pub(super) baseline: Option<Baseline>,
    /// The hashes of the files with these results.
    baseline_hashes: Vec<String>,
    pub(super) reports: Reports,
    pub(super) strict: bool,
    /// Whether the text has a line for every object and kernel.
    pub(super) prints_all: bool,
    /// Whether only a shard of the kernels is checked.
    pub(super) is_shard: bool,
    /// The kernels that boot.
    pub(super) boot: Option<BootPlan<'a>>,
}

impl<'a> CheckSettings<'a> {
    pub(super) fn new(args: &'a CheckArgs) -> Result<Self, BadInput> {
        let inputs = kernel_inputs(&args.evidence)?;
        let reports = Reports::new(args.format.report(), &args.report)?;
        let mut config = Config::of_project(&args.config)?;
        let loader = config.loader(args.evidence.loader.loader);
        let user = config.take_settings(loader, &args.settings)?;
        let baseline = stored::read_baseline(&args.baseline)?;
        let baseline_hashes = baseline_hashes(args);
        let allow_list = AllowList::new(args.allow.iter().cloned().chain(config.allow));
        if args.boot.is_some() {
            user.check_for_guests()?;
        }
        let (stats, slots) = (args.stats.needs_stats(), BootSlots::new(args.jobs));
        let modules = ModuleStore::for_check(args);
        let boot = BootPlan::new(args, BootSettings { guest: &args.guest, loader, stats, slots, modules })?;
        let strict = args.strict || config.strict;
        let is_shard = args.shard.is_some();
        let variants = args.variants.as_deref().map(variant_table::read_variants).transpose()?;
        Ok(Self {
            inputs,
            loader,
            user,
            variants,
            allow_list,
            baseline,
            baseline_hashes,
            reports,
            strict,
            prints_all: args.all,
            is_shard,
            boot,
        })
    }

    /// Returns the options that decide on verdicts, with their values or the hashes of their files.
    pub(super) fn deciding_options(&self) -> Vec<String> {
        let KernelInputs { version, kconfig, kallsyms, .. } = &self.inputs;
        let hash = |text: &Arc<str>| format!("{:016x}", stable_hash(text.as_bytes()));
        let mut options = Vec::new();
        options.extend(version.map(|version| format!("--kernel-version={version}")));
        options.extend(kconfig.as_ref().map(|text| format!("--kconfig={}", hash(text))));
        options.extend(kallsyms.as_ref().map(|text| format!("--kallsyms={}", hash(text))));
        if self.loader != LoaderKind::default() {
            options.push(format!("--loader={}", self.loader.word()));
        }
        options.extend(self.user.texts());
        options.extend(self.baseline_hashes.iter().map(|hash| format!("--baseline={hash}")));
        if self.strict {
            options.push(STRICT.to_owned());
        }
        let variants = self.variants.as_ref().map(|table| {
            // The lines of the entries decide on nothing.
            let entries = (table.groups(), table.optional_parts(), table.indicators(), table.constants());
            hash(&Arc::from(format!("{entries:?}")))
        });
        options.extend(variants.map(|hash| format!("--variants={hash}")));
        options
    }
}

/// Returns the hashes of the files with the baseline, for a run that may be resumed.
fn baseline_hashes(args: &CheckArgs) -> Vec<String> {
    let files = args.baseline.baseline.iter().filter(|_| args.resume.is_some());
    // A pipe was read, and cannot be read again: to open it would wait for another writer. Its path decides.
    let file = |path: &PathBuf| path.is_file().then(|| fs::read(path).ok()).flatten();
    let content = |path: &PathBuf| file(path).unwrap_or_else(|| path.as_os_str().as_encoded_bytes().to_vec());
    files.map(|path| format!("{:016x}", stable_hash(&content(path)))).collect()
}
