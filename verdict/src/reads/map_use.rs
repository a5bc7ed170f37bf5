//! A use of a map by an instruction.

use crate::kernel::FieldFunction;
use core_relo::insn::Helper;
use core_relo_object::MapIndex;

/// A use of a map by an instruction, whichever path leads there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracedMapUse {
    /// The index of the instruction in the linked program.
    pub(crate) insn: u32,
    /// The map.
    pub(crate) map: MapIndex,
    /// What the instruction does with the map.
    pub(crate) access: MapAccess,
}

/// What an instruction does with a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapAccess {
    /// It calls this helper with the map.
    Call(Helper),
    /// It calls this function with the address of a special field in a value of the map.
    CallWithField(FieldFunction),
    /// It passes the address of a value of the map to a global function.
    Pass {
        /// The first instruction of the function.
        function: u32,
        /// The index of the parameter.
        parameter: u32,
    },
    /// It passes the address of a value of the map to a kfunc, which may read and write the value.
    PassToKfunc,
    /// It passes the address of a value of the map to a global function, for the context.
    PassAsContext,
    /// It reads a value of the map.
    Load,
    /// It calls `bpf_get_stack` with a value of the map as the buffer, which not every kernel takes for
    /// memory that it writes to.
    StackBuffer,
    /// It writes to a value of the map, itself or by a helper.
    Store,
}
