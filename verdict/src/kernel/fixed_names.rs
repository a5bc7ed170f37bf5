//! The names that every kernel is asked for.

use super::{
    attachments::{KPROBE_STRUCT, LINK_MARKS},
    changes,
    conditional::{
        ALWAYS_COMPILED, CHECKS_LSM_RESULTS, DIRECT_CALLS, ERROR_INJECTION, FMOD_RET_SETS, HAS_SLEEPABLE_LSM,
        HELPERS, MAP_TYPES, MODULE_BTF, POWERPC_SYSCALL, POWERPC_SYSCALL_BODY, PROGRAM_TYPES,
        SYSCALL_WRAPPERS, TRAMPOLINES,
    },
    features, jit, map_limits, map_owner, map_uses,
    mark::Mark,
    program_features,
    query::{CONTEXTS, ENUMS, LIVEPATCH, LOADS_MODULES, MODULE_BTF_STRUCT, NameQuery},
};
use core_relo::btf::TypeQuery;
use std::collections::HashSet;

impl Default for NameQuery {
    /// Creates the query of the names that every kernel is asked for.
    fn default() -> Self {
        let mut query = Self {
            types: TypeQuery::new(),
            symbols: HashSet::new(),
            fixed_count: 0,
            compared: HashSet::new(),
        };
        let marks = changes::all_marks().chain(features::all_marks()).chain(program_features::all_marks());
        let maps = map_limits::all_marks().chain(map_owner::all_marks()).chain(map_uses::all_marks());
        for mark in marks.chain(jit::all_marks()).chain(maps) {
            match mark {
                Mark::Function(name) => query.function(name.as_bytes()),
                Mark::Member(name, _) | Mark::InnerMember(name, ..) => query.structure(name.as_bytes()),
                Mark::Enumerator(name, _) => query.enumeration(name.as_bytes()),
            }
        }
        for name in ENUMS {
            query.enumeration(name.as_bytes());
        }
        for mark in &LINK_MARKS {
            query.types.insert(mark.name.as_bytes(), mark.kind);
        }
        for name in [CONTEXTS, MODULE_BTF_STRUCT, KPROBE_STRUCT, map_limits::CPU_MASK] {
            query.structure(name.as_bytes());
        }
        let map_functions = MAP_TYPES.iter().flat_map(|row| row.functions);
        let helper_functions = HELPERS.iter().flat_map(|row| row.neighbours.iter().chain([&row.function]));
        let functions =
            map_functions.chain(helper_functions).chain(PROGRAM_TYPES.iter().map(|(_, name)| name));
        let functions =
            functions.chain(&ALWAYS_COMPILED).chain(&TRAMPOLINES).chain(&DIRECT_CALLS).chain(&MODULE_BTF);
        for name in functions.chain(&LOADS_MODULES) {
            query.function(name.as_bytes());
        }
        for name in SYSCALL_WRAPPERS.iter().chain(&[POWERPC_SYSCALL, POWERPC_SYSCALL_BODY]) {
            query.symbol(name.as_bytes());
        }
        for name in [LIVEPATCH, ERROR_INJECTION, FMOD_RET_SETS, HAS_SLEEPABLE_LSM, CHECKS_LSM_RESULTS] {
            query.function(name.as_bytes());
        }
        query.fixed_count = query.types.len();
        query
    }
}
