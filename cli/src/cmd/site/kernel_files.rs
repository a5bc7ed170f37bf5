//! The files of a kernel on a page: its BTF, its configuration, its symbols, its modules.

use super::{SortKey, WANTED, directory::SiteDirectory, without_directories, without_directory};
use crate::{
    error::BadInput,
    json::site::{PackedModule, SiteFacts, SiteKernel, SitePart},
};
use core_relo::btf::Btf;
use core_relo_kernels::{Kernel, KernelRelease};
use core_relo_loader::target::find_architecture;
use core_relo_verdict::{
    fleet::{Fleet, FleetJudge, JudgedKernel as _},
    kernel::KernelInputs,
};
use std::sync::Arc;

/// The files of a kernel on a page.
pub(super) struct KernelFiles<'k> {
    kernel: &'k Kernel,
    name: String,
}

impl<'k> KernelFiles<'k> {
    pub(super) const fn new(kernel: &'k Kernel, name: String) -> Self {
        Self { kernel, name }
    }

    /// Writes the files, and returns their description.
    pub(super) fn write(self, directory: &mut SiteDirectory) -> Result<(SortKey, SiteKernel), BadInput> {
        let Self { kernel, name } = self;
        let vmlinux = &kernel.target.vmlinux().btf;
        let inputs = kernel.inputs(&KernelInputs::default(), WANTED);
        let release = KernelRelease::from_name(&kernel.name);
        let architecture = find_architecture(vmlinux).or(release.architecture).map(str::to_owned);
        let label_version = inputs.version.or(release.version);
        let mut parts = Vec::new();
        let mut add = |part, ending, bytes: &[u8]| -> Result<(), BadInput> {
            parts.push(SitePart { part, file: directory.write_kernel_file(ending, bytes)? });
            Ok(())
        };
        add("btf", "btf", vmlinux.as_bytes())?;
        if let Some(kconfig) = &inputs.kconfig {
            add("kconfig", "config", kconfig.as_bytes())?;
        }
        if let Some(symbols) = &inputs.kallsyms {
            add("symbols", "symbols", symbols.as_bytes())?;
        }
        let given = kernel.target.modules();
        if !given.is_empty() {
            let modules = given.iter().map(|module| (module.name.clone(), Arc::clone(&module.btf)));
            add("given_modules", "modules", &pack(modules.collect())?)?;
        }
        let mut further = Vec::new();
        kernel.visit_further_modules(&mut |name, btf| further.push((name, Arc::new(btf))));
        let modules = match further.is_empty() {
            true => None,
            false => Some(directory.write_kernel_file("modules", &pack(further)?)?),
        };
        let fleet = Fleet::<()>::default();
        let warnings = FleetJudge::new(&fleet).with_kernel(kernel, None, |case| case.warnings.clone());
        let warnings = warnings.iter().map(|text| without_directories(text, &kernel.name)).collect();
        let origin = |origin: Option<Arc<str>>| origin.map(|origin| without_directory(&origin).to_owned());
        let facts = SiteFacts {
            name,
            release: kernel.release(),
            architecture: architecture.clone(),
            label_version: label_version.map(|version| version.to_string()),
            version: inputs.version.map(|version| version.to_string()),
            version_origin: origin(inputs.origins.version),
            kconfig_origin: origin(inputs.origins.kconfig),
            symbols_origin: origin(inputs.origins.kallsyms),
            warnings,
            has_modules: modules.is_some(),
        };
        Ok(((architecture, label_version), SiteKernel { facts, parts, modules }))
    }
}

/// Returns modules as one file: a line of JSON with names and sizes, and the BTF of each.
fn pack(modules: Vec<(String, Arc<Btf<'static>>)>) -> Result<Vec<u8>, BadInput> {
    let entries = modules.iter();
    let entries: Vec<_> =
        entries.map(|(name, btf)| PackedModule { name: name.clone(), bytes: btf.as_bytes().len() }).collect();
    let mut bytes = serde_json::to_vec(&entries).map_err(|e| BadInput::new("modules", e))?;
    bytes.push(b'\n');
    modules.iter().for_each(|(_, btf)| bytes.extend_from_slice(btf.as_bytes()));
    Ok(bytes)
}
