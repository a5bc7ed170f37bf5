//! The uses of maps by a program that some kernels refuse.

use super::{
    need::{Need, NeedTable},
    outside_uses::outside_uses,
    site::Site,
    used_map::{UsedMap, ValueFields},
};
use crate::{
    kernel::{FieldCallee, FieldForm, FieldFunction, FieldHolder, MapUse, SpecialField},
    linked_code::usize_of,
    reads::{MapAccess, TracedMapUse},
};
use core_relo::insn::{Class, Helper};
use core_relo_object::{
    MapIndex,
    link::{LinkedProgram, RefTarget},
    object::{AttachType, MapType, ProgramType, SecDef},
};
use hashbrown::HashSet;

/// The instructions before a call among which the load of its argument is searched for.
const LOADS_BEFORE_CALL: usize = 16;

/// Returns the requirements of a program's uses of maps. `traced` are the instructions that use maps
/// whichever path leads to them.
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

/// Returns the load of the lock's address after which a program releases the lock: the last instruction that
/// writes to the register of the argument, without a call or a jump in between. Kernels before 6.2 take each
/// load for another lock (kernel: `process_spin_lock`).
fn reloaded_lock(code: &LinkedProgram, call: u32, function: FieldFunction) -> Option<u32> {
    if function.callee != FieldCallee::Helper(Helper::SPIN_UNLOCK) {
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

/// Returns whether every kernel writes to the buffer of `bpf_get_stack` in programs of a section. Those of
/// raw tracepoints and fentry take the buffer for memory that they read, until a release after 6.12 (kernel:
/// `bpf_get_stack_proto_raw_tp`).
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

/// Returns whether a helper changes a map of sockets that programs of the type do not change (kernel:
/// `may_update_sockmap`). An extension may do what the program that it extends may do.
fn refuses_sockets(helper: Helper, map_type: MapType, def: &SecDef) -> bool {
    use ProgramType as P;
    matches!(map_type, MapType::Sockmap | MapType::Sockhash)
        && match (helper, def.program_type) {
            (Helper::MAP_DELETE_ELEM, P::SockOps) => false,
            (Helper::MAP_UPDATE_ELEM | Helper::MAP_DELETE_ELEM, P::Tracing) => {
                def.attach_type != Some(AttachType::TraceIter)
            }
            (Helper::MAP_UPDATE_ELEM | Helper::MAP_DELETE_ELEM, program_type) => !matches!(
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
const fn changes_elements(helper: Helper) -> bool {
    use Helper as H;
    matches!(helper, H::MAP_UPDATE_ELEM | H::MAP_DELETE_ELEM | H::MAP_PUSH_ELEM | H::MAP_POP_ELEM)
}

/// Returns whether programs have addresses in the values of maps of a type.
const fn has_plain_values(map_type: MapType) -> bool {
    use MapType as M;
    matches!(
        map_type,
        M::Hash | M::Array | M::PercpuHash | M::PercpuArray | M::LruHash | M::LruPercpuHash | M::LpmTrie
    )
}
