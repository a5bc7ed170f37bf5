//! The data sections that loaders map into memory, although the kernel manages one of their variables.

use super::used_map::UsedMap;
use crate::kernel::{SpecialField, ValueField};
use core_relo::btf::{Kind, Type};
use core_relo_object::{
    link::{MapSource, ProgramLinker},
    object::Object,
};
use hashbrown::{HashMap, HashSet};

/// `BTF_VAR_STATIC`.
const STATIC: u32 = 0;

/// A data section with variables that the kernel manages, and a variable that user space sees.
pub(crate) struct MappedSection<'o> {
    /// The name of the map.
    pub(crate) map: &'o [u8],
    /// The variables that the kernel manages, one of each kind, or the members of variables.
    pub(crate) fields: Vec<ValueField>,
}

/// Returns the sections in which kernels that know a field find the variable, and whose map user space cannot
/// map (kernel: `btf_find_datasec_var`, `bpf_map_mmap`). `maps` are those of the linker.
pub(super) fn mapped_sections<'o>(
    linker: &ProgramLinker<'o, '_>,
    maps: &[UsedMap],
) -> Vec<MappedSection<'o>> {
    // Lists and trees need a lock, which decides.
    let decides = |field: &ValueField| field.field.is_single() || field.field == SpecialField::KernelPointer;
    let mut known = HashSet::new();
    let mut candidates = Vec::new();
    for (entry, map) in linker.maps().iter().zip(maps) {
        let fields: Vec<_> = map.managed_variables().iter().copied().filter(decides).collect();
        let MapSource::Data(section) = entry.source else { continue };
        // Each DATASEC counts once.
        if !fields.is_empty() && known.insert(section.name) {
            candidates.push((MappedSection { map: entry.name, fields }, section.name));
        }
    }
    let object = linker.object();
    let Some(btf) = object.btf().filter(|_| !candidates.is_empty()) else { return Vec::new() };
    let mut datasecs = HashMap::new();
    for ty in linker.datasecs() {
        datasecs.entry(ty.name().as_bytes()).or_insert(*ty);
    }
    let visible = visible_names(object);
    let is_public = |var: Type<'_>| {
        var.kind() == Kind::Var && var.linkage() != Some(STATIC) && visible.contains(var.name().as_bytes())
    };
    candidates.retain(|(_, section)| {
        let vars = datasecs.get(section).into_iter().flat_map(|datasec| datasec.secinfos());
        vars.filter_map(|info| btf.ty(info.ty)).any(is_public)
    });
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
