//! The state of a load between its steps, and the errors of the steps.

use super::{
    error::{LoadError, LoadHint},
    kernel::Kernel,
    loaded::Loaded,
};
use crate::{
    hint::Hint,
    sys::Errno,
    token_scope::{TokenRequest, explain_refusal},
};
use core_relo_object::{InternalError, ModuleIndex, load_plan::LoadPlan};
use std::os::fd::{AsFd as _, BorrowedFd};

/// An object during its load. No map is pinned yet, so dropping the value undoes the load.
#[derive(Debug)]
pub(super) struct Loading<'k, K: Kernel> {
    pub(super) kernel: &'k K,
    pub(super) loaded: Loaded,
}

impl<'k, K: Kernel> Loading<'k, K> {
    pub(super) fn new(plan: &LoadPlan, kernel: &'k K) -> Self {
        let loaded = Loaded {
            name: plan.name().to_owned(),
            globals: plan.globals().to_vec(),
            types: plan.types().clone(),
            #[cfg(feature = "usdt")]
            usdt_plan: plan.usdt(),
            ..Loaded::default()
        };
        Self { kernel, loaded }
    }

    /// Returns the descriptor of a module's BTF by its index in the plan.
    pub(super) fn module(&self, index: ModuleIndex) -> Result<BorrowedFd<'_>, LoadError> {
        let module = self.loaded.modules.get(index.0);
        module
            .map(|fd| fd.as_fd())
            .ok_or_else(|| self.broken_invariant("the BTF of each module in the plan is open"))
    }

    /// Adds the refusal of the object's BTF to an error, as the likely first cause.
    #[cold]
    pub(super) fn add_btf_refusal(&self, mut error: LoadError) -> LoadError {
        let hint = match &mut error {
            LoadError::Kernel { hint, .. } => Some(&mut hint.0),
            LoadError::Program { refused, .. } => Some(&mut refused.hint),
            _ => None,
        };
        if let (Some(hint), Some(refusal)) = (hint, &self.loaded.btf_refusal) {
            let separator = if hint.is_empty() { "" } else { "; " };
            *hint = format!("{hint}{separator}{refusal}");
        }
        error
    }

    /// Returns why the kernel refuses a request with an error number although the load has a BPF token.
    /// Returns `None` without a token, for another error, or if the system does not show what the token
    /// delegates.
    #[cold]
    pub(super) fn token_refusal(&self, request: TokenRequest, errno: Errno) -> Option<String> {
        let token = self.loaded.token().filter(|_| errno.0 == libc::EPERM)?;
        explain_refusal(token, request)
    }

    #[cold]
    pub(super) fn error(&self, request: String, errno: Errno) -> LoadError {
        self.error_with_hint(request, errno, Hint::for_errno(errno).into())
    }

    #[cold]
    pub(super) fn error_with_hint(&self, request: String, errno: Errno, hint: LoadHint) -> LoadError {
        let object = self.loaded.name.clone().into();
        LoadError::Kernel { object, request: request.into(), map: None, errno, hint }
    }

    #[cold]
    pub(super) fn broken_invariant(&self, invariant: &'static str) -> LoadError {
        let cause = InternalError::new(invariant);
        LoadError::Internal { object: self.loaded.name.clone().into(), cause }
    }
}
