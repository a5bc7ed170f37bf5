//! The data sections that loaders map into memory, although the kernel manages one of their variables.

use super::value_fields::{mentions_field, own_field};
use crate::kernel::SpecialField;
use core_relo::btf::{Btf, Kind, Type};
use core_relo_object::{
    link::{MapEntry, MapSource, ProgramLinker},
    object::{DataKind, Object},
};
use hashbrown::{HashMap, HashSet};

/// `BTF_VAR_STATIC`.
const STATIC: u32 = 0;

/// A data section with a variable that the kernel manages, and a variable that user space sees.
pub(crate) struct MappedSection<'o> {
    /// The name of the map.
    pub(crate) map: &'o [u8],
    /// The kind of the first variable that the kernel manages.
    pub(crate) field: SpecialField,
}

/// Returns the sections in which each kernel that knows the field finds the variable, and whose map user space cannot map (kernel:
/// `btf_find_datasec_var`, `bpf_map_mmap`). The kernel takes no types of read-only data with such variables.
pub(crate) fn mapped_sections<'o>(linker: &ProgramLinker<'o, '_>) -> Vec<MappedSection<'o>> {
    let object = linker.object();
    let Some(btf) = object.btf() else { return Vec::new() };
    let data = linker.maps().iter().filter_map(|entry: &MapEntry<'_, '_>| match entry.source {
        MapSource::Data(section) if section.kind != DataKind::Rodata => Some((entry.name, section.name)),
        _ => None,
    });
    let mut datasecs = HashMap::new();
    for ty in linker.datasecs() {
        datasecs.entry(ty.name().as_bytes()).or_insert(*ty);
    }
    let mut candidates = Vec::new();
    for (map, section) in data {
        // Each DATASEC counts once.
        let Some(datasec) = datasecs.remove(section) else { continue };
        candidates.extend(only_field(btf, datasec).map(|field| (MappedSection { map, field }, datasec)));
    }
    if candidates.is_empty() {
        return Vec::new();
    }
    let visible = visible_names(object);
    let is_public = |var: Type<'_>| {
        var.kind() == Kind::Var && var.linkage() != Some(STATIC) && visible.contains(var.name().as_bytes())
    };
    candidates.retain(|(_, datasec)| datasec.secinfos().filter_map(|info| btf.ty(info.ty)).any(is_public));
    candidates.into_iter().map(|(section, _)| section).collect()
}

/// Returns the names of the symbols that are not hidden (libbpf: `btf_fixup_datasec`).
fn visible_names<'o>(object: &Object<'o>) -> HashSet<&'o [u8]> {
    let mut names: HashSet<_> =
        object.symbols().filter(|symbol| !symbol.is_hidden).map(|symbol| symbol.name).collect();
    for hidden in object.symbols().filter(|symbol| symbol.is_hidden) {
        names.remove(hidden.name);
    }
    names
}

/// Returns the kind of the one variable that the kernel manages, if no other variable has an influence on the kernel's answer.
fn only_field(btf: &Btf<'_>, datasec: Type<'_>) -> Option<SpecialField> {
    let mut field = None;
    for info in datasec.secinfos() {
        let ty = btf.ty(btf.ty(info.ty)?.target()?)?;
        match own_field(ty) {
            Some(managed) if managed.is_single() && field.is_none() && info.size == managed.bytes() => {
                field = Some(managed);
            }
            None if !mentions_field(btf, ty) => {}
            _ => return None,
        }
    }
    field
}
