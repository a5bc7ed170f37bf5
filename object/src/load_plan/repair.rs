//! Repairs: parts of a load that the plan changes because the kernel would refuse them.

use super::{maps::MapPlan, programs::ProgramPlan};
use crate::elf::text;
use core::fmt;
use core_relo::Text;

/// The bytes of a name that the kernel gets (`BPF_OBJ_NAME_LEN` without the final NUL byte).
const OBJECT_NAME_BYTES: usize = 15;

/// The repairs that a plan lists. Ours: a hostile BTF may need millions.
const LISTED_REPAIRS: usize = 1024;

/// A part of the load that the plan changes because the kernel would refuse it. libbpf sends it as it is.
///
/// `Display` is one line: the part, the problem, and what the kernel gets instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The kind of the repair.
    pub kind: RepairKind,
    /// The part of the load: ``BTF type [7] STRUCT `Option<u32>` ``.
    pub place: Text,
    /// The reason why the kernel would refuse the part.
    pub problem: Text,
    /// What the kernel gets instead.
    pub replacement: Text,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: sent as {}", self.place, self.problem, self.replacement)
    }
}

/// The kind of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RepairKind {
    /// The name of a map or program in the kernel.
    ObjectName,
    /// A name in the BTF.
    BtfName,
    /// The type of a variable, member, parameter or element in the BTF.
    BtfType,
    /// The order of the members of a struct in the BTF.
    BtfOrder,
    /// The `func_info` records of a program.
    FuncInfo,
    /// The `line_info` records of a program.
    LineInfo,
}

impl RepairKind {
    /// Returns a short name, such as `btf_name`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ObjectName => "object_name",
            Self::BtfName => "btf_name",
            Self::BtfType => "btf_type",
            Self::BtfOrder => "btf_order",
            Self::FuncInfo => "func_info",
            Self::LineInfo => "line_info",
        }
    }
}

/// The repairs of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs {
    /// The first repairs.
    pub(super) listed: Vec<Repair>,
    /// The number of all repairs.
    pub(super) count: usize,
}

impl Repairs {
    /// Adds a repair. `repair` is called only if the list has room.
    #[expect(clippy::arithmetic_side_effects, reason = "a plan has fewer repairs than words")]
    pub(super) fn add(&mut self, repair: impl FnOnce() -> Repair) {
        if self.listed.len() < LISTED_REPAIRS {
            self.listed.push(repair());
        }
        self.count += 1;
    }
}

/// Replaces the names of maps and programs that the kernel would refuse (kernel: `bpf_obj_name_cpy`). libbpf does so for data maps only.
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
