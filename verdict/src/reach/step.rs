//! Single instructions without jumps: arithmetic, loads, stores.

use super::alu::{Operation, compute, extend_sign, negate, swap_bytes};
use super::flow::index;
use super::interval::{Interval, U32};
use super::memory::{Stored, extend_loaded_sign, load, store};
use super::possible::Possible;
use super::program::{LoadedValue, Program};
use super::reachability::{ContextOffset, Undecided};
use super::scalar::{NO_ID, Scalar};
use super::state::State;
use super::value::Value;
use core_relo::Endian;
use core_relo::insn::{Class, Insn, alu, atomic, mode, pseudo};

/// Changes a state to that after an instruction that is no jump and no call.
pub(super) fn execute(program: &Program<'_>, state: &mut State, insn: Insn) {
    let pc = state.pc;
    let bytes = u8::try_from(insn.access_bytes()).unwrap_or(8);
    match insn.class() {
        Class::Alu | Class::Alu64 => {
            let value = arithmetic(program.endian, state, insn);
            state.set(insn.dst, value);
        }
        Class::Ld if insn.is_ld_imm64() => {
            let value = load_immediate(program, pc, insn);
            state.set(insn.dst, value);
        }
        Class::Ld => {
            for register in 1..=5 {
                state.set(register, Value::UNKNOWN);
            }
            // The verifier does not know the width.
            let loaded = Scalar::new(Interval::FULL, Possible::Range(Interval::width(4)));
            state.set(0, Value::Scalar(loaded.with_id(pc)));
        }
        Class::Ldx => {
            let loaded = load(program, state, state.register(insn.src), insn.off, bytes);
            let is_signed = insn.mode() == mode::MEMSX;
            let value = if is_signed { extend_loaded_sign(loaded, bytes) } else { loaded };
            state.set(insn.dst, identify(value, pc));
        }
        Class::St => {
            let base = state.register(insn.dst);
            store(state, base, insn.off, bytes, Stored::Immediate(insn.imm));
        }
        Class::Stx if insn.mode() == mode::MEM => {
            let (base, value) = (state.register(insn.dst), state.register(insn.src));
            store(state, base, insn.off, bytes, Stored::Register(value));
        }
        Class::Stx => atomic(program, state, insn, bytes),
        Class::Jmp | Class::Jmp32 => {}
    }
}

/// Gives a number the id of its instruction, unless the number is constant or a copy.
fn identify(value: Value, pc: u32) -> Value {
    match value {
        Value::Scalar(scalar) if scalar.id == NO_ID && scalar.as_constant().is_none() => {
            Value::Scalar(scalar.with_id(pc))
        }
        value => value,
    }
}

fn atomic(program: &Program<'_>, state: &mut State, insn: Insn, bytes: u8) {
    let (base, value) = (state.register(insn.dst), state.register(insn.src));
    match insn.imm {
        atomic::LOAD_ACQUIRE => {
            let loaded = load(program, state, value, insn.off, bytes);
            state.set(insn.dst, identify(loaded, state.pc));
        }
        atomic::STORE_RELEASE => store(state, base, insn.off, bytes, Stored::Register(value)),
        _ => {
            let register = if insn.imm == atomic::COMPARE_EXCHANGE { 0 } else { insn.src };
            if insn.imm & atomic::FETCH != 0 {
                let is_stack = matches!(base, Value::Stack { .. } | Value::StackRange { .. } | Value::Any);
                let width = u32::from(bytes);
                let old = if is_stack {
                    Scalar::unknown(width, Undecided::Imprecision)
                } else {
                    Scalar::unbounded(width)
                };
                state.set(register, Value::Scalar(old.with_id(state.pc)));
            }
            store(state, base, insn.off, bytes, Stored::Unknown);
        }
    }
}

fn load_immediate(program: &Program<'_>, pc: u32, insn: Insn) -> Value {
    let found = program.loads.binary_search_by_key(&pc, |(insn, _)| *insn).ok();
    let entry = found.and_then(|found| Some((u32::try_from(found).ok()?, program.loads.get(found)?.1)));
    match entry {
        Some((_, LoadedValue::Constant(number))) => Value::Scalar(Scalar::constant(number)),
        Some((load, LoadedValue::Frozen { offset, .. })) => Value::Frozen { load, offset },
        Some((_, LoadedValue::Function(start))) => Value::Function(start),
        Some((_, LoadedValue::Unknown)) => Value::Scalar(
            Scalar { possible: Possible::Unknown(Undecided::UnknownValue { insn: pc }), ..Scalar::UNKNOWN }
                .with_id(pc),
        ),
        None if insn.src == 0 => {
            let Some([_, second, ..]) = program.insns.get(index(pc)..) else { return Value::UNKNOWN };
            let high = u64::from(second.imm.cast_unsigned()) << 32;
            Value::Scalar(Scalar::constant(high | u64::from(insn.imm.cast_unsigned())))
        }
        None if insn.src == pseudo::FUNC => match pc.saturating_add(1).checked_add_signed(insn.imm) {
            Some(start) => Value::Function(start),
            None => Value::UNKNOWN,
        },
        // Kernels that accept the address (6.4) decide comparisons with null.
        Some((_, LoadedValue::KernelFunction)) => Value::Pointer { is_tracked: true },
        Some((_, LoadedValue::Map { is_array })) => Value::Map { is_array },
        Some((_, LoadedValue::Pointer)) | None => Value::Pointer { is_tracked: false },
    }
}

fn arithmetic(endian: Endian, state: &State, insn: Insn) -> Value {
    operate(endian, insn, [insn.dst, insn.src].map(|register| state.register(register)), state.pc)
}

/// Returns the result of an arithmetic instruction on the values of its registers, the destination first.
pub(super) fn operate(endian: Endian, insn: Insn, registers: [Value; 2], pc: u32) -> Value {
    let is_32bit = insn.class() == Class::Alu;
    let [left, source] = registers;
    let number = i64::from(insn.imm).cast_unsigned();
    let immediate = Scalar::constant(if is_32bit { number & U32 } else { number });
    let is_register = insn.source_is_register();
    let right = if is_register { source } else { Value::Scalar(immediate) };
    let unary = |operation: &dyn Fn(Scalar) -> Scalar| match left {
        Value::Scalar(scalar) => identify(Value::Scalar(operation(scalar)), pc),
        _ => Value::UNKNOWN,
    };
    match insn.operation() {
        alu::MOV => move_value(is_32bit, insn.off, right, pc),
        alu::NEG => unary(&|scalar| negate(is_32bit, scalar)),
        alu::END => {
            let bits = match insn.imm {
                bits @ (16 | 32 | 64) => bits.cast_unsigned(),
                _ => return Value::UNKNOWN,
            };
            // The 64-bit class always swaps. The 32-bit class converts to little or big endian.
            let swaps = !is_32bit || is_register == (endian == Endian::Little);
            unary(&|scalar| swap_bytes(bits, swaps, scalar))
        }
        _ => match Operation::of(insn) {
            Some(operation) => {
                let is_same = is_register && insn.src == insn.dst;
                binary(operation, is_32bit, Operands { left, right, is_same }, pc)
            }
            None => Value::UNKNOWN,
        },
    }
}

/// Copies a value. `extends` is the width in bits from which the sign is extended, 0 without, or 1 for a cast
/// of an address.
fn move_value(is_32bit: bool, extends: i16, value: Value, pc: u32) -> Value {
    let bits = u32::try_from(extends).unwrap_or(1);
    match (value, bits) {
        (value, 0) if !is_32bit => value,
        (Value::Scalar(scalar), 0) => identify(Value::Scalar(scalar.low32()), pc),
        (Value::Scalar(scalar), 8 | 16 | 32) => {
            identify(Value::Scalar(extend_sign(is_32bit, bits, scalar)), pc)
        }
        (Value::Any, _) => Value::Any,
        _ => Value::UNKNOWN,
    }
}

/// The operands of an operation on two values.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) left: Value,
    pub(super) right: Value,
    /// Whether both are the same register.
    pub(super) is_same: bool,
}

pub(super) fn binary(operation: Operation, is_32bit: bool, operands: Operands, pc: u32) -> Value {
    let Operands { left, right, is_same } = operands;
    match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => {
            let result = compute(operation, is_32bit, left, right, is_same);
            let added = match operation {
                Operation::Add => right.possible.as_single(),
                Operation::Sub => right.possible.as_single().map(u64::wrapping_neg),
                _ => None,
            };
            if result.as_constant().is_some() {
                Value::Scalar(result)
            } else if let Some(added) = added.filter(|_| left.id != NO_ID) {
                let offset = left.offset.filter(|_| !is_32bit).map(|offset| offset.wrapping_add(added));
                Value::Scalar(Scalar { id: left.id, offset, ..result })
            } else {
                Value::Scalar(result.with_id(pc))
            }
        }
        (left, right) if !is_32bit && operation == Operation::Add => match (left, right) {
            (pointer, Value::Scalar(distance)) | (Value::Scalar(distance), pointer) => {
                move_pointer(pointer, distance.as_constant(), distance.possible.has_several())
            }
            _ => Value::Any,
        },
        (pointer, Value::Scalar(distance)) if !is_32bit && operation == Operation::Sub => {
            let negated = distance.as_constant().map(u64::wrapping_neg);
            move_pointer(pointer, negated, distance.possible.has_several())
        }
        (left, right) if operation == Operation::Sub && left.is_pointer() && right.is_pointer() => {
            Value::Scalar(Scalar::UNBOUNDED.with_id(pc))
        }
        _ => Value::UNKNOWN,
    }
}

/// Adds a number to a pointer. `distance` is `None` unless every verifier knows the number. `is_variable` is
/// whether none does.
fn move_pointer(pointer: Value, distance: Option<u64>, is_variable: bool) -> Value {
    let near_distance = distance.and_then(|distance| i32::try_from(distance.cast_signed()).ok());
    match pointer {
        Value::Stack { frame, offset } => {
            match near_distance.and_then(|distance| offset.checked_add(distance)) {
                Some(offset) => Value::Stack { frame, offset },
                None => Value::StackRange { frame },
            }
        }
        Value::Frozen { load, offset } => match distance {
            Some(distance) => Value::Frozen { load, offset: offset.wrapping_add(distance) },
            None => Value::Pointer { is_tracked: true },
        },
        Value::Context { offset: ContextOffset::Constant(_) } if is_variable => {
            Value::Context { offset: ContextOffset::Variable }
        }
        Value::Context { offset } => Value::Context { offset: offset.add(near_distance) },
        Value::OrNull { .. } => Value::UNKNOWN,
        Value::Function(_) => Value::Any,
        pointer => pointer,
    }
}
