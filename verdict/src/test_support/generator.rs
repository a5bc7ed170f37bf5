//! A generator of programs that verifiers mostly accept: numbers and pointers rarely mix.

use super::decisions::Decisions;
use super::program::{GeneratedLoad, GeneratedProgram};
use crate::reach::Function;
use core_relo::Endian;
use core_relo::insn::{Insn, LD_IMM64};

/// The instructions after which a program gets no further statements.
const INSNS: usize = 160;

/// The depth of nested blocks.
const DEPTH: usize = 3;

/// The statements of a block.
const STATEMENTS: usize = 7;

/// The registers for numbers. r1 is for pointers to the stack, r6 for the context or the first argument.
const NUMBERS: [u8; 8] = [0, 2, 3, 4, 5, 7, 8, 9];

const CONSTANTS: [i32; 20] = [
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    10,
    16,
    31,
    63,
    64,
    -8,
    0xff,
    0x100,
    0xffff,
    0x1_0000,
    0x1_ffff,
    i32::MAX,
    i32::MIN,
];

/// The codes of arithmetic operations.
const OPERATIONS: [u8; 12] = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0];

/// The codes of comparisons.
const COMPARISONS: [u8; 11] = [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0];

/// The size bits and the bytes of accesses.
const SIZES: [(u8, i16); 4] = [(0x18, 8), (0x00, 4), (0x08, 2), (0x10, 1)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum FunctionKind {
    Program,
    Static,
    Global,
    /// A callback of `bpf_loop`.
    Callback,
}

struct Generator<'d> {
    decisions: Decisions<'d>,
    program: GeneratedProgram,
    functions: Vec<FunctionKind>,
    /// The function that is generated.
    current: usize,
    /// The calls of functions: the instruction and the function.
    calls: Vec<(usize, usize)>,
    /// The loads of functions: the instruction and the function.
    addresses: Vec<(usize, usize)>,
}

/// Generates a program.
pub(super) fn generate(bytes: &[u8]) -> GeneratedProgram {
    let mut decisions = Decisions::new(bytes);
    let endian = if decisions.below(4) == 3 { Endian::Big } else { Endian::Little };
    let kinds = [FunctionKind::Static, FunctionKind::Callback, FunctionKind::Global];
    let further = (0..decisions.below(4)).map(|_| decisions.choose(&kinds)).collect::<Vec<_>>();
    let data = (0..16).map(|_| decisions.byte()).collect();
    let unknown = decisions.below(12);
    let mut generator = Generator {
        decisions,
        program: GeneratedProgram {
            insns: Vec::new(),
            functions: Vec::new(),
            loads: Vec::new(),
            data,
            unknown: core::array::from_fn(|_| unknown..unknown + 4),
            endian,
        },
        functions: [FunctionKind::Program].into_iter().chain(further).collect(),
        current: 0,
        calls: Vec::new(),
        addresses: Vec::new(),
    };
    for current in 0..generator.functions.len() {
        generator.current = current;
        generator.function();
    }
    generator.resolve()
}

impl Generator<'_> {
    fn push(&mut self, code: u8, dst: u8, src: u8, off: i16, imm: i32) {
        self.program.insns.push(Insn { code, dst, src, off, imm });
    }

    fn position(&self) -> usize {
        self.program.insns.len()
    }

    fn set(&mut self, register: u8, number: i32) {
        self.push(0xb7, register, 0, 0, number);
    }

    fn copy(&mut self, register: u8, source: u8) {
        self.push(0xbf, register, source, 0, 0);
    }

    fn number_register(&mut self) -> u8 {
        self.decisions.choose(&NUMBERS)
    }

    fn constant(&mut self) -> i32 {
        match self.decisions.below(12) {
            11 => self.decisions.word(),
            10 => i32::from(self.decisions.byte()),
            // The constants of guards.
            6..=9 => self.decisions.choose(&[0, 1]),
            _ => self.decisions.choose(&CONSTANTS),
        }
    }

    /// Returns an offset on the stack for an access of a width in bytes: mostly aligned.
    fn stack_offset(&mut self, bytes: i16) -> i16 {
        let byte = i16::from(self.decisions.byte());
        // Few words, so that loads find what stores have written.
        let offset = if byte % 64 < 32 { -16 + byte % 16 } else { -32 + byte % 32 };
        if byte >= 240 { offset.min(-bytes) } else { (offset & -bytes).min(-bytes) }
    }

    /// Generates a function.
    fn function(&mut self) {
        let kind = self.functions.get(self.current).copied().unwrap_or(FunctionKind::Program);
        let start = u32::try_from(self.position()).unwrap_or(u32::MAX);
        let is_global = matches!(kind, FunctionKind::Program | FunctionKind::Global);
        self.program.functions.push(Function { start, is_global });
        let (pointer, number) = if kind == FunctionKind::Callback { (2, 1) } else { (1, 2) };
        self.copy(6, pointer);
        if kind == FunctionKind::Program {
            self.set(2, 5);
        }
        self.copy(7, number);
        for register in [0, 1, 3, 4, 5, 8, 9, 2] {
            let number = self.constant();
            self.set(register, number);
        }
        self.block(0);
        if kind == FunctionKind::Callback {
            self.push(0x57, 0, 0, 0, 1);
        }
        self.push(0x95, 0, 0, 0, 0);
    }

    fn block(&mut self, depth: usize) {
        let count = if depth == 0 { 4 + self.decisions.below(16) } else { self.decisions.below(STATEMENTS) };
        for _ in 0..count {
            if self.position() > INSNS * (self.current + 1) {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.decisions.below(31) {
            6 => self.unary(),
            7 | 8 => self.store(),
            9 | 10 => self.load(),
            11 => self.input(),
            12..=14 if depth < DEPTH => self.branch(depth),
            15 | 26..=30 if depth < DEPTH => self.guard(depth),
            16 if depth < DEPTH => self.repeat(depth),
            17 => self.call_function(),
            18 => self.call_helper(),
            19 => self.lookup(),
            20 => self.data(),
            21 => self.call_loop(),
            22 => self.store_at_unknown_offset(),
            23 => self.spill_pointer(),
            24 => self.atomic(),
            25 if depth < DEPTH => self.may_goto(depth),
            _ => self.arithmetic(),
        }
    }

    fn arithmetic(&mut self) {
        let operation = self.decisions.choose(&OPERATIONS);
        let class = self.decisions.choose(&[7, 4]);
        let dst = self.number_register();
        let is_division = matches!(operation, 0x30 | 0x90);
        let off = if is_division { self.decisions.choose(&[0, 1]) } else { 0 };
        if self.decisions.below(2) == 0 {
            let source = self.number_register();
            self.push(operation | class | 8, dst, source, off, 0);
        } else {
            let constant = self.constant();
            // The verifier refuses shifts by the width or more, and divisions by zero.
            let constant = match operation {
                0x60 | 0x70 | 0xc0 => constant & if class == 7 { 63 } else { 31 },
                _ if is_division && constant == 0 => 3,
                _ => constant,
            };
            self.push(operation | class, dst, 0, off, constant);
        }
    }

    fn unary(&mut self) {
        let dst = self.number_register();
        let bits = self.decisions.choose(&[16, 32, 64]);
        match self.decisions.below(6) {
            0 => self.push(0x87, dst, 0, 0, 0),
            1 => self.push(0x84, dst, 0, 0, 0),
            2 => self.push(0xd7, dst, 0, 0, bits),
            3 => self.push(0xdc, dst, 0, 0, bits),
            4 => self.push(0xd4, dst, 0, 0, bits),
            _ => {
                let source = self.number_register();
                let (class, bits) =
                    self.decisions.choose(&[(0xbf, 8), (0xbf, 16), (0xbf, 32), (0xbc, 8), (0xbc, 16)]);
                self.push(class, dst, source, bits, 0);
            }
        }
    }

    fn store(&mut self) {
        let (size, bytes) = self.decisions.choose(&SIZES);
        let offset = self.stack_offset(bytes);
        if self.decisions.below(3) == 2 {
            let constant = self.constant();
            self.push(0x62 | size, 10, 0, offset, constant);
        } else {
            let source = self.number_register();
            self.push(0x63 | size, 10, source, offset, 0);
        }
    }

    fn load(&mut self) {
        let (size, bytes) = self.decisions.choose(&SIZES);
        let offset = self.stack_offset(bytes);
        let dst = self.number_register();
        let mode = if bytes < 8 { self.decisions.choose(&[0x61, 0x61, 0x81]) } else { 0x61 };
        self.push(mode | size, dst, 10, offset, 0);
    }

    /// Loads an input.
    fn input(&mut self) {
        let (size, _) = self.decisions.choose(&SIZES);
        let dst = self.number_register();
        self.push(0x61 | size, dst, 6, 0, 0);
    }

    fn condition(&mut self) {
        let code = self.decisions.choose(&COMPARISONS) | self.decisions.choose(&[5, 6]);
        let dst = self.number_register();
        if self.decisions.below(3) == 2 {
            let source = self.number_register();
            self.push(code | 8, dst, source, 0, 0);
        } else {
            let constant = self.constant();
            self.push(code, dst, 0, 0, constant);
        }
    }

    /// Lets the jump at a position continue after the last instruction.
    fn land(&mut self, jump: usize) {
        let distance = i16::try_from(self.position() - jump - 1).unwrap_or(0);
        if let Some(insn) = self.program.insns.get_mut(jump) {
            insn.off = distance;
        }
    }

    fn branch(&mut self, depth: usize) {
        let branch = self.position();
        self.condition();
        self.block(depth + 1);
        if self.decisions.below(3) == 2 {
            let jump = self.position();
            self.push(0x05, 0, 0, 0, 0);
            self.land(branch);
            self.block(depth + 1);
            self.land(jump);
        } else {
            self.land(branch);
        }
    }

    /// Generates a block behind a branch on a part of the stack.
    fn guard(&mut self, depth: usize) {
        let (size, bytes) = self.decisions.choose(&SIZES);
        let offset = self.stack_offset(bytes);
        let register = self.number_register();
        self.push(0x61 | size, register, 10, offset, 0);
        let branch = self.position();
        let (comparison, number) = self.decisions.choose(&[
            (0x15, 0),
            (0x55, 0),
            (0x15, 1),
            (0x55, 1),
            (0x25, 1),
            (0x16, 0),
            (0x26, 3),
        ]);
        self.push(comparison, register, 0, 0, number);
        self.block(depth + 1);
        self.land(branch);
    }

    fn repeat(&mut self, depth: usize) {
        let start = self.position();
        self.block(depth + 1);
        let branch = self.position();
        self.condition();
        let distance = i16::try_from(branch - start + 1).unwrap_or(0);
        if let Some(insn) = self.program.insns.get_mut(branch) {
            insn.off = -distance;
        }
    }

    fn may_goto(&mut self, depth: usize) {
        let jump = self.position();
        self.push(0xe5, 0, 0, 0, 0);
        self.block(depth + 1);
        self.land(jump);
    }

    /// Sets the registers that a call clears.
    fn finish_call(&mut self) {
        for register in [2, 3, 4, 5] {
            let constant = self.constant();
            self.set(register, constant);
        }
    }

    /// Sets a register to a pointer to the stack.
    fn stack_pointer(&mut self, register: u8) -> i16 {
        let offset = self.stack_offset(8);
        self.copy(register, 10);
        self.push(0x07, register, 0, 0, offset.into());
        offset
    }

    /// Returns a later function of a kind.
    fn later_function(&mut self, wanted: &[FunctionKind]) -> Option<usize> {
        let later = (0..).zip(&self.functions).skip(self.current + 1);
        let later: Vec<usize> =
            later.filter(|(_, kind)| wanted.contains(kind)).map(|(number, _)| number).collect();
        (!later.is_empty()).then(|| self.decisions.choose(&later))
    }

    fn call_function(&mut self) {
        let callee = self.later_function(&[FunctionKind::Static, FunctionKind::Global]);
        let Some(callee) = callee else { return self.arithmetic() };
        self.stack_pointer(1);
        let source = self.number_register();
        self.copy(2, source);
        self.calls.push((self.position(), callee));
        self.push(0x85, 0, 1, 0, 0);
        self.finish_call();
    }

    fn call_helper(&mut self) {
        let offset = self.stack_pointer(1);
        let helper = self.decisions.choose(&[5, 113, 9000]);
        self.set(2, i32::from(-offset).min(8));
        self.set(3, 0);
        self.push(0x85, 0, 0, 0, helper);
        self.finish_call();
    }

    /// Looks up a value of a map, and reads from the value unless the pointer is null.
    fn lookup(&mut self) {
        self.load_reference(1, GeneratedLoad::Map);
        self.stack_pointer(2);
        self.push(0x85, 0, 0, 0, 1);
        let branch = self.position();
        self.push(0x15, 0, 0, 0, 0);
        self.push(0x79, 8, 0, 0, 0);
        self.set(0, 1);
        self.land(branch);
        self.finish_call();
    }

    fn load_reference(&mut self, register: u8, load: GeneratedLoad) {
        let position = u32::try_from(self.position()).unwrap_or(u32::MAX);
        self.program.loads.push((position, load));
        self.push(LD_IMM64, register, 0, 0, 0);
        self.push(0, 0, 0, 0, 0);
    }

    /// Loads unchanging data, an unknown value or a constant of 64 bits.
    fn data(&mut self) {
        let dst = self.number_register();
        match self.decisions.below(4) {
            3 => self.load_reference(dst, GeneratedLoad::Unknown),
            2 => {
                let (low, high) = (self.constant(), self.constant());
                self.push(LD_IMM64, dst, 0, 0, low);
                self.push(0, 0, 0, 0, high);
            }
            _ => {
                let (size, bytes) = self.decisions.choose(&SIZES);
                let offset = i16::from(self.decisions.byte()) % (17 - bytes);
                let start = i16::from(self.decisions.byte()) % (offset + 1);
                self.load_reference(1, GeneratedLoad::Data(u64::from(start.unsigned_abs())));
                self.push(0x61 | size, dst, 1, offset - start, 0);
            }
        }
    }

    fn call_loop(&mut self) {
        let Some(callback) = self.later_function(&[FunctionKind::Callback]) else { return self.arithmetic() };
        self.addresses.push((self.position(), callback));
        self.push(LD_IMM64, 2, 0, 0, 0);
        self.push(0, 0, 0, 0, 0);
        self.stack_pointer(3);
        match self.decisions.below(3) {
            0 => self.set(1, 3),
            1 => self.set(1, 1),
            _ => {
                self.copy(1, 7);
                self.push(0x57, 1, 0, 0, 3);
            }
        }
        self.set(4, 0);
        self.push(0x85, 0, 0, 0, 181);
        self.finish_call();
    }

    fn store_at_unknown_offset(&mut self) {
        let (source, index) = (self.number_register(), self.number_register());
        let (size, _) = self.decisions.choose(&SIZES);
        self.copy(1, index);
        self.push(0x57, 1, 0, 0, 0x18);
        self.copy(0, 10);
        self.push(0x0f, 0, 1, 0, 0);
        self.push(0x63 | size, 0, source, -32, 0);
        self.set(0, 7);
    }

    /// Spills a pointer to the stack, loads the pointer, and writes through it.
    fn spill_pointer(&mut self) {
        let offset = self.stack_offset(8);
        let (size, bytes) = self.decisions.choose(&SIZES);
        self.push(0x7b, 10, 10, offset, 0);
        self.arithmetic();
        self.push(0x79, 1, 10, offset, 0);
        let (source, target) = (self.number_register(), self.stack_offset(bytes));
        self.push(0x63 | size, 1, source, target, 0);
        self.set(1, 0);
        self.push(0x7b, 10, 1, offset, 0);
    }

    fn atomic(&mut self) {
        let (size, bytes) = self.decisions.choose(&[(0x18, 8), (0x00, 4)]);
        let kind = self.decisions.choose(&[0x00, 0x01, 0xe1, 0xf1]);
        let (offset, source) = (self.stack_offset(bytes), self.number_register());
        self.push(0xc3 | size, 10, source, offset, kind);
    }

    /// Sets the targets of calls and the addresses of functions.
    fn resolve(mut self) -> GeneratedProgram {
        let start = |number: usize, program: &GeneratedProgram| {
            program.functions.get(number).map_or(0, |function| function.start)
        };
        for (call, callee) in self.calls {
            let target = i64::from(start(callee, &self.program));
            let position = i64::try_from(call).unwrap_or(0);
            if let Some(insn) = self.program.insns.get_mut(call) {
                insn.imm = i32::try_from(target - position - 1).unwrap_or(0);
            }
        }
        for (load, callee) in self.addresses {
            let value = GeneratedLoad::Function(start(callee, &self.program));
            self.program.loads.push((u32::try_from(load).unwrap_or(0), value));
        }
        self.program.loads.sort_by_key(|(insn, _)| *insn);
        self.program
    }
}
