//! Kernel variables and functions that an object refers to (libbpf: `bpf_object__resolve_externs`).

use super::{LoadPlanError, error::Refusal, host::Host};
use crate::{
    elf::text,
    features::Feature,
    link::externs::{ExternEntry, What},
    target::Found,
};
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind},
    resolve::types_are_compatible,
};
use std::collections::HashMap;

/// What an extern came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resolved {
    /// The kernel does not have it, and the object does without.
    #[default]
    Missing,
    /// A variable's address.
    Address(u64),
    /// A variable or function in the kernel's types, or in those of a module (its place among the plan's modules).
    Typed { id: TypeId, module: Option<usize> },
}

/// The modules whose BTF descriptors a load needs: `(name, id of the BTF)`.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules(pub(super) Vec<(String, u32)>);

impl Modules {
    /// The place of a module among them.
    pub(super) fn place(&mut self, name: &str, id: u32) -> usize {
        let known = self.0.iter().position(|(_, known)| *known == id && id != 0);
        known.or_else(|| self.0.iter().position(|(n, known)| n == name && *known == id)).unwrap_or_else(
            || {
                self.0.push((name.to_owned(), id));
                self.0.len().saturating_sub(1)
            },
        )
    }
}

/// What each extern came to, in their order; configuration values stay [`Resolved::Missing`].
pub(super) fn resolve(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'_>],
    host: &Host,
    modules: &mut Modules,
) -> Result<Vec<Resolved>, LoadPlanError> {
    let mut refused = Vec::new();
    let addresses = addresses(externs, host, &mut refused);
    let mut found = Vec::new();
    for e in externs {
        let resolved = match (e.what, btf) {
            (What::Address, _) => addresses.get(e.name).copied().map(Resolved::Address),
            (What::Variable(ty), Some(btf)) => {
                typed(btf, e, e.name, (Kind::Var, ty), host, modules, &mut refused)?
            }
            (What::Function(ty), Some(btf)) => {
                let name = Name::new(e.name).essential().as_bytes();
                typed(btf, e, name, (Kind::Func, ty), host, modules, &mut refused)?
            }
            (What::Config(_), _) | (_, None) => {
                found.push(Resolved::Missing);
                continue;
            }
        };
        if resolved.is_none() && !e.is_weak && !refused.iter().any(|r| *r.name == *text(e.name)) {
            refused.push(Refusal::new(text(e.name), missing(e.what)));
        }
        found.push(resolved.unwrap_or_default());
    }
    if refused.is_empty() { Ok(found) } else { Err(LoadPlanError::Externs(refused)) }
}

fn missing(what: What) -> &'static str {
    match what {
        What::Function(_) => {
            "no kernel function (kfunc) of this name in the BTF of the kernel or a loaded module; a newer kernel may have it: \
             declare it __weak and test it with bpf_ksym_exists()"
        }
        What::Variable(_) => {
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
    refused: &mut Vec<Refusal>,
) -> HashMap<&'e [u8], u64> {
    let wanted: Vec<_> = externs.iter().filter(|e| e.what == What::Address).collect();
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return found;
    }
    let names: HashMap<&[u8], &'e [u8]> = wanted.iter().map(|e| (e.name, e.name)).collect();
    let symbols = match host.read_kallsyms() {
        Ok(symbols) => symbols,
        Err(e) => {
            let why = format!("/proc/kallsyms cannot be read: {e}");
            refused.extend(wanted.iter().map(|w| Refusal::new(text(w.name), why.clone())));
            return found;
        }
    };
    for line in symbols.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(symbol)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        // LTO appends a hash to the names of static variables.
        let symbol = match symbol.split_once(".llvm.") {
            Some((name, _)) if kind == "d" => name,
            _ => symbol,
        };
        let Some(name) = names.get(symbol.as_bytes()) else { continue };
        let Ok(address) = u64::from_str_radix(address, 16) else { continue };
        if let Some(other) = found.insert(*name, address)
            && other != address
            && !refused.iter().any(|r| *r.name == *text(name))
        {
            refused.push(Refusal::new(
                text(name),
                format!("it is ambiguous: symbols of this name are at {other:#x} and {address:#x}"),
            ));
        }
    }
    found
}

/// A variable or function by its type (libbpf: `bpf_object__resolve_ksym_var_btf_id`, `…_func_btf_id`).
fn typed(
    btf: &Btf<'_>,
    e: &ExternEntry<'_>,
    name: &[u8],
    (kind, local): (Kind, TypeId),
    host: &Host,
    modules: &mut Modules,
    refused: &mut Vec<Refusal>,
) -> Result<Option<Resolved>, LoadPlanError> {
    let in_modules = host.features.has(Feature::ModuleBtf);
    let types = |cause| LoadPlanError::Types { what: "its externs", cause };
    let Some(Found { ty, module, .. }) = host.types.find(name, kind, in_modules).map_err(types)? else {
        return Ok(None);
    };
    let kernel = ty.btf();
    let target = ty.target().unwrap_or_default();
    let stripped =
        if kind == Kind::Var { kernel.strip(target).map(core_relo::btf::Type::id) } else { Ok(target) };
    let compatible =
        stripped.is_ok_and(|target| types_are_compatible(btf, local, kernel, target) == Ok(true));
    if !compatible {
        if kind == Kind::Func && e.is_weak {
            return Ok(None);
        }
        let of = module.map_or("vmlinux", |m| &m.name);
        let what = if kind == Kind::Func { "parameters" } else { "a type" };
        refused.push(Refusal::new(
            text(e.name),
            format!("{of} has it with {what} other than the object declares"),
        ));
        return Ok(None);
    }
    let module = module.map(|m| modules.place(&m.name, m.id));
    Ok(Some(Resolved::Typed { id: ty.id(), module }))
}
