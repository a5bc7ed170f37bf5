//! Plans the maps of a load.

use super::{
    LoadPlanError,
    btf_fixup::{put_secinfo, secinfo},
    map_plan::{MMAPABLE, MapPlan, MapRole, SEGV_ON_FAULT},
    settings::{MapSettings, Settings},
    slots,
    struct_ops::StructOpsTables,
    target_kernel::TargetKernel,
};
use crate::{
    elf::{key, text},
    features::Feature,
    index::MapIndex,
    internal::{InternalError, Invariant as _},
    link::maps::{MapEntry, MapSource, MapTable, StructOps},
    object::{DataKind, MapDef, MapType, Object},
};
use core_relo::{
    TypeId,
    btf::{Btf, Editor, Kind, Type},
};
use std::collections::{HashMap, HashSet};

/// `BPF_F_RDONLY_PROG`.
const READ_ONLY_PROG: u32 = 1 << 7;
/// `BPF_F_LINK`.
const LINK: u32 = 1 << 13;

/// The planner of an object's maps.
pub(super) struct MapPlanner<'p, 'o, 'd> {
    pub(super) object: &'o Object<'d>,
    pub(super) table: &'p MapTable<'o, 'd>,
    pub(super) settings: &'p Settings,
    pub(super) kernel: &'p TargetKernel,
    pub(super) kconfig: Vec<u8>,
    pub(super) struct_ops: &'p StructOpsTables,
    /// The first type with a map's name in the fixed-up BTF, by map name.
    pub(super) value_types: HashMap<&'o [u8], ValueType>,
}

/// The type of a data map's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueType {
    id: TypeId,
    /// Whether the type is a DATASEC with a variable that is not static. User space maps such values into memory.
    has_public_variables: bool,
}

impl ValueType {
    fn new(btf: &Btf<'_>, ty: Type<'_>) -> Self {
        let is_public = |v: Type<'_>| v.kind() == Kind::Var && v.linkage() != Some(0);
        let has_public_variables =
            ty.kind() == Kind::Datasec && ty.secinfos().any(|info| btf.ty(info.ty).is_some_and(is_public));
        Self { id: ty.id(), has_public_variables }
    }
}

impl MapPlanner<'_, '_, '_> {
    /// Plans all maps, in the table's order. `edit` is the BTF for the kernel, in which resized sections are changed.
    pub(super) fn plan_maps(&mut self, edit: &mut Option<Editor>) -> Result<Vec<MapPlan>, LoadPlanError> {
        // The fixup has changed the linkage of variables, which decides whether a map is mappable.
        let fixed_up = edit.as_ref().map(|e| Btf::parse(e.finish())).transpose();
        let fixed_up = fixed_up.map_err(LoadPlanError::GeneratedBtf)?;
        if let Some(btf) = &fixed_up {
            let names: HashSet<&[u8]> = self.table.entries.iter().map(|e| e.name).collect();
            for ty in btf.types() {
                if let Some(name) = names.get(ty.name().as_bytes()) {
                    self.value_types.entry(name).or_insert_with(|| ValueType::new(btf, ty));
                }
            }
        }
        let mut plans = Vec::new();
        for (index, entry) in MapIndex::enumerate(&self.table.entries) {
            plans.push(self.plan_map(index, *entry, fixed_up.as_ref(), edit)?);
        }
        slots::fill(self.object, self.table, &mut plans)?;
        Ok(plans)
    }

    /// Plans a map.
    fn plan_map(
        &mut self,
        index: MapIndex,
        entry: MapEntry<'_, '_>,
        btf: Option<&Btf<'_>>,
        edit: &mut Option<Editor>,
    ) -> Result<MapPlan, LoadPlanError> {
        let name = key(entry.name);
        let settings = self.settings.maps.get(&name).cloned().unwrap_or_default();
        let mut plan = match entry.source {
            MapSource::Defined(map) => {
                let def = map.def.as_ref().map_err(|cause| {
                    LoadPlanError::Link(crate::link::LinkError::Map {
                        map: text(map.name),
                        cause: cause.clone(),
                    })
                })?;
                let mut plan = plan_defined_map(def, self.kernel);
                plan.kernel_name = entry.name.to_vec();
                if def.pin_by_name {
                    // Such a name could escape from the directory of the pins.
                    if name.contains(['/', '\0']) || name.is_empty() {
                        return Err(LoadPlanError::Map {
                            map: name.into(),
                            what: "it cannot be pinned by name: its name is not a valid file name".into(),
                        });
                    }
                    // bpffs refuses names with a dot.
                    plan.pin = Some(self.settings.pin_root.join(name.replace('.', "_")));
                }
                if let Some(inner) = &def.inner {
                    let mut inner = plan_defined_map(inner, self.kernel);
                    inner.name = format!("{name}.inner");
                    inner.kernel_name = inner.name.clone().into_bytes();
                    self.default_entries(&mut inner);
                    plan.inner = Some(Box::new(inner));
                }
                plan
            }
            MapSource::Data(section) => {
                let role = match section.kind {
                    DataKind::Rodata => MapRole::Rodata,
                    DataKind::Bss => MapRole::Bss,
                    _ => MapRole::Data,
                };
                let size = u32::try_from(section.size).map_err(|_large| LoadPlanError::Map {
                    map: name.clone().into(),
                    what: format!(
                        "its value is too large: {} bytes, expected at most {}",
                        section.size,
                        u32::MAX
                    )
                    .into(),
                })?;
                // A new map holds zeros.
                let bytes = if role == MapRole::Bss { Vec::new() } else { section.bytes.to_vec() };
                self.plan_data_map(role, entry.name, (size, bytes))
            }
            MapSource::Kconfig => {
                let bytes = core::mem::take(&mut self.kconfig);
                let size = u32::try_from(bytes.len());
                let size = size.invariant("configuration values are within the limit of a data section")?;
                self.plan_data_map(MapRole::Kconfig, entry.name, (size, bytes))
            }
            MapSource::StructOps(table) => self.plan_struct_ops_map(index, entry.name, table)?,
        };
        plan.name.clone_from(&name);
        if self.table.arena == Some(index) {
            // The offset of the arena's variables depends on its size.
            plan.max_entries = settings.max_entries.unwrap_or(plan.max_entries);
            let flags = settings.map_flags.unwrap_or(plan.map_flags);
            self.plan_arena(&mut plan, &name, flags)?;
        }
        apply_settings(&mut plan, settings, btf, edit)?;
        self.default_entries(&mut plan);
        if plan.max_entries == 0
            && self.kernel.cpus == 0
            && plan.known_type() == Some(MapType::PerfEventArray)
        {
            return Err(LoadPlanError::Map {
                map: name.into(),
                what: "its max_entries is the number of possible CPUs, which cannot be read from \
                       /sys/devices/system/cpu/possible: set its max_entries"
                    .into(),
            });
        }
        self.adapt_to_kernel(&mut plan);
        Ok(plan)
    }

    fn plan_struct_ops_map(
        &self,
        index: MapIndex,
        name: &[u8],
        table: StructOps<'_, '_>,
    ) -> Result<MapPlan, LoadPlanError> {
        let DataKind::StructOps { link, optional } = table.section.kind else {
            return Err(InternalError { invariant: "a struct_ops map lies in a struct_ops section" }.into());
        };
        let mut plan = MapPlan {
            role: MapRole::StructOps,
            kernel_name: name.to_vec(),
            map_type: MapType::StructOps.number(),
            key_size: 4,
            value_size: table.size,
            max_entries: 1,
            map_flags: if link { LINK } else { 0 },
            value_type: table.ty,
            autocreate: !optional,
            uses_btf: true,
            ..MapPlan::default()
        };
        if let Some(kernel) = self.struct_ops.by_map.get(&index) {
            plan.value_size = kernel.value_size;
            plan.kernel_value_type = kernel.value_type;
            plan.kernel_value_module = kernel.module;
            plan.data.clone_from(&kernel.value);
            plan.programs.clone_from(&kernel.programs);
        }
        Ok(plan)
    }

    /// Plans the map of a section of variables (libbpf: `bpf_object__init_internal_map`).
    fn plan_data_map(&self, role: MapRole, name: &[u8], (size, data): (u32, Vec<u8>)) -> MapPlan {
        let value = self.value_types.get(name);
        let mut map_flags = 0;
        if matches!(role, MapRole::Rodata | MapRole::Kconfig) {
            map_flags |= READ_ONLY_PROG;
        }
        if value.is_some_and(|value| value.has_public_variables) {
            map_flags |= MMAPABLE;
        }
        MapPlan {
            role,
            kernel_name: data_map_name(&self.settings.name, name),
            map_type: MapType::Array.number(),
            key_size: 4,
            value_size: size,
            max_entries: 1,
            map_flags,
            value_type: value.map_or(TypeId::VOID, |value| value.id),
            autocreate: true,
            uses_btf: true,
            data,
            ..MapPlan::default()
        }
    }

    /// Plans the variables of the arena.
    fn plan_arena(&self, plan: &mut MapPlan, name: &str, flags: u32) -> Result<(), LoadPlanError> {
        let section = self.object.data_sections().iter().find(|s| s.kind == DataKind::Arena);
        let Some(section) = section else { return Ok(()) };
        if flags & SEGV_ON_FAULT != 0 {
            let what = "it has variables (`.addr_space.1`) and the flag BPF_F_SEGV_ON_FAULT: writing the initial values \
                        would end this process with SIGSEGV";
            return Err(LoadPlanError::Map { map: name.into(), what: what.into() });
        }
        let page = u64::from(self.kernel.page_size.max(1));
        // Two numbers of 32 bits: the product cannot overflow.
        let room = page.saturating_mul(plan.max_entries.into());
        let used = section.size.checked_next_multiple_of(page);
        let end = used.and_then(|used| room.checked_sub(used)).ok_or_else(|| LoadPlanError::Map {
            map: name.into(),
            what: format!(
                "its {} pages cannot hold the {} bytes of `.addr_space.1`",
                plan.max_entries, section.size
            )
            .into(),
        })?;
        if self.kernel.features.has(Feature::FullRangeOffset) {
            plan.data_offset = end;
        }
        plan.data = section.bytes.to_vec();
        Ok(())
    }

    /// Sets or rounds the number of entries that depends on the machine (libbpf: `map_set_def_max_entries`, `adjust_ringbuf_sz`).
    fn default_entries(&self, plan: &mut MapPlan) {
        match plan.known_type() {
            Some(MapType::PerfEventArray) if plan.max_entries == 0 => plan.max_entries = self.kernel.cpus,
            Some(MapType::Ringbuf | MapType::UserRingbuf) => {
                plan.max_entries = ring_size(plan.max_entries, self.kernel.page_size);
            }
            _ => {}
        }
    }

    /// Removes attributes that this kernel does not support (libbpf: `bpf_object__sanitize_maps`, `bpf_object__create_map`).
    fn adapt_to_kernel(&self, plan: &mut MapPlan) {
        let features = &self.kernel.features;
        if plan.role.is_data() {
            if !features.has(Feature::ArrayMmap) {
                plan.map_flags &= !MMAPABLE;
            }
            if !features.has(Feature::GlobalData) {
                plan.autocreate = false;
            }
        }
        clear_types(plan);
        if let Some(inner) = plan.inner.as_deref_mut() {
            clear_types(inner);
        }
        if !features.has(Feature::Names) {
            plan.kernel_name.clear();
            if let Some(inner) = plan.inner.as_deref_mut() {
                inner.kernel_name.clear();
            }
        }
    }
}

/// Plans a map from its definition.
fn plan_defined_map(def: &MapDef, kernel: &TargetKernel) -> MapPlan {
    let is_ring = matches!(def.known_type(), Some(MapType::Ringbuf | MapType::UserRingbuf));
    MapPlan {
        map_type: def.map_type,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: if is_ring { ring_size(def.max_entries, kernel.page_size) } else { def.max_entries },
        map_flags: def.map_flags,
        map_extra: def.map_extra,
        numa_node: def.numa_node.unwrap_or(0),
        key_type: def.key_type.unwrap_or(TypeId::VOID),
        value_type: def.value_type.unwrap_or(TypeId::VOID),
        autocreate: true,
        uses_btf: true,
        ..MapPlan::default()
    }
}

/// Applies the settings of a caller.
fn apply_settings(
    plan: &mut MapPlan,
    settings: MapSettings,
    btf: Option<&Btf<'_>>,
    edit: &mut Option<Editor>,
) -> Result<(), LoadPlanError> {
    let fail = |what: String| LoadPlanError::Map { map: plan.name.clone().into(), what: what.into() };
    plan.autoattach = settings.autoattach.unwrap_or(true);
    let original_size = plan.value_size;
    if let Some(size) = settings.value_size {
        if plan.role.is_data() {
            if !plan.data.is_empty() {
                plan.data
                    .resize(usize::try_from(size).invariant("hosts have addresses of at least 32 bits")?, 0);
            }
            if let (Some(btf), Some(edit)) = (btf, edit)
                && let Err(why) = resize_section(btf, edit, plan.value_type, size)
            {
                log::info!("map {}: the map has no BTF types: {why}", plan.name);
                plan.value_type = TypeId::VOID;
            }
        }
        plan.value_size = size;
    }
    if let Some(mut data) = settings.data {
        let bytes = |size: u32| usize::try_from(size).invariant("hosts have addresses of at least 32 bits");
        let size = if plan.role.is_data() { bytes(plan.value_size)? } else { plan.data.len() };
        // The caller may have set variables before resizing the section.
        if plan.role.is_data() && data.len() == bytes(original_size)? {
            data.resize(size, 0);
        }
        if data.len() != size && plan.role != MapRole::StructOps {
            return Err(fail(format!(
                "wrong size of the initial data: {} bytes, expected {size}",
                data.len()
            )));
        }
        // The value of a struct_ops map was already computed from the caller's data.
        if plan.role != MapRole::StructOps {
            plan.data = data;
        }
    }
    plan.autocreate = settings.autocreate.unwrap_or(plan.autocreate);
    plan.max_entries = settings.max_entries.unwrap_or(plan.max_entries);
    plan.key_size = settings.key_size.unwrap_or(plan.key_size);
    plan.map_type = settings.map_type.unwrap_or(plan.map_type);
    plan.map_flags = settings.map_flags.unwrap_or(plan.map_flags);
    plan.map_extra = settings.map_extra.unwrap_or(plan.map_extra);
    plan.numa_node = settings.numa_node.unwrap_or(plan.numa_node);
    plan.ifindex = settings.ifindex;
    plan.pin = settings.pin.unwrap_or_else(|| plan.pin.take());
    plan.reuse = settings.reuse;
    plan.inner_fd = settings.inner;
    Ok(())
}

/// Resizes the last variable of a section to fill the section's new size (libbpf: `map_btf_datasec_resize`). The variable has to
/// be an array.
fn resize_section(btf: &Btf<'_>, edit: &mut Editor, section: TypeId, size: u32) -> Result<(), &'static str> {
    let ty = btf
        .ty(section)
        .filter(|t| t.kind() == Kind::Datasec)
        .ok_or("its value is not a section of variables")?;
    let last = ty.vlen().checked_sub(1).ok_or("its section has no variable")?;
    let [var, offset, _] = secinfo(edit, section, last).ok_or("its section has no variable")?;
    let array = btf.ty(TypeId(var)).and_then(Type::target).and_then(|id| btf.strip(id).ok());
    let array = array.and_then(Type::array).ok_or("its last variable is not an array")?;
    let element = btf.size_of(array.element).map_err(|_walk| "its last variable's elements have no size")?.0;
    let room = size.checked_sub(offset).ok_or("its last variable begins after the new end")?;
    let n = room.checked_div(element).filter(|_| room.is_multiple_of(element));
    let n = n.ok_or("the new size is not a multiple of its last variable's elements")?;
    let words = [0, array.element.0, array.index.0, n];
    let resized = edit.push(core_relo::StrOffset(0), (Kind::Array, 0, false), &words);
    edit.set(section, Editor::SIZE_OR_TYPE, size);
    put_secinfo(edit, section, last, [var, offset, room]);
    edit.set(TypeId(var), Editor::SIZE_OR_TYPE, resized.0);
    Ok(())
}

/// Clears the key and value types of maps for which the kernel accepts no types.
fn clear_types(plan: &mut MapPlan) {
    use MapType as M;
    match plan.known_type() {
        Some(
            M::PerfEventArray
            | M::CgroupArray
            | M::StackTrace
            | M::ArrayOfMaps
            | M::HashOfMaps
            | M::Devmap
            | M::DevmapHash
            | M::Cpumap
            | M::Xskmap
            | M::Sockmap
            | M::Sockhash
            | M::Queue
            | M::Stack
            | M::Arena,
        ) => {
            (plan.key_type, plan.value_type, plan.uses_btf) = (TypeId::VOID, TypeId::VOID, false);
        }
        Some(M::StructOps) => plan.value_type = TypeId::VOID,
        _ => {}
    }
}

/// Rounds the size of a ring buffer up to a power of two of pages. Leaves a size of 0, which the kernel refuses.
fn ring_size(size: u32, page: u32) -> u32 {
    let page = page.max(1);
    let is_valid = size.is_multiple_of(page) && size.checked_div(page).is_some_and(u32::is_power_of_two);
    if size == 0 || is_valid {
        return size;
    }
    // A size whose next power of two exceeds 32 bits is left as it is, and the kernel refuses it.
    let pages = size.checked_div(page).and_then(|pages| pages.checked_add(1)?.checked_next_power_of_two());
    pages.and_then(|pages| pages.checked_mul(page)).unwrap_or(size)
}

/// Returns the kernel's name of a data map: the section's name, after the part of the object's name that fits (libbpf:
/// `internal_map_name`).
fn data_map_name(object: &str, section: &[u8]) -> Vec<u8> {
    // `BPF_OBJ_NAME_LEN` without the final NUL byte.
    const KERNEL_NAME_LEN: usize = 15;
    let suffix = section.len().clamp(7, KERNEL_NAME_LEN);
    let has_two_dots = section.iter().skip(1).any(|b| *b == b'.');
    // `clamp` keeps `suffix` within `KERNEL_NAME_LEN`.
    let prefix = if has_two_dots { 0 } else { KERNEL_NAME_LEN.saturating_sub(suffix) };
    let name = object.bytes().take(prefix).chain(section.iter().copied().take(suffix));
    name.map(|b| if b.is_ascii_alphanumeric() || b == b'_' || b == b'.' { b } else { b'_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_maps() {
        assert_eq!(data_map_name("my_object_name", b".rodata"), b"my_objec.rodata");
        assert_eq!(data_map_name("my_object_name", b".bss"), b"my_objec.bss");
        assert_eq!(data_map_name("my_object_name", b".kconfig"), b"my_obje.kconfig");
        assert_eq!(data_map_name("my_object_name", b".rodata.abracadabra"), b".rodata.abracad");
        assert_eq!(data_map_name("a-b", b".data"), b"a_b.data");
        assert_eq!(data_map_name("", b".data"), b".data");
    }

    #[test]
    fn rings_are_powers_of_two_of_pages() {
        assert_eq!(ring_size(0, 4096), 0);
        assert_eq!(ring_size(1, 4096), 4096);
        assert_eq!(ring_size(4096, 4096), 4096);
        assert_eq!(ring_size(4097, 4096), 8192);
        assert_eq!(ring_size(3 * 4096, 4096), 4 * 4096);
        assert_eq!(ring_size(u32::MAX, 4096), u32::MAX);
    }
}
