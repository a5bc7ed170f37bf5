//! Repairs: parts of a load that the plan changes because the kernel would refuse them.

use core::fmt;
use core_relo::Text;

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
