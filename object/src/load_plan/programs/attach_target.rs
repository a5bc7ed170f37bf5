//! The attach targets of programs, found in the kernel's types (libbpf: `libbpf_find_attach_btf_id`).

use super::plan::AttachPlan;
use crate::{
    elf::text,
    features::Feature,
    load_plan::{
        error::LoadPlanError,
        externs::Modules,
        late_binding::{KernelSymbol, KernelSymbolKind},
        settings::AttachTarget,
        target_kernel::TargetKernel,
    },
    object::{AttachType, ProgramType, module_of_prefix},
    target::KernelType,
};
use alloc::borrow::Cow;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};

/// Finds the attach target of a program. `section` is the part of the section name after the `/`.
pub(super) fn find(
    program: &[u8],
    (program_type, attach_type): (ProgramType, Option<AttachType>),
    section: Option<&[u8]>,
    setting: Option<&AttachTarget>,
    kernel: &TargetKernel,
    modules: &mut Modules,
) -> Result<AttachPlan, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Program { program: text(program), what: what.into() };
    let name = match setting {
        Some(AttachTarget::Program { program: target, function }) => {
            let btf = kernel.read_program_btf(target);
            let btf =
                btf.map_err(|why| fail(format!("the BTF of the target program cannot be read: {why}")))?;
            let function = find_program_function(btf, function).map_err(fail)?;
            return Ok(AttachPlan::program_function(function, target.clone()));
        }
        Some(AttachTarget::Kernel(name)) => name.clone(),
        None => match section {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => {
                return Err(fail(
                    "its section name has no attach target: set the target before loading".into(),
                ));
            }
        },
    };
    if program_type == ProgramType::Ext && kernel.late_binding.has_names() {
        return Err(fail(format!(
            "cannot be put in a loader program: it replaces function `{name}` of a loaded program, which the kernel does not find by name: \
             load the object with `core-relo load --attach-target`"
        )));
    }
    if program_type == ProgramType::Ext {
        return Err(fail(format!(
            "it replaces function `{name}` of another program: set the target program before loading"
        )));
    }
    find_in_kernel(program, &name, attach_type, kernel, modules)
}

/// Finds the module whose functions a program traces by one link, from the pattern `module:function` (libbpf:
/// `tracing_multi_mod_fd`). The kernel takes the functions when the program is attached. `section` is the
/// part of the section name after the `/`.
pub(super) fn find_module(
    program: &[u8],
    section: Option<&[u8]>,
    setting: Option<&AttachTarget>,
    kernel: &TargetKernel,
    modules: &mut Modules,
) -> Result<AttachPlan, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Program { program: text(program), what: what.into() };
    let pattern = match setting {
        Some(AttachTarget::Program { .. }) => {
            return Err(fail("one link to many functions cannot trace those of another program".into()));
        }
        Some(AttachTarget::Kernel(pattern)) => Some(Cow::Borrowed(pattern.as_str())),
        None => section.map(String::from_utf8_lossy),
    };
    // Functions of the kernel itself, or of no module.
    let prefix = pattern.as_deref().and_then(|pattern| pattern.split_once(':'));
    let Some(name) = prefix.and_then(|(prefix, _)| module_of_prefix(prefix)) else {
        return Ok(AttachPlan::default());
    };
    let shown = text(name.as_bytes());
    if kernel.late_binding.has_names() {
        return Err(fail(format!(
            "cannot be put in a loader program, which traces no functions of a module (`{shown}`): expected a load of the object itself"
        )));
    }
    let loaded = kernel.btf.modules();
    let loaded = loaded
        .map_err(|errno| LoadPlanError::types_of_program(program, "the attach target", errno.into()))?;
    match loaded.iter().find(|module| module.name == name) {
        Some(module) => Ok(AttachPlan::functions_of(modules.index_of(&module.name, module.id))),
        // Whether another kernel has the module is for its verdict.
        None if !kernel.btf.is_live() => Ok(AttachPlan::functions_of(modules.index_of(name, 0))),
        None => Err(fail(format!(
            "no BTF of module `{shown}`: it is not loaded, was built without BTF, or is hidden from users without CAP_SYS_ADMIN"
        ))),
    }
}

/// Finds an attach target in the kernel and its modules (libbpf: `find_kernel_btf_id`).
fn find_in_kernel(
    program: &[u8],
    target: &str,
    attach_type: Option<AttachType>,
    kernel: &TargetKernel,
    modules: &mut Modules,
) -> Result<AttachPlan, LoadPlanError> {
    let (owner, name) = match target.split_once(':') {
        Some((owner, name)) => (Some(owner), name),
        None => (None, target),
    };
    let module = owner.and_then(module_of_prefix);
    let (prefix, kind) = match attach_type {
        Some(AttachType::TraceRawTp) => ("btf_trace_", Kind::Typedef),
        Some(AttachType::LsmMac | AttachType::LsmCgroup) => ("bpf_lsm_", Kind::Func),
        Some(AttachType::TraceIter) => ("bpf_iter_", Kind::Func),
        _ => ("", Kind::Func),
    };
    let full_name = format!("{prefix}{name}");
    if kernel.late_binding.has_names() {
        if let Some(module) = module {
            let what = format!(
                "cannot be put in a loader program: its attach target is in module `{module}`, and the kernel searches all modules for a name: \
                 expected a target without a module"
            );
            return Err(LoadPlanError::Program { program: text(program), what: what.into() });
        }
        let kind = if kind == Kind::Typedef { KernelSymbolKind::Typedef } else { KernelSymbolKind::Function };
        return Ok(AttachPlan::symbol(KernelSymbol { name: full_name, kind, is_weak: false }));
    }
    let no_types = |cause| LoadPlanError::types_of_program(program, "the attach target", cause);
    if module.is_none() {
        let ty = kernel.btf.find_in_vmlinux(full_name.as_bytes(), kind);
        if let Some(ty) = ty.map_err(|cause| no_types(cause.into()))? {
            return Ok(AttachPlan::kernel_type(ty.id(), None));
        }
    }
    if kernel.features.has(Feature::ModuleBtf) {
        let ty = kernel.btf.find_in_modules(full_name.as_bytes(), kind, owner);
        let ty = ty.map_err(|cause| no_types(cause.into()))?;
        if let Some(KernelType { ty, module: Some(module), .. }) = ty {
            let module = modules.index_of(&module.name, module.id);
            return Ok(AttachPlan::kernel_type(ty.id(), Some(module)));
        }
    }
    let kind = if kind == Kind::Typedef { "typedef" } else { "function" };
    let searched = owner.map_or("the kernel or a loaded module", |m| m);
    let what =
        format!("attach target `{target}` not found: no {kind} `{full_name}` in the BTF of {searched}");
    Err(LoadPlanError::Program { program: text(program), what: what.into() })
}

/// Finds a function in the BTF of a loaded program (libbpf: `libbpf_find_prog_btf_id`).
pub fn find_program_function(btf: Option<Vec<u8>>, function: &str) -> Result<TypeId, String> {
    let btf = btf.ok_or("the target program was loaded without BTF")?;
    let btf = Btf::parse(btf).map_err(|e| e.to_string())?;
    let ty = btf.find(function.as_bytes(), Kind::Func);
    ty.map(Type::id).ok_or_else(|| format!("the target program has no function `{function}`"))
}
