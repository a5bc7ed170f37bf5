//! Creates, fills and freezes maps.

use super::{
    Generator, LoaderProgramError,
    code::{CONTEXT, Condition, R0, R1, R2, R3, RESULT, Size, helper},
    data::Attributes,
};
use crate::{
    internal::Invariant as _,
    load_plan::{MapPlan, MapRole, SlotPlan},
    loader_program::{
        context::{FLAGS, initial_value_offset, max_entries_offset},
        step::StepKind,
    },
};
use core_relo::TypeId;

/// `BPF_MAP_CREATE`.
const CREATE: i32 = 0;
/// `BPF_MAP_UPDATE_ELEM`.
const UPDATE: i32 = 2;
/// `BPF_MAP_FREEZE`.
const FREEZE: i32 = 22;
/// The flag of the context for kernel addresses (`BPF_SKEL_KERNEL`).
const KERNEL_ADDRESSES: i32 = 1;
/// Bytes of an element of a jump table.
const JUMP_TARGET_BYTES: usize = 16;

/// Fields of the attributes of `BPF_MAP_CREATE`.
mod create {
    pub(super) const BYTES: usize = 96;
    pub(super) const MAP_TYPE: usize = 0;
    pub(super) const KEY_SIZE: usize = 4;
    pub(super) const VALUE_SIZE: usize = 8;
    pub(super) const ENTRIES: usize = 12;
    pub(super) const MAP_FLAGS: usize = 16;
    pub(super) const INNER_MAP_FD: usize = 20;
    pub(super) const NUMA_NODE: usize = 24;
    pub(super) const NAME: usize = 28;
    pub(super) const IFINDEX: usize = 44;
    pub(super) const BTF_FD: usize = 48;
    pub(super) const KEY_TYPE: usize = 52;
    pub(super) const VALUE_TYPE: usize = 56;
    pub(super) const MAP_EXTRA: usize = 64;
    pub(super) const EXCLUSIVE_HASH: usize = 80;
    pub(super) const EXCLUSIVE_HASH_BYTES: usize = 88;
}

/// Fields of the attributes of `BPF_MAP_UPDATE_ELEM` and `BPF_MAP_FREEZE`.
mod element {
    pub(super) const BYTES: usize = 32;
    pub(super) const KEY: usize = 8;
    pub(super) const VALUE: usize = 16;
    pub(super) const FREEZE_BYTES: usize = 4;
}

impl Generator<'_> {
    /// Creates, fills and freezes a map.
    pub(super) fn load_map(&mut self, slot: usize, map: &MapPlan) -> Result<(), LoaderProgramError> {
        let name = self.data.add_text(map.name().as_bytes())?;
        if let Some(inner) = map.inner() {
            self.code.mark(StepKind::CreateInnerMap, slot, name)?;
            self.create_map(None, inner, false)?;
            self.code.store(Size::Word, self.tables.inner_map_fd()?, RESULT);
        }
        self.code.mark(StepKind::CreateMap, slot, name)?;
        self.create_map(Some(slot), map, map.inner().is_some())?;
        self.code.store(Size::Word, self.tables.map_fd(slot)?, RESULT);
        if map.inner().is_some() {
            self.code.load(Size::Word, R1, self.tables.inner_map_fd()?);
            self.code.call(helper::SYS_CLOSE);
            self.code.store_constant(Size::Word, self.tables.inner_map_fd()?, 0);
        }
        self.fill_map(slot, map, name)?;
        if map.role().is_frozen() {
            self.code.mark(StepKind::FreezeMap, slot, name)?;
            let attributes = self.data.add(Attributes::<{ element::FREEZE_BYTES }>::new().bytes())?;
            self.code.load(Size::Word, R0, self.tables.map_fd(slot)?);
            self.code.store(Size::Word, attributes, R0);
            self.code.request(FREEZE, attributes, element::FREEZE_BYTES)?;
            self.code.check_result()?;
        }
        Ok(())
    }

    /// Creates a map. If the kernel refuses the map with its BTF types, creates the map without types, as a
    /// load without loader program does. `slot` is `None` for an inner map.
    fn create_map(
        &mut self,
        slot: Option<usize>,
        map: &MapPlan,
        has_inner: bool,
    ) -> Result<(), LoaderProgramError> {
        let has_btf = self.plan.btf().is_some() && map.uses_btf();
        let has_types = has_btf && (map.key_type() != TypeId::VOID || map.value_type() != TypeId::VOID);
        let mut attributes = Attributes::<{ create::BYTES }>::new()
            .set(create::MAP_TYPE, map.map_type())
            .set(create::KEY_SIZE, map.key_size())
            .set(create::VALUE_SIZE, map.value_size())
            .set(create::ENTRIES, map.max_entries())
            .set(create::MAP_FLAGS, map.map_flags())
            .set(create::NUMA_NODE, map.numa_node())
            .set_name(create::NAME, map.kernel_name())
            .set(create::IFINDEX, map.ifindex())
            .set_long(create::MAP_EXTRA, map.map_extra());
        if has_types {
            attributes = attributes
                .set(create::KEY_TYPE, map.key_type().0)
                .set(create::VALUE_TYPE, map.value_type().0);
        }
        if map.exclusive_hash().is_some() {
            attributes = attributes.set(create::EXCLUSIVE_HASH_BYTES, 32);
        }
        let attributes = self.data.add(attributes.bytes())?;
        let field = |offset| super::field(attributes, offset);
        if let Some(hash) = map.exclusive_hash() {
            let hash = self.data.add(hash)?;
            self.code.store_address(field(create::EXCLUSIVE_HASH)?, hash);
        }
        if has_types {
            self.code.load(Size::Word, R0, self.tables.btf_fd()?);
            self.code.store(Size::Word, field(create::BTF_FD)?, R0);
        }
        if has_inner {
            self.code.load(Size::Word, R0, self.tables.inner_map_fd()?);
            self.code.store(Size::Word, field(create::INNER_MAP_FD)?, R0);
        }
        if let Some(slot) = slot.filter(|_| map.has_entry_per_cpu() || !self.checks_data) {
            let offset = super::context_offset(max_entries_offset(slot))?;
            self.code.load_from(Size::Word, R0, CONTEXT, offset);
            let planned = self.code.jump(Condition::Equal, R0, 0);
            self.code.store(Size::Word, field(create::ENTRIES)?, R0);
            self.code.land(planned)?;
        }
        self.code.request(CREATE, attributes, create::BYTES)?;
        if has_types {
            let created = self.code.jump(Condition::NonNegative, RESULT, 0);
            for offset in [create::BTF_FD, create::KEY_TYPE, create::VALUE_TYPE] {
                self.code.store_constant(Size::Word, field(offset)?, 0);
            }
            self.code.request(CREATE, attributes, create::BYTES)?;
            self.code.land(created)?;
        }
        self.code.check_result()?;
        Ok(())
    }

    /// Writes the initial contents of a map.
    fn fill_map(&mut self, slot: usize, map: &MapPlan, name: u32) -> Result<(), LoaderProgramError> {
        if map.data().is_empty() {
            return Ok(());
        }
        match map.role() {
            role if role.is_data() => {
                let value = self.data.add(map.data())?;
                self.code.mark(StepKind::FillMap, slot, name)?;
                if !self.checks_data {
                    self.take_initial_value(slot, value, map.data().len())?;
                }
                self.update_element(slot, self.tables.zero(), value)
            }
            MapRole::JumpTable => {
                self.code.mark(StepKind::FillMap, slot, name)?;
                for (key, target) in (0_u32..).zip(map.data().chunks_exact(JUMP_TARGET_BYTES)) {
                    let key = self.data.add(&core_relo::Endian::native().u32_bytes(key))?;
                    let value = self.data.add(target)?;
                    self.update_element(slot, key, value)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Replaces the initial value by the caller's, if the context has one.
    fn take_initial_value(
        &mut self,
        slot: usize,
        value: u32,
        bytes: usize,
    ) -> Result<(), LoaderProgramError> {
        let bytes = i32::try_from(bytes).invariant("a map's value is less than 2 GiB")?;
        let offset = super::context_offset(initial_value_offset(slot))?;
        self.code.load_from(Size::Long, R3, CONTEXT, offset);
        let planned = self.code.jump(Condition::Equal, R3, 0);
        self.code.set_address(R1, value);
        self.code.set(R2, bytes);
        self.code.load_from(Size::Word, R0, CONTEXT, FLAGS);
        let from_kernel = self.code.jump(Condition::HasBits, R0, KERNEL_ADDRESSES);
        self.code.call(helper::COPY_FROM_USER);
        let copied = self.code.jump(Condition::Always, R0, 0);
        self.code.land(from_kernel)?;
        self.code.call(helper::PROBE_READ_KERNEL);
        self.code.land(copied)?;
        self.code.copy(RESULT, R0);
        self.code.check_result()?;
        self.code.land(planned)?;
        Ok(())
    }

    /// Writes an element. Key and value are in the data.
    fn update_element(&mut self, slot: usize, key: u32, value: u32) -> Result<(), LoaderProgramError> {
        let attributes = self.data.add(Attributes::<{ element::BYTES }>::new().bytes())?;
        self.code.load(Size::Word, R0, self.tables.map_fd(slot)?);
        self.code.store(Size::Word, attributes, R0);
        self.code.store_address(super::field(attributes, element::KEY)?, key);
        self.code.store_address(super::field(attributes, element::VALUE)?, value);
        self.code.request(UPDATE, attributes, element::BYTES)?;
        self.code.check_result()?;
        Ok(())
    }

    /// Writes the maps that maps of maps hold, or the programs that arrays of programs hold.
    pub(super) fn fill_slots(
        &mut self,
        is_wanted: impl Fn(SlotPlan) -> bool,
    ) -> Result<(), LoaderProgramError> {
        let plan = self.plan;
        for (slot, map) in self.created_maps.clone().into_iter().enumerate() {
            let map = plan.map(map)?;
            // As in a load, an element whose program is not loaded stays empty.
            let is_loaded = |target: &SlotPlan| match target {
                SlotPlan::Program(function) => plan.program(*function).is_some(),
                SlotPlan::Map(_) => true,
            };
            let wanted = map.slots().iter().filter(|(_, target)| is_wanted(**target) && is_loaded(target));
            let wanted: Vec<_> = wanted.map(|(key, target)| (*key, *target)).collect();
            if wanted.is_empty() {
                continue;
            }
            let name = self.data.add_text(map.name().as_bytes())?;
            self.code.mark(StepKind::FillMap, slot, name)?;
            for (key, target) in wanted {
                let key = self.data.add(&core_relo::Endian::native().u32_bytes(key))?;
                let fd = self.slot_fd(map, target)?;
                self.update_element(slot, key, fd)?;
            }
        }
        Ok(())
    }

    /// Returns the offset of the descriptor that a slot holds.
    fn slot_fd(&self, map: &MapPlan, target: SlotPlan) -> Result<u32, LoaderProgramError> {
        let missing =
            |reason| LoaderProgramError::Unsupported { part: format!("map `{}`", map.name()).into(), reason };
        match target {
            SlotPlan::Map(index) => {
                let slot =
                    self.map_slot(index).ok_or_else(|| missing("it holds a map that is not created"))?;
                Ok(self.tables.map_fd(slot)?)
            }
            SlotPlan::Program(function) => {
                let program = self.plan.programs().iter().position(|program| program.function() == function);
                let program = program.ok_or_else(|| missing("it holds a program that is not loaded"))?;
                Ok(self.tables.program_fd(program)?)
            }
        }
    }
}
