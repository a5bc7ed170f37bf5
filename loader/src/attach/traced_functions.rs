//! The functions that a program can trace by one link: found by name or pattern, in the BTF of the kernel or
//! of a module.

use super::{
    error::AttachError,
    function_list::ListedNames,
    names::{Glob, GlobError},
    tracefs,
};
use crate::{
    limits::{TRACED_PARAMETER_BYTES, TRACED_PARAMETERS},
    sys::{self, Errno},
    target::running_kernel_btf,
};
use core_relo::{
    ByteSize, TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::target::{KernelBtf, ModuleBtf};
use std::{collections::HashSet, fs, os::fd::BorrowedFd, path::PathBuf};

/// Returns the type ids of functions by name, in the BTF of the kernel or module that the program was loaded
/// for.
pub(super) fn find_named(prog: BorrowedFd<'_>, names: &[&str], label: &str) -> Result<Vec<u32>, AttachError> {
    let kernel = running_kernel_btf();
    let module = attach_module(prog, &kernel, label)?;
    let btf = attach_btf(module, &kernel, label)?;
    let of = module.map_or_else(|| "the kernel".to_owned(), |module| format!("module `{}`", module.name));
    let find = |name: &&str| match btf.find_own(name.as_bytes(), Kind::Func) {
        Some(function) => Ok(function.id().0),
        None => Err(AttachError::target(label, format!("no function `{name}` in the BTF of {of}"))),
    };
    names.iter().map(find).collect()
}

/// Returns the type ids of the traceable functions that match a pattern, which may begin with `module:`
/// (libbpf: `collect_func_ids_by_glob`).
pub(super) fn find_matching(
    prog: BorrowedFd<'_>,
    pattern: &str,
    label: &str,
) -> Result<Vec<u32>, AttachError> {
    let (module_name, function_pattern) = match pattern.split_once(':') {
        Some(("vmlinux", functions)) => (None, functions),
        Some((module, functions)) => (Some(module), functions),
        None => (None, pattern),
    };
    let unmatchable = |e: GlobError| AttachError::target(label, e.to_string());
    let mut glob = Glob::new(function_pattern).map_err(unmatchable)?;
    let kernel = running_kernel_btf();
    let module = attach_module(prog, &kernel, label)?;
    match (module_name, module.map(|module| module.name.as_str())) {
        (None, Some(module)) => {
            let problem = format!(
                "the program was loaded for functions of module `{module}`: expected the pattern `{module}:{function_pattern}`"
            );
            return Err(AttachError::target(label, problem));
        }
        (Some(named), loaded) if loaded != Some(named) => {
            let loaded =
                loaded.map_or_else(|| "the kernel".to_owned(), |module| format!("module `{module}`"));
            let problem = format!(
                "the program was loaded for functions of {loaded}: set its attach target to `{pattern}` before the load"
            );
            return Err(AttachError::target(label, problem));
        }
        _ => {}
    }
    let mut functions = Vec::new();
    for function in attach_btf(module, &kernel, label)?.types().filter(|ty| ty.kind() == Kind::Func) {
        if glob.matches(function.name().as_bytes()).map_err(unmatchable)?
            && has_trampoline_prototype(function)
        {
            functions.push(function);
        }
    }
    retain_traceable(&mut functions, module_name);
    if functions.is_empty() {
        return Err(AttachError::target(label, "no function that can be traced matches"));
    }
    Ok(functions.into_iter().map(|function| function.id().0).collect())
}

/// Returns the module whose functions a program was loaded for. Returns `None` for those of the kernel
/// itself.
fn attach_module<'k>(
    prog: BorrowedFd<'_>,
    kernel: &'k KernelBtf,
    label: &str,
) -> Result<Option<&'k ModuleBtf>, AttachError> {
    let info = sys::ProgramInfo::query(&prog)
        .map_err(|errno| AttachError::kernel(label, "read the properties of the program", errno))?;
    let modules =
        kernel.modules().map_err(|errno| AttachError::kernel(label, "list the kernel's modules", errno))?;
    let id = info.attach_btf_obj_id;
    if let Some(module) = modules.iter().find(|module| module.id == id) {
        return Ok(Some(module));
    }
    match sys::ObjectKind::Btf.open(id).and_then(|btf| Ok(sys::btf_name(&btf)?)) {
        Ok(name) if name != "vmlinux" => {
            let problem = format!("module `{name}`, for which the program was loaded, is not listed");
            Err(AttachError::target(label, problem))
        }
        // Without CAP_SYS_ADMIN, no user sees which BTF it is, or loads a program for a module.
        Ok(_) | Err(Errno(libc::EPERM)) => Ok(None),
        // Programs without an attach target have no BTF.
        Err(Errno(libc::ENOENT)) if id == 0 => Ok(None),
        Err(errno) => Err(AttachError::kernel(label, "read the BTF of the attach target", errno)),
    }
}

/// Returns the BTF whose own types contain the functions of the kernel or of a module.
fn attach_btf<'k>(
    module: Option<&'k ModuleBtf>,
    kernel: &'k KernelBtf,
    label: &str,
) -> Result<&'k Btf<'static>, AttachError> {
    let Some(module) = module else {
        return match kernel.vmlinux() {
            Ok(btf) => Ok(btf),
            Err(e) => Err(AttachError::target(label, e.to_string())),
        };
    };
    match module.btf() {
        Ok(Some(btf)) => Ok(btf),
        Ok(None) => {
            let problem = format!("module `{}` was unloaded, or its BTF is damaged", module.name);
            Err(AttachError::target(label, problem))
        }
        Err(errno) => Err(AttachError::kernel(label, "read the BTF of the module", errno)),
    }
}

/// Returns whether trampolines support a function's parameters and result (libbpf:
/// `btf_type_is_traceable_func`).
fn has_trampoline_prototype(function: Type<'_>) -> bool {
    let btf = function.btf();
    let Some(prototype) = function.target().and_then(|id| btf.ty(id)) else { return false };
    let (Some(result), None) = (prototype.target(), prototype.params().nth(TRACED_PARAMETERS)) else {
        return false;
    };
    let has_result = value_size(btf, result).is_some()
        && btf.strip(result).is_ok_and(|ty| !matches!(ty.kind(), Kind::Struct | Kind::Union));
    // Variable arguments are a last parameter without a type, and so without a size.
    let is_supported =
        |id| value_size(btf, id).is_some_and(|size| (1..=TRACED_PARAMETER_BYTES).contains(&size.0));
    has_result && prototype.params().all(|param| is_supported(param.ty))
}

/// Returns the size of a parameter or result. Returns `None` for types that are neither, such as arrays and
/// floating-point numbers.
fn value_size(btf: &Btf<'_>, id: TypeId) -> Option<ByteSize> {
    let ty = btf.strip(id).ok()?;
    match ty.kind() {
        Kind::Void => Some(ByteSize(0)),
        Kind::Ptr => Some(btf.pointer_size()),
        Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Struct | Kind::Union => ty.size(),
        _ => None,
    }
}

/// Leaves only the functions that one link can trace: tracefs lists them, and no other symbol has the name.
/// The kernel takes the first symbol of a name, and refuses the whole link if that one cannot be traced. A
/// list that cannot be read is left out.
fn retain_traceable(functions: &mut Vec<Type<'_>>, module: Option<&str>) {
    let wanted: HashSet<&[u8]> = functions.iter().map(|function| function.name().as_bytes()).collect();
    let read = |path: PathBuf| fs::read(path).ok().filter(|list| !list.is_empty());
    let traceable = tracefs::root().ok().and_then(|root| read(root.join("available_filter_functions")));
    let symbols = read("/proc/kallsyms".into());
    let traceable = traceable.as_deref().map(|list| ListedNames::find(list, 0, module, &wanted));
    let symbols = symbols.as_deref().map(|list| ListedNames::find(list, 2, module, &wanted));
    drop(wanted);
    functions.retain(|function| {
        let name = function.name().as_bytes();
        traceable.as_ref().is_none_or(|list| list.contains(name) && !list.is_repeated(name))
            && symbols.as_ref().is_none_or(|list| !list.is_repeated(name))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, btf::Builder};

    #[test]
    fn trampolines_support_few_small_parameters_and_no_struct_as_result() {
        let mut b = Builder::new(Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        let pair = b.structure("pair", 16, &[("a", int, 0), ("b", int, 64)]);
        let large = b.structure("large", 24, &[("a", int, 0)]);
        let array = b.array(int, int, 2);
        let void = TypeId::VOID;
        let cases: [(&str, TypeId, Vec<TypeId>, bool); 8] = [
            ("nothing", void, vec![], true),
            ("values", int, vec![int, pair], true),
            ("twelve", int, vec![int; 12], true),
            ("thirteen", int, vec![int; 13], false),
            ("variable", int, vec![int, void], false),
            ("large_parameter", void, vec![large], false),
            ("struct_result", pair, vec![int], false),
            ("array_parameter", void, vec![array], false),
        ];
        for (name, result, params, _) in &cases {
            let params: Vec<_> = params.iter().map(|ty| ("p", *ty)).collect();
            let proto = b.func_proto(*result, &params);
            b.func(name, proto, 1);
        }
        let btf = Btf::parse(b.finish()).unwrap();
        for (name, .., expected) in cases {
            let function = btf.find(name.as_bytes(), Kind::Func).unwrap();
            assert_eq!(has_trampoline_prototype(function), expected, "{name}");
        }
    }
}
