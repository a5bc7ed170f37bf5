//! The numbers in instructions, by the names that the kernel has for them: [`alu::ADD`] is `BPF_ADD`.

/// Whole opcodes, see [`Insn::code`](super::Insn::code).
pub mod opcode {
    /// Jumps without condition (`BPF_JMP | BPF_JA`).
    pub const JUMP: u8 = 0x05;
    /// Jumps with a 32-bit distance (`BPF_JMP32 | BPF_JA`).
    pub const LONG_JUMP: u8 = 0x06;
    /// Jumps to the address in a register (`BPF_JMP | BPF_JA | BPF_X`).
    pub const INDIRECT_JUMP: u8 = 0x0d;
    /// Calls (`BPF_JMP | BPF_CALL`).
    pub const CALL: u8 = 0x85;
    /// Calls of the address in a register (`BPF_JMP | BPF_CALL | BPF_X`), which the verifier does not know.
    pub const CALL_REGISTER: u8 = 0x8d;
    /// The end of a function (`BPF_JMP | BPF_EXIT`).
    pub const EXIT: u8 = 0x95;
    /// Conditional jumps that end a loop (`BPF_JMP | BPF_JCOND`).
    pub const MAY_GOTO: u8 = 0xe5;
}

/// The operations of arithmetic, see [`Insn::operation`](super::Insn::operation).
#[expect(missing_docs, reason = "the names of the instruction set")]
pub mod alu {
    pub const ADD: u8 = 0x00;
    pub const SUB: u8 = 0x10;
    pub const MUL: u8 = 0x20;
    pub const DIV: u8 = 0x30;
    pub const OR: u8 = 0x40;
    pub const AND: u8 = 0x50;
    pub const LSH: u8 = 0x60;
    pub const RSH: u8 = 0x70;
    pub const NEG: u8 = 0x80;
    pub const MOD: u8 = 0x90;
    pub const XOR: u8 = 0xa0;
    pub const MOV: u8 = 0xb0;
    pub const ARSH: u8 = 0xc0;
    pub const END: u8 = 0xd0;
}

/// The operations of jumps, see [`Insn::operation`](super::Insn::operation).
#[expect(missing_docs, reason = "the names of the instruction set")]
pub mod jump {
    pub const JA: u8 = 0x00;
    pub const JEQ: u8 = 0x10;
    pub const JGT: u8 = 0x20;
    pub const JGE: u8 = 0x30;
    pub const JSET: u8 = 0x40;
    pub const JNE: u8 = 0x50;
    pub const JSGT: u8 = 0x60;
    pub const JSGE: u8 = 0x70;
    pub const CALL: u8 = 0x80;
    pub const EXIT: u8 = 0x90;
    pub const JLT: u8 = 0xa0;
    pub const JLE: u8 = 0xb0;
    pub const JSLT: u8 = 0xc0;
    pub const JSLE: u8 = 0xd0;
    pub const JCOND: u8 = 0xe0;
}

/// The modes of memory accesses, see [`Insn::mode`](super::Insn::mode).
#[expect(missing_docs, reason = "the names of the instruction set")]
pub mod mode {
    pub const ABS: u8 = 0x20;
    pub const IND: u8 = 0x40;
    pub const MEM: u8 = 0x60;
    pub const MEMSX: u8 = 0x80;
    pub const ATOMIC: u8 = 0xc0;
}

/// The immediates of atomic instructions.
pub mod atomic {
    /// The bit of operations that return the old value.
    pub const FETCH: i32 = 0x01;
    /// The exchange of a register with memory (kernel: `BPF_XCHG`).
    pub const EXCHANGE: i32 = 0xe1;
    /// The comparison of r0 with memory, and a store if they are equal (kernel: `BPF_CMPXCHG`).
    pub const COMPARE_EXCHANGE: i32 = 0xf1;
    /// A load (kernel: `BPF_LOAD_ACQ`).
    pub const LOAD_ACQUIRE: i32 = 0x100;
    /// A store (kernel: `BPF_STORE_REL`).
    pub const STORE_RELEASE: i32 = 0x110;
}

/// The source registers that give the immediate of a call or of a 64-bit load a meaning (kernel:
/// `BPF_PSEUDO_CALL`).
pub mod pseudo {
    /// A call of a function of the program.
    pub const CALL: u8 = 1;
    /// A call of a kernel function by its type id.
    pub const KFUNC_CALL: u8 = 2;
    /// A load of a map's address, by the map's descriptor.
    pub const MAP_FD: u8 = 1;
    /// A load of an address in a map's value, by the map's descriptor.
    pub const MAP_VALUE: u8 = 2;
    /// A load of the address of a kernel variable or function, by its type id.
    pub const BTF_ID: u8 = 3;
    /// A load of the address of a function of the program.
    pub const FUNC: u8 = 4;
    /// A load of a map's address, by the index of the map's descriptor.
    pub const MAP_IDX: u8 = 5;
    /// A load of an address in a map's value, by the index of the map's descriptor.
    pub const MAP_IDX_VALUE: u8 = 6;
}
