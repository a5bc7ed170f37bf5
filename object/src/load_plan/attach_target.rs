//! What a program attaches to, found in the kernel's types (libbpf: `libbpf_find_attach_btf_id`).

use super::{LoadPlanError, host::Host, ksyms::Modules, settings::AttachTarget};
use crate::{
    elf::text,
    features::Feature,
    object::{AttachType, ProgramType},
    target::Found,
};
use alloc::sync::Arc;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use std::os::fd::{AsFd as _, OwnedFd};

/// What a program attaches to, for the verifier.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AttachPlan {
    /// Id of the function, typedef or struct; 0 for none.
    pub btf_id: u32,
    /// The module the id is of, among the plan's; none for the kernel itself.
    pub module: Option<usize>,
    /// The program the id is of.
    pub program: Option<Arc<OwnedFd>>,
}

/// Looks a target up. `section` is what stands behind the `/` of the program's section.
pub(super) fn find(
    program: &[u8],
    (program_type, attach_type): (ProgramType, Option<AttachType>),
    section: Option<&[u8]>,
    wanted: Option<&AttachTarget>,
    host: &Host,
    modules: &mut Modules,
) -> Result<AttachPlan, LoadPlanError> {
    let fail = |what: String| LoadPlanError::Program { program: text(program), what: what.into() };
    let name = match wanted {
        Some(AttachTarget::Program { program: to, function }) => {
            let btf = host.read_program_btf(to.as_fd());
            let btf = btf.map_err(|why| fail(format!("the program it attaches to: {why}")))?;
            let btf_id = find_program_function(btf, function).map_err(fail)?.0;
            return Ok(AttachPlan { btf_id, module: None, program: Some(Arc::clone(to)) });
        }
        Some(AttachTarget::Kernel(name)) => name.clone(),
        None => match section {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => {
                return Err(fail("its section names nothing to attach to: say what before loading".into()));
            }
        },
    };
    if program_type == ProgramType::Ext {
        return Err(fail(format!(
            "it replaces the function `{name}` of another program: say of which before loading"
        )));
    }
    in_kernel(program, &name, attach_type, host, modules)
}

/// libbpf: `find_kernel_btf_id`.
fn in_kernel(
    program: &[u8],
    wanted: &str,
    attach_type: Option<AttachType>,
    host: &Host,
    modules: &mut Modules,
) -> Result<AttachPlan, LoadPlanError> {
    let (module, name) = match wanted.split_once(':') {
        Some((module, name)) => (Some(module), name),
        None => (None, wanted),
    };
    let (prefix, kind) = match attach_type {
        Some(AttachType::TraceRawTp) => ("btf_trace_", Kind::Typedef),
        Some(AttachType::LsmMac | AttachType::LsmCgroup) => ("bpf_lsm_", Kind::Func),
        Some(AttachType::TraceIter) => ("bpf_iter_", Kind::Func),
        _ => ("", Kind::Func),
    };
    let full = format!("{prefix}{name}");
    let types = |cause| LoadPlanError::Types { what: "what a program attaches to", cause };
    if module.is_none_or(|m| m == "vmlinux") {
        let found = host.types.find_main(full.as_bytes(), kind).map_err(|cause| types(cause.into()))?;
        if let Some(ty) = found {
            return Ok(AttachPlan { btf_id: ty.id().0, ..AttachPlan::default() });
        }
    }
    if host.features.has(Feature::ModuleBtf) {
        let found = host.types.find_in_modules(full.as_bytes(), kind, module);
        if let Some(Found { ty, module: Some(of), .. }) = found.map_err(|cause| types(cause.into()))? {
            let module = Some(modules.place(&of.name, of.id));
            return Ok(AttachPlan { btf_id: ty.id().0, module, program: None });
        }
    }
    let kind = if kind == Kind::Typedef { "typedef" } else { "function" };
    let of = module.map_or("the kernel or a loaded module", |m| m);
    let what = format!("it attaches to `{wanted}`, but there is no {kind} `{full}` in the BTF of {of}");
    Err(LoadPlanError::Program { program: text(program), what: what.into() })
}

/// Finds a function in the BTF of a loaded program (libbpf: `libbpf_find_prog_btf_id`).
pub fn find_program_function(btf: Option<Vec<u8>>, function: &str) -> Result<TypeId, String> {
    let btf = btf.ok_or("the program it attaches to was loaded without BTF")?;
    let btf = Btf::parse(btf).map_err(|e| e.to_string())?;
    let found = btf.find(function.as_bytes(), Kind::Func);
    found.map(Type::id).ok_or_else(|| format!("the program it attaches to has no function `{function}`"))
}
