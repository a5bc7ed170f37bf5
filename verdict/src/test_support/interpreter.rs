//! An interpreter of programs. A run ends where every verifier refuses the program, such as at a read of an
//! unset register.

use super::decisions::Inputs;
use super::memory::{Frame, Word};
use super::program::{GeneratedLoad, GeneratedProgram};
use core_relo::Endian;
use core_relo::insn::{Class, Insn};

/// The steps of a run.
const STEPS: usize = 3000;

/// The turns of a loop of `bpf_loop` that a run follows.
const TURNS: u64 = 6;

/// The frames of a run (the kernel: `MAX_CALL_FRAMES`).
const FRAMES: usize = 8;

/// The result of a run.
#[derive(Debug)]
pub(super) struct Run {
    /// For each instruction, whether the run executes the instruction.
    pub(super) executed: Vec<bool>,
    /// Whether the run ends at the program's exit.
    pub(super) is_complete: bool,
    /// Whether a value depends on something that no verifier knows.
    pub(super) uses_inputs: bool,
}

/// The caller of a function.
#[derive(Debug)]
struct Return {
    call: usize,
    saved: [Word; 4],
    /// The turn of a `bpf_loop` that calls the function.
    turn: Option<Turn>,
}

/// A turn of a `bpf_loop`.
#[derive(Clone, Copy, Debug)]
struct Turn {
    number: u64,
    /// The number of turns.
    count: u64,
    context: Word,
    /// The first instruction of the callback.
    start: usize,
}

struct Machine<'p> {
    program: &'p GeneratedProgram,
    data: Vec<u8>,
    inputs: Inputs,
    registers: [Word; 11],
    frames: Vec<Frame>,
    returns: Vec<Return>,
    pc: usize,
    run: Run,
}

/// Runs a program with the inputs of a seed.
pub(super) fn run(program: &GeneratedProgram, seed: u64) -> Run {
    let immediates = program.insns.iter().map(|insn| i64::from(insn.imm).cast_unsigned());
    let mut inputs = Inputs::new(seed, immediates.collect());
    let mut data = program.data.clone();
    for byte in program.unknown.iter().cloned().flatten() {
        if let Some(byte) = data.get_mut(byte) {
            *byte = u8::try_from(inputs.number() & 0xff).unwrap_or(0);
        }
    }
    let mut machine = Machine {
        program,
        data,
        frames: vec![Frame::new(&mut inputs)],
        inputs,
        registers: [Word::Unset; 11],
        returns: Vec::new(),
        pc: 0,
        run: Run { executed: vec![false; program.insns.len()], is_complete: false, uses_inputs: false },
    };
    machine.set(1, Word::Context);
    machine.set(10, Word::Stack { frame: 0, offset: 0 });
    for _ in 0..STEPS {
        if machine.step().is_none() || machine.run.is_complete {
            break;
        }
    }
    machine.run
}

impl Machine<'_> {
    fn get(&self, register: u8) -> Option<Word> {
        self.registers.get(usize::from(register)).copied().filter(|word| *word != Word::Unset)
    }

    fn set(&mut self, register: u8, word: Word) {
        if let Some(old) = self.registers.get_mut(usize::from(register)) {
            *old = word;
        }
    }

    /// Returns an input of a width in bytes.
    fn input(&mut self, bytes: i64) -> u64 {
        self.run.uses_inputs = true;
        let number = self.inputs.number();
        if bytes == 8 { number } else { number & ((1 << (8 * bytes)) - 1) }
    }

    /// Executes an instruction. Returns `None` if the verifier refuses the instruction.
    fn step(&mut self) -> Option<()> {
        let insn = *self.program.insns.get(self.pc)?;
        *self.run.executed.get_mut(self.pc)? = true;
        let bytes = i64::from(insn.access_bytes());
        let offset = i64::from(insn.off);
        let mut next = self.pc + 1;
        match insn.class() {
            Class::Alu | Class::Alu64 => {
                let word = self.arithmetic(insn)?;
                self.set(insn.dst, word);
            }
            Class::Ld => {
                let word = self.load_immediate(insn)?;
                self.set(insn.dst, word);
                *self.run.executed.get_mut(next)? = true;
                next += 1;
            }
            Class::Ldx => {
                let base = self.get(insn.src)?;
                let mut word = self.load(base, offset, bytes)?;
                if insn.code & 0xe0 == 0x80 {
                    word = Word::Number(sign_extend(word.as_number()?, 8 * bytes));
                }
                self.set(insn.dst, word);
            }
            Class::St => {
                let base = self.get(insn.dst)?;
                self.store(base, offset, bytes, Word::Number(i64::from(insn.imm).cast_unsigned()))?;
            }
            Class::Stx if insn.code & 0xe0 == 0x60 => {
                let (base, word) = (self.get(insn.dst)?, self.get(insn.src)?);
                self.store(base, offset, bytes, word)?;
            }
            Class::Stx => self.atomic(insn, offset, bytes)?,
            Class::Jmp | Class::Jmp32 => match insn.code {
                0x85 => return self.call(insn),
                0x95 => return self.exit(),
                0x05 => next = next.checked_add_signed(isize::from(insn.off))?,
                // `may_goto`
                0xe5 if self.input(1).is_multiple_of(4) => {
                    next = next.checked_add_signed(isize::from(insn.off))?;
                }
                0xe5 => {}
                _ if self.condition_holds(insn)? => next = next.checked_add_signed(isize::from(insn.off))?,
                _ => {}
            },
        }
        self.pc = next;
        Some(())
    }

    fn load_immediate(&mut self, insn: Insn) -> Option<Word> {
        let pc = u32::try_from(self.pc).ok()?;
        let load = self.program.loads.iter().find(|(load, _)| *load == pc).map(|(_, load)| *load);
        Some(match load {
            Some(GeneratedLoad::Data(offset)) => Word::Data(offset),
            Some(GeneratedLoad::Map) => Word::Map,
            Some(GeneratedLoad::Function(start)) => Word::Function(start),
            Some(GeneratedLoad::Unknown) => Word::Number(self.input(8)),
            None => {
                let high = u64::from(self.program.insns.get(self.pc + 1)?.imm.cast_unsigned());
                Word::Number((high << 32) | u64::from(insn.imm.cast_unsigned()))
            }
        })
    }

    fn load(&mut self, base: Word, offset: i64, bytes: i64) -> Option<Word> {
        match base {
            Word::Stack { frame, offset: start } => {
                let endian = self.program.endian;
                let (word, is_input) = self.frames.get_mut(frame)?.load(endian, start + offset, bytes)?;
                self.run.uses_inputs |= is_input;
                Some(word)
            }
            Word::Data(start) => {
                let start = usize::try_from(start.checked_add_signed(offset)?).ok()?;
                let end = start + usize::try_from(bytes).ok()?;
                let part = self.data.get(start..end)?;
                let is_unknown = self.program.unknown.iter().any(|part| part.start < end && start < part.end);
                self.run.uses_inputs |= is_unknown;
                let add = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
                Some(Word::Number(match self.program.endian {
                    Endian::Little => part.iter().rev().fold(0, add),
                    Endian::Big => part.iter().fold(0, add),
                }))
            }
            Word::Context | Word::MapValue | Word::Argument => Some(Word::Number(self.input(bytes))),
            Word::Unset | Word::Number(_) | Word::Map | Word::Function(_) => None,
        }
    }

    fn store(&mut self, base: Word, offset: i64, bytes: i64, word: Word) -> Option<()> {
        match base {
            Word::Stack { frame, offset: start } => {
                // Pointers to a frame do not outlive the frame.
                if matches!(word, Word::Stack { frame: other, .. } if other > frame) {
                    return None;
                }
                let endian = self.program.endian;
                let is_input = self.run.uses_inputs;
                self.frames.get_mut(frame)?.store(endian, start + offset, bytes, word, is_input)
            }
            Word::MapValue | Word::Argument => word.as_number().map(|_| ()),
            _ => None,
        }
    }

    fn atomic(&mut self, insn: Insn, offset: i64, bytes: i64) -> Option<()> {
        let (base, operand) = (self.get(insn.dst)?, self.get(insn.src)?.as_number()?);
        let old = self.load(base, offset, bytes)?.as_number()?;
        let expected = self.get(0).and_then(Word::as_number);
        let mask = if bytes == 8 { u64::MAX } else { 0xffff_ffff };
        let new = match insn.imm & !1 {
            0x00 => old.wrapping_add(operand),
            0xe0 => operand,
            0xf0 if expected? & mask == old => operand,
            0xf0 => old,
            _ => return None,
        };
        self.store(base, offset, bytes, Word::Number(new))?;
        if insn.imm & 1 != 0 {
            self.set(if insn.imm == 0xf1 { 0 } else { insn.src }, Word::Number(old));
        }
        Some(())
    }

    fn arithmetic(&mut self, insn: Insn) -> Option<Word> {
        let is_32bit = insn.class() == Class::Alu;
        let right = if insn.code & 0xf0 == 0xd0 || insn.code & 0xf0 == 0x80 {
            Word::Number(0)
        } else if insn.source_is_register() {
            self.get(insn.src)?
        } else {
            Word::Number(i64::from(insn.imm).cast_unsigned())
        };
        if insn.code & 0xf0 == 0xb0 {
            if right.as_number().is_none() && !is_32bit && insn.off == 0 {
                return Some(right);
            }
            self.run.uses_inputs |= right.as_number().is_none();
            return compute(insn, self.program.endian, 0, right.bits()?).map(Word::Number);
        }
        let left = self.get(insn.dst)?;
        match (left, right, insn.code) {
            (Word::Number(left), Word::Number(right), _) => {
                compute(insn, self.program.endian, left, right).map(Word::Number)
            }
            (pointer, Word::Number(distance), 0x07 | 0x0f) | (Word::Number(distance), pointer, 0x0f) => {
                move_pointer(pointer, distance.cast_signed())
            }
            (pointer, Word::Number(distance), 0x17 | 0x1f) => {
                move_pointer(pointer, distance.cast_signed().checked_neg()?)
            }
            _ => None,
        }
    }

    /// Returns whether the condition of a branch holds.
    fn condition_holds(&mut self, insn: Insn) -> Option<bool> {
        let left = self.get(insn.dst)?;
        let right = if insn.source_is_register() {
            self.get(insn.src)?
        } else {
            Word::Number(i64::from(insn.imm).cast_unsigned())
        };
        self.run.uses_inputs |= left.as_number().is_none() || right.as_number().is_none();
        holds(insn, left.bits()?, right.bits()?)
    }

    fn call(&mut self, insn: Insn) -> Option<()> {
        if insn.src == 1 {
            return self.call_function(self.pc.checked_add_signed(isize::try_from(insn.imm).ok()? + 1)?);
        }
        let first = self.registers.get(1).copied()?;
        let result = match insn.imm {
            1 if self.get(1)? == Word::Map && self.input(1) & 1 == 0 => Word::Number(0),
            1 if self.get(1)? == Word::Map => Word::MapValue,
            // probe_read_kernel
            113 => {
                let Word::Stack { frame, offset } = first else { return None };
                let size = i64::try_from(self.get(2)?.as_number()?).ok()?;
                self.frames.get_mut(frame)?.fill(offset, size, &mut self.inputs)?;
                Word::Number(self.input(8))
            }
            181 => return self.call_loop(),
            // A helper that may write behind its first argument.
            9000 => {
                if let Word::Stack { frame, offset } = first
                    && self.input(1) & 1 == 0
                {
                    self.frames.get_mut(frame)?.fill(offset, offset.checked_neg()?, &mut self.inputs)?;
                }
                Word::Number(self.input(8))
            }
            _ => Word::Number(self.input(8)),
        };
        self.finish_call(result);
        self.pc += 1;
        Some(())
    }

    fn finish_call(&mut self, result: Word) {
        for register in 1..=5 {
            self.set(register, Word::Unset);
        }
        self.set(0, result);
    }

    fn call_function(&mut self, start: usize) -> Option<()> {
        let functions = &self.program.functions;
        let callee = functions.iter().find(|function| usize::try_from(function.start) == Ok(start))?;
        if callee.is_global {
            // The verifier checks the function with any arguments, and assumes that it writes to the memory
            // behind them.
            self.run.uses_inputs = true;
            for register in 1..=5 {
                match self.get(register) {
                    Some(Word::Stack { frame, offset }) => {
                        let size = offset.checked_neg()?;
                        self.frames.get_mut(frame)?.fill(offset, size, &mut self.inputs)?;
                        self.set(register, Word::Argument);
                    }
                    Some(Word::Number(_) | Word::Argument) | None => {}
                    Some(_) => return None,
                }
            }
        }
        self.push_frame(None)?;
        self.set(0, Word::Unset);
        self.pc = start;
        Some(())
    }

    /// Enters a function. The arguments stay in their registers.
    fn push_frame(&mut self, turn: Option<Turn>) -> Option<()> {
        if self.frames.len() >= FRAMES {
            return None;
        }
        let saved =
            core::array::from_fn(|number| self.registers.get(6 + number).copied().unwrap_or(Word::Unset));
        self.returns.push(Return { call: self.pc, saved, turn });
        for register in 6..=9 {
            self.set(register, Word::Unset);
        }
        self.set(10, Word::Stack { frame: self.frames.len(), offset: 0 });
        self.frames.push(Frame::new(&mut self.inputs));
        Some(())
    }

    fn call_loop(&mut self) -> Option<()> {
        // Verifiers follow the callback of a loop in different ways.
        self.run.uses_inputs = true;
        let count = self.get(1)?.as_number()?;
        let (Word::Function(start), context) = (self.get(2)?, self.get(3)?) else { return None };
        if count == 0 {
            self.finish_call(Word::Number(0));
            self.pc += 1;
            return Some(());
        }
        self.enter_turn(Turn { number: 0, count, context, start: usize::try_from(start).ok()? })
    }

    fn enter_turn(&mut self, turn: Turn) -> Option<()> {
        self.push_frame(Some(turn))?;
        self.finish_call(Word::Unset);
        self.set(1, Word::Number(turn.number));
        self.set(2, turn.context);
        self.pc = turn.start;
        Some(())
    }

    fn exit(&mut self) -> Option<()> {
        let result = self.get(0)?;
        let Some(caller) = self.returns.pop() else {
            result.as_number()?;
            self.run.is_complete = true;
            return Some(());
        };
        let frame = self.frames.len() - 1;
        if matches!(result, Word::Stack { frame: other, .. } if other >= frame) {
            return None;
        }
        self.frames.pop();
        self.pc = caller.call;
        for (register, word) in (6..).zip(caller.saved) {
            self.set(register, word);
        }
        self.set(10, Word::Stack { frame: frame - 1, offset: 0 });
        if let Some(turn) = caller.turn {
            let result = result.as_number().filter(|result| *result <= 1)?;
            let number = turn.number + 1;
            if result == 0 && number < turn.count {
                return if number == TURNS { None } else { self.enter_turn(Turn { number, ..turn }) };
            }
            let result = self.input(4);
            self.finish_call(Word::Number(result));
        } else {
            self.finish_call(result);
        }
        self.pc += 1;
        Some(())
    }
}

fn move_pointer(pointer: Word, distance: i64) -> Option<Word> {
    if distance.unsigned_abs() > 1 << 20 {
        return None;
    }
    Some(match pointer {
        Word::Stack { frame, offset } => Word::Stack { frame, offset: offset + distance },
        Word::Data(offset) => Word::Data(offset.checked_add_signed(distance)?),
        Word::MapValue | Word::Argument => pointer,
        _ => return None,
    })
}

/// Extends the sign of a number of a width in bits.
fn sign_extend(number: u64, bits: i64) -> u64 {
    let sign = 1_u64 << (bits - 1);
    let low = number & (sign | (sign - 1));
    (low ^ sign).wrapping_sub(sign)
}

/// Computes an arithmetic instruction on numbers, as a processor of a byte order does.
pub(crate) fn compute(insn: Insn, endian: Endian, left: u64, right: u64) -> Option<u64> {
    let is_32bit = insn.class() == Class::Alu;
    let bits: u32 = if is_32bit { 32 } else { 64 };
    let mask = u64::MAX >> (64 - bits);
    if insn.code & 0xf0 == 0xb0 {
        let right = if insn.off == 0 { right } else { sign_extend(right, insn.off.into()) };
        return Some(if is_32bit { right & 0xffff_ffff } else { right });
    }
    if insn.code & 0xf0 == 0xd0 {
        let width = u32::try_from(insn.imm).ok().filter(|width| matches!(width, 16 | 32 | 64))?;
        let low = left & (u64::MAX >> (64 - width));
        let swaps = !is_32bit || insn.source_is_register() == (endian == Endian::Little);
        return Some(if swaps { low.swap_bytes() >> (64 - width) } else { low });
    }
    let (left, right) = (left & mask, right & mask);
    let signed = |number| i128::from(sign_extend(number, bits.into()).cast_signed());
    let wrap = |number: i128| u64::try_from(number & i128::from(u64::MAX)).ok();
    let shift = u32::try_from(right & u64::from(bits - 1)).ok()?;
    let result = match (insn.code & 0xf0, insn.off) {
        (0x00, _) => left.wrapping_add(right),
        (0x10, _) => left.wrapping_sub(right),
        (0x20, _) => left.wrapping_mul(right),
        (0x30, 1) if right == 0 => 0,
        (0x30, 1) => wrap(signed(left) / signed(right))?,
        (0x30, _) if right == 0 => 0,
        (0x30, _) => left / right,
        (0x40, _) => left | right,
        (0x50, _) => left & right,
        (0x60, _) => left << shift,
        (0x70, _) => left >> shift,
        (0x80, _) => left.wrapping_neg(),
        (0x90, _) if right == 0 => left,
        (0x90, 1) => wrap(signed(left) % signed(right))?,
        (0x90, _) => left % right,
        (0xa0, _) => left ^ right,
        (0xc0, _) => wrap(signed(left) >> shift)?,
        _ => return None,
    };
    Some(result & mask)
}

/// Returns whether the condition of a branch holds for two numbers.
pub(crate) fn holds(insn: Insn, left: u64, right: u64) -> Option<bool> {
    let bits: u32 = if insn.class() == Class::Jmp32 { 32 } else { 64 };
    let mask = u64::MAX >> (64 - bits);
    let (left, right) = (left & mask, right & mask);
    let signed = |number: u64| sign_extend(number, bits.into()).cast_signed();
    Some(match insn.code & 0xf0 {
        0x10 => left == right,
        0x20 => left > right,
        0x30 => left >= right,
        0x40 => left & right != 0,
        0x50 => left != right,
        0x60 => signed(left) > signed(right),
        0x70 => signed(left) >= signed(right),
        0xa0 => left < right,
        0xb0 => left <= right,
        0xc0 => signed(left) < signed(right),
        0xd0 => signed(left) <= signed(right),
        _ => return None,
    })
}
