//! Resolves externs of `.ksyms`: the kernel's variables and functions (libbpf:
//! `bpf_object__resolve_externs`).

use super::{
    comparer::ExternComparer, modules::Modules, refused::RefusedExterns, replacement::find_replacement,
    resolution::ResolvedExtern,
};
use crate::{
    elf::{key, text},
    internal::Invariant as _,
    link::externs::{ExternBinding, ExternEntry},
    load_plan::{
        error::{LoadPlanError, Refusal},
        late_binding::LateBinding,
        settings::Settings,
        symbol_address::{LISTED_ADDRESSES, SymbolAddress, ambiguity_text, shows_no_address},
        target_kernel::TargetKernel,
    },
    target::KernelType,
};
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind},
    explain::declare_both,
    resolve::MatchError,
};
use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead as _},
};

/// Returns the resolution of each extern, and adds to `refused` those that are refused. Configuration values
/// and refused externs stay [`ResolvedExtern::Missing`].
pub(in crate::load_plan) fn resolve<'e>(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'e>],
    settings: &Settings,
    kernel: &TargetKernel,
    modules: &mut Modules,
    refused: &mut RefusedExterns<'e>,
) -> Result<Vec<ResolvedExtern>, LoadPlanError> {
    if kernel.late_binding.has_names() {
        refuse_chosen(externs, settings, refused);
        return leave_to_kernel(btf, externs, kernel, modules, refused);
    }
    let addresses = find_addresses(externs, settings, kernel, refused);
    let mut search = KernelSearch { kernel, modules, comparer: ExternComparer::default() };
    let mut resolutions = Vec::new();
    for e in externs {
        let resolved = match e.binding {
            ExternBinding::Config(_) => Some(ResolvedExtern::Missing),
            ExternBinding::Address => addresses.get(e.name).copied().map(ResolvedExtern::Address),
            ExternBinding::Variable(ty) => {
                let btf = btf.invariant("an object with externs has BTF")?;
                search.resolve_typed(btf, e, e.name, (Kind::Var, ty), refused)?
            }
            ExternBinding::Function(ty) => {
                let btf = btf.invariant("an object with externs has BTF")?;
                let name = Name::new(e.name).essential().as_bytes();
                search.resolve_typed(btf, e, name, (Kind::Func, ty), refused)?
            }
        };
        if resolved.is_none() && !e.is_weak {
            match e.binding {
                ExternBinding::Address if !kernel.knows_symbols() => refused.add_unknown_address(e.name),
                _ => refused.add(e.name, missing_reason(btf, e, kernel)),
            }
        }
        // A weak extern may be missing.
        resolutions.push(resolved.unwrap_or(ResolvedExtern::Missing));
    }
    Ok(resolutions)
}

/// Leaves externs to the kernel that executes a loader program. That kernel does not compare types, so
/// functions that are declared several times for different kernels are resolved here, which needs the types
/// of one kernel.
fn leave_to_kernel<'e>(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'e>],
    kernel: &TargetKernel,
    modules: &mut Modules,
    refused: &mut RefusedExterns<'e>,
) -> Result<Vec<ResolvedExtern>, LoadPlanError> {
    let mut names = HashSet::new();
    let mut search = KernelSearch { kernel, modules, comparer: ExternComparer::default() };
    let mut resolutions = Vec::new();
    for e in externs {
        let resolved = match e.binding {
            ExternBinding::Config(_) => ResolvedExtern::Missing,
            ExternBinding::Address | ExternBinding::Variable(_) => ResolvedExtern::Late,
            ExternBinding::Function(ty) => {
                let name = Name::new(e.name).essential().as_bytes();
                let is_repeated = !names.insert(name);
                if kernel.late_binding == LateBinding::Names {
                    let btf = btf.invariant("an object with externs has BTF")?;
                    match search.resolve_typed(btf, e, name, (Kind::Func, ty), refused)? {
                        Some(ResolvedExtern::Incompatible) => ResolvedExtern::Incompatible,
                        _ => ResolvedExtern::Late,
                    }
                } else if is_repeated {
                    refused.add(
                        e.name,
                        "cannot be put in a loader program for every kernel: the function is declared for several kernels, whose \
                         types decide: name one kernel with --kernel",
                    );
                    ResolvedExtern::Late
                } else {
                    ResolvedExtern::Late
                }
            }
        };
        resolutions.push(resolved);
    }
    Ok(resolutions)
}

/// Refuses chosen addresses of symbols, which are those of one start of one kernel.
fn refuse_chosen<'e>(externs: &[ExternEntry<'e>], settings: &Settings, refused: &mut RefusedExterns<'e>) {
    for e in externs.iter().filter(|e| e.binding == ExternBinding::Address) {
        if settings.ksyms.contains_key(&key(e.name)) {
            refused.add(
                e.name,
                "a chosen address cannot be put in a loader program, whose kernel finds symbols by their names",
            );
        }
    }
}

/// Returns the reason why a strong extern that the kernel does not have is refused.
fn missing_reason(btf: Option<&Btf<'_>>, e: &ExternEntry<'_>, kernel: &TargetKernel) -> String {
    if let Some(replacement) = btf.and_then(|btf| find_replacement(btf, e, kernel)) {
        return format!("no kernel function (kfunc) of this name: {replacement}");
    }
    let reason = match e.binding {
        ExternBinding::Function(_) => {
            "no kernel function (kfunc) of this name in the BTF of the kernel or a loaded module: if newer kernels have it, \
             declare it __weak and test it with bpf_ksym_exists()"
        }
        ExternBinding::Variable(_) => {
            "no variable of this name in the BTF of the kernel or a loaded module, which have per-CPU variables only: \
             declare it __weak to get 0 instead"
        }
        _ => {
            "no symbol of this name in /proc/kallsyms, which has variables with CONFIG_KALLSYMS_ALL only: declare it __weak \
             to get 0 instead"
        }
    };
    reason.to_owned()
}

/// Finds the addresses of variables without a type in `/proc/kallsyms`.
fn find_addresses<'e>(
    externs: &[ExternEntry<'e>],
    settings: &Settings,
    kernel: &TargetKernel,
    refused: &mut RefusedExterns<'e>,
) -> HashMap<&'e [u8], u64> {
    let untyped: Vec<_> = externs.iter().filter(|e| e.binding == ExternBinding::Address).collect();
    if untyped.is_empty() {
        return HashMap::new();
    }
    let chosen = settings.ksyms.values().filter_map(|address| match address {
        SymbolAddress::After { symbol, .. } => Some(symbol.as_bytes()),
        SymbolAddress::At(_) => None,
    });
    let wanted = WantedSymbols {
        names: untyped.iter().map(|e| e.name).chain(chosen).collect(),
        chosen: untyped
            .iter()
            .filter_map(|e| match settings.ksyms.get(&key(e.name))? {
                SymbolAddress::At(address) => Some((e.name, *address)),
                SymbolAddress::After { .. } => None,
            })
            .collect(),
    };
    let symbols = match scan_kallsyms(kernel, &wanted) {
        Ok(symbols) => symbols,
        Err(e) => {
            let why = format!("/proc/kallsyms cannot be read: {e}");
            for extern_ in untyped {
                refused.add(extern_.name, why.clone());
            }
            return HashMap::new();
        }
    };
    let Symbols { addresses: symbols, are_hidden } = symbols;
    #[expect(clippy::disallowed_methods, reason = "the kernel has no symbol of the name")]
    let addresses_of = |name: &[u8]| symbols.get(name).cloned().unwrap_or_default();
    let mut addresses = HashMap::new();
    for extern_ in untyped {
        let name = extern_.name;
        if let Some(chosen) = settings.ksyms.get(&key(name)).filter(|_| kernel.knows_symbols()) {
            match chosen.resolve(name, addresses_of) {
                Ok(address) => drop(addresses.insert(name, address)),
                Err(error) => refused.add(name, error.to_string()),
            }
            continue;
        }
        match symbols.get(name).map(Vec::as_slice) {
            None | Some([]) => {}
            Some(_) if are_hidden && extern_.is_weak => {
                log::warn!("{}: weak, and its address stays 0: {HIDDEN}", text(name));
            }
            Some(_) if are_hidden => refused.add(name, HIDDEN),
            Some([address]) => drop(addresses.insert(name, *address)),
            Some([first, second, ..]) => {
                let addresses = [first, second].map(|address| format!("{address:#x}"));
                refused.add_refusal(name, || Refusal::for_ambiguous(text(name), ambiguity_text(addresses)));
            }
        }
    }
    addresses
}

/// The problem of a symbol whose address `/proc/kallsyms` does not show.
const HIDDEN: &str = "its address is hidden (kernel.kptr_restrict is 2, or the loader has no CAP_SYSLOG): /proc/kallsyms shows 0 for every symbol";

/// The kernel's symbols of some names.
struct Symbols<'n> {
    /// The different addresses, by name.
    addresses: HashMap<&'n [u8], Vec<u64>>,
    /// Whether the file shows 0 for every symbol (kernel: `kallsyms_show_value`).
    are_hidden: bool,
}

/// The symbols to find.
struct WantedSymbols<'n> {
    names: HashSet<&'n [u8]>,
    /// The addresses that a caller chose, by name. They are kept beyond [`LISTED_ADDRESSES`].
    chosen: HashMap<&'n [u8], u64>,
}

/// Finds the kernel's symbols of some names.
fn scan_kallsyms<'n>(kernel: &TargetKernel, wanted: &WantedSymbols<'n>) -> io::Result<Symbols<'n>> {
    let mut symbols = kernel.open_kallsyms()?;
    let mut addresses = HashMap::<_, Vec<u64>>::new();
    let (mut line, mut are_hidden) = (Vec::new(), true);
    while symbols.read_until(b'\n', &mut line)? > 0 {
        are_hidden = are_hidden && shows_no_address(&line);
        if let Some((name, address)) = parse_symbol(&line, &wanted.names) {
            let addresses = addresses.entry(name).or_default();
            // A symbol may be listed twice, as a global and as a static one.
            let is_kept = addresses.len() < LISTED_ADDRESSES || wanted.chosen.get(name) == Some(&address);
            if is_kept && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        line.clear();
    }
    Ok(Symbols { addresses, are_hidden })
}

/// Parses a line of `/proc/kallsyms`: address, kind, name, and for a symbol of a module the module's name.
/// Returns `None` for names other than `names`.
fn parse_symbol<'n>(line: &[u8], names: &HashSet<&'n [u8]>) -> Option<(&'n [u8], u64)> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let (address, kind, symbol) = (words.next()?, words.next()?, words.next()?);
    // LTO appends a hash to the names of static variables.
    let suffix = b".llvm.";
    let suffix_start = || symbol.windows(suffix.len()).position(|window| window == suffix);
    let name = match (kind == b"d").then(suffix_start).flatten() {
        Some(start) => symbol.get(..start)?,
        None => symbol,
    };
    let name = *names.get(name)?;
    let address = str::from_utf8(address).ok()?;
    Some((name, u64::from_str_radix(address, 16).ok()?))
}

/// A search for variables and functions in the BTF of a kernel and its modules.
struct KernelSearch<'h, 'm> {
    kernel: &'h TargetKernel,
    modules: &'m mut Modules,
    comparer: ExternComparer<'h>,
}

impl KernelSearch<'_, '_> {
    /// Finds a variable or function by name, and compares its type with the declaration (libbpf:
    /// `bpf_object__resolve_ksym_var_btf_id`, `…_func_btf_id`).
    fn resolve_typed<'e>(
        &mut self,
        btf: &Btf<'_>,
        e: &ExternEntry<'e>,
        name: &[u8],
        (kind, local): (Kind, TypeId),
        refused: &mut RefusedExterns<'e>,
    ) -> Result<Option<ResolvedExtern>, LoadPlanError> {
        let no_types = |cause| LoadPlanError::Types { what: "externs", cause };
        let found = match self.kernel.find_type(name, kind) {
            // Without types the kernel has no kfuncs and no typed variables, which weak externs allow. libbpf
            // refuses the object.
            Err(cause) if cause.is_absence() => {
                if !e.is_weak {
                    refused.add_without_types(e.name, cause);
                }
                None
            }
            found => found.map_err(no_types)?,
        };
        let Some(KernelType { ty, module, .. }) = found else { return Ok(None) };
        let owner = module.map_or("vmlinux", |m| &m.name);
        let (what, differ) = if kind == Kind::Func { ("parameters", "differ") } else { ("type", "differs") };
        match self.comparer.is_compatible(btf, local, ty) {
            Ok(true) => {
                let module = module.map(|m| self.modules.index_of(&m.name, m.id));
                return Ok(Some(ResolvedExtern::Typed { id: ty.id(), module }));
            }
            Err(MatchError::TooManySteps) => {
                refused.add(e.name, format!("comparing its {what} with {owner} takes too many steps"));
            }
            _ if kind == Kind::Func && e.is_weak => return Ok(Some(ResolvedExtern::Incompatible)),
            _ => {
                let declared = btf.ty(local).filter(|_| kind == Kind::Func);
                let both = declared.and_then(|declared| declare_both(declared, ty, Name::new(name)));
                let both = both.map_or(String::new(), |both| format!(": {both}"));
                let replacement = find_replacement(btf, e, self.kernel);
                let help = replacement.map_or(String::new(), |replacement| format!(": {replacement}"));
                refused
                    .add(e.name, format!("its {what} in {owner} {differ} from the declaration{both}{help}"));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::KernelBtf;
    use alloc::sync::Arc;
    use core_relo::{Endian, btf::Builder};

    /// Resolves externs of an object that needs all of them.
    fn resolve_all(
        object: &Btf<'_>,
        externs: &[ExternEntry<'_>],
        kernel: &TargetKernel,
    ) -> Result<Vec<ResolvedExtern>, LoadPlanError> {
        let mut refused = RefusedExterns::default();
        let resolved = resolve(
            Some(object),
            externs,
            &Settings::default(),
            kernel,
            &mut Modules::default(),
            &mut refused,
        )?;
        refused.check_none().map(|()| resolved)
    }

    /// `bpf_session_cookie` has such flavours: it has no parameters up to 6.19, and the context as a
    /// parameter since.
    #[test]
    fn the_flavour_of_a_function_with_the_kernels_parameters_is_resolved() {
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
        let kernel = TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(kernel), [])));
        let object = types(&[("f___old", false), ("f___new", true), ("g", false), ("h", true)]);
        let entry = |name: &'static [u8], is_weak| {
            let func = object.find(name, Kind::Func).unwrap();
            let binding = ExternBinding::Function(func.target().unwrap());
            ExternEntry { name, symbol: 0, is_weak, btf_id: func.id(), binding }
        };
        let resolve = |externs| resolve_all(&object, externs, &kernel);
        let weak = [entry(b"f___old", true), entry(b"f___new", true), entry(b"g", true), entry(b"h", true)];
        let typed = ResolvedExtern::Typed { id: expected, module: None };
        assert_eq!(
            resolve(&weak).unwrap(),
            [ResolvedExtern::Incompatible, typed, ResolvedExtern::Incompatible, ResolvedExtern::Missing]
        );
        let refused = resolve(&[entry(b"g", false), entry(b"h", false)]).unwrap_err().to_string();
        assert!(refused.contains(
                "g: its parameters in vmlinux differ from the declaration: `int g(void *ctx)`, expected `int g(void)`"
            ), "{refused}");
        assert!(refused.contains("h: no kernel function (kfunc) of this name"), "{refused}");
    }

    /// The parameters are function pointers of function pointers: comparing them takes time exponential in
    /// the depth.
    #[test]
    fn a_function_whose_parameters_take_too_many_steps_to_compare_is_refused() {
        let mut b = Builder::new(Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        let mut proto = b.func_proto(int, &[]);
        for _ in 0..24 {
            let pointer = b.pointer(proto);
            proto = b.func_proto(int, &[("first", pointer), ("second", pointer)]);
        }
        let id = b.func("f", proto, 2);
        let kernel = Btf::parse(b.finish()).unwrap();
        let object = Btf::parse(b.finish()).unwrap();
        let kernel = TargetKernel::offline(Arc::new(KernelBtf::from_btf(Arc::new(kernel), [])));
        let binding = ExternBinding::Function(proto);
        let f = ExternEntry { name: b"f", symbol: 0, is_weak: true, btf_id: id, binding };
        let refused = resolve_all(&object, &[f], &kernel).unwrap_err().to_string();
        assert!(refused.contains("comparing its parameters with vmlinux takes too many steps"), "{refused}");
    }
}
