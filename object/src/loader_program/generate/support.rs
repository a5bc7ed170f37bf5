//! Refuses plans with parts that a loader program cannot load.

use super::{LoaderProgramError, unsupported_program};
use crate::{
    load_plan::{LateBinding, LoadPlan, MapPlan, MapRole, TokenSource},
    object::MapType,
};

/// Checks that a loader program can load each part of a plan.
pub(super) fn check(plan: &LoadPlan) -> Result<(), LoaderProgramError> {
    let unsupported = |part: &str, reason| LoaderProgramError::Unsupported { part: part.into(), reason };
    if plan.late_binding() == LateBinding::Nothing {
        return Err(unsupported(
            "the plan",
            "it is complete for one kernel: expected a plan with late binding",
        ));
    }
    if matches!(plan.token(), TokenSource::Path(_)) {
        return Err(unsupported("the BPF token", "a loader program has no field for it: expected no token"));
    }
    for map in plan.maps().iter().filter(|map| map.autocreate()) {
        if let Some(reason) = map_refusal(plan, map) {
            return Err(unsupported(&format!("map `{}`", map.name()), reason));
        }
    }
    for program in plan.programs() {
        if program.attach().program().is_some() {
            return Err(unsupported_program(
                program,
                "its attach target is a loaded program, which the kernel does not find by name: load the object with `core-relo load --attach-target`",
            ));
        }
        if program.late_relocs().is_empty() {
            continue;
        }
        if plan.btf().is_none() {
            return Err(unsupported_program(program, "its CO-RE relocations need the object's BTF"));
        }
    }
    Ok(())
}

/// Returns the reason why a loader program cannot create a map.
fn map_refusal(plan: &LoadPlan, map: &MapPlan) -> Option<&'static str> {
    let has_late_parts =
        || plan.programs().iter().any(|p| !p.late_relocs().is_empty() || !p.symbol_refs().is_empty());
    if map.role() == MapRole::StructOps {
        Some("its value has the layout of one kernel: load the object with `core-relo load`")
    } else if map.known_type() == Some(MapType::Arena) {
        Some("an arena has to be mapped into the memory of a process before programs are loaded")
    } else if map.role() == MapRole::Kconfig && plan.late_binding() == LateBinding::NamesAndRelocations {
        Some("its values are those of one kernel: name that kernel with `--kernel`")
    } else if map.pin().is_some() {
        Some("a loader program cannot open or create pins: expected a map without LIBBPF_PIN_BY_NAME")
    } else if map.reuse().is_some() || map.callers_inner().is_some() {
        Some("it reuses a map of this process")
    } else if map.exclusive_hash().is_some() && has_late_parts() {
        Some("it is exclusive to a program by hash, and the kernel relocates programs during the load")
    } else {
        None
    }
}
