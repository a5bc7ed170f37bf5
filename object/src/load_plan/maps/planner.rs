//! Plans the maps of a load.

use super::{
    adapt::{adapt_to_kernel, default_entries, ring_size},
    overrides::{apply_settings, override_with},
    plan::{MapAttributes, MapPlan, MapRole},
    slots,
};
use crate::{
    elf::{key, text},
    features::Feature,
    index::MapIndex,
    internal::{InternalError, Invariant as _},
    link::{
        LinkError,
        maps::{MapEntry, MapSource, MapTable, StructOps},
    },
    load_plan::{
        error::LoadPlanError,
        settings::{MapSettings, Settings, inner_map_name},
        struct_ops::StructOpsTables,
        target_kernel::TargetKernel,
    },
    map_flags,
    object::{DataKind, DataSection, Map, MapDef, MapType, Object},
};
use alloc::borrow::Cow;
use core_relo::{
    TypeId,
    btf::{Btf, Editor, Kind, Type},
};
use hashbrown::{HashMap, HashSet};

/// The planner of an object's maps.
pub(in crate::load_plan) struct MapPlanner<'p, 'o, 'd> {
    object: &'o Object<'d>,
    table: &'p MapTable<'o, 'd>,
    settings: &'p Settings,
    kernel: &'p TargetKernel,
    /// The contents of `.kconfig`.
    kconfig: Vec<u8>,
    struct_ops: &'p StructOpsTables,
    /// The first type with a map's name in the fixed-up BTF, by map name.
    value_types: HashMap<&'o [u8], ValueType>,
}

/// The type of a data map's value.
#[derive(Clone, Copy, Debug)]
struct ValueType {
    id: TypeId,
    /// Whether the type is a DATASEC with a variable that is not static. User space maps such values into
    /// memory.
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

impl<'p, 'o, 'd> MapPlanner<'p, 'o, 'd> {
    /// Creates a planner. `kconfig` is the contents of `.kconfig`.
    pub(in crate::load_plan) fn new(
        object: &'o Object<'d>,
        table: &'p MapTable<'o, 'd>,
        settings: &'p Settings,
        kernel: &'p TargetKernel,
        kconfig: Vec<u8>,
        struct_ops: &'p StructOpsTables,
    ) -> Self {
        Self { object, table, settings, kernel, kconfig, struct_ops, value_types: HashMap::new() }
    }

    /// Plans all maps, in the table's order. `edit` is the BTF for the kernel, in which resized sections are
    /// changed.
    pub(in crate::load_plan) fn plan_maps(
        mut self,
        edit: &mut Option<Editor>,
    ) -> Result<Vec<MapPlan>, LoadPlanError> {
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
        slots::apply_settings(self.object, self.settings, &mut plans)?;
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
        // A map without settings has the default settings.
        let default = MapSettings::default();
        let settings = self.settings.maps.get(&name).unwrap_or(&default);
        let mut plan = match entry.source {
            MapSource::Defined(map) => self.plan_defined_map(&name, map)?,
            MapSource::Data(section) => self.plan_section(&name, entry.name, section)?,
            MapSource::Kconfig => {
                let bytes = core::mem::take(&mut self.kconfig);
                let size = u32::try_from(bytes.len());
                let size = size.invariant("configuration values are within the limit of a data section")?;
                self.plan_data_map(MapRole::Kconfig, entry.name, (size, bytes))?
            }
            MapSource::StructOps(table) => self.plan_struct_ops_map(index, entry.name, table)?,
        };
        plan.name.clone_from(&name);
        if self.table.arena == Some(index) {
            // The offset of the arena's variables depends on its size.
            override_with(&mut plan.attributes.max_entries, settings.max_entries);
            let mut flags = plan.map_flags();
            override_with(&mut flags, settings.map_flags);
            self.plan_arena(&mut plan, flags)?;
        }
        apply_settings(&mut plan, settings.clone(), btf, edit)?;
        default_entries(&mut plan, self.kernel);
        if plan.max_entries() == 0
            && self.kernel.cpus == 0
            && plan.known_type() == Some(MapType::PerfEventArray)
        {
            let what = "its max_entries is the number of possible CPUs, which cannot be read from \
                        /sys/devices/system/cpu/possible: set its max_entries";
            return Err(LoadPlanError::Map { map: name.into(), what: what.into() });
        }
        adapt_to_kernel(&mut plan, &self.kernel.features);
        Ok(plan)
    }

    /// Plans a map that the object defines.
    fn plan_defined_map(&self, name: &str, map: &Map<'_>) -> Result<MapPlan, LoadPlanError> {
        let def = map.def.as_ref();
        let def = def.map_err(|cause| LinkError::Map { map: text(map.name), cause: cause.clone() })?;
        if let Some(id) = def.legacy_id {
            // libbpf before 1.0 refuses words that it does not know.
            let what = format!(
                "the sixth word of its definition is {id}, expected 0: its meaning depends on the loader that the object was made for"
            );
            return Err(LoadPlanError::Map { map: name.into(), what: what.into() });
        }
        let mut plan = plan_definition(def, self.kernel);
        plan.kernel_name = map.name.to_vec();
        if let Some(value) = def.other_pinning {
            log::warn!("map {name}: not pinned: pinning is {value}, expected 0 (none) or 1 (by name)");
        }
        if def.pin_by_name {
            check_pin_name(name)?;
            // bpffs refuses names with a dot.
            plan.pin = Some(self.settings.pin_root.join(name.replace('.', "_")));
        }
        if let Some(inner) = self.inner_definition(name, def)? {
            let mut inner = plan_definition(&inner, self.kernel);
            inner.name = inner_map_name(name);
            inner.kernel_name = inner.name.clone().into_bytes();
            default_entries(&mut inner, self.kernel);
            plan.inner = Some(Box::new(inner));
        }
        Ok(plan)
    }

    /// Returns the definition of the inner maps of a map of maps, with the caller's settings.
    fn inner_definition<'m>(
        &self,
        outer: &str,
        def: &'m MapDef,
    ) -> Result<Option<Cow<'m, MapDef>>, LoadPlanError> {
        let own = def.inner.as_deref();
        let settings = self.settings.inner_map(outer).filter(|_| def.is_map_of_maps());
        let Some(settings) = settings else { return Ok(own.map(Cow::Borrowed)) };
        let inner = settings.definition(own).ok_or_else(|| LoadPlanError::Map {
            map: inner_map_name(outer).into(),
            what: "the object does not define it: set its type".into(),
        })?;
        if inner.is_map_of_maps() {
            let what = "an inner map holds no maps: expected another type".into();
            return Err(LoadPlanError::Map { map: inner_map_name(outer).into(), what });
        }
        Ok(Some(Cow::Owned(inner)))
    }

    /// Plans the map of a section of variables.
    fn plan_section(
        &self,
        name: &str,
        raw_name: &[u8],
        section: &DataSection<'_>,
    ) -> Result<MapPlan, LoadPlanError> {
        let role = match section.kind {
            DataKind::Rodata => MapRole::Rodata,
            DataKind::Bss => MapRole::Bss,
            _ => MapRole::Data,
        };
        let size = section_value_size(name, section)?;
        // A new map holds zeros.
        let bytes = if role == MapRole::Bss { Vec::new() } else { section.bytes.to_vec() };
        Ok(self.plan_data_map(role, raw_name, (size, bytes))?)
    }

    /// Plans a struct_ops map. A map that is not created keeps the object's type and size.
    fn plan_struct_ops_map(
        &self,
        index: MapIndex,
        name: &[u8],
        table: StructOps<'_, '_>,
    ) -> Result<MapPlan, LoadPlanError> {
        let DataKind::StructOps { link, optional } = table.section.kind else {
            return Err(InternalError::new("a struct_ops map lies in a struct_ops section").into());
        };
        let mut plan = MapPlan {
            role: MapRole::StructOps,
            kernel_name: name.to_vec(),
            attributes: MapAttributes {
                map_type: MapType::StructOps.number(),
                key_size: 4,
                value_size: table.size,
                max_entries: 1,
                map_flags: if link { map_flags::LINK } else { 0 },
                ..MapAttributes::default()
            },
            value_type: table.ty,
            autocreate: !optional,
            uses_btf: true,
            ..MapPlan::default()
        };
        if let Some(kernel) = self.struct_ops.by_map.get(&index) {
            plan.attributes.value_size = kernel.value_size;
            plan.kernel_value_type = kernel.value_type;
            plan.kernel_value_module = kernel.module;
            plan.data.clone_from(&kernel.value);
            plan.programs.clone_from(&kernel.programs);
        }
        Ok(plan)
    }

    /// Plans a data map (libbpf: `bpf_object__init_internal_map`).
    fn plan_data_map(
        &self,
        role: MapRole,
        name: &[u8],
        (value_size, data): (u32, Vec<u8>),
    ) -> Result<MapPlan, InternalError> {
        let value = self.value_types.get(name);
        let mut map_flags = 0;
        if matches!(role, MapRole::Rodata | MapRole::Kconfig) {
            map_flags |= map_flags::RDONLY_PROG;
        }
        if value.is_some_and(|value| value.has_public_variables) {
            map_flags |= map_flags::MMAPABLE;
        }
        Ok(MapPlan {
            role,
            kernel_name: data_map_name(&self.settings.name, name)?,
            attributes: MapAttributes {
                map_type: MapType::Array.number(),
                key_size: 4,
                value_size,
                max_entries: 1,
                map_flags,
                map_extra: 0,
            },
            value_type: value.map_or(TypeId::VOID, |value| value.id),
            autocreate: true,
            uses_btf: true,
            data,
            ..MapPlan::default()
        })
    }

    /// Plans the variables of the arena. `flags` are the map's flags, with the caller's settings.
    fn plan_arena(&self, plan: &mut MapPlan, flags: u32) -> Result<(), LoadPlanError> {
        let section = self.object.data_sections().iter().find(|s| s.kind == DataKind::Arena);
        let Some(section) = section else { return Ok(()) };
        if flags & map_flags::SEGV_ON_FAULT != 0 {
            let what = "it has variables (`.addr_space.1`) and the flag BPF_F_SEGV_ON_FAULT: writing the initial values \
                        would end this process with SIGSEGV";
            return Err(LoadPlanError::Map { map: plan.name.clone().into(), what: what.into() });
        }
        let page = u64::from(self.kernel.page_size.max(1));
        let arena_size = page.checked_mul(plan.max_entries().into());
        let arena_size = arena_size.invariant("a product of two numbers of 32 bits fits 64 bits")?;
        let used = section.size.checked_next_multiple_of(page);
        let start = used.and_then(|used| arena_size.checked_sub(used)).ok_or_else(|| {
            let (pages, size) = (plan.max_entries(), section.size);
            let what = format!("its {pages} pages cannot hold the {size} bytes of `.addr_space.1`");
            LoadPlanError::Map { map: plan.name.clone().into(), what: what.into() }
        })?;
        if self.kernel.features.has(Feature::FullRangeOffset) {
            plan.data_offset = start;
        }
        plan.data = section.bytes.to_vec();
        Ok(())
    }
}

/// Refuses the name of a map that is pinned by name, if the name could escape from the directory of the pins.
fn check_pin_name(name: &str) -> Result<(), LoadPlanError> {
    if name.contains(['/', '\0']) || name.is_empty() {
        let what = "it cannot be pinned by name: its name is not a valid file name".into();
        return Err(LoadPlanError::Map { map: name.into(), what });
    }
    Ok(())
}

/// Returns the size of a data map's value in bytes.
fn section_value_size(name: &str, section: &DataSection<'_>) -> Result<u32, LoadPlanError> {
    u32::try_from(section.size).map_err(|_large| {
        let limit = u32::MAX;
        let what = format!("its value is too large: {} bytes, expected at most {limit}", section.size);
        LoadPlanError::Map { map: name.into(), what: what.into() }
    })
}

/// Refuses the maps that every plan refuses, whatever the kernel.
pub(in crate::load_plan) fn check_maps(table: &MapTable<'_, '_>) -> Result<(), LoadPlanError> {
    for entry in &table.entries {
        match entry.source {
            MapSource::Defined(map) if map.def.as_ref().is_ok_and(|def| def.pin_by_name) => {
                check_pin_name(&key(entry.name))?;
            }
            MapSource::Data(section) => {
                section_value_size(&key(entry.name), section)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Plans a map from its definition. A field that the definition lacks is 0, as in libbpf.
fn plan_definition(def: &MapDef, kernel: &TargetKernel) -> MapPlan {
    let is_ring = matches!(def.known_type(), Some(MapType::Ringbuf | MapType::UserRingbuf));
    MapPlan {
        attributes: MapAttributes {
            map_type: def.map_type,
            key_size: def.key_size,
            value_size: def.value_size,
            max_entries: if is_ring { ring_size(def.max_entries, kernel.page_size) } else { def.max_entries },
            map_flags: def.map_flags,
            map_extra: def.map_extra,
        },
        numa_node: def.numa_node.unwrap_or(0),
        key_type: def.key_type.unwrap_or(TypeId::VOID),
        value_type: def.value_type.unwrap_or(TypeId::VOID),
        autocreate: true,
        uses_btf: true,
        ..MapPlan::default()
    }
}

/// Returns the kernel's name of a data map: the section's name, after the part of the object's name that fits
/// (libbpf: `internal_map_name`).
fn data_map_name(object: &str, section: &[u8]) -> Result<Vec<u8>, InternalError> {
    // `BPF_OBJ_NAME_LEN` without the final NUL byte.
    const KERNEL_NAME_LEN: usize = 15;
    let suffix_len = section.len().clamp(7, KERNEL_NAME_LEN);
    let has_two_dots = section.iter().skip(1).any(|b| *b == b'.');
    let prefix_len = if has_two_dots { Some(0) } else { KERNEL_NAME_LEN.checked_sub(suffix_len) };
    let prefix_len = prefix_len.invariant("a section's part of a map name is within the limit on names")?;
    let name = object.bytes().take(prefix_len).chain(section.iter().copied().take(suffix_len));
    Ok(name.map(|b| if b.is_ascii_alphanumeric() || b == b'_' || b == b'.' { b } else { b'_' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_maps() {
        let name = |object, section| data_map_name(object, section).unwrap();
        assert_eq!(name("my_object_name", b".rodata"), b"my_objec.rodata");
        assert_eq!(name("my_object_name", b".bss"), b"my_objec.bss");
        assert_eq!(name("my_object_name", b".kconfig"), b"my_obje.kconfig");
        assert_eq!(name("my_object_name", b".rodata.abracadabra"), b".rodata.abracad");
        assert_eq!(name("a-b", b".data"), b"a_b.data");
        assert_eq!(name("", b".data"), b".data");
    }
}
