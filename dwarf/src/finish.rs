//! The last steps on the BTF of all units: functions whose definitions differ, and the section of per-CPU
//! variables.

use crate::{elf::PerCpuSymbols, error::EncodeError};
use core_relo::{
    TypeId,
    btf::{Btf, Builder, Importer, Kind, Type},
};
use hashbrown::{HashMap, HashSet};

/// The name of the section of per-CPU variables.
const PER_CPU_SECTION: &str = ".data..percpu";

/// The finished BTF.
pub(crate) struct Finished {
    pub(crate) bytes: Vec<u8>,
    pub(crate) functions: usize,
    pub(crate) variables: usize,
    pub(crate) inconsistent_functions: Vec<String>,
}

/// A variable of the section, with its place in it.
struct Variable {
    id: TypeId,
    offset: u32,
    size: u32,
}

/// Removes functions that have several definitions, and adds the DATASEC of per-CPU variables.
///
/// `addresses` are those of the VAR records, in their order.
pub(crate) fn finish(
    merged: &Btf<'_>,
    addresses: &[u64],
    per_cpu: Option<&PerCpuSymbols<'_>>,
) -> Result<Finished, EncodeError> {
    let mut dropped = HashSet::new();
    let inconsistent_functions = drop_functions(merged, &mut dropped);
    let variables = per_cpu.map(|per_cpu| place_variables(merged, addresses, per_cpu, &mut dropped));
    drop_unused(merged, &mut dropped);

    let mut ids = HashMap::new();
    let mut next = merged.first_id();
    for ty in merged.types().filter(|ty| !dropped.contains(&ty.id())) {
        ids.insert(ty.id(), next);
        next = next.next();
    }
    let map_id = |id: TypeId| ids.get(&id).copied().unwrap_or(id);
    let mut builder = match merged.base() {
        Some(base) => Builder::split_with_strings(base),
        None => Builder::new(merged.endian()),
    };
    let mut importer = Importer::new(merged);
    for ty in merged.types().filter(|ty| !dropped.contains(&ty.id())) {
        importer.copy_type(&mut builder, ty, map_id)?;
    }
    if let (Some(variables), Some(per_cpu)) = (variables.filter(|list| !list.is_empty()), per_cpu) {
        let size = u32::try_from(per_cpu.size).ok().ok_or(EncodeError::TooManyTypes)?;
        let infos: Vec<_> = variables.iter().map(|v| (map_id(v.id), v.offset, v.size)).collect();
        builder.datasec(PER_CPU_SECTION, size, &infos);
    }
    let count = |kind| merged.types().filter(|ty| ty.kind() == kind && !dropped.contains(&ty.id())).count();
    Ok(Finished {
        bytes: builder.finish(),
        functions: count(Kind::Func),
        variables: count(Kind::Var),
        inconsistent_functions,
    })
}

/// Drops functions that are defined several times.
///
/// Definitions with the same types of parameters and result are one function. Otherwise nobody can know which
/// of them a name means, and all are dropped (pahole: `--skip_encoding_btf_inconsistent_proto`). Returns the
/// names of the latter.
fn drop_functions(merged: &Btf<'_>, dropped: &mut HashSet<TypeId>) -> Vec<String> {
    let mut functions: HashMap<_, Vec<Type<'_>>> = HashMap::new();
    for ty in merged.types().filter(|ty| ty.kind() == Kind::Func) {
        functions.entry(ty.name_offset()).or_default().push(ty);
    }
    let mut inconsistent = Vec::new();
    for definitions in functions.into_values().filter(|definitions| definitions.len() > 1) {
        let mut signatures = definitions.iter().map(|ty| signature(merged, *ty));
        let first = signatures.next();
        let is_consistent = signatures.all(|signature| Some(signature) == first);
        if let Some(ty) = definitions.first().filter(|_| !is_consistent) {
            inconsistent.push(ty.name().to_string());
        }
        dropped.extend(definitions.iter().skip(usize::from(is_consistent)).map(|ty| ty.id()));
    }
    inconsistent.sort();
    inconsistent
}

/// Returns the types of a function's result and parameters.
fn signature(merged: &Btf<'_>, function: Type<'_>) -> Option<Vec<TypeId>> {
    let prototype = merged.ty(function.target()?)?;
    let params = prototype.params().map(|param| param.ty);
    Some(core::iter::once(prototype.target().unwrap_or(TypeId::VOID)).chain(params).collect())
}

/// Returns the variables in the order of their addresses, and drops those that have the address of another.
fn place_variables(
    merged: &Btf<'_>,
    addresses: &[u64],
    per_cpu: &PerCpuSymbols<'_>,
    dropped: &mut HashSet<TypeId>,
) -> Vec<Variable> {
    let vars = merged.types().filter(|ty| ty.kind() == Kind::Var);
    let mut placed: Vec<(u64, u64, TypeId)> = Vec::new();
    for (var, address) in vars.zip(addresses) {
        match per_cpu.variables.get(&(*address, var.name().as_bytes())) {
            Some(size) if *size > 0 => placed.push((*address, *size, var.id())),
            _ => {
                dropped.insert(var.id());
            }
        }
    }
    placed.sort();
    let mut variables = Vec::new();
    let mut end = per_cpu.address;
    for (address, size, id) in placed {
        let place = || {
            let offset = address.checked_sub(per_cpu.address)?;
            let after = address.checked_add(size)?;
            let is_inside = address >= end && after <= per_cpu.address.checked_add(per_cpu.size)?;
            let variable = Variable { id, offset: offset.try_into().ok()?, size: size.try_into().ok()? };
            is_inside.then_some((variable, after))
        };
        match place() {
            Some((variable, after)) => {
                variables.push(variable);
                end = after;
            }
            None => {
                dropped.insert(id);
            }
        }
    }
    variables
}

/// Drops the prototypes of dropped functions, unless other types use them, and the tags of dropped functions
/// and variables.
fn drop_unused(merged: &Btf<'_>, dropped: &mut HashSet<TypeId>) {
    if dropped.is_empty() {
        return;
    }
    let mut prototypes: HashSet<TypeId> = merged
        .types()
        .filter(|ty| ty.kind() == Kind::Func && dropped.contains(&ty.id()))
        .filter_map(Type::target)
        .collect();
    for ty in merged.types() {
        if dropped.contains(&ty.id()) {
            continue;
        }
        if ty.kind() == Kind::DeclTag {
            if ty.target().is_some_and(|target| dropped.contains(&target)) {
                dropped.insert(ty.id());
            }
        } else if let Some(target) = ty.target() {
            // A pointer, a typedef or another function refers to the prototype.
            prototypes.remove(&target);
        }
    }
    dropped.extend(prototypes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::Endian;

    /// A symbol that reaches past the section does not hide those after it.
    #[test]
    fn a_variable_outside_of_the_section_is_left_out_alone() {
        let mut builder = Builder::new(Endian::Little);
        let int = builder.int("long", 8, Builder::SIGNED);
        let names = [("first", 0, 8), ("too_large", 4, 100), ("overlaps", 4, 8), ("last", 8, 8)];
        for (name, ..) in names {
            builder.var(name, int, 0);
        }
        let Ok(btf) = Btf::parse(builder.finish()) else { panic!("the builder writes valid BTF") };
        let addresses = names.map(|(_, address, _)| address);
        let variables = names.map(|(name, address, size)| ((address, name.as_bytes()), size));
        let per_cpu = PerCpuSymbols { address: 0, size: 16, variables: variables.into_iter().collect() };
        let mut dropped = HashSet::new();
        let placed = place_variables(&btf, &addresses, &per_cpu, &mut dropped);
        let places: Vec<_> = placed.iter().map(|variable| (variable.offset, variable.size)).collect();
        assert_eq!((places, dropped.len()), (vec![(0, 8), (8, 8)], 2));
    }
}
