//! The kernel of a load plan, as a kernel to judge objects on.

use super::kernel::JudgedKernel;
use crate::kernel::{KernelInputs, KernelVersion, WantedFacts};
use alloc::sync::Arc;
use core::cell::OnceCell;
use core_relo::{Name, Target};
use core_relo_object::{
    load_plan::TargetKernel,
    target::{KernelBtf, KernelBtfError},
};
use std::io::Read as _;

/// The kernel that a load is planned for. Of the running kernel, the modules, the configuration and the
/// symbols are read if objects need them.
#[derive(Clone, Debug)]
pub struct LoadKernel<'k> {
    kernel: &'k TargetKernel,
    btf: &'k Arc<KernelBtf>,
    target: Target<'static>,
    module_error: OnceCell<KernelBtfError>,
}

impl<'k> LoadKernel<'k> {
    /// Reads the types of the kernel itself.
    pub fn new(kernel: &'k TargetKernel) -> Result<Self, KernelBtfError> {
        Self::with_types(kernel, &kernel.btf)
    }

    /// Reads the types that objects are relocated against. Returns `None` if they are those of the kernel
    /// itself.
    pub fn relocated_against(kernel: &'k TargetKernel) -> Result<Option<Self>, KernelBtfError> {
        kernel.relocation_btf.as_ref().map(|btf| Self::with_types(kernel, btf)).transpose()
    }

    fn with_types(kernel: &'k TargetKernel, btf: &'k Arc<KernelBtf>) -> Result<Self, KernelBtfError> {
        Ok(Self { kernel, btf, target: btf.target()?, module_error: OnceCell::new() })
    }

    /// Returns the reason why the modules that objects need could not be read. Verdicts do not hold then.
    pub fn module_error(&self) -> Option<&KernelBtfError> {
        self.module_error.get()
    }
}

impl JudgedKernel for LoadKernel<'_> {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, given: &KernelInputs, wanted: WantedFacts) -> KernelInputs {
        let version = KernelVersion::from_code(self.kernel.kernel_version);
        let mut inputs = KernelInputs { version, ..KernelInputs::default() };
        if given.kconfig.is_none() {
            match self.kernel.read_kconfig() {
                Ok(kconfig) => inputs.kconfig = Some(kconfig),
                Err(e) => inputs.kconfig_error = Some(e.to_string().into()),
            }
        }
        if wanted.symbols && given.kallsyms.is_none() {
            let mut bytes = Vec::new();
            // Symbols that cannot be read leave the questions unknown.
            let read = self.kernel.open_kallsyms().and_then(|mut symbols| symbols.read_to_end(&mut bytes));
            inputs.kallsyms = read.ok().map(|_count| String::from_utf8_lossy(&bytes).into());
        }
        if let Some(system) = self.kernel.system.as_ref().filter(|_| self.btf.is_live()) {
            inputs.lockdown = system.lockdown();
            inputs.memory_nodes = system.memory_nodes();
            if wanted.refused_attach_types {
                inputs.refused_attach_types = system.refused_attach_types();
            }
        }
        given.clone().or_else(&inputs)
    }

    /// Returns whether the load is on the running kernel, or on one whose symbols the caller has.
    fn is_running(&self) -> bool {
        self.btf.is_live() || self.kernel.kallsyms.is_some()
    }

    fn can_add_modules(&self) -> bool {
        self.btf.modules().map_or(true, |modules| !modules.is_empty())
    }

    fn with_modules_for(&self, names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        match self.btf.target_with_names(names) {
            Ok(target) => Some(Self { target, ..self.clone() }),
            Err(error) => {
                self.module_error.get_or_init(|| error);
                None
            }
        }
    }
}
