//! The uses of maps by a program that some kernels refuse.

use super::{
    instructions::usize_of,
    need::{Need, NeedTable},
    program::Site,
    value_fields::{Part, PossibleFields, are_found, is_aligned, own_field, parts_of},
};
use crate::{
    kernel::{FieldForm, FieldHolder, FieldPlace, MapUse, SpecialField},
    reads::{MapAccess, TracedMapUse},
};
use core_relo::{
    BitOffset, Name, TypeId,
    btf::{Btf, Kind, SecInfo, Type},
    insn::Class,
};
use core_relo_object::{
    MapIndex,
    link::{LinkedProgram, MapEntry, MapSource, ProgramLinker, RefTarget},
    load_plan::{MapSettings, Settings},
    object::{AttachType, DataKind, MapDef, MapType, ProgramType, SecDef},
};
use hashbrown::{HashMap, HashSet};

/// `BPF_F_NO_PREALLOC`, `BPF_F_RDONLY_PROG`, and `BPF_F_WRONLY_PROG`.
const NO_PREALLOC: u32 = 1 << 0;
const READ_ONLY_PROG: u32 = 1 << 7;
const WRITE_ONLY_PROG: u32 = 1 << 8;

/// What the uses of a map depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedMap {
    name: String,
    /// The type. `None` if it is not known.
    map_type: Option<MapType>,
    /// Whether programs only read the map.
    is_read_only: bool,
    /// Whether programs only write to the map.
    is_write_only: bool,
    /// The size of the values, if the settings of a load change that of a data section.
    data_bytes: Option<u32>,
    /// Whether the map is a hash that allocates its elements later.
    allocates_later: bool,
    /// The special fields of the values, if the kernel creates the map with them.
    fields: ValueFields,
    /// The special fields that the kernel does not find in the values, because the map has no types or their type has no such member.
    missing_fields: Vec<SpecialField>,
    /// The special fields in a form that only some kernels find.
    formed_fields: Vec<(SpecialField, FieldForm)>,
}

/// The special fields of a map's values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ValueFields {
    fields: Vec<SpecialField>,
    holder: FieldHolder,
    /// Whether each kernel that knows a field finds it, whatever else is in the values.
    are_found: bool,
}

impl ValueFields {
    const NONE: Self = Self { fields: Vec::new(), holder: FieldHolder::Value, are_found: true };
}

impl UsedMap {
    /// Returns what the uses of the object's maps depend on in a load with settings, in the linker's order.
    pub(super) fn collect(linker: &ProgramLinker<'_, '_>, settings: &Settings) -> Vec<Self> {
        let btf = linker.object().btf();
        let mut data = btf.map(|btf| DataFields::new(btf, linker.datasecs()));
        let maps = linker.maps().iter().map(|entry| {
            let mut map = Self::new(entry, settings, btf);
            if let (MapSource::Data(section), Some(data), Some(_)) = (entry.source, &mut data, map.map_type) {
                // The kernel refuses the types of a read-only map with fields. A loader creates it without types.
                map.fields = if map.is_read_only { ValueFields::NONE } else { data.of_section(section.name) };
            }
            map
        });
        maps.collect()
    }

    fn new(entry: &MapEntry<'_, '_>, settings: &Settings, btf: Option<&Btf<'_>>) -> Self {
        let mut map = Self {
            name: map_name(entry.name),
            map_type: Some(MapType::Array),
            is_read_only: false,
            is_write_only: false,
            data_bytes: None,
            allocates_later: false,
            fields: ValueFields::NONE,
            missing_fields: Vec::new(),
            formed_fields: Vec::new(),
        };
        let own = settings.maps.get(&*String::from_utf8_lossy(entry.name));
        // The caller's map may be of any type.
        let is_replaced = |own: &MapSettings| own.reuse.is_some() || own.autocreate == Some(false);
        match entry.source {
            _ if own.is_some_and(is_replaced) => map.map_type = None,
            MapSource::Defined(defined) => match &defined.def {
                Ok(def) => {
                    let set = own.and_then(|own| own.definition(Some(def)));
                    map.define(set.as_ref().unwrap_or(def), btf);
                }
                Err(_) => map.map_type = None,
            },
            MapSource::Data(_) | MapSource::Kconfig
                if own.is_some_and(|own| own.map_type.is_some() || own.map_flags.is_some()) =>
            {
                map.map_type = None;
            }
            MapSource::Data(section) => {
                map.is_read_only = section.kind == DataKind::Rodata;
                map.data_bytes = own.and_then(|own| own.value_size);
            }
            MapSource::Kconfig => map.is_read_only = true,
            _ => map.map_type = None,
        }
        map
    }

    /// Returns whether programs only read or only write values of the map.
    pub(super) const fn restricts_access(&self) -> bool {
        self.is_read_only || self.is_write_only
    }

    fn define(&mut self, def: &MapDef, btf: Option<&Btf<'_>>) {
        self.map_type = def.known_type();
        self.is_read_only = def.map_flags & READ_ONLY_PROG != 0;
        self.is_write_only = def.map_flags & WRITE_ONLY_PROG != 0;
        let is_hash =
            matches!(self.map_type, Some(MapType::Hash | MapType::PercpuHash | MapType::HashOfMaps));
        self.allocates_later = is_hash && def.map_flags & NO_PREALLOC != 0;
        // The kernel takes the types of both or none.
        if let (Some(map_type), Some(btf), Some(key), Some(value)) =
            (self.map_type, btf, def.key_type, def.value_type)
            && !loses_types(def, map_type, key, btf)
        {
            self.find_missing_fields(btf, value, map_type);
            // Some kernels find no field beside one that they refuse.
            let is_beside =
                |(_, form): &(SpecialField, FieldForm)| matches!(form, FieldForm::BesideRefused { .. });
            if self.formed_fields.iter().any(is_beside) {
                return;
            }
            let is_missing = |field: &SpecialField| self.missing_fields.contains(field);
            let fits = |field: &SpecialField| field.fits(map_type) && has_field(btf, value, *field);
            let fields = SpecialField::ALL.into_iter().filter(|field| !is_missing(field) && fits(field));
            let fields: Vec<_> = fields.collect();
            let are_found = fields.is_empty() || are_members_found(btf, value, Some(map_type));
            let holder = if self.is_write_only { FieldHolder::WriteOnlyValue } else { FieldHolder::Value };
            self.fields = ValueFields { fields, holder, are_found };
        } else {
            self.missing_fields = SpecialField::ALL.to_vec();
        }
    }

    /// Finds the special fields that no kernel, or only some, find in values of a type in a map of a type.
    fn find_missing_fields(&mut self, btf: &Btf<'_>, value: TypeId, map_type: MapType) {
        let Ok(value) = btf.strip(value) else { return };
        let possible = PossibleFields::of_value(btf, value);
        // Kernels that know such a field refuse the types of the values, or find no field in them.
        let refused = |field: SpecialField| {
            let offsets = field_offsets(value, btf, field);
            let is_repeated = offsets.len() > 1;
            let is_aligned = offsets.first().is_some_and(|offset| is_aligned(*offset, field));
            let is_refused = is_repeated || (is_aligned && field.never_fits(map_type));
            is_refused.then_some(FieldForm::BesideRefused { other: field, is_repeated })
        };
        let single = possible.iter().filter(|field| value.kind() == Kind::Struct && field.is_single());
        let refused: Vec<_> = single.filter_map(|field| Some((field, refused(field)?))).collect();
        let is_missing = |field: &SpecialField| {
            !possible.contains(*field)
                || field.never_fits(map_type)
                || refused.iter().any(|(refused, _)| refused == field)
        };
        self.missing_fields = SpecialField::ALL.into_iter().filter(is_missing).collect();
        for field in SpecialField::ALL.into_iter().filter(|field| !self.missing_fields.contains(field)) {
            self.formed_fields.extend(possible.form(field).map(|form| (field, form)));
            self.formed_fields.extend(refused.iter().map(|(_, form)| (field, *form)));
        }
    }
}

/// Returns whether no kernel creates a map with the types of its keys and values, if the values have a special field. A loader then creates
/// the map without types (kernel: `map_check_btf`, `array_map_check_btf`).
fn loses_types(def: &MapDef, map_type: MapType, key: TypeId, btf: &Btf<'_>) -> bool {
    let is_array = matches!(map_type, MapType::Array | MapType::PercpuArray);
    def.map_flags & READ_ONLY_PROG != 0 || (is_array && !may_be_index(btf, key))
}

/// Returns whether some kernel may take a type for that of an array's keys: an integer of 32 bits.
fn may_be_index(btf: &Btf<'_>, key: TypeId) -> bool {
    let Ok(key) = btf.strip(key) else { return true };
    key.int().is_some_and(|int| int.bits == 32 && int.offset == 0)
}

/// Returns a map's name as reasons have it.
pub(super) fn map_name(name: &[u8]) -> String {
    core_relo::explain::text(Name::new(name).shortened())
}

/// A special field of a map's values at a place that some kernel does not accept.
pub(super) struct RestrictedField {
    pub(super) place: FieldPlace,
    pub(super) field: SpecialField,
    /// Whether each kernel that knows the field finds it, whatever else is in the values.
    pub(super) is_found: bool,
}

/// Returns the special fields of a map's values, and of its inner maps' values, at places that some kernel does not accept.
pub(super) fn restricted_fields(def: &MapDef, btf: &Btf<'_>) -> Vec<RestrictedField> {
    use MapType as M;
    let storage = |def: &&MapDef| {
        let types = [M::SkStorage, M::InodeStorage, M::TaskStorage, M::CgrpStorage];
        def.known_type().is_some_and(|map_type| types.contains(&map_type))
    };
    let keeps_types = |def: &&MapDef| match (def.known_type(), def.key_type) {
        (Some(map_type), Some(key)) => {
            def.map_flags & WRITE_ONLY_PROG == 0 && !loses_types(def, map_type, key, btf)
        }
        _ => false,
    };
    let maps = [
        (FieldPlace::LocalStorage, Some(def).filter(storage)),
        (FieldPlace::InnerMap, def.inner.as_deref().filter(keeps_types)),
    ];
    let mut found = Vec::new();
    for (place, def) in maps {
        let Some((def, value)) = def.and_then(|def| Some((def, def.value_type?))) else { continue };
        // A loader creates inner maps of other types without the types of their values.
        let is_kept = |field: SpecialField| {
            place == FieldPlace::LocalStorage || def.known_type().is_some_and(|map_type| field.fits(map_type))
        };
        let fields = SpecialField::ALL.into_iter().filter(|field| !field.always_fits_place(place));
        let fields: Vec<_> =
            fields.filter(|field| is_kept(*field) && has_field(btf, value, *field)).collect();
        if fields.is_empty() {
            continue;
        }
        // No loader creates local storage without types.
        let map_type = def.known_type().filter(|_| place != FieldPlace::LocalStorage);
        let is_found = are_members_found(btf, value, map_type);
        found.extend(fields.into_iter().map(|field| RestrictedField { place, field, is_found }));
    }
    found
}

/// Returns whether values of a type have one field of a kind, at a place that every kernel accepts.
fn has_field(btf: &Btf<'_>, value: TypeId, field: SpecialField) -> bool {
    let Some(value) = btf.strip(value).ok().filter(|ty| ty.kind() == Kind::Struct) else { return false };
    if field == SpecialField::KernelPointer {
        let is_named = |ty: Type<'_>| ty.name().as_bytes() == field.name().as_bytes();
        let tag = |ty: TypeId| btf.ty(btf.ty(ty).filter(|ty| ty.kind() == Kind::Ptr)?.target()?);
        let is_tagged = |ty: TypeId| tag(ty).is_some_and(|tag| tag.kind() == Kind::TypeTag && is_named(tag));
        return value.members().any(|member| is_tagged(member.ty));
    }
    matches!(*field_offsets(value, btf, field), [offset] if is_aligned(offset, field))
}

/// Returns whether the kernel finds the fields among the members of a value, whatever the other members are.
fn are_members_found(btf: &Btf<'_>, value: TypeId, map_type: Option<MapType>) -> bool {
    let parts = btf.strip(value).ok().and_then(|value| parts_of(btf, value));
    parts.is_some_and(|parts| are_found(btf, &parts, map_type))
}

/// Returns the special fields among the variables of a DATASEC, if the kernel takes its type for that of the map's value.
fn data_fields(btf: &Btf<'_>, datasec: Type<'_>) -> ValueFields {
    let offset = |bytes: u32| Some(BitOffset(bytes.checked_mul(8)?));
    let part =
        |info: &SecInfo| Some(Part { ty: btf.ty(btf.ty(info.ty)?.target()?)?, offset: offset(info.offset)? });
    let Some(parts) = datasec.secinfos().map(|info| part(&info)).collect::<Option<Vec<_>>>() else {
        return ValueFields::NONE;
    };
    let count = |field: SpecialField| parts.iter().filter(|part| own_field(part.ty) == Some(field)).count();
    let fields = SpecialField::ALL.map(|field| (field, count(field)));
    if fields.iter().any(|(field, count)| *count > 1 && field.is_single()) {
        return ValueFields::NONE;
    }
    let fields: Vec<_> = fields.into_iter().filter(|(_, count)| *count > 0).map(|(field, _)| field).collect();
    let are_found = fields.is_empty() || are_found(btf, &parts, None);
    ValueFields { fields, holder: FieldHolder::Variable, are_found }
}

/// The special fields of the variables of data sections.
struct DataFields<'o> {
    btf: &'o Btf<'o>,
    /// The DATASECs by name, the first of each. A hostile object has many sections of one name.
    datasecs: HashMap<&'o [u8], Type<'o>>,
    /// The fields of the sections that were asked for.
    found: HashMap<TypeId, ValueFields>,
}

impl<'o> DataFields<'o> {
    fn new(btf: &'o Btf<'o>, types: &[Type<'o>]) -> Self {
        let mut datasecs = HashMap::new();
        for ty in types {
            datasecs.entry(ty.name().as_bytes()).or_insert(*ty);
        }
        Self { btf, datasecs, found: HashMap::new() }
    }

    fn of_section(&mut self, name: &[u8]) -> ValueFields {
        let Some(datasec) = self.datasecs.get(name) else { return ValueFields::NONE };
        self.found.entry(datasec.id()).or_insert_with(|| data_fields(self.btf, *datasec)).clone()
    }
}

/// Returns the offsets of the members of a struct that are a special field.
fn field_offsets(value: Type<'_>, btf: &Btf<'_>, field: SpecialField) -> Vec<BitOffset> {
    let is_field = |ty: TypeId| btf.ty(ty).and_then(own_field) == Some(field);
    value.members().filter(|member| is_field(member.ty)).map(|member| member.bit_offset).collect()
}

/// Returns the requirements of a program's uses of maps. `traced` are the instructions that use maps whichever path leads to them.
pub(super) fn map_use_sites(
    code: &LinkedProgram,
    def: Option<&SecDef>,
    maps: &[UsedMap],
    traced: &[TracedMapUse],
    table: &mut NeedTable,
) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut add = |insn: u32, map: &UsedMap, map_use: MapUse| {
        if !map_use.is_always_accepted() {
            let need = table.add(Need::MapUse { map: map.name.as_str().into(), map_use });
            sites.push(Site { insn, need });
        }
    };
    let mut known = HashSet::new();
    let mut storages = HashSet::new();
    for (insn, target) in &code.refs {
        let (RefTarget::Map(index) | RefTarget::Data { map: index, .. }) = target else { continue };
        let Some(map) = maps.get(index.0).filter(|_| known.insert(*index)) else { continue };
        for map_use in uses_by_type(map, def) {
            add(*insn, map, map_use);
        }
        let storage = map.map_type.filter(|map_type| is_cgroup_storage(*map_type));
        if let Some(map_type) = storage.filter(|map_type| !storages.insert(*map_type)) {
            add(*insn, map, MapUse::SecondStorage(map_type));
        }
    }
    if maps.iter().any(|map| map.data_bytes.is_some()) {
        for (insn, map, outside) in outside_uses(code, maps) {
            add(insn, map, outside);
        }
    }
    for TracedMapUse { insn, map: MapIndex(index), access } in traced {
        let Some(map) = maps.get(*index) else { continue };
        let Some(map_type) = map.map_type else { continue };
        match access {
            MapAccess::Call(helper) => {
                add(*insn, map, MapUse::Helper { helper: *helper, map_type });
                if let Some(def) = def.filter(|def| refuses_sockets(*helper, map_type, def)) {
                    add(*insn, map, MapUse::Sockets { helper: *helper, program_type: def.program_type });
                }
                if map.is_read_only && changes_elements(*helper) {
                    add(*insn, map, MapUse::Write);
                }
            }
            MapAccess::Store if map.is_read_only && has_plain_values(map_type) => {
                add(*insn, map, MapUse::Write);
            }
            MapAccess::Load if map.is_write_only && has_plain_values(map_type) => {
                add(*insn, map, MapUse::Read);
            }
            MapAccess::StackBuffer => {
                if map.is_read_only && has_plain_values(map_type) && writes_stack(def) {
                    add(*insn, map, MapUse::Write);
                }
            }
            MapAccess::Load | MapAccess::Store => {}
            MapAccess::Pass { .. } => {
                if has_plain_values(map_type) && map.restricts_access() {
                    add(*insn, map, MapUse::FunctionArgument { is_read_only: map.is_read_only });
                }
            }
            MapAccess::PassAsContext => {
                if has_plain_values(map_type) {
                    add(*insn, map, MapUse::ContextArgument);
                }
            }
            MapAccess::CallWithField(function) => {
                if map.missing_fields.contains(&function.field) {
                    add(*insn, map, MapUse::MissingField(*function));
                }
                for (_, form) in map.formed_fields.iter().filter(|(field, _)| *field == function.field) {
                    add(*insn, map, MapUse::FormedField { function: *function, form: *form });
                }
            }
        }
    }
    sites
}

/// Returns the uses of data sections beyond the sizes that the settings of a load give them: addresses, and accesses by the next
/// instruction.
fn outside_uses<'m>(code: &LinkedProgram, maps: &'m [UsedMap]) -> Vec<(u32, &'m UsedMap, MapUse)> {
    let find = |(at, target): &(u32, RefTarget)| {
        let RefTarget::Data { map, offset } = target else { return None };
        let map = maps.get(map.0)?;
        let value_bytes = map.data_bytes?;
        let load = code.insns.get(usize_of(*at)).filter(|load| load.is_ld_imm64())?;
        let offset = offset.checked_add_signed(load.imm.into())?;
        if offset >= u64::from(value_bytes) {
            return Some((*at, map, MapUse::OutsideAddress { offset, value_bytes }));
        }
        let next = code.insns.get(usize_of(at.checked_add(2)?))?;
        let address = match next.class() {
            Class::Ldx => next.src,
            Class::St | Class::Stx => next.dst,
            _ => return None,
        };
        let end = offset.checked_add_signed(next.off.into())?.checked_add(next.access_bytes().into())?;
        let is_outside = address == load.dst && end > u64::from(value_bytes);
        is_outside.then_some((*at, map, MapUse::OutsideAccess { end, value_bytes }))
    };
    code.refs.iter().filter_map(find).collect()
}

/// Returns whether every kernel writes to the buffer of `bpf_get_stack` in programs of a section. Those of raw tracepoints and fentry take
/// the buffer for memory that they read, until a release after 6.12 (kernel: `bpf_get_stack_proto_raw_tp`).
fn writes_stack(def: Option<&SecDef>) -> bool {
    use ProgramType as P;
    def.is_some_and(|def| matches!(def.program_type, P::Kprobe | P::Tracepoint | P::PerfEvent))
}

const fn is_cgroup_storage(map_type: MapType) -> bool {
    matches!(map_type, MapType::CgroupStorage | MapType::PercpuCgroupStorage)
}

/// Returns the uses of a map that depend on the program's type alone.
fn uses_by_type(map: &UsedMap, def: Option<&SecDef>) -> Vec<MapUse> {
    let (Some(def), Some(map_type)) = (def, map.map_type) else { return Vec::new() };
    let mut uses = Vec::new();
    let is_sleepable = def.flags.is_sleepable();
    if is_sleepable {
        uses.push(MapUse::Sleepable(map_type));
    }
    if map.allocates_later {
        uses.extend(is_sleepable.then_some(MapUse::SleepableAllocation));
        uses.extend((def.program_type == ProgramType::PerfEvent).then_some(MapUse::PerfEventAllocation));
    }
    let ValueFields { fields, holder, are_found } = &map.fields;
    for field in fields {
        let program_types = [Some(Some(def.program_type)), is_sleepable.then_some(None)];
        uses.extend(program_types.into_iter().flatten().map(|program_type| MapUse::Field {
            field: *field,
            program_type,
            holder: *holder,
            is_found: *are_found,
        }));
    }
    uses
}

/// Returns whether a helper changes a map of sockets that programs of the type do not change (kernel: `may_update_sockmap`). An extension
/// may do what the program that it extends may do.
fn refuses_sockets(helper: u32, map_type: MapType, def: &SecDef) -> bool {
    use ProgramType as P;
    matches!(map_type, MapType::Sockmap | MapType::Sockhash)
        && match (helper, def.program_type) {
            (MapUse::DELETE, P::SockOps) => false,
            (MapUse::UPDATE | MapUse::DELETE, P::Tracing) => def.attach_type != Some(AttachType::TraceIter),
            (MapUse::UPDATE | MapUse::DELETE, program_type) => !matches!(
                program_type,
                P::SocketFilter
                    | P::SchedCls
                    | P::SchedAct
                    | P::Xdp
                    | P::SkReuseport
                    | P::FlowDissector
                    | P::SkLookup
                    | P::Ext
            ),
            _ => false,
        }
}

/// Returns whether a helper changes the elements of a map (kernel: `record_func_map`).
const fn changes_elements(helper: u32) -> bool {
    const UPDATE: u32 = 2;
    const DELETE: u32 = 3;
    const PUSH: u32 = 87;
    const POP: u32 = 88;
    matches!(helper, UPDATE | DELETE | PUSH | POP)
}

/// Returns whether programs have addresses in the values of maps of a type.
const fn has_plain_values(map_type: MapType) -> bool {
    use MapType as M;
    matches!(
        map_type,
        M::Hash | M::Array | M::PercpuHash | M::PercpuArray | M::LruHash | M::LruPercpuHash | M::LpmTrie
    )
}
