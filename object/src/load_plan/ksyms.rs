//! Kernel variables and functions that an object refers to (libbpf: `bpf_object__resolve_externs`).

use super::{LoadPlanError, error::Refusal, host::Host};
use crate::{
    elf::text,
    features::Feature,
    index::ModuleIndex,
    link::externs::{ExternBinding, ExternEntry},
    target::FoundType,
};
use core_relo::{
    Name, Text, TypeId,
    btf::{Btf, Kind, Type},
    resolve::{MatchError, TypeComparer},
};
use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead as _},
};

/// The resolution of an extern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resolved {
    /// The kernel does not have it, and the object does without.
    #[default]
    Missing,
    /// The kernel has a function of this name with other parameters, and the object does without.
    Incompatible,
    /// A variable's address.
    Address(u64),
    /// A variable or function in the kernel's types, or in those of a module (its place among the plan's modules).
    Typed { id: TypeId, module: Option<ModuleIndex> },
}

/// A module whose BTF a load needs a descriptor of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModulePlan {
    /// The module's name.
    pub name: String,
    /// The kernel's id of the module's BTF; 0 if the types did not come from the running kernel.
    pub btf_id: u32,
}

/// The modules whose BTF a load needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules(pub(super) Vec<ModulePlan>);

impl Modules {
    /// Returns the index of a module, which is added if it is new.
    pub(super) fn index_of(&mut self, name: &str, id: u32) -> ModuleIndex {
        let is_it = |known: &ModulePlan| known.btf_id == id && (id != 0 || known.name == name);
        let index = self.0.iter().position(is_it).unwrap_or(self.0.len());
        if index == self.0.len() {
            self.0.push(ModulePlan { name: name.to_owned(), btf_id: id });
        }
        ModuleIndex(index)
    }
}

/// The refused externs, each once.
#[derive(Default)]
struct Refusals<'e> {
    list: Vec<Refusal>,
    names: HashSet<&'e [u8]>,
}

impl<'e> Refusals<'e> {
    fn add(&mut self, name: &'e [u8], why: impl Into<Text>) {
        if self.names.insert(name) {
            self.list.push(Refusal::new(text(name), why));
        }
    }
}

/// Resolves externs, in their order. Configuration values stay [`Resolved::Missing`].
pub(super) fn resolve(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'_>],
    host: &Host,
    modules: &mut Modules,
) -> Result<Vec<Resolved>, LoadPlanError> {
    let mut refused = Refusals::default();
    let addresses = addresses(externs, host, &mut refused);
    let mut kernel = KernelSearch { host, modules, comparison: Comparison::default() };
    let mut found = Vec::new();
    for e in externs {
        let resolved = match (e.binding, btf) {
            (ExternBinding::Address, _) => addresses.get(e.name).copied().map(Resolved::Address),
            (ExternBinding::Variable(ty), Some(btf)) => {
                kernel.typed(btf, e, e.name, (Kind::Var, ty), &mut refused)?
            }
            (ExternBinding::Function(ty), Some(btf)) => {
                let name = Name::new(e.name).essential().as_bytes();
                kernel.typed(btf, e, name, (Kind::Func, ty), &mut refused)?
            }
            (ExternBinding::Config(_), _) | (_, None) => {
                found.push(Resolved::Missing);
                continue;
            }
        };
        if resolved.is_none() && !e.is_weak {
            let unknown = e.binding == ExternBinding::Address && host.knows_types_only();
            let why = if unknown {
                "where that kernel has it is not known here: only a load on it can tell"
            } else {
                missing(e.binding)
            };
            refused.add(e.name, why);
        }
        found.push(resolved.unwrap_or_default());
    }
    if refused.list.is_empty() { Ok(found) } else { Err(LoadPlanError::Externs(refused.list)) }
}

fn missing(what: ExternBinding) -> &'static str {
    match what {
        ExternBinding::Function(_) => {
            "no kernel function (kfunc) of this name in the BTF of the kernel or a loaded module; a newer kernel may have it: \
             declare it __weak and test it with bpf_ksym_exists()"
        }
        ExternBinding::Variable(_) => {
            "no variable of this name in the BTF of the kernel or a loaded module, which have per-CPU variables only; \
             declare it __weak to get 0 instead"
        }
        _ => {
            "no symbol of this name in /proc/kallsyms (variables are there with CONFIG_KALLSYMS_ALL only); declare it __weak \
             to get 0 instead"
        }
    }
}

/// Addresses of the variables without a type, from `/proc/kallsyms`.
fn addresses<'e>(
    externs: &[ExternEntry<'e>],
    host: &Host,
    refused: &mut Refusals<'e>,
) -> HashMap<&'e [u8], u64> {
    let wanted: Vec<_> = externs.iter().filter(|e| e.binding == ExternBinding::Address).collect();
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    let names: HashMap<&[u8], &'e [u8]> = wanted.iter().map(|e| (e.name, e.name)).collect();
    if let Err(e) = scan(host, &names, &mut found, refused) {
        let why = format!("/proc/kallsyms cannot be read: {e}");
        for extern_ in wanted {
            refused.add(extern_.name, why.clone());
        }
    }
    found
}

fn scan<'e>(
    host: &Host,
    names: &HashMap<&[u8], &'e [u8]>,
    found: &mut HashMap<&'e [u8], u64>,
    refused: &mut Refusals<'e>,
) -> io::Result<()> {
    let mut symbols = host.kallsyms()?;
    let mut line = Vec::new();
    while symbols.read_until(b'\n', &mut line)? > 0 {
        if let Some((name, address)) = symbol(&line, names)
            && let Some(other) = found.insert(name, address)
            && other != address
        {
            refused.add(
                name,
                format!("it is ambiguous: symbols of this name are at {other:#x} and {address:#x}"),
            );
        }
        line.clear();
    }
    Ok(())
}

/// Parses a line of `/proc/kallsyms`: address, kind, name, and the module's name, if the symbol is in a module.
fn symbol<'e>(line: &[u8], names: &HashMap<&[u8], &'e [u8]>) -> Option<(&'e [u8], u64)> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let (address, kind, symbol) = (words.next()?, words.next()?, words.next()?);
    // LTO appends a hash to the names of static variables.
    let hash = b".llvm.";
    let llvm = || symbol.windows(hash.len()).position(|w| w == hash);
    let own = if kind == b"d" { llvm().and_then(|at| symbol.get(..at)).unwrap_or(symbol) } else { symbol };
    let name = *names.get(own)?;
    let address = str::from_utf8(address).ok()?;
    Some((name, u64::from_str_radix(address, 16).ok()?))
}

/// A search for variables and functions in a kernel's types.
struct KernelSearch<'h, 'm> {
    host: &'h Host,
    modules: &'m mut Modules,
    comparison: Comparison<'h>,
}

impl KernelSearch<'_, '_> {
    /// Finds a variable or function by name and type (libbpf: `bpf_object__resolve_ksym_var_btf_id`, `…_func_btf_id`).
    fn typed<'e>(
        &mut self,
        btf: &Btf<'_>,
        e: &ExternEntry<'e>,
        name: &[u8],
        (kind, local): (Kind, TypeId),
        refused: &mut Refusals<'e>,
    ) -> Result<Option<Resolved>, LoadPlanError> {
        let in_modules = self.host.features.has(Feature::ModuleBtf);
        let types = |cause| LoadPlanError::Types { what: "its externs", cause };
        let Some(FoundType { ty, module, .. }) =
            self.host.types.find(name, kind, in_modules).map_err(types)?
        else {
            return Ok(None);
        };
        let target = ty.target().unwrap_or_default();
        let target = if kind == Kind::Var { ty.btf().strip(target).ok().map(Type::id) } else { Some(target) };
        let of = module.map_or("vmlinux", |m| &m.name);
        let what = if kind == Kind::Func { "parameters" } else { "a type" };
        match target.map(|target| self.comparison.compare((btf, local), (ty.btf(), target))) {
            Some(Ok(true)) => {
                let module = module.map(|m| self.modules.index_of(&m.name, m.id));
                return Ok(Some(Resolved::Typed { id: ty.id(), module }));
            }
            Some(Err(MatchError::TooManySteps)) => {
                refused.add(e.name, format!("{of} has it with {what} that take too many steps to compare"));
            }
            _ if kind == Kind::Func && e.is_weak => return Ok(Some(Resolved::Incompatible)),
            _ => refused.add(e.name, format!("{of} has it with {what} other than the object declares")),
        }
        Ok(None)
    }
}

/// Comparisons of an object's types with the kernel's. Many externs may share a type, so each pair is compared once.
#[derive(Default)]
struct Comparison<'h> {
    comparer: TypeComparer,
    /// Results by the object's type, the kernel's BTF and its type.
    known: HashMap<(TypeId, *const Btf<'h>, TypeId), Result<bool, MatchError>>,
}

impl<'h> Comparison<'h> {
    fn compare(
        &mut self,
        (local_btf, local): (&Btf<'_>, TypeId),
        (kernel, target): (&'h Btf<'h>, TypeId),
    ) -> Result<bool, MatchError> {
        let compare = || self.comparer.are_compatible(local_btf, local, kernel, target);
        *self.known.entry((local, core::ptr::from_ref(kernel), target)).or_insert_with(compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::KernelTypes;
    use alloc::sync::Arc;
    use core_relo::{Endian, btf::Builder};

    /// As `bpf_session_cookie`, which took nothing up to 6.19 and takes the context since.
    #[test]
    fn of_flavours_of_a_function_the_one_with_the_kernels_parameters_is_taken() {
        let types = |names: &[(&str, bool)]| {
            let mut b = Builder::new(Endian::native());
            let int = b.int("int", 4, Builder::SIGNED);
            let pointer = b.pointer(TypeId::VOID);
            for (name, takes_context) in names {
                let parameters: &[_] = if *takes_context { &[("ctx", pointer)] } else { &[] };
                let proto = b.func_proto(int, parameters);
                b.func(name, proto, 2);
            }
            Btf::parse(b.finish()).unwrap()
        };
        let kernel = types(&[("f", true), ("g", true)]);
        let expected = kernel.find(b"f", Kind::Func).unwrap().id();
        let host = Host::offline(Arc::new(KernelTypes::from_btf(Arc::new(kernel), [])));
        let object = types(&[("f___old", false), ("f___new", true), ("g", false), ("h", true)]);
        let entry = |name: &'static [u8], is_weak| {
            let func = object.find(name, Kind::Func).unwrap();
            let what = ExternBinding::Function(func.target().unwrap());
            ExternEntry { name, symbol: 0, is_weak, btf_id: func.id(), binding: what }
        };
        let resolve =
            |externs: &[ExternEntry<'_>]| resolve(Some(&object), externs, &host, &mut Modules::default());
        let weak = [entry(b"f___old", true), entry(b"f___new", true), entry(b"g", true), entry(b"h", true)];
        let here = Resolved::Typed { id: expected, module: None };
        assert_eq!(
            resolve(&weak).unwrap(),
            [Resolved::Incompatible, here, Resolved::Incompatible, Resolved::Missing]
        );
        let refused = resolve(&[entry(b"g", false), entry(b"h", false)]).unwrap_err().to_string();
        assert!(refused.contains("g: vmlinux has it with parameters other than"), "{refused}");
        assert!(refused.contains("h: no kernel function (kfunc) of this name"), "{refused}");
    }

    /// Functions that take functions: comparing them takes time exponential in the depth.
    #[test]
    fn a_function_whose_parameters_take_too_long_to_compare_is_refused_for_that() {
        let mut b = Builder::new(Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        let mut proto = b.func_proto(int, &[]);
        for _ in 0..24 {
            let pointer = b.pointer(proto);
            proto = b.func_proto(int, &[("one", pointer), ("other", pointer)]);
        }
        let id = b.func("f", proto, 2);
        let kernel = Btf::parse(b.finish()).unwrap();
        let object = Btf::parse(b.finish()).unwrap();
        let host = Host::offline(Arc::new(KernelTypes::from_btf(Arc::new(kernel), [])));
        let what = ExternBinding::Function(proto);
        let f = ExternEntry { name: b"f", symbol: 0, is_weak: true, btf_id: id, binding: what };
        let refused = resolve(Some(&object), &[f], &host, &mut Modules::default()).unwrap_err().to_string();
        assert!(refused.contains("vmlinux has it with parameters that take too many steps"), "{refused}");
    }
}
