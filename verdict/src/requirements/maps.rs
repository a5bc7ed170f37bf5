//! The maps of an object: their types, and what only user space can set.

use super::{
    need::{Need, NeedId, NeedTable},
    restricted_fields::{RestrictedField, restricted_fields},
};
use crate::kernel::ProgramFeature;
use core_relo::{
    Name,
    btf::{Btf, Kind},
};
use core_relo_object::{
    MapIndex,
    link::{MapEntry, MapSource},
    load_plan::MapSettings,
    map_flags::{RB_OVERWRITE, TOKEN_FD},
    map_limits::{ExceededLimit, array_limit, find_map_limits},
    map_rules::{MapDefError, MapInput, MapRule, find_map_errors},
    object::{DataKind, MapDef, MapType},
};

/// The requirements of a map. The kernel creates every map of an object before it loads a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapNeed {
    /// The map's name.
    pub name: String,
    /// The index of a struct_ops map. `None` for other maps.
    pub(crate) struct_ops: Option<MapIndex>,
    /// The definition. `None` for data maps and struct_ops maps.
    pub definition: Option<MapDef>,
    /// The bytes of a data map's only value. `None` for other maps, and for configuration values.
    pub data_bytes: Option<u64>,
    /// The type, and for a struct_ops map the kind of struct_ops.
    pub needs: Vec<NeedId>,
    /// The special fields at places that some kernel does not accept.
    pub(crate) field_needs: Vec<NeedId>,
    /// The attributes that user space must set.
    pub inputs: Vec<MapInput>,
    /// The attributes of the definition that no kernel accepts.
    pub errors: Vec<MapDefError>,
    /// The limits of some kernels that the definition exceeds.
    pub limits: Vec<ExceededLimit>,
    /// Whether the load has a BPF token.
    pub(crate) has_token: bool,
}

impl MapNeed {
    /// Returns the requirements of a map. Returns `None` for a map that is not created by default.
    pub(super) fn new(
        (index, entry): (MapIndex, &MapEntry<'_, '_>),
        btf: Option<&Btf<'_>>,
        struct_ops: Option<&[u8]>,
        table: &mut NeedTable,
    ) -> Option<Self> {
        let name = core_relo::explain::text(Name::new(entry.name).shortened());
        let (mut errors, mut limits) = (Vec::new(), Vec::new());
        let (mut definition, mut data_bytes, mut field_needs) = (None, None, Vec::new());
        let (needs, inputs) = match entry.source {
            MapSource::Defined(map) => match &map.def {
                Ok(def) => {
                    errors = definition_errors(def, btf);
                    limits = find_map_limits(def);
                    table.has_configured_limit |=
                        limits.iter().any(|exceeded| exceeded.limit.is_configured());
                    field_needs = find_field_needs(def, btf, table);
                    definition = Some(def.clone());
                    (definition_needs(def, table), inputs(def))
                }
                // Linking refuses such an object.
                Err(_) => (Vec::new(), Vec::new()),
            },
            MapSource::StructOps(map) => {
                if let DataKind::StructOps { optional: true, .. } = map.section.kind {
                    return None;
                }
                let mut needs = vec![table.add(Need::MapType(MapType::StructOps.number()))];
                if let DataKind::StructOps { link: true, .. } = map.section.kind {
                    needs.push(table.add(Need::Feature(ProgramFeature::StructOpsLink)));
                }
                needs.extend(struct_ops.map(|name| {
                    let name = table.names.struct_ops(name);
                    table.add(Need::StructOps(name))
                }));
                (needs, Vec::new())
            }
            _ => {
                if let MapSource::Data(section) = entry.source {
                    data_bytes = Some(section.size);
                    limits = data_limits(section.size);
                }
                (vec![table.add(Need::MapType(MapType::Array.number()))], Vec::new())
            }
        };
        let struct_ops = matches!(entry.source, MapSource::StructOps(_)).then_some(index);
        Some(Self {
            name,
            struct_ops,
            definition,
            data_bytes,
            needs,
            field_needs,
            inputs,
            errors,
            limits,
            has_token: false,
        })
    }

    /// Applies the types, sizes and flags that a load sets, and those of the inner map.
    pub(super) fn apply_settings(
        &mut self,
        settings: Option<&MapSettings>,
        inner: Option<&MapSettings>,
        btf: Option<&Btf<'_>>,
        table: &mut NeedTable,
    ) {
        if let (Some(data_bytes), Some(size)) =
            (&mut self.data_bytes, settings.and_then(|map| map.value_size))
        {
            *data_bytes = size.into();
            self.limits = data_limits(size.into());
        }
        let Some(def) = &mut self.definition else { return };
        if let Some(changed) = settings.and_then(|settings| settings.definition(Some(def))) {
            *def = changed;
        }
        if let Some(inner) = inner.filter(|_| def.is_map_of_maps())
            && let Some(changed) = inner.definition(def.inner.as_deref())
        {
            def.inner = Some(Box::new(changed));
        }
        self.needs = definition_needs(def, table);
        self.field_needs = find_field_needs(def, btf, table);
        self.errors = definition_errors(def, btf);
        (self.limits, self.inputs) = (find_map_limits(def), inputs(def));
        table.has_configured_limit |= self.limits.iter().any(|exceeded| exceeded.limit.is_configured());
        // The caller's map is the template.
        if settings.is_some_and(|settings| settings.inner.is_some()) {
            self.inputs.retain(|input| *input != MapInput::InnerMap);
        }
    }
}

/// Returns the limits that the map of a data section exceeds.
fn data_limits(bytes: u64) -> Vec<ExceededLimit> {
    let limit = array_limit(bytes).into_iter();
    limit.map(|limit| ExceededLimit { is_inner: false, map_type: MapType::Array, limit }).collect()
}

/// Returns the types and flags of a definition, and the type of its inner maps, that a kernel may lack.
fn definition_needs(def: &MapDef, table: &mut NeedTable) -> Vec<NeedId> {
    let types = [Some(def.map_type), def.inner.as_ref().map(|inner| inner.map_type)];
    let mut needs: Vec<_> =
        types.into_iter().flatten().map(|number| table.add(Need::MapType(number))).collect();
    if def.known_type() == Some(MapType::Ringbuf) && def.map_flags & RB_OVERWRITE != 0 {
        needs.push(table.add(Need::Feature(ProgramFeature::RingbufOverwrite)));
    }
    if [Some(def), def.inner.as_deref()].into_iter().flatten().any(|def| def.map_flags & TOKEN_FD != 0) {
        needs.push(table.add(Need::Feature(ProgramFeature::MapToken)));
    }
    needs
}

/// Returns the error of a map of local storage whose keys are not integers (kernel:
/// `bpf_local_storage_map_check_btf`).
fn key_type_error(def: &MapDef, btf: &Btf<'_>) -> Option<MapDefError> {
    use MapType as M;
    let storages = [M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage];
    let map_type = def.known_type().filter(|map_type| storages.contains(map_type))?;
    let key = btf.strip(def.key_type?).ok()?;
    let error = MapDefError { is_inner: false, map_type, rule: MapRule::KeyType };
    (key.kind() != Kind::Int).then_some(error)
}

/// Returns the special fields of the values, and of inner maps' values, at places that some kernel does not
/// accept.
fn find_field_needs(def: &MapDef, btf: Option<&Btf<'_>>, table: &mut NeedTable) -> Vec<NeedId> {
    let fields = btf.map_or_else(Vec::new, |btf| restricted_fields(def, btf)).into_iter();
    let need = |RestrictedField { place, field }| Need::MapField { place, field };
    fields.map(|restricted| table.add(need(restricted))).collect()
}

/// Returns the attributes of a definition, and of its inner maps' definition, that no kernel accepts.
fn definition_errors(def: &MapDef, btf: Option<&Btf<'_>>) -> Vec<MapDefError> {
    let mut errors = find_map_errors(def);
    errors.extend(btf.and_then(|btf| key_type_error(def, btf)));
    errors.extend(missing_inner_attributes(def));
    errors
}

/// Returns the attributes that the definition of inner maps lacks. The kernel creates a map from it.
fn missing_inner_attributes(def: &MapDef) -> Vec<MapDefError> {
    let Some((inner, map_type)) = def.inner.as_deref().and_then(|def| Some((def, def.known_type()?))) else {
        return Vec::new();
    };
    let missing = inputs(inner).into_iter();
    missing.map(|input| MapDefError { is_inner: true, map_type, rule: MapRule::Missing(input) }).collect()
}

/// Returns the attributes that user space must set, for maps whose attributes the kernel or libbpf does not
/// complete (kernel: the `map_alloc_check` and `map_alloc` of each type).
fn inputs(def: &MapDef) -> Vec<MapInput> {
    use MapType as M;
    let Some(known) = def.known_type() else { return Vec::new() };
    let is_storage = matches!(
        known,
        M::SkStorage
            | M::InodeStorage
            | M::TaskStorage
            | M::CgrpStorage
            | M::CgroupStorage
            | M::PercpuCgroupStorage
    );
    let is_map_of_maps = matches!(known, M::ArrayOfMaps | M::HashOfMaps);
    // libbpf sets the entries of a perf event array to the number of CPUs.
    let has_entries = !is_storage && !matches!(known, M::PerfEventArray | M::StructOps);
    let has_key =
        !matches!(known, M::Queue | M::Stack | M::Ringbuf | M::UserRingbuf | M::BloomFilter | M::Arena);
    let has_value = !matches!(known, M::Ringbuf | M::UserRingbuf | M::Arena);
    let missing = [
        (MapInput::MaxEntries, has_entries && def.max_entries == 0),
        (MapInput::KeySize, has_key && def.key_size == 0),
        (MapInput::ValueSize, has_value && def.value_size == 0 && !is_map_of_maps),
        (MapInput::InnerMap, is_map_of_maps && def.inner.is_none()),
    ];
    missing.into_iter().filter(|(_, is_missing)| *is_missing).map(|(input, _)| input).collect()
}
