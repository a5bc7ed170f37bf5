//! The plan of a map: what the kernel is asked for, and what the map holds at first.

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

/// The plan of a map: created, or reused.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MapPlan {
    /// Its name: of a data map its section's.
    pub name: String,
    /// The name the kernel is given, of which it keeps 15 bytes.
    pub kernel_name: Vec<u8>,
    /// The role of the map.
    pub role: MapRole,
    /// The kernel's number of its type.
    pub map_type: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub map_flags: u32,
    /// The extra value of the map's type (`map_extra`).
    pub map_extra: u64,
    /// The memory node it is put on.
    pub numa_node: u32,
    /// The network device it belongs to, 0 for none.
    pub ifindex: u32,
    /// Type of a key in the object's BTF; `void` for none.
    pub key_type: TypeId,
    /// Type of a value in the object's BTF; `void` for none.
    pub value_type: TypeId,
    /// Whether it is created with the object's BTF, from which the kernel finds locks, timers and the like in its values.
    pub uses_btf: bool,
    /// Whether it is created; references to one that is not are poisoned.
    pub autocreate: bool,
    /// Whether, of a struct_ops map, it is registered when all programs are attached.
    pub autoattach: bool,
    /// The path of the pin. A map that is pinned there already is reused.
    pub pin: Option<PathBuf>,
    /// A map to use instead.
    pub reuse: Option<Arc<OwnedFd>>,
    /// For a map of maps: what it will hold.
    pub inner: Option<Box<Self>>,
    /// For a map of maps: a map like those it will hold.
    pub inner_fd: Option<Arc<OwnedFd>>,
    /// The initial contents: the one value of a data map, the variables of the arena. Empty if all bytes are zero.
    pub data: Vec<u8>,
    /// The offset of `data` in the arena, in bytes.
    pub data_offset: u64,
    /// Maps or programs it holds at first, by key.
    pub slots: BTreeMap<u32, SlotPlan>,
    /// Type of a struct_ops map's value in the kernel's BTF.
    pub kernel_value_type: TypeId,
    /// The module whose BTF has that type; none for the kernel itself.
    pub kernel_value_module: Option<ModuleIndex>,
    /// The programs in a struct_ops map's value.
    pub programs: Vec<ProgramSlot>,
}

/// A member of a struct_ops map's value that takes the descriptor of a program.
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
    /// Variables.
    Data,
    /// Constants: frozen.
    Rodata,
    /// Variables that begin as zero.
    Bss,
    /// The kernel's configuration: frozen.
    Kconfig,
    /// Programs that a kernel subsystem calls.
    StructOps,
    /// Targets of jumps: frozen.
    JumpTable,
}

impl MapRole {
    /// Whether it is made of a section of variables (libbpf: `bpf_map__is_internal`).
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Rodata | Self::Bss | Self::Kconfig)
    }

    /// Whether user space may not write it once it is filled.
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
    /// Its type, if the number is a known one.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.map_type)
    }

    /// Whether user space can map its values into memory.
    pub const fn is_mmapable(&self) -> bool {
        self.map_flags & MMAPABLE != 0 || matches!(self.known_type(), Some(MapType::Arena))
    }
}
