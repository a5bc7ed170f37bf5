//! Programs whose control flow is hard to follow. Each ends with a helper whose presence nothing tells, so
//! that `check` follows all paths.

use super::{
    command::CHECK,
    dimension::Dimension,
    input::Files,
    object::{ObjectBuilder, call, insn, returns},
    records::small_kernel,
};
use core_relo::insn::Insn;

pub(super) const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "branches that double the paths",
        max_count: 300_000,
        commands: CHECK,
        build: branches,
    },
    Dimension {
        name: "loops that are entered in the middle",
        max_count: 200_000,
        commands: CHECK,
        build: irreducible_loops,
    },
    Dimension {
        name: "loops that each contain the next",
        max_count: 200_000,
        commands: CHECK,
        build: nested_loops,
    },
    Dimension {
        name: "calls in two directions of a branch",
        max_count: 100_000,
        commands: CHECK,
        build: call_tree,
    },
];

/// The helper `bpf_get_prandom_u32`.
const RANDOM: i32 = 7;

/// A helper that the kernel may lack.
const HELPER: i32 = 200;

fn helper(number: i32) -> Insn {
    insn(0x85, 0, 0, number)
}

/// Returns `if rN op imm goto +off`.
fn branch(code: u8, dst: u8, imm: i32, off: i16) -> Insn {
    Insn { off, ..insn(code, dst, 0, imm) }
}

/// A program of this code, the helper in question and an exit.
fn program(code: Vec<Insn>) -> Files {
    let mut m = ObjectBuilder::default();
    let code = [code, vec![helper(HELPER)], returns().to_vec()].concat();
    m.program("program", "socket", &code);
    m.func_type("program", 1);
    Files::new(m.finish(), small_kernel())
}

/// Each branch leaves another value in a register.
fn branches(n: usize) -> Files {
    let step = |at: usize| [helper(RANDOM), branch(0x15, 0, 0, 1), insn(0x07, 6, 0, at as i32)];
    program([vec![insn(0xb7, 6, 0, 0)], (0..n).flat_map(step).collect()].concat())
}

/// Each block may jump into the middle of the next, and back into the middle of itself.
fn irreducible_loops(n: usize) -> Files {
    let block = [
        helper(RANDOM),
        branch(0x15, 0, 1, 3),
        insn(0x07, 6, 0, 1),
        helper(RANDOM),
        branch(0x55, 0, 2, -3),
        insn(0x07, 6, 0, 2),
    ];
    program([vec![insn(0xb7, 6, 0, 0)], block.repeat(n)].concat())
}

/// All loops end at one place. The 16-bit offset of a jump limits how far each goes back.
fn nested_loops(n: usize) -> Files {
    let ends = (0..n).flat_map(|at| {
        let back = (2 * at + n.min(10_000)).min(30_000);
        [helper(RANDOM), branch(0x55, 0, 0, -(back as i16))]
    });
    program([vec![insn(0x07, 6, 0, 1); n], ends.collect()].concat())
}

/// A chain of functions, each of which calls the next in both directions of a branch.
fn call_tree(n: usize) -> Files {
    let mut m = ObjectBuilder::default();
    let node = [helper(RANDOM), branch(0x15, 0, 0, 2), call(3), insn(0x95, 0, 0, 0), call(1), returns()[1]];
    let leaf = [helper(HELPER), returns()[0], returns()[1]];
    let text = m.code(".text", &[node.repeat(n - 1), leaf.to_vec()].concat());
    let main = m.program("program", "socket", &[call(-1), returns()[1]]);
    m.func_type("program", 1);
    for at in 0..n {
        let function = format!("function{at}");
        let symbol = m.function(&function, text, 6 * at, if at + 1 == n { 3 } else { 6 });
        m.func_type(&function, 1);
        if at == 0 {
            m.add_reloc(main, 0, symbol, true);
        }
    }
    Files::new(m.finish(), small_kernel())
}
