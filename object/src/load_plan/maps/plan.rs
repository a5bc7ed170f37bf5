//! The plan of a map: its attributes in the kernel and its initial contents.

use super::super::{kernel_handle::KernelHandle, program_slot::ProgramSlot};
use crate::{
    index::{MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    map_flags,
    map_limits::{ExceededLimit, find_map_limits},
    map_rules::{MapDefError, MapRule, find_map_errors},
    object::{MapDef, MapType},
};
use alloc::collections::BTreeMap;
use core::ffi::c_int;
use core_relo::{Endian, TypeId};
use std::path::{Path, PathBuf};

/// The plan of a map, which is created or reused.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a map")]
pub struct MapPlan {
    pub(super) name: String,
    pub(in crate::load_plan) kernel_name: Vec<u8>,
    pub(super) role: MapRole,
    pub(super) attributes: MapAttributes,
    pub(super) numa_node: u32,
    pub(super) ifindex: u32,
    pub(super) key_type: TypeId,
    pub(super) value_type: TypeId,
    pub(super) uses_btf: bool,
    pub(crate) entry_per_cpu: bool,
    pub(super) autocreate: bool,
    pub(super) autoattach: bool,
    /// The name of the only program that may use the map.
    pub(in crate::load_plan) exclusive_to: Option<String>,
    pub(in crate::load_plan) exclusive_hash: Option<[u8; 32]>,
    pub(super) pin: Option<PathBuf>,
    pub(super) reuse: Option<KernelHandle>,
    pub(in crate::load_plan) inner: Option<Box<Self>>,
    pub(super) callers_inner: Option<KernelHandle>,
    pub(super) data: Vec<u8>,
    pub(super) data_offset: u64,
    pub(super) slots: BTreeMap<u32, SlotPlan>,
    pub(super) kernel_value_type: TypeId,
    pub(super) kernel_value_module: Option<ModuleIndex>,
    pub(super) programs: Vec<ProgramSlot>,
}

/// The attributes that two maps have in common if one can replace the other (libbpf: `map_is_reuse_compat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the fields of `struct bpf_map_info` that libbpf compares")]
pub struct MapAttributes {
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
}

impl MapPlan {
    /// Plans the map of a jump table. `data` has 16 bytes for each target.
    pub(in crate::load_plan) fn for_jump_table(targets: u32, data: Vec<u8>) -> Self {
        Self {
            name: String::from(".jumptables"),
            kernel_name: b".jumptables".to_vec(),
            role: MapRole::JumpTable,
            attributes: MapAttributes {
                map_type: MapType::InsnArray.number(),
                key_size: 4,
                value_size: 16,
                max_entries: targets,
                ..MapAttributes::default()
            },
            autocreate: true,
            data,
            ..Self::default()
        }
    }

    /// Creates the plan of a map that exists.
    #[cfg(feature = "loader-program")]
    pub(crate) fn for_existing_map(name: &str, role: MapRole, attributes: MapAttributes) -> Self {
        Self {
            name: name.to_owned(),
            kernel_name: name.as_bytes().to_vec(),
            role,
            attributes,
            autocreate: true,
            ..Self::default()
        }
    }

    /// Returns the first rule of all kernels that the map breaks, if a rule explains that the kernel refuses
    /// the map.
    pub fn broken_rule(&self) -> Option<MapDefError> {
        let mut errors = find_map_errors(&self.definition()).into_iter();
        // The definition of a plan does not show whether the map is one of a section `.struct_ops`.
        errors.find(|error| !matches!(error.rule, MapRule::FlagUnknown(_) | MapRule::NotStructOps))
    }

    /// Returns the first flag of the map that no known kernel has. A newer kernel may have it.
    pub fn unknown_flag(&self) -> Option<MapDefError> {
        let mut errors = find_map_errors(&self.definition()).into_iter();
        errors.find(|error| matches!(error.rule, MapRule::FlagUnknown(_)))
    }

    /// Returns the limits of some kernels and machines that the map exceeds.
    pub fn exceeded_limits(&self) -> Vec<ExceededLimit> {
        find_map_limits(&self.definition())
    }

    /// Returns the definition of the map with these attributes.
    fn definition(&self) -> MapDef {
        let MapAttributes { map_type, key_size, value_size, max_entries, map_flags, map_extra } =
            self.attributes;
        let ty = |ty: TypeId| (ty != TypeId::VOID).then_some(ty);
        let (key_type, value_type) = (ty(self.key_type), ty(self.value_type));
        MapDef {
            map_type,
            key_size,
            value_size,
            key_type,
            value_type,
            max_entries,
            map_flags,
            map_extra,
            numa_node: Some(self.numa_node),
            ..MapDef::default()
        }
    }

    /// Replaces the attributes by those of an existing map that is reused.
    pub const fn set_attributes(&mut self, attributes: MapAttributes) {
        self.attributes = attributes;
    }

    /// Writes the descriptor of a loaded program to a member of a struct_ops map's value.
    ///
    /// The kernel reads the descriptor from the first bytes of the member, which is a function pointer.
    pub fn set_program_fd(&mut self, slot: ProgramSlot, fd: c_int) -> Result<(), InternalError> {
        let member = self.data.get_mut(slot.offset()..).and_then(|rest| rest.first_chunk_mut());
        let member = member.invariant("each program of a struct_ops map is a member of its value")?;
        *member = Endian::native().u64_bytes(u64::from(fd.cast_unsigned()));
        Ok(())
    }
}

/// The attributes in the kernel.
impl MapPlan {
    /// Returns the name of the map. The name of a data map is its section's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name in the kernel, which keeps the first 15 bytes.
    pub fn kernel_name(&self) -> &[u8] {
        &self.kernel_name
    }

    /// Returns the role of the map.
    pub const fn role(&self) -> MapRole {
        self.role
    }

    /// Returns the attributes that a map has in common with the maps that can replace it.
    pub const fn attributes(&self) -> MapAttributes {
        self.attributes
    }

    /// Returns the kernel's number of the map type.
    pub const fn map_type(&self) -> u32 {
        self.attributes.map_type
    }

    /// Returns the map type. Returns `None` for an unknown number.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.attributes.map_type)
    }

    /// Returns the size of a key in bytes.
    pub const fn key_size(&self) -> u32 {
        self.attributes.key_size
    }

    /// Returns the size of a value in bytes.
    pub const fn value_size(&self) -> u32 {
        self.attributes.value_size
    }

    /// Returns the maximum number of entries.
    pub const fn max_entries(&self) -> u32 {
        self.attributes.max_entries
    }

    /// Returns whether [`max_entries`](Self::max_entries) is the number of the machine's possible CPUs.
    pub const fn has_entry_per_cpu(&self) -> bool {
        self.entry_per_cpu
    }

    /// Returns the `BPF_F_*` flags.
    pub const fn map_flags(&self) -> u32 {
        self.attributes.map_flags
    }

    /// Returns whether user space can map the values into memory.
    pub const fn is_mmapable(&self) -> bool {
        self.attributes.map_flags & map_flags::MMAPABLE != 0
            || matches!(self.known_type(), Some(MapType::Arena))
    }

    /// Returns the extra value of the map's type (`map_extra`).
    pub const fn map_extra(&self) -> u64 {
        self.attributes.map_extra
    }

    /// Returns the NUMA node of the map's memory.
    pub const fn numa_node(&self) -> u32 {
        self.numa_node
    }

    /// Returns the network device that the map is offloaded to, 0 for none.
    pub const fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// Returns the type of a key in the object's BTF, `void` for none.
    pub const fn key_type(&self) -> TypeId {
        self.key_type
    }

    /// Returns the type of a value in the object's BTF, `void` for none.
    pub const fn value_type(&self) -> TypeId {
        self.value_type
    }

    /// Returns whether the map is created with the object's BTF, in which the kernel finds the locks, timers
    /// and other special fields of the map's values.
    pub const fn uses_btf(&self) -> bool {
        self.uses_btf
    }

    /// Returns the type of a struct_ops map's value in the kernel's BTF.
    pub const fn kernel_value_type(&self) -> TypeId {
        self.kernel_value_type
    }

    /// Returns the module whose BTF has [`kernel_value_type`](Self::kernel_value_type). Returns `None` for
    /// the kernel itself.
    pub const fn kernel_value_module(&self) -> Option<ModuleIndex> {
        self.kernel_value_module
    }
}

/// Creation and initial contents.
impl MapPlan {
    /// Returns whether the map is created. References to a map that is not created are poisoned.
    pub const fn autocreate(&self) -> bool {
        self.autocreate
    }

    /// Returns whether attaching all programs also registers the map, for struct_ops maps.
    pub const fn autoattach(&self) -> bool {
        self.autoattach
    }

    /// Returns the hash of the only program that may use the map. `None` if all programs may use the map.
    pub fn exclusive_hash(&self) -> Option<&[u8; 32]> {
        self.exclusive_hash.as_ref()
    }

    /// Returns the path of the pin. A map that is already pinned there is reused.
    pub fn pin(&self) -> Option<&Path> {
        self.pin.as_deref()
    }

    /// Returns the map of the caller that is reused instead of creating a new map.
    pub const fn reuse(&self) -> Option<&KernelHandle> {
        self.reuse.as_ref()
    }

    /// Returns the inner map of a map of maps: the plan of a template of the maps that it will hold.
    pub fn inner(&self) -> Option<&Self> {
        self.inner.as_deref()
    }

    /// Returns the inner map of a map of maps, if the caller has created the template.
    pub const fn callers_inner(&self) -> Option<&KernelHandle> {
        self.callers_inner.as_ref()
    }

    /// Returns the initial contents: the single value of a data map, or the variables of the arena. Empty if
    /// all bytes are zero.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns the offset of [`data`](Self::data) in the arena, in bytes.
    pub const fn data_offset(&self) -> u64 {
        self.data_offset
    }

    /// Returns the maps or programs that the map initially holds, by key.
    pub const fn slots(&self) -> &BTreeMap<u32, SlotPlan> {
        &self.slots
    }

    /// Returns the programs in a struct_ops map's value.
    pub fn programs(&self) -> &[ProgramSlot] {
        &self.programs
    }
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
    /// Returns whether the map is a data map, created from a section of variables (libbpf:
    /// `bpf_map__is_internal`).
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
