//! Kernel functions that have another name on other kernels.
//!
//! Linux 7.0 gives some kfuncs their last arguments itself ("implicit arguments"), and drops the suffix
//! `_impl` from their names: `bpf_wq_set_callback_impl(wq, callback, flags, aux)` is
//! `bpf_wq_set_callback(wq, callback, flags)` there.

use super::resolution::ResolvedExtern;
use crate::{
    index::ExternIndex,
    limits::KFUNC_PARAMETERS,
    link::externs::{ExternBinding, ExternEntry},
    load_plan::target_kernel::TargetKernel,
};
use core::fmt;
use core_relo::{
    Escaped, Name, TypeId,
    btf::{Btf, Kind, Type},
};

/// The suffix of kfuncs with explicit arguments.
const SUFFIX: &str = "_impl";

/// A function of the kernel that does the job of one that the kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KfuncReplacement {
    /// The name in the object.
    pub missing: String,
    /// The function's name in this kernel.
    pub name: String,
    /// The names of the function's parameters.
    pub parameters: Vec<String>,
    /// The function's type in the kernel's BTF.
    pub type_id: TypeId,
    /// The number of parameters in the object's declaration of the missing function.
    pub declared_parameters: usize,
}

impl KfuncReplacement {
    /// Finds the function in the kernel's BTF. `declared` is the object's declaration of the missing
    /// function.
    ///
    /// A function counts if it has fewer parameters and no suffix, or more parameters and the suffix.
    pub fn find(kernel: &Btf<'_>, name: &str, declared: Type<'_>) -> Option<Self> {
        let other_name = match name.strip_suffix(SUFFIX) {
            Some("") => return None,
            Some(short) => short.to_owned(),
            None => format!("{name}{SUFFIX}"),
        };
        let function = kernel.find(other_name.as_bytes(), Kind::Func)?;
        let parameters = parameters(kernel.ty(function.target()?)?)?;
        let declared_parameters = self::parameters(declared)?.len();
        let is_replacement = if name.ends_with(SUFFIX) {
            parameters.len() < declared_parameters
        } else {
            parameters.len() > declared_parameters
        };
        is_replacement.then(|| Self {
            missing: name.to_owned(),
            name: other_name,
            parameters,
            type_id: function.id(),
            declared_parameters,
        })
    }
}

impl fmt::Display for KfuncReplacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Escaped(&self.name);
        write!(f, "this kernel has `{name}({})` instead, ", Escaped(self.parameters.join(", ")))?;
        if self.parameters.len() < self.declared_parameters {
            f.write_str("whose further arguments the verifier sets")?;
        } else {
            f.write_str("to whose further arguments the program passes 0")?;
        }
        write!(f, ": declare both functions __weak, and call the one that bpf_ksym_exists({name}) selects")
    }
}

/// Returns the names of the parameters of a function's type.
fn parameters(proto: Type<'_>) -> Option<Vec<String>> {
    let is_prototype = proto.kind() == Kind::FuncProto && proto.params().nth(KFUNC_PARAMETERS).is_none();
    is_prototype.then(|| proto.params().map(|parameter| parameter.name.to_string()).collect())
}

/// Finds the replacements of the functions that the kernel does not have, or has with other parameters.
pub(in crate::load_plan) fn find_replacements(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'_>],
    resolved: &[ResolvedExtern],
    kernel: &TargetKernel,
) -> Vec<(ExternIndex, KfuncReplacement)> {
    let mut replacements = Vec::new();
    for (index, (entry, resolved)) in externs.iter().zip(resolved).enumerate() {
        if matches!(resolved, ResolvedExtern::Missing | ResolvedExtern::Incompatible)
            && let Some(replacement) = btf.and_then(|btf| find_replacement(btf, entry, kernel))
        {
            replacements.push((ExternIndex(index), replacement));
        }
    }
    replacements
}

/// Finds the replacement of a function that the kernel does not have, or has with other parameters.
pub(super) fn find_replacement(
    btf: &Btf<'_>,
    entry: &ExternEntry<'_>,
    kernel: &TargetKernel,
) -> Option<KfuncReplacement> {
    let ExternBinding::Function(proto) = entry.binding else { return None };
    let name = core::str::from_utf8(Name::new(entry.name).essential().as_bytes()).ok()?;
    // Reading the BTF succeeded when the extern was resolved. All such functions are in vmlinux.
    KfuncReplacement::find(kernel.btf.vmlinux().ok()?, name, btf.ty(proto)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, btf::Builder};

    fn functions(functions: &[(&str, &[&str])]) -> Btf<'static> {
        let mut b = Builder::new(Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        for (name, parameters) in functions {
            let parameters: Vec<_> = parameters.iter().map(|name| (*name, int)).collect();
            let proto = b.func_proto(int, &parameters);
            b.func(name, proto, 1);
        }
        Btf::parse(b.finish()).unwrap()
    }

    fn find(kernel: &[(&str, &[&str])], name: &str, parameters: &[&str]) -> Option<KfuncReplacement> {
        let object = functions(&[(name, parameters)]);
        let proto = object.ty(object.find(name.as_bytes(), Kind::Func)?.target()?)?;
        KfuncReplacement::find(&functions(kernel), name, proto)
    }

    #[test]
    fn a_function_with_and_without_implicit_arguments_replace_each_other() {
        let new: &[(&str, &[&str])] = &[("f", &["wq", "flags"]), ("f_impl", &["wq", "flags", "aux"])];
        let replacement = find(new, "f_impl", &["wq", "flags", "aux__prog"]).unwrap();
        assert_eq!(replacement.name, "f");
        assert_eq!(
            replacement.to_string(),
            "this kernel has `f(wq, flags)` instead, whose further arguments the verifier sets: declare both functions __weak, and \
             call the one that bpf_ksym_exists(f) selects"
        );
        let old: &[(&str, &[&str])] = &[("f_impl", &["wq", "flags", "aux__ign"])];
        let replacement = find(old, "f", &["wq", "flags"]).unwrap();
        assert_eq!((&*replacement.name, replacement.declared_parameters), ("f_impl", 2));
        assert!(replacement.to_string().contains(
            "`f_impl(wq, flags, aux__ign)` instead, to whose further arguments the program passes 0"
        ));
    }

    #[test]
    fn a_function_of_a_similar_name_with_unrelated_parameters_is_no_replacement() {
        assert_eq!(find(&[("f", &["a", "b"])], "f_impl", &["a", "b"]), None);
        assert_eq!(find(&[("f_impl", &["a"])], "f", &["a", "b"]), None);
        assert_eq!(find(&[("g", &[])], "f_impl", &["a"]), None);
        assert_eq!(find(&[("f", &[])], "_impl", &["a"]), None);
        assert_eq!(find(&[("f_impl", &["a"; 17])], "f", &["a"]), None);
    }
}
