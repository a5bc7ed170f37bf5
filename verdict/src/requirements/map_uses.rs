//! The uses of maps by a program that some kernels refuse.

use super::{
    data_fields::DataFields,
    field_search::FieldParts,
    instructions::usize_of,
    need::{Need, NeedTable},
    outside_uses::outside_uses,
    program::Site,
    value_fields::PossibleFields,
};
use crate::{
    kernel::{FieldCallee, FieldForm, FieldFunction, FieldHolder, MapUse, SpecialField, ValueField},
    reads::{MapAccess, TracedMapUse},
};
use core_relo::{Name, TypeId, btf::Btf, insn::Class};
use core_relo_object::{
    MapIndex,
    link::{LinkedProgram, MapEntry, MapSource, ProgramLinker, RefTarget},
    load_plan::{MapSettings, Settings},
    object::{AttachType, DataKind, MapDef, MapType, ProgramType, SecDef},
};
use hashbrown::HashSet;

/// `BPF_F_NO_PREALLOC`, `BPF_F_RDONLY_PROG`, and `BPF_F_WRONLY_PROG`.
const NO_PREALLOC: u32 = 1 << 0;
const READ_ONLY_PROG: u32 = 1 << 7;
pub(super) const WRITE_ONLY_PROG: u32 = 1 << 8;

/// The number of `bpf_spin_unlock`.
const SPIN_UNLOCK: u32 = 94;

/// The instructions before a call among which the load of its argument is searched for.
const LOADS_BEFORE_CALL: usize = 16;

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
    pub(super) data_bytes: Option<u32>,
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
    fields: Vec<ValueField>,
    holder: FieldHolder,
}

impl ValueFields {
    const NONE: Self = Self { fields: Vec::new(), holder: FieldHolder::Value };
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
                if !map.is_read_only {
                    map.fields.holder = FieldHolder::Variable;
                    if let Some(found) = data.of_section(section.name) {
                        map.find_missing_fields(&found.possible, &found.parts, MapType::Array);
                        map.fields.fields = found.fields();
                    }
                }
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

    /// Returns the variables of a data section that the kernel manages.
    pub(super) fn managed_variables(&self) -> &[ValueField] {
        match self.fields.holder {
            FieldHolder::Variable => &self.fields.fields,
            FieldHolder::Value | FieldHolder::WriteOnlyValue => &[],
        }
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
            let Ok(value) = btf.strip(value) else { return };
            let possible = PossibleFields::of_value(btf, value);
            let parts =
                if possible.is_empty() { FieldParts::default() } else { FieldParts::of_value(btf, value) };
            self.find_missing_fields(&possible, &parts, map_type);
            // Some kernels find no field beside one that they refuse.
            let is_beside = |(_, form): &(SpecialField, FieldForm)| {
                matches!(form, FieldForm::BesideRefused { is_nested: false, .. })
            };
            if self.formed_fields.iter().any(is_beside) {
                return;
            }
            let mut fields = parts.fields(Some(map_type));
            fields.retain(|ValueField { field, .. }| {
                field.fits(map_type) && !self.missing_fields.contains(field)
            });
            let holder = if self.is_write_only { FieldHolder::WriteOnlyValue } else { FieldHolder::Value };
            self.fields = ValueFields { fields, holder };
        } else {
            self.missing_fields = SpecialField::ALL.to_vec();
        }
    }

    /// Finds the special fields that no kernel, or only some, find in values with some parts in a map of a type.
    fn find_missing_fields(&mut self, possible: &PossibleFields, parts: &FieldParts, map_type: MapType) {
        let refused = parts.refused(map_type);
        // No kernel finds one of several members, or one that maps of the type may not have.
        let is_refused = |field: &SpecialField| {
            refused.iter().any(|form| match form {
                FieldForm::BesideRefused { other, is_nested: false, .. } => other == field,
                _ => false,
            })
        };
        let is_missing = |field: &SpecialField| {
            !possible.contains(*field) || field.never_fits(map_type) || is_refused(field)
        };
        self.missing_fields = SpecialField::ALL.into_iter().filter(is_missing).collect();
        for field in SpecialField::ALL.into_iter().filter(|field| !self.missing_fields.contains(field)) {
            self.formed_fields.extend(possible.form(field).map(|form| (field, form)));
            self.formed_fields.extend(refused.iter().map(|form| (field, *form)));
        }
    }
}

/// Returns whether no kernel creates a map with the types of its keys and values, if the values have a special field. A loader then creates
/// the map without types (kernel: `map_check_btf`, `array_map_check_btf`).
pub(super) fn loses_types(def: &MapDef, map_type: MapType, key: TypeId, btf: &Btf<'_>) -> bool {
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
            MapAccess::PassToKfunc => {
                if has_plain_values(map_type) && map.restricts_access() {
                    add(*insn, map, MapUse::KfuncArgument { is_read_only: map.is_read_only });
                }
            }
            MapAccess::PassAsContext => {
                if has_plain_values(map_type) {
                    add(*insn, map, MapUse::ContextArgument);
                }
            }
            MapAccess::CallWithField(function) => {
                let holder = map.fields.holder;
                if map.missing_fields.contains(&function.field) {
                    add(*insn, map, MapUse::MissingField { function: *function, holder });
                    continue;
                }
                for (_, form) in map.formed_fields.iter().filter(|(field, _)| *field == function.field) {
                    add(*insn, map, MapUse::FormedField { function: *function, form: *form });
                }
                if holder == FieldHolder::Variable && function.field == SpecialField::SpinLock {
                    let variable_use = |form| MapUse::FormedField { function: *function, form };
                    add(*insn, map, variable_use(FieldForm::Variable));
                    if let Some(load) = reloaded_lock(code, *insn, *function) {
                        add(load, map, variable_use(FieldForm::ReloadedVariable));
                    }
                }
            }
        }
    }
    sites
}

/// Returns the load of the lock's address after which a program releases the lock: the last instruction that writes to the register of the
/// argument, without a call or a jump in between. Kernels before 6.2 take each load for another lock (kernel: `process_spin_lock`).
fn reloaded_lock(code: &LinkedProgram, call: u32, function: FieldFunction) -> Option<u32> {
    if function.callee != FieldCallee::Helper(SPIN_UNLOCK) {
        return None;
    }
    // The second half of a load has no opcode, and no register.
    let before = (0..call).rev().map_while(|at| Some((at, code.insns.get(usize_of(at))?)));
    for (at, insn) in before.take(LOADS_BEFORE_CALL) {
        match insn.class() {
            Class::Jmp | Class::Jmp32 => return None,
            Class::Ld if insn.is_ld_imm64() => {
                if insn.dst == function.register() {
                    let found = code.refs.binary_search_by_key(&at, |(load, _)| *load).ok()?;
                    return matches!(code.refs.get(found), Some((_, RefTarget::Data { .. }))).then_some(at);
                }
            }
            Class::Ld if insn.code != 0 => return None,
            Class::Ld | Class::St => {}
            // Atomic instructions write to their source.
            Class::Stx | Class::Ldx | Class::Alu | Class::Alu64 => {
                if [insn.dst, insn.src].contains(&function.register()) {
                    return None;
                }
            }
        }
    }
    None
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
    let ValueFields { fields, holder } = &map.fields;
    for field in fields {
        let program_types = [Some(Some(def.program_type)), is_sleepable.then_some(None)];
        uses.extend(program_types.into_iter().flatten().map(|program_type| MapUse::Field {
            field: *field,
            program_type,
            holder: *holder,
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
