//! Kernels that objects are judged on.

use crate::kernel::{KernelFacts, KernelInputs, WantedFacts};
use alloc::sync::Arc;
use core_relo::{
    Data, Name, Target,
    btf::{Btf, BtfError},
};

/// A kernel that objects are judged on: its types, and facts besides them.
///
/// [`OfflineKernel`] has both in memory. `core_relo_kernels::Kernel` reads them from files, or from the
/// running system as far as objects need them.
pub trait JudgedKernel: Sized {
    /// Returns the types of the kernel and of its modules.
    fn target(&self) -> &Target<'static>;

    /// Returns the facts besides the types: `given`, and what else is known. Facts that are not `wanted` need
    /// not be read.
    fn inputs(&self, given: &KernelInputs, wanted: WantedFacts) -> KernelInputs;

    /// Returns whether this is the running kernel.
    fn is_running(&self) -> bool {
        false
    }

    /// Returns whether [`with_modules_for`](Self::with_modules_for) may find modules.
    fn can_add_modules(&self) -> bool {
        false
    }

    /// Returns the kernel with the modules that may have types of these names. Returns `None` if there are no
    /// such modules.
    fn with_modules_for(&self, _names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        None
    }

    /// Returns contradictions between `given` and other evidence, and facts that cannot be read. `facts` are
    /// those with `given`.
    fn warnings(&self, given: &KernelInputs, facts: &KernelFacts<'_>) -> Vec<String> {
        if given.version.is_some() { facts.contradictions() } else { Vec::new() }
    }
}

/// A kernel that is known from its BTF, and from facts that the caller has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OfflineKernel {
    /// The types of the kernel and of its modules.
    pub target: Target<'static>,
    /// The facts besides the types.
    pub inputs: KernelInputs,
}

impl OfflineKernel {
    /// Creates a kernel from its types, without further facts.
    pub fn new(target: Target<'static>) -> Self {
        Self { target, inputs: KernelInputs::default() }
    }

    /// Parses the BTF of a kernel.
    pub fn from_btf(btf: impl Into<Data<'static>>) -> Result<Self, BtfError> {
        Ok(Self::new(Target::new("vmlinux", Arc::new(Btf::parse(btf)?))))
    }
}

impl JudgedKernel for OfflineKernel {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, given: &KernelInputs, _wanted: WantedFacts) -> KernelInputs {
        given.clone().or_else(&self.inputs)
    }
}
