//! The values in registers and on the stack at an instruction.

use super::model::ContextWord;
use core_relo::insn::{FRAME_POINTER, Insn};
use core_relo_object::{ExternIndex, MapIndex};

/// The stack slots that are known at once.
const STACK_SLOTS: usize = 32;

/// A value, as far as reads depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    #[default]
    Unknown,
    Constant(i32),
    /// A constant between these.
    ConstantRange(i32, i32),
    /// An address in the context, from its start.
    Context(i32),
    /// On some path, an address in the context, from its start.
    MaybeContext(i32),
    /// On some path, an address in the context at an offset that the trace does not know.
    VariableContext,
    /// A word of the context.
    ContextWord(ContextWord),
    /// The offset of a field, from a CO-RE record.
    FieldOffset(usize),
    /// The address of a field.
    FieldAddress(usize),
    /// The value of a field.
    Field(usize),
    /// The address of a configuration value, by the index of its extern.
    KconfigAddress(ExternIndex),
    /// A configuration value.
    Kconfig(ExternIndex),
    /// An address on the stack, from the frame pointer.
    Stack(i32),
    /// A map.
    Map(MapIndex),
    /// An address in a map's value, or null.
    Element(MapIndex),
}

/// A slot on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackSlot {
    offset: i32,
    bytes: u32,
    value: Value,
}

/// The known values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    registers: [Value; 11],
    stack: Vec<StackSlot>,
}

impl Value {
    /// Returns the offset of an address in the context, on some path.
    pub(super) const fn context_offset(self) -> Option<i32> {
        match self {
            Self::Context(offset) | Self::MaybeContext(offset) => Some(offset),
            _ => None,
        }
    }

    /// Returns whether the value is an address in the context, on some path.
    pub(super) const fn is_context(self) -> bool {
        matches!(self, Self::Context(_) | Self::MaybeContext(_) | Self::VariableContext)
    }

    /// Returns whether the value is an address, on some path.
    pub(super) const fn is_address(self) -> bool {
        self.is_context() || matches!(self, Self::Stack(_) | Self::Map(_) | Self::Element(_))
    }

    /// Returns what is known on one of several paths.
    pub(super) fn on_some_path(self) -> Self {
        match self {
            Self::VariableContext => self,
            _ => self.context_offset().map_or(Self::Unknown, Self::MaybeContext),
        }
    }

    /// Returns a value that a call passes to a function: an address in the context, a map, or an address in a
    /// map's value.
    pub(super) fn as_argument(self) -> Self {
        match self {
            Self::Map(_) | Self::Element(_) => self,
            _ => self.on_some_path(),
        }
    }

    /// Returns the smallest and the largest constant that the value may be.
    pub(super) const fn constants(self) -> Option<(i32, i32)> {
        match self {
            Self::Constant(constant) => Some((constant, constant)),
            Self::ConstantRange(min, max) => Some((min, max)),
            _ => None,
        }
    }

    /// Returns a value that stands for both values.
    pub(super) fn join(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        if let (Some((min, max)), Some((other_min, other_max))) = (self.constants(), other.constants()) {
            return Self::ConstantRange(min.min(other_min), max.max(other_max));
        }
        match (self.on_some_path(), other.on_some_path()) {
            (Self::Unknown, other) => other,
            (value, _) => value,
        }
    }
}

impl State {
    /// The state at a join of paths that are not known: only the frame pointer has a value.
    pub(super) fn unknown() -> Self {
        let mut state = Self { registers: [Value::Unknown; 11], stack: Vec::new() };
        state.set(FRAME_POINTER, Value::Stack(0));
        state
    }

    /// Returns the value of a register. Instructions may name registers that do not exist.
    pub(super) fn get(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or(Value::Unknown)
    }

    pub(super) fn set(&mut self, register: u8, value: Value) {
        if let Some(place) = self.registers.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    /// Returns the map of which a comparison asks whether an address in its values is null.
    pub(super) fn null_check(&self, comparison: Insn) -> Option<MapIndex> {
        match self.get(comparison.dst) {
            Value::Element(map) if !comparison.source_is_register() && comparison.imm == 0 => Some(map),
            _ => None,
        }
    }

    /// Forgets addresses in values of a map, on the path where one of them is null. Helpers take null for an
    /// argument that is left out.
    pub(super) fn forget_elements(&mut self, map: MapIndex) {
        for value in self.registers.iter_mut().filter(|value| **value == Value::Element(map)) {
            *value = Value::Unknown;
        }
    }

    /// Returns the value that a store of this width wrote to the stack.
    pub(super) fn load(&self, offset: i32, bytes: u32) -> Value {
        let slot = self.stack.iter().find(|slot| (slot.offset, slot.bytes) == (offset, bytes));
        slot.map_or(Value::Unknown, |slot| slot.value)
    }

    pub(super) fn store(&mut self, offset: i32, bytes: u32, value: Value) {
        let end = offset.saturating_add_unsigned(bytes);
        self.stack
            .retain(|slot| slot.offset.saturating_add_unsigned(slot.bytes) <= offset || slot.offset >= end);
        if value != Value::Unknown && self.stack.len() < STACK_SLOTS {
            self.stack.push(StackSlot { offset, bytes, value });
        }
    }

    /// Forgets what a call may change: the registers of arguments and of the result, and the stack that an
    /// argument points to, also by addresses that are stored there.
    pub(super) fn call(&mut self) {
        for register in 0..=5 {
            if let Value::Stack(offset) = self.get(register) {
                self.forget_stack_from(offset);
            }
            self.set(register, Value::Unknown);
        }
    }

    fn forget_stack_from(&mut self, offset: i32) {
        let mut start = Some(offset);
        while let Some(offset) = start {
            let is_before = |slot: &StackSlot| slot.offset.saturating_add_unsigned(slot.bytes) <= offset;
            let stored =
                self.stack.iter().filter(|slot| !is_before(slot)).filter_map(|slot| match slot.value {
                    Value::Stack(address) => Some(address),
                    _ => None,
                });
            start = stored.min().filter(|address| *address < offset);
            self.stack.retain(is_before);
        }
    }

    /// Returns whether a function that the program calls may get an address in the context, and store it on
    /// the stack of its caller.
    pub(super) fn passes_context(&self) -> bool {
        let slots = self.stack.iter().map(|slot| slot.value);
        self.arguments().into_iter().chain(slots).any(Value::is_context)
    }

    /// Forgets slots that an address may have overwritten, after a store through another address that is not
    /// known.
    pub(super) fn weaken_stack(&mut self) {
        for slot in &mut self.stack {
            slot.value = slot.value.on_some_path();
        }
        self.stack.retain(|slot| slot.value != Value::Unknown);
    }

    /// Forgets what differs in another state, except for addresses in the context.
    pub(super) fn join(&mut self, other: &Self) {
        for (value, other) in self.registers.iter_mut().zip(&other.registers) {
            *value = value.join(*other);
        }
        for slot in &mut self.stack {
            slot.value = slot.value.join(other.load(slot.offset, slot.bytes));
        }
        self.stack.retain(|slot| slot.value != Value::Unknown);
    }

    /// Forgets all but the frame pointer and the addresses in the context, where paths meet of which not all
    /// are known.
    pub(super) fn join_unknown(&mut self) {
        for value in &mut self.registers {
            *value = value.on_some_path();
        }
        self.weaken_stack();
        self.set(FRAME_POINTER, Value::Stack(0));
    }

    /// Returns the arguments of a call.
    pub(super) fn arguments(&self) -> [Value; 5] {
        let [_, arguments @ .., _, _, _, _, _] = self.registers;
        arguments
    }
}
