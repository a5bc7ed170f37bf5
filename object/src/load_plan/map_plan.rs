//! The plan of a map: its attributes in the kernel and its initial contents.

use crate::{
    index::{MapIndex, ModuleIndex, ProgramIndex},
    object::MapType,
};
use alloc::{collections::BTreeMap, sync::Arc};
use core_relo::TypeId;
use std::{os::fd::OwnedFd, path::PathBuf};

/// `BPF_F_MMAPABLE`.
pub(super) const MMAPABLE: u32 = 1 << 10;
/// `BPF_F_SEGV_ON_FAULT`.
pub const SEGV_ON_FAULT: u32 = 1 << 17;

/// The plan of a map, which is created or reused.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MapPlan {
    /// The name of the map. The name of a data map is its section's name.
    pub name: String,
    /// The name in the kernel, which keeps the first 15 bytes.
    pub kernel_name: Vec<u8>,
    /// The role of the map.
    pub role: MapRole,
    /// The kernel's number of the map type.
    pub map_type: u32,
    /// The size of a key in bytes.
    pub key_size: u32,
    /// The size of a value in bytes.
    pub value_size: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub map_flags: u32,
    /// The extra value of the map's type (`map_extra`).
    pub map_extra: u64,
    /// The NUMA node of the map's memory.
    pub numa_node: u32,
    /// The network device that the map is offloaded to, 0 for none.
    pub ifindex: u32,
    /// The type of a key in the object's BTF, `void` for none.
    pub key_type: TypeId,
    /// The type of a value in the object's BTF, `void` for none.
    pub value_type: TypeId,
    /// Whether the map is created with the object's BTF, in which the kernel finds the locks, timers and other special fields of
    /// the map's values.
    pub uses_btf: bool,
    /// Whether the map is created. References to a map that is not created are poisoned.
    pub autocreate: bool,
    /// Whether attaching all programs also registers the map, for struct_ops maps.
    pub autoattach: bool,
    /// The path of the pin. A map that is already pinned there is reused.
    pub pin: Option<PathBuf>,
    /// A map to reuse instead of creating a new map.
    pub reuse: Option<Arc<OwnedFd>>,
    /// The inner map of a map of maps: the plan of a template of the maps that it will hold.
    pub inner: Option<Box<Self>>,
    /// The inner map of a map of maps, if the caller has created the template.
    pub inner_fd: Option<Arc<OwnedFd>>,
    /// The initial contents: the single value of a data map, or the variables of the arena. Empty if all bytes are zero.
    pub data: Vec<u8>,
    /// The offset of `data` in the arena, in bytes.
    pub data_offset: u64,
    /// The maps or programs that the map initially holds, by key.
    pub slots: BTreeMap<u32, SlotPlan>,
    /// The type of a struct_ops map's value in the kernel's BTF.
    pub kernel_value_type: TypeId,
    /// The module whose BTF has `kernel_value_type`. `None` for the kernel itself.
    pub kernel_value_module: Option<ModuleIndex>,
    /// The programs in a struct_ops map's value.
    pub programs: Vec<ProgramSlot>,
}

/// A member of a struct_ops map's value that holds the descriptor of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramSlot {
    /// The member's offset in the value, in bytes.
    pub offset: usize,
    /// The program.
    pub program: ProgramIndex,
}

/// The role of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapRole {
    /// A map that the object defines.
    #[default]
    Defined,
    /// Initialized variables.
    Data,
    /// Constants. The map is frozen.
    Rodata,
    /// Variables that are initially zero.
    Bss,
    /// Values of the kernel's configuration. The map is frozen.
    Kconfig,
    /// A struct_ops map: programs that a kernel subsystem calls.
    StructOps,
    /// The targets of indirect jumps. The map is frozen.
    JumpTable,
}

impl MapRole {
    /// Returns whether the map is a data map, created from a section of variables (libbpf: `bpf_map__is_internal`).
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Rodata | Self::Bss | Self::Kconfig)
    }

    /// Returns whether the map is frozen: user space cannot write to it after the load.
    pub const fn is_frozen(self) -> bool {
        matches!(self, Self::Rodata | Self::Kconfig | Self::JumpTable)
    }
}

/// The initial contents of a map's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotPlan {
    /// A map of the plan.
    Map(MapIndex),
    /// A program.
    Program(ProgramIndex),
}

impl MapPlan {
    /// Returns the map type. Returns `None` for an unknown number.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.map_type)
    }

    /// Returns whether user space can map the values into memory.
    pub const fn is_mmapable(&self) -> bool {
        self.map_flags & MMAPABLE != 0 || matches!(self.known_type(), Some(MapType::Arena))
    }
}
