//! Names of maps and programs in the kernel.

use super::{
    maps::MapPlan,
    programs::ProgramPlan,
    repair::{Repair, RepairKind, Repairs},
};
use crate::elf::text;

/// The bytes of a name that the kernel gets (`BPF_OBJ_NAME_LEN` without the final NUL byte).
const OBJECT_NAME_BYTES: usize = 15;

/// Replaces the names of maps and programs that the kernel would refuse (kernel: `bpf_obj_name_cpy`). libbpf
/// does so for data maps only.
pub(super) fn repair_object_names(maps: &mut [MapPlan], programs: &mut [ProgramPlan], repairs: &mut Repairs) {
    for map in maps {
        repair_object_name("map", &mut map.kernel_name, repairs);
        if let Some(inner) = map.inner.as_deref_mut() {
            repair_object_name("map", &mut inner.kernel_name, repairs);
        }
    }
    for program in programs {
        repair_object_name("program", &mut program.kernel_name, repairs);
    }
}

fn repair_object_name(kind: &str, name: &mut Vec<u8>, repairs: &mut Repairs) {
    let Some(new) = accepted_object_name(name) else { return };
    repairs.add(|| Repair {
        kind: RepairKind::ObjectName,
        place: format!("{kind} `{}`", text(name)).into(),
        problem: OBJECT_NAME_PROBLEM.into(),
        replacement: format!("`{}`", text(&new)).into(),
    });
    *name = new;
}

/// The reason why the kernel refuses the name of a map or program.
pub const OBJECT_NAME_PROBLEM: &str =
    "its name has other characters than letters, digits, `_` and `.`, which the kernel refuses";

/// Returns a name of a map or program that the kernel accepts, if it would refuse this one.
pub fn accepted_object_name(name: &[u8]) -> Option<Vec<u8>> {
    let head = name.get(..OBJECT_NAME_BYTES).unwrap_or(name);
    let is_accepted = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if head.iter().all(is_accepted) {
        return None;
    }
    Some(head.iter().map(|byte| if is_accepted(byte) { *byte } else { b'_' }).collect())
}
