//! The functions that a program can trace by one link: found by name or pattern, in the BTF of the kernel or of a module.

use super::{
    error::AttachError,
    names::{Glob, GlobError},
    tracefs,
};
use crate::{
    limits::{TRACED_PARAMETER_BYTES, TRACED_PARAMETERS},
    sys,
    target::running_kernel_btf,
};
use core_relo::{
    ByteSize, TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::target::{KernelBtf, ModuleBtf};
use std::{collections::HashMap, fs, os::fd::BorrowedFd};

/// Returns the type ids of functions by name, in the BTF of the kernel or module that the program was loaded for.
pub(super) fn find_named(prog: BorrowedFd<'_>, names: &[&str], label: &str) -> Result<Vec<u32>, AttachError> {
    let kernel = running_kernel_btf();
    let module = loaded_for(prog, &kernel, label)?;
    let btf = functions_of(module, &kernel, label)?;
    let of = module.map_or_else(|| "the kernel".to_owned(), |module| format!("module `{}`", module.name));
    let find = |name: &&str| match btf.find_own(name.as_bytes(), Kind::Func) {
        Some(function) => Ok(function.id().0),
        None => Err(AttachError::target(label, format!("no function `{name}` in the BTF of {of}"))),
    };
    names.iter().map(find).collect()
}

/// Returns the type ids of the traceable functions that match a pattern, which may begin with `module:` (libbpf:
/// `collect_func_ids_by_glob`).
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
    let module = loaded_for(prog, &kernel, label)?;
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
    let traceable = TraceableFunctions::read(module_name);
    let mut ids = Vec::new();
    for function in functions_of(module, &kernel, label)?.types().filter(|ty| ty.kind() == Kind::Func) {
        let name = function.name().as_bytes();
        if glob.matches(name).map_err(unmatchable)?
            && traceable.as_ref().is_none_or(|traceable| traceable.has_one(name))
            && has_trampoline_prototype(function)
        {
            ids.push(function.id().0);
        }
    }
    if ids.is_empty() {
        return Err(AttachError::target(label, "no function that can be traced matches"));
    }
    Ok(ids)
}

/// Returns the module whose functions a program was loaded for. Returns `None` for those of the kernel itself.
fn loaded_for<'k>(
    prog: BorrowedFd<'_>,
    kernel: &'k KernelBtf,
    label: &str,
) -> Result<Option<&'k ModuleBtf>, AttachError> {
    let info = sys::prog_info(&prog)
        .map_err(|errno| AttachError::kernel(label, "read the properties of the program", errno))?;
    let modules =
        kernel.modules().map_err(|errno| AttachError::kernel(label, "list the kernel's modules", errno))?;
    let mut modules = modules.iter().map(|module| &**module);
    Ok(modules.find(|module| module.id == info.attach_btf_obj_id))
}

/// Returns the BTF whose own types contain the functions of the kernel or of a module.
fn functions_of<'k>(
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

/// Returns whether trampolines support a function's parameters and result (libbpf: `btf_type_is_traceable_func`).
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

/// Returns the size of a parameter or result. Returns `None` for types that are neither, such as arrays and floating-point numbers.
fn value_size(btf: &Btf<'_>, id: TypeId) -> Option<ByteSize> {
    let ty = btf.strip(id).ok()?;
    match ty.kind() {
        Kind::Void => Some(ByteSize(0)),
        Kind::Ptr => Some(btf.pointer_size()),
        Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Struct | Kind::Union => ty.size(),
        _ => None,
    }
}

/// The functions of the kernel itself, or of a module, that tracefs lists as traceable.
#[derive(Debug)]
struct TraceableFunctions {
    /// For each name, whether one function alone has it.
    names: HashMap<Vec<u8>, bool>,
}

impl TraceableFunctions {
    /// Reads the list of the kernel's functions, or of a module's. Returns `None` without tracefs.
    fn read(module: Option<&str>) -> Option<Self> {
        let text = fs::read(tracefs::root().ok()?.join("available_filter_functions")).ok()?;
        Self::parse(&text, module)
    }

    /// Parses lines of `name` or `name [module]`. Returns `None` if there is no function.
    fn parse(text: &[u8], module: Option<&str>) -> Option<Self> {
        let brackets = module.map(|module| format!("[{module}]"));
        let mut names = HashMap::new();
        for line in text.split(|b| *b == b'\n') {
            let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
            let (Some(name), of) = (fields.next(), fields.next()) else { continue };
            if of == brackets.as_deref().map(str::as_bytes) {
                names.entry(name.to_owned()).and_modify(|is_unique| *is_unique = false).or_insert(true);
            }
        }
        (!names.is_empty()).then_some(Self { names })
    }

    /// Returns whether there is exactly one traceable function of a name.
    fn has_one(&self, name: &[u8]) -> bool {
        self.names.get(name) == Some(&true)
    }
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

    #[test]
    fn traceable_functions_are_those_of_the_kernel_or_of_one_module() {
        let list = b"start\nstop\nstop\nopen [veth]\nstart [veth]\nopen [veth2]\n";
        let names = |module| {
            let found = TraceableFunctions::parse(list, module);
            let names = ["start", "stop", "open"].into_iter();
            names
                .filter(|name| found.as_ref().is_some_and(|f| f.has_one(name.as_bytes())))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["start"]);
        assert_eq!(names(Some("veth")), ["start", "open"]);
        assert_eq!(names(Some("veth2")), ["open"]);
        assert!(TraceableFunctions::parse(list, Some("vet")).is_none());
    }
}
