//! The modules that guests load: from the store of fetched kernels, downloaded if need be.

use crate::{
    args::{relocate::CheckArgs, vm::VmArgs},
    error::BadInput,
};
use core_relo_kernels::FetchedKernel;
#[cfg(feature = "fetch")]
use {
    super::{
        kernel_set::{CONFIG_ENDING, KernelSet},
        project::KernelProject,
    },
    crate::{error::escape_path, input::fetched_args::FetchedKernelArgs, policy::ConfigArgs},
    core_relo_kernels::fetch::{ModuleFiles, Store},
    std::{fs, path::Path},
};

/// A kernel module to load.
pub(crate) struct ModuleFile {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// The modules of the fetched kernels of a command.
#[derive(Debug)]
pub(crate) struct ModuleStore<'a> {
    #[cfg(feature = "fetch")]
    fetched: &'a FetchedKernelArgs,
    #[cfg(feature = "fetch")]
    config: &'a ConfigArgs,
    #[cfg(not(feature = "fetch"))]
    _args: std::marker::PhantomData<&'a ()>,
}

impl<'a> ModuleStore<'a> {
    #[cfg(feature = "fetch")]
    pub(crate) const fn for_check(args: &'a CheckArgs) -> Self {
        Self { fetched: &args.kernels.fetched, config: &args.config }
    }

    #[cfg(feature = "fetch")]
    pub(crate) const fn for_vm(args: &'a VmArgs) -> Self {
        Self { fetched: &args.fetched, config: &args.config }
    }

    #[cfg(not(feature = "fetch"))]
    pub(crate) const fn for_check(_args: &'a CheckArgs) -> Self {
        Self { _args: std::marker::PhantomData }
    }

    #[cfg(not(feature = "fetch"))]
    pub(crate) const fn for_vm(_args: &'a VmArgs) -> Self {
        Self { _args: std::marker::PhantomData }
    }

    /// Reads modules of a kernel and those that they depend on, in the order in which they load. Downloads
    /// the packages of the kernel if files are not in the store.
    #[cfg(feature = "fetch")]
    pub(crate) fn read(&self, kernel: &FetchedKernel, names: &[String]) -> Result<Vec<ModuleFile>, BadInput> {
        let files = self.find(kernel, names)?.files.into_iter().map(|path| {
            let name = path.file_stem().map_or_else(String::new, |name| escape_path(Path::new(name)));
            let content = fs::read(&path).map_err(|error| BadInput::for_path(&path, error))?;
            Ok(ModuleFile { name, content })
        });
        files.collect()
    }

    /// Returns no modules: no kernel is fetched.
    #[cfg(not(feature = "fetch"))]
    #[expect(clippy::unnecessary_wraps, reason = "kernels can be fetched with the feature `fetch`")]
    pub(crate) fn read(
        &self,
        _kernel: &FetchedKernel,
        _names: &[String],
    ) -> Result<Vec<ModuleFile>, BadInput> {
        Ok(Vec::new())
    }

    #[cfg(feature = "fetch")]
    fn find(&self, kernel: &FetchedKernel, names: &[String]) -> Result<ModuleFiles, BadInput> {
        let store = Store::of_user()?;
        let Some(stored) = store.find_target(kernel)? else { return Ok(ModuleFiles::default()) };
        let config = self.fetched.kernels.iter().find(|text| text.ends_with(CONFIG_ENDING));
        let mirrors = &self.fetched.mirrors.mirror;
        let project = match config {
            Some(path) => KernelProject::from_file(Path::new(path), mirrors)?,
            None => KernelProject::new(self.config, mirrors)?,
        };
        let set = KernelSet::new(&project, &store, self.fetched.mirrors.options(), self.fetched.mode.mode());
        set.fetch_modules(&stored, names)
    }
}
